"""The fast paths: many sets of heads replaced in one walk over the layers, on recordings of the unpatched run.

With rows of one position (`last_position`), all rows of a prompt share its earlier keys and values, and every weight is
read once for all of them. With rows of several positions (`suffix`), only these positions are computed, and the last
block gives the last position alone. Both give the numbers of ordinary hooked forwards, up to rounding.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headcats.metrics.definition import Metrics, Targets, measure, reads_vocabulary
from headcats.metrics.rest import Rest, Scores, logit_scores, rest_of_scores
from headcats.models.replay.recording import Recording, RowEdit
from headcats.sweeps.intervention import Z
from headcats.sweeps.memory import readouts
from headcats.sweeps.tree import HeadSet, Step, grow

# Residual streams whose log-probabilities are read together.
_ROWS = 2048


def replayed(
    recording: Recording,
    sets: Sequence[HeadSet],
    *,
    new_z: Callable[[int], Z],
    mask: Bool[Tensor, "prompt pos"],
    names: Metrics,
    targets: Targets,
    n_layers: int,
) -> Float[Tensor, "metric prompt set"]:
    """Metrics of the prompts of a recording with each set of heads replaced; see `replayed_residual`."""
    residual = replayed_residual(recording, sets, new_z, mask=mask, n_layers=n_layers)
    prompts, first = len(residual), residual[:, :, 0]
    rest = rest_of_residual(recording, residual[:, :, 1:], ranked=reads_vocabulary(names))
    if not reads_vocabulary(names):
        ids = torch.stack([targets.answer, targets.distractor], 1)
        pair = recording.read_some(first, ids)
        if pair is not None:
            flat = pair.flatten(0, 1)
            place = torch.zeros(len(flat), dtype=torch.long, device=flat.device)
            clean = targets.clean_logits.gather(1, ids.to(targets.clean_logits.device)).repeat_interleave(len(sets), 0)
            return measure(names, flat, Targets(place, place + 1, clean), rest=rest).unflatten(1, (prompts, -1))
    size, row_prompts = readouts(recording.logits.shape[1]), torch.arange(prompts).repeat_interleave(len(sets))
    flat = first.flatten(0, 1)
    values = []
    for start in range(0, len(flat), size):
        part = slice(start, start + size)
        logits = recording.read(flat[part])
        values.append(measure(names, logits, targets, rest=rest.select(part), of=row_prompts[part]))
    return torch.cat(values, 1).unflatten(1, (prompts, -1))


def replayed_residual(
    recording: Recording,
    sets: Sequence[HeadSet],
    new_z: Callable[[int], Z],
    *,
    mask: Bool[Tensor, "prompt pos"],
    n_layers: int,
) -> Float[Tensor, "prompt set tail d_model"]:
    """The residual stream after the last block, where it is read, with each set of heads (none empty) replaced.

    `new_z` gives a layer's new z of all its heads at the positions of `recording`.
    """
    steps, row_of = grow(sets, n_layers=n_layers)
    rows: Tensor | None = None
    # Where z changes at the first of these positions alone, the others change from the next layer on.
    alone = recording.width > 1 and not bool(mask[:, 1:].any())
    for step in steps:
        if rows is not None and step.parents is not None:
            rows = rows[:, torch.tensor(step.parents, device=rows.device)]
        last = step.layer == n_layers - 1
        if alone and step.fresh:
            rows = _begun_at_first(recording, rows, step, new_z(step.layer), mask, last_only=last)
        else:
            edit = _edit(step, new_z(step.layer), mask) if step.heads else None
            rows = recording.block(step.layer, rows, fresh=step.fresh, edit=edit, last_only=last)
    assert rows is not None
    rows = rows[:, :, -recording.continued.tail :]
    if row_of == list(range(rows.shape[1])):
        return rows
    return rows[:, torch.tensor(row_of, device=rows.device)]


def _begun_at_first(
    recording: Recording, rows: Tensor | None, step: Step, new: Z, mask: Bool[Tensor, "prompt pos"], *, last_only: bool
) -> Tensor:
    """A step with fresh rows in which z changes at their first position alone: no other one is computed of them."""
    older, fresh = step.apart()
    parts = []
    if rows is not None:
        edit = _edit(older, new, mask) if older.heads else None
        parts.append(recording.block(step.layer, rows, fresh=0, edit=edit, last_only=last_only))
    unchanged = recording.final if last_only else recording.entering(step.layer + 1)
    begun = unchanged[:, None].expand(-1, step.fresh, -1, -1)
    # What the last block writes before the last position of the prompts is not read.
    if not last_only or recording.first == recording.continued.length - 1:
        edit = _edit(fresh, new[:, :1], mask[:, :1])
        changed = recording.block(step.layer, None, fresh=step.fresh, edit=edit, last_only=last_only, width=1)
        begun = torch.cat([changed, begun[:, :, 1:].to(changed.device)], 2)
    parts.append(begun)
    return torch.cat([part.to(begun.device) for part in parts], 1)


def _edit(step: Step, new: Z, mask: Bool[Tensor, "prompt pos"]) -> RowEdit:
    rows, heads = torch.tensor(step.rows), torch.tensor(step.heads)
    everywhere = bool(mask.all())

    def edit(z: Tensor) -> Tensor:
        row, head = rows.to(z.device), heads.to(z.device)
        width = z.shape[2]
        values = new[:, -width:].to(z.device, z.dtype)[:, :, head].movedim(2, 0)
        if not everywhere:
            replaces = mask[:, -width:].to(z.device)[None, ..., None]
            values = torch.where(replaces, values, z[:, row, :, head])
        z[:, row, :, head] = values
        return z

    return edit


def rest_of_residual(
    recording: Recording, residual: Float[Tensor, "prompt set later d_model"], *, ranked: bool = True
) -> Rest:
    """Rest `[prompt * set]` of residual streams after the last block, at the positions behind the prompts."""
    of_prompts = recording.continued.predicted.transpose(0, 1).to(residual.device)  # [prompt, branch, step]
    of_rows = of_prompts.repeat_interleave(residual.shape[1], 0)
    flat = residual.flatten(0, 2)
    size = readouts(recording.logits.shape[1])

    def score(places: Int[Tensor, " place"], tokens: Int[Tensor, " place"]) -> Scores:
        if not ranked and recording.reads_parts:
            parts = zip(places.split(_ROWS), tokens.split(_ROWS), strict=True)
            log_probs = torch.cat([recording.log_probs(flat[part], of_part) for part, of_part in parts])
            return log_probs, torch.zeros_like(log_probs)
        return logit_scores(lambda part: recording.read(flat[part]), places, tokens, at_a_time=size, ranked=ranked)

    return rest_of_scores(score, of_rows)
