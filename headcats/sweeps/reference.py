"""Held-out prompts that replacements are taken from: their mean by token role, or one of them per scored prompt."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headcats.errors import DataError
from headcats.models.adapter import HookedModel
from headcats.prompts.batch import Labels, PromptBatch
from headcats.statistics.random_streams import stream

Donors = Literal["another task", "another item"]
"""Whose z replaces that of a prompt: a prompt of another task, or one of the same task with another query."""

LEAST_PROMPTS_PER_ROLE = 16
_ROWS = 64
# Random stream, and two parts of the message where there are none.
_DONORS = {
    "another task": ("donors", "of another task", "add a task with inputs of the same length"),
    "another item": ("other items", "of the same task with another query", "give more reference prompts of this task"),
}


class UncoveredRoles(DataError):
    """Some scored prompts, by place in the batch, have a role that no suitable reference prompt shows often enough."""

    def __init__(self, message: str, prompts: Sequence[int]) -> None:
        super().__init__(message)
        self.prompts = tuple(prompts)


class Reference:
    """Reference prompts of one or several tasks.

    Means are taken per token role (`x1`, `y1`, `between_query`, ...), never by raw index: first over the prompts of a
    task, then over tasks with equal weight. A role counts for a task that shows it in at least 16 reference prompts.

    Attributes:
        batches: The prompts; `PromptBatch.task` says which task each belongs to.
        run: Whether the clean or the corrupted prompts are run.
        seed: Seed for the choice of one prompt per scored prompt.
        name: How results call this reference.
    """

    def __init__(
        self,
        batches: PromptBatch | Sequence[PromptBatch],
        *,
        run: Literal["clean", "corrupted"] = "clean",
        seed: int = 0,
        name: str = "given prompts",
    ) -> None:
        self.batches = (batches,) if isinstance(batches, PromptBatch) else tuple(batches)
        if not self.batches:
            raise DataError("A reference needs at least one prompt.")
        self.run, self.seed, self.name = run, seed, name
        # Tokens of a script have no roles; they can only be matched by index.
        self.by_index = any(batch.labels is None for batch in self.batches)
        # The last model's means: one reference may serve several models.
        self._means: tuple[Any, dict[int, dict[str, Tensor]]] = (None, {})
        self._index_means: tuple[Any, dict[int, Tensor]] = (None, {})
        self._counts: dict[str, int] = {}

    def mean(
        self,
        model: HookedModel,
        batch: PromptBatch,
        layer: int,
        mask: Bool[Tensor, "prompt all_pos"],
        *,
        first: int = 0,
    ) -> Float[Tensor, "prompt pos head d_head"]:
        """Mean z of a layer at the role of each masked token of `batch`, from position `first` on; zeros elsewhere.

        A role with fewer than 16 reference prompts in every task raises UncoveredRoles.
        """
        if self.by_index or batch.labels is None:
            return self._mean_by_index(model, batch, layer, first)
        if self._means[0] is not model.model:
            self._means = (model.model, self._role_means(model))
        means = self._means[1][layer]
        # Where the layer is, in a model that is spread over devices.
        device = next((mean.device for mean in means.values()), model.device)
        zero = torch.zeros(model.n_heads[layer], model.d_head[layer], dtype=model.dtype, device=device)
        rows, uncovered = list[Tensor](), dict[int, str]()
        for prompt, (labels, masked) in enumerate(zip(batch.labels, mask[:, first:].tolist(), strict=True)):
            tokens = list(zip(labels[first:], masked, strict=True))
            missing = [label for label, is_masked in tokens if is_masked and label not in means]
            if missing:
                uncovered[prompt] = missing[0]
            else:
                rows.append(torch.stack([means[label] if is_masked else zero for label, is_masked in tokens]))
        if uncovered:
            prompt, label = next(iter(uncovered.items()))
            raise UncoveredRoles(
                f"Token role {label!r} of {batch.keys[prompt]!r} occurs in {self._counts.get(label, 0)} reference "
                f"prompts ({self.name}); a mean needs at least {LEAST_PROMPTS_PER_ROLE} of one task "
                f"({len(uncovered)} of {len(batch)} prompts). Use positions='last', or more reference prompts.",
                list(uncovered),
            )
        return torch.stack(rows)

    def donors(
        self,
        model: HookedModel,
        batch: PromptBatch,
        mask: Bool[Tensor, "prompt all_pos"],
        *,
        first: int = 0,
        of: Donors = "another task",
    ) -> dict[int, Float[Tensor, "prompt pos head d_head"]]:
        """Per layer, z of one seeded reference prompt for each prompt of `batch`, at the same roles.

        At positions `first` and later, which must include the masked ones. Without roles, donors are other prompts at
        the same index, for `of="another item"` those with another query. A prompt all of whose roles no suitable
        reference prompt has raises UncoveredRoles.
        """
        if self.by_index or batch.labels is None:
            items = [item for source in self.batches for item in source.items]
            tokens = choose_by_index(self._tokens_by_index(batch), items, batch, seed=self.seed, of=of)
            return model.capture(tokens, first=first)[1]
        donor_rows = choose_by_role(self.batches, self._labels, batch, mask, seed=self.seed, of=of)
        z: dict[int, Tensor] = {}
        by_batch: dict[int, list[int]] = defaultdict(list)
        for prompt, (source, _) in enumerate(donor_rows):
            by_batch[source].append(prompt)
        for source, prompts in by_batch.items():
            donor_batch = self.batches[source].select([donor_rows[prompt][1] for prompt in prompts])
            places, sources = [], []
            for prompt, labels in zip(prompts, self._labels(donor_batch), strict=True):
                place_of = {label: place for place, label in enumerate(labels)}
                places.append([place for place in mask[prompt].nonzero().flatten().tolist() if place >= first])
                sources.append([place_of[batch.labels[prompt][place]] for place in places[-1]])
            # Earlier positions of the donors are not needed, and those of all prompts and layers take much memory.
            start = min((place for row in sources for place in row), default=donor_batch.length - 1)
            _, donor_z = model.capture(self._tokens(donor_batch), first=start)
            for layer, value in donor_z.items():
                z.setdefault(layer, value.new_zeros(len(batch), batch.length - first, *value.shape[2:]))
                for row, prompt in enumerate(prompts):
                    offsets = [place - first for place in places[row]]
                    z[layer][prompt, offsets] = value[row, [place - start for place in sources[row]]]
        return z

    def _tokens(self, batch: PromptBatch) -> Tensor:
        return batch.clean if self.run == "clean" else batch.corrupted

    def _labels(self, batch: PromptBatch) -> tuple[Labels, ...]:
        # Where only the last token aligns, the corrupted prompts have their roles at other places.
        labels = batch.labels if self.run == "clean" else batch.corrupted_labels
        if labels is None:
            raise DataError(
                f"Reference prompts ({self.name}) have no token roles in their {self.run} runs, the scored prompts "
                "have; build both the same way."
            )
        return labels

    def _role_means(self, model: HookedModel) -> dict[int, dict[str, Tensor]]:
        by_task: dict[str, list[PromptBatch]] = defaultdict(list)
        for batch in self.batches:
            by_task[batch.task].append(batch)
        of_tasks: dict[int, dict[str, list[Tensor]]] = {layer: defaultdict(list) for layer in model.layers}
        for batches in by_task.values():
            sums, counts = _role_sums(model, [(self._tokens(batch), self._labels(batch)) for batch in batches])
            for label, count in counts.items():
                self._counts[label] = max(self._counts.get(label, 0), count)
                if count >= LEAST_PROMPTS_PER_ROLE:
                    for layer in model.layers:
                        of_tasks[layer][label].append(sums[layer][label] / count)
        return {
            layer: {label: torch.stack(means).mean(0).to(model.dtype) for label, means in labels.items()}
            for layer, labels in of_tasks.items()
        }

    def _tokens_by_index(self, batch: PromptBatch) -> Tensor:
        if (lengths := {source.length for source in self.batches}) != {batch.length}:
            raise DataError(
                f"Reference prompts have {sorted(lengths)} tokens and the scored prompts {batch.length}; without token "
                "roles both must be equally long."
            )
        return torch.cat([self._tokens(source) for source in self.batches])

    def _mean_by_index(self, model: HookedModel, batch: PromptBatch, layer: int, first: int) -> Tensor:
        key = (model.model, batch.length, first)
        if self._index_means[0] != key:
            tokens = self._tokens_by_index(batch)
            sums: dict[int, Tensor] = {}
            for part in tokens.split(_ROWS):
                for of, z in model.capture(part, first=first)[1].items():
                    # Apple's processors have no fp64.
                    total = (z.cpu() if z.device.type == "mps" else z).double().sum(0)
                    sums[of] = sums[of] + total if of in sums else total
            self._index_means = key, {of: (total / len(tokens)).to(model.dtype) for of, total in sums.items()}
        mean = self._index_means[1][layer]
        return mean.expand(len(batch), *mean.shape)


def as_reference(reference: "Reference | PromptBatch | Sequence[PromptBatch] | None", batch: PromptBatch) -> Reference:
    """The reference that was given, or the batch's own clean prompts, matched by index."""
    if reference is None:
        return Reference(batch.without_roles(), name="this batch's clean prompts, same position")
    return reference if isinstance(reference, Reference) else Reference(reference)


