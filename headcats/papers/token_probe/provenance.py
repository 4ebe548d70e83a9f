"""Where a block of numbers comes from, in its attributes."""

import json
from dataclasses import asdict

from headcats.papers.token_probe.settings import REPRESENTATIONS, TokenProbeSettings
from headcats.prompts.drop_report import DropReport


def source_attributes(
    model: str, settings: TokenProbeSettings, report: DropReport, *, preset: str, representation: str, seed: int
) -> dict[str, str]:
    """Method, preset, model and hook, what was left out, and all of it with the settings and the seed as JSON."""
    source = {"method": "token_probe", "preset": preset, "model": model, "representation": representation}
    provenance = source | {"settings": asdict(settings), "seed": seed, "left_out": report.dropped}
    return source | {
        "hook": REPRESENTATIONS[representation],
        "left_out": report.summary(),
        "provenance": json.dumps(provenance, ensure_ascii=False),
    }
