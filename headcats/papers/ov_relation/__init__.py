"""OV relations: which relations between words a head implements by its weights alone."""

from headcats.base.registry import public_names
from headcats.methods.lazy import declare
from headcats.methods.presets import add_preset
from headcats.papers.ov_relation.settings import PRESETS, USUAL
from headcats.results.declaration import Declaration, Selection, Strength

__getattr__, __all__, __dir__ = public_names(__name__, __file__)

ov_relation = declare(
    Declaration(
        name="ov_relation",
        kind="joint",
        strength=Strength("score", "task", "category", "max", "weights", "largest score of its relations"),
        figure="ov_map",
        figure_heads="layer-head",
        reader="hc.categorize",
        selection=Selection(
            "score",
            over="task",
            group="category",
            rule="threshold:value=0.15",
            suppressing="suppression",
            threshold="threshold",
            text="share of word pairs that its weights map",
        ),
        default_suite="relations",
        paper="Elhelo & Geva (2025), MAPS, arXiv 2412.11965",
        cost="weights alone, no prompts",
    ),
    code="headcats.papers.ov_relation.fit:OVRelation",
    summary="headcats.papers.ov_relation.summary:summary",
    figure="headcats.papers.ov_relation.figure:ov_map",
)

for _name in PRESETS:
    _option = "" if _name == USUAL else f":preset={_name}"
    add_preset(
        _name,
        ov_relation.declaration.paper,
        {"methods": (f"{ov_relation.name}{_option}",)},
        reading={"rule": f"threshold:value={PRESETS[_name].threshold:g}", "min_tasks": "1"},
        differs="word pairs are the suite's, a score must also exceed that of permuted targets, and tokens "
        "of equal value at place k all count",
    )