def _role_sums(
    model: HookedModel, runs: list[tuple[Tensor, tuple[Labels, ...]]]
) -> tuple[dict[int, dict[str, Tensor]], dict[str, int]]:
    """Per layer and role, the sum of z over all tokens of that role, and the number of such tokens."""
    counts: Counter[str] = Counter()
    sums: dict[int, dict[str, Tensor]] = {layer: {} for layer in model.layers}
    for tokens, roles in runs:
        for start in range(0, len(tokens), _ROWS):
            rows = slice(start, start + _ROWS)
            _, z = model.capture(tokens[rows])
            labels = [label for prompt_labels in roles[rows] for label in prompt_labels]
            names = list(dict.fromkeys(labels))
            index = torch.tensor([names.index(label) for label in labels])
            counts.update(labels)
            for layer, value in z.items():
                flat = value.flatten(0, 1).float()
                total = flat.new_zeros(len(names), *flat.shape[1:]).index_add_(0, index.to(flat.device), flat)
                for label, part in zip(names, total, strict=True):
                    sums[layer][label] = sums[layer][label] + part if label in sums[layer] else part
    return sums, dict(counts)


def choose_by_role(
    batches: Sequence[PromptBatch],
    labels_of: Callable[[PromptBatch], tuple[Labels, ...]],
    batch: PromptBatch,
    mask: Bool[Tensor, "prompt pos"],
    *,
    seed: int,
    of: Donors,
) -> list[tuple[int, int]]:
    """A seeded donor (number of its batch, row) for each prompt of `batch`, among those with all its masked roles."""
    assert batch.labels is not None
    by_roles: dict[frozenset[str], list[tuple[int, int]]] = {}
    draws = stream(seed, batch.task, _DONORS[of][0])
    donors, uncovered = list[tuple[int, int]](), list[int]()
    for prompt, labels in enumerate(batch.labels):
        needed = frozenset(labels[place] for place in mask[prompt].nonzero().flatten().tolist())
        if needed not in by_roles:
            by_roles[needed] = [
                (number, row)
                for number, source in enumerate(batches)
                if (source.task == batch.task) == (of == "another item")
                for row, source_labels in enumerate(labels_of(source))
                if needed <= set(source_labels)
            ]
        candidates = by_roles[needed]
        if of == "another item":
            candidates = [(k, row) for k, row in candidates if batches[k].items[row] != batch.items[prompt]]
        if candidates:
            donors.append(candidates[draws.integers(len(candidates))])
        else:
            uncovered.append(prompt)
    _check_covered(batch, uncovered, of)
    return donors


