"""Interventions on every head of a model."""

from headcats.sweeps.batch_sweep import sweep
from headcats.sweeps.intervention import Intervention, Sources
from headcats.sweeps.joint import cumulative, joint_sweep
from headcats.sweeps.reference import Reference

__all__ = ["Intervention", "Reference", "Sources", "cumulative", "joint_sweep", "sweep"]
