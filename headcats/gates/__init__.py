"""Gates on head outputs: fitted numbers between 0 and 1 that say which heads a data set needs."""

from headcats.gates.contrast import contrastive_gates
from headcats.gates.expected_time import logging_time
from headcats.gates.fitting import Advance, GateFit, fit_gates, no_progress
from headcats.gates.labelled import joined, labelled
from headcats.gates.log_probs import mean_log_prob, texts_at_once
from headcats.gates.seeds import fit_each
from headcats.gates.settings import PRESETS, STAGES, GatingSettings, find_settings
from headcats.gates.texts import GateTexts, NextTokenData, gate_texts
from headcats.gates.toggling import toggle_curves

__all__ = [
    "PRESETS",
    "STAGES",
    "Advance",
    "GateFit",
    "GateTexts",
    "GatingSettings",
    "NextTokenData",
    "contrastive_gates",
    "find_settings",
    "fit_each",
    "fit_gates",
    "gate_texts",
    "joined",
    "labelled",
    "logging_time",
    "mean_log_prob",
    "no_progress",
    "texts_at_once",
    "toggle_curves",
]