def choose_by_index(
    tokens: Int[Tensor, "donor pos"], items: Sequence[str], batch: PromptBatch, *, seed: int, of: Donors
) -> Int[Tensor, "prompt pos"]:
    """Tokens of a seeded donor for each prompt of `batch`: one with another query, or any; the batch's own prompts are
    donors of one another, none of itself.
    """
    draws = stream(seed, batch.task, _DONORS[of][0])
    if of == "another item":
        words = np.array(items)
        candidates = [np.flatnonzero(words != item) for item in batch.items]
        _check_covered(batch, [prompt for prompt, rows in enumerate(candidates) if not len(rows)], of)
        return tokens[torch.tensor([int(rows[draws.integers(len(rows))]) for rows in candidates])]
    if torch.equal(tokens, batch.clean):
        return tokens[_derangement(len(batch), draws)]
    return tokens[torch.from_numpy(draws.integers(len(tokens), size=len(batch)))]


def _check_covered(batch: PromptBatch, uncovered: list[int], of: Donors) -> None:
    _, whose, advice = _DONORS[of]
    if uncovered:
        raise UncoveredRoles(
            f"{batch.keys[uncovered[0]]!r}: no reference prompt {whose} has the same token roles "
            f"({len(uncovered)} of {len(batch)} prompts). Use positions='last', or {advice}.",
            uncovered,
        )


def _derangement(n: int, draws: np.random.Generator) -> list[int]:
    if n < 2:
        raise DataError("Resampling within a batch needs at least 2 prompts.")
    shift = int(draws.integers(1, n))
    order = draws.permutation(n).tolist()
    place = {prompt: number for number, prompt in enumerate(order)}
    return [order[(place[prompt] + shift) % n] for prompt in range(n)]
