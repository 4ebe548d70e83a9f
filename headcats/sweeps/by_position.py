"""Position x head: every head of a model replaced at one position of the prompts at a time.

A change at a position leaves everything before it as it was, so on the fast path that position and those after it are
run again, from one recording for all positions. What cannot matter is not run at all and has the number of the
unpatched run: positions at which both runs of a patch are still the same, and what the last block writes before the
last position.
"""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from headcats.metrics.definition import Metrics
from headcats.sweeps.change import Change
from headcats.sweeps.engine import measure_sets
from headcats.sweeps.paths import Choice, choose, worst_check
from headcats.sweeps.runs import BaseRuns
from headcats.sweeps.sources import AtPosition, Replacements
from headcats.sweeps.tree import HeadSet

EACH = "each"
"""Positions of a sweep: every token of the prompts, one at a time."""


def measure_positions(
    runs: BaseRuns,
    base: str,
    sets: Sequence[HeadSet],
    everywhere: Replacements,
    *,
    names: Metrics,
    choice: Choice,
    path: str,
) -> tuple[Float[Tensor, "metric prompt position set"], Choice]:
    """The metrics of every prompt with each set of heads of a layer replaced at one position in the run `base`.

    In fp32, on the CPU.

    `choice` is that for a position in the middle, made for the `path` that was asked for. With the paths that ran and
    the worst of their self-checks.
    """
    run = runs.base_run(base)
    last, last_block = run.continued.length - 1, runs.model.n_layers - 1
    values = runs.measured(names, run).cpu()[..., None, None].repeat(1, 1, last + 1, len(sets))
    ran = []
    for position in range(everywhere.first, last + 1):
        at = AtPosition(everywhere, position)
        # A path by name is that of several positions; the last one has a path of its own.
        asked = "last_position" if path == "suffix" and position == last else path
        ran.append(choose(runs.model, run.continued, change=at.change, path=asked))
        is_read = position == last or ran[-1].path == "hooked"
        places = [place for place, heads in enumerate(sets) if is_read or heads[0].layer < last_block]
        chosen = [sets[place] for place in places]
        values[:, :, position, places] = measure_sets(runs, base, chosen, at, names=names, choice=ran[-1])
    check = choice.check if path == "hooked" else worst_check(one.check for one in ran)
    return values, Choice("; ".join(dict.fromkeys(one.path for one in ran)), check)


def in_the_middle(first: int, length: int) -> Change:
    """The change that speaks for the others in the self-check: long before the end, and with much before it."""
    return Change((first + length - 1) // 2, alone=True, recorded=first)
