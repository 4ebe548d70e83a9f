"""Held-out prompts that replacements are taken from: their mean, or one of them per scored prompt."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headcats.base.errors import DataError
from headcats.models.adapter import HookedModel
from headcats.models.continued import PADDING
from headcats.prompts.batch import PromptBatch
from headcats.prompts.packing import LATER_TOKEN, Labels, Side, is_at_last, packed_roles
from headcats.results.records import LEAST_PROMPTS_PER_ROLE
from headcats.sweeps.donors import Donors, UncoveredRoles, all_covered, choose_by_role, choose_without_roles, same_role
from headcats.sweeps.role_sums import ROWS, RoleSource, role_sums

# As roles: a token without any, and what fills up behind an answer that is shorter than others of its batch.
_NO_ROLE, _BEHIND = "\0none", "\0behind"


class Reference:
    """Reference prompts of one or several tasks, in batches that may be filled up in front.

    The last token of a prompt is matched with the last tokens of the reference prompts. Other tokens are matched by
    their role (`x1`, `y1`, `between_query`, ...); where one side has no roles at all, by index, which takes prompts of
    one length.

    Means are taken first over the prompts of a task, then over tasks with equal weight. A role, or the last token,
    counts for a task that shows it in at least 16 reference prompts; where one side has no roles at all, every
    reference prompt counts alike. Behind a prompt, tokens of an answer or a distractor are matched with the mean of all
    those of the reference prompts' own answers. `run` says which prompts are run, `seed` draws donors, `name` stands in
    results.
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
        self.has_roles = any(batch.labels is not None for batch in self.batches)
        # The last model's means: one reference may serve several models.
        self._means: tuple[Any, dict[int, dict[str, Tensor]]] = (None, {})
        self._index_means: tuple[Any, dict[int, Tensor]] = (None, {})
        self._last_means: tuple[Any, dict[int, Tensor]] = (None, {})
        self._counts: dict[str, int] = {}

    def copied(self) -> "Reference":
        """Copy with batches and means of its own: what is written into them changes no other method's numbers."""
        batches = [batch.select(range(len(batch))) for batch in self.batches]
        return Reference(batches, run=self.run, seed=self.seed, name=self.name)

    def mean(
        self,
        model: HookedModel,
        batch: PromptBatch,
        layer: int,
        mask: Bool[Tensor, "prompt all_pos"],
        *,
        first: int = 0,
        side: Side = "clean",
    ) -> Float[Tensor, "prompt pos head d_head"]:
        """Mean z of a layer at what each masked token of a side of `batch` is matched with, from position `first` on.

        Other tokens have zeros, or any value. UncoveredRoles for a role that no task shows in 16 reference prompts.
        """
        if batch.labels is None or not self.has_roles:
            return self._mean_by_index(model, batch, layer, mask, first)
        if is_at_last(batch, mask):
            mean = self._last_mean(model, batch, layer)
            return mean.expand(len(batch), mask.shape[1] - first, *mean.shape)
        if self._means[0] is not model.model:
            self._means = (model.model, self._role_means(model))
        means = self._means[1][layer]
        # Where the layer is, in a model that is spread over devices.
        device = next(iter(means.values())).device if means else model.device
        zero = torch.zeros(model.n_heads[layer], model.d_head[layer], dtype=model.dtype, device=device)
        rows, uncovered, roles = list[Tensor](), dict[int, str](), packed_roles(batch, of=side)
        for prompt, (labels, masked) in enumerate(zip(roles, mask[:, first:].tolist(), strict=True)):
            tokens = list(zip(labels[first:], masked, strict=True))
            missing = [label for label, is_masked in tokens if is_masked and label not in means]
            if missing:
                uncovered[prompt] = missing[0]
            else:
                rows.append(torch.stack([means[label] if is_masked else zero for label, is_masked in tokens]))
        if uncovered:
            prompt, label = next(iter(uncovered.items()))
            advice = "Use positions='last' (METHOD@last), or more reference prompts."
            raise self._uncovered(f"Token role {label!r}", self._counts.get(label, 0), batch, list(uncovered), advice)
        return torch.stack(rows)

    def _last_mean(self, model: HookedModel, batch: PromptBatch, layer: int) -> Tensor:
        if self._last_means[0] is not model.model:
            self._last_means = model.model, self._means_at_last(model)
        if not self._last_means[1]:
            most = max(Counter(task for each in self.batches for task in [each.task] * len(each)).values())
            prompts, advice = list(range(len(batch))), "Give the tasks more prompts."
            raise self._uncovered("The last token", most, batch, prompts, advice)
        return self._last_means[1][layer]

    def _means_at_last(self, model: HookedModel) -> dict[int, Tensor]:
        """Layer -> mean z `[head, d_head]` at the last tokens, over tasks that have enough prompts for a mean."""
        by_task: dict[str, list[PromptBatch]] = defaultdict(list)
        for batch in self.batches:
            by_task[batch.task].append(batch)
        of_tasks: dict[int, list[Tensor]] = defaultdict(list)
        for task in sorted(by_task):  # the order of a sum decides how it is rounded
            n_prompts = sum(map(len, by_task[task]))
            if n_prompts >= LEAST_PROMPTS_PER_ROLE:
                for layer, total in _summed(model, map(self._tokens, by_task[task]), first=-1).items():
                    of_tasks[layer].append(total[0] / n_prompts)
        means = {layer: torch.stack(means).mean(0) for layer, means in of_tasks.items()}
        places = {layer: model.device if mean.device.type == "cpu" else mean.device for layer, mean in means.items()}
        return {layer: mean.to(places[layer], model.dtype) for layer, mean in means.items()}

    def _uncovered(self, token: str, count: int, batch: PromptBatch, prompts: list[int], advice: str) -> UncoveredRoles:
        return UncoveredRoles(
            f"{token} of {batch.keys[prompts[0]]!r} occurs in {count} reference prompts ({self.name}); a mean needs at "
            f"least {LEAST_PROMPTS_PER_ROLE} of one task ({len(prompts)} of {len(batch)} prompts). {advice}",
            prompts,
        )

    def donors(
        self,
        model: HookedModel,
        batch: PromptBatch,
        mask: Bool[Tensor, "prompt all_pos"],
        *,
        first: int = 0,
        of: Donors = "another task",
        side: Side = "clean",
    ) -> dict[int, Float[Tensor, "prompt pos head d_head"]]:
        """Per layer, z of one seeded reference prompt for each prompt of `batch`, at what the masked tokens match.

        At positions `first` and later, which must include the masked ones; zeros elsewhere. UncoveredRoles for a prompt
        without donor.
        """
        by_role, at_last = batch.labels is not None and self.has_roles, is_at_last(batch, mask)
        if not by_role and not at_last:
            self._check_one_length(batch)
        roles_of_donors = [self._answered(source, at_last)[1] for source in self.batches] if by_role else []
        chosen = (
            choose_by_role(self.batches, roles_of_donors, batch, mask, seed=self.seed, of=of, side=side)
            if by_role
            else choose_without_roles(self.batches, batch, own=self._is(batch), seed=self.seed, of=of)
        )
        donor_rows = all_covered(batch, chosen, of, roles=by_role and not at_last)
        z: dict[int, Tensor] = {}
        by_batch: dict[int, list[int]] = defaultdict(list)
        for prompt, (source, _) in enumerate(donor_rows):
            by_batch[source].append(prompt)
        for source, prompts in by_batch.items():
            donor_batch = self.batches[source].select([donor_rows[prompt][1] for prompt in prompts])
            places = [
                [place for place in mask[prompt].nonzero().flatten().tolist() if place >= first] for prompt in prompts
            ]
            donor_tokens, donor_labels = self._answered(donor_batch, at_last)
            last = self._tokens(donor_batch).shape[1] - 1
            sources = [[last] * len(row) for row in places] if at_last else places
            if by_role and not at_last:
                roles, steps = packed_roles(batch, of=side), batch.steps
                begin = mask.shape[1] - 2 * steps
                sources = [
                    [
                        same_role(roles[prompt], place, labels, step=max(0, place - begin) % max(1, steps))
                        for place in row
                    ]
                    for prompt, row, labels in zip(prompts, places, donor_labels, strict=True)
                ]
            # Earlier positions of the donors are not needed, and those of all prompts and layers take much memory.
            start = min((place for row in sources for place in row), default=last)
            for layer, value in model.capture(donor_tokens, first=start)[1].items():
                z.setdefault(layer, value.new_zeros(len(batch), mask.shape[1] - first, *value.shape[2:]))
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

    def _answered(self, batch: PromptBatch, at_last: bool) -> tuple[Tensor, tuple[Labels, ...]]:
        """Tokens of reference prompts, each followed by its own answer but for its last token, and their roles."""
        tokens = self._tokens(batch)
        without = at_last or batch.labels is None
        roles = ((_NO_ROLE,) * tokens.shape[1],) * len(batch) if without else self._labels(batch)
        if batch.answer_rest is None or at_last:
            return tokens, roles
        followed = batch.continued(self.run)
        is_there = (followed.predicted[0] >= 0).tolist()
        later = [tuple(LATER_TOKEN if there else _BEHIND for there in row) for row in is_there]
        together = tuple((*labels, *more) for labels, more in zip(roles, later, strict=True))
        return followed.rows[: len(batch)], together

    def _role_means(self, model: HookedModel) -> dict[int, dict[str, Tensor]]:
        by_task: dict[str, list[RoleSource]] = defaultdict(list)
        for batch in self.batches:
            tokens, roles = self._answered(batch, at_last=False)
            by_task[batch.task].append((tokens, roles))
        of_tasks: dict[int, dict[str, list[Tensor]]] = {layer: defaultdict(list) for layer in model.layers}
        for task in sorted(by_task):  # the order of a sum decides how it is rounded
            sums, n_tokens, n_prompts = role_sums(model, by_task[task])
            for label, count in n_prompts.items():
                self._counts[label] = max(self._counts.get(label, 0), count)
                if count >= LEAST_PROMPTS_PER_ROLE:
                    for layer in model.layers:
                        of_tasks[layer][label].append(sums[layer][label] / n_tokens[label])
        return {
            layer: {label: torch.stack(means).mean(0).to(model.dtype) for label, means in labels.items()}
            for layer, labels in of_tasks.items()
        }

    def _check_one_length(self, batch: PromptBatch) -> None:
        if batch.answer_rest is not None:
            raise DataError(
                "Without token roles only the last tokens of prompts can be matched where answers have several tokens. "
                "Use positions='last' (as METHOD@last), or give every prompt roles (PromptPair.roles)."
            )
        lengths = {n for source in self.batches for n in (self._tokens(source) != PADDING).sum(1).tolist()}
        if lengths != {batch.length}:
            raise DataError(
                f"Reference prompts have {sorted(lengths)} tokens and the scored prompts {batch.length}; without token "
                "roles only their last tokens can be matched. Use positions='last' (as METHOD@last), or give every "
                "prompt roles (PromptPair.roles)."
            )

    def _is(self, batch: PromptBatch) -> bool:
        """True if the prompts of a batch are the reference."""
        lengths = {source.length for source in self.batches}
        return lengths == {batch.length} and torch.equal(torch.cat(list(map(self._tokens, self.batches))), batch.clean)

    def _mean_by_index(
        self, model: HookedModel, batch: PromptBatch, layer: int, mask: Bool[Tensor, "prompt all_pos"], first: int
    ) -> Tensor:
        at_last = is_at_last(batch, mask)
        key = (model.model, None if at_last else (batch.length, first))
        if self._index_means[0] != key:
            if not at_last:
                self._check_one_length(batch)
            by_length: dict[int, list[Tensor]] = defaultdict(list)
            for source in self.batches:
                by_length[source.length].append(self._tokens(source))
            sums = _summed(model, map(torch.cat, by_length.values()), first=-1 if at_last else first)
            n = sum(map(len, self.batches))
            self._index_means = key, {of: (total / n).to(model.dtype) for of, total in sums.items()}
        mean = self._index_means[1][layer]
        return mean.expand(len(batch), mask.shape[1] - first if at_last else len(mean), *mean.shape[1:])


def _summed(model: HookedModel, prompts: Iterable[Tensor], *, first: int) -> dict[int, Tensor]:
    """Layer -> z `[pos, head, d_head]` from position `first` on, summed over prompts, in fp64."""
    sums: dict[int, Tensor] = {}
    for tokens in prompts:
        for part in tokens.split(ROWS):
            for layer, z in model.capture(part, first=first)[1].items():
                # Apple's processors have no fp64.
                total = (z.cpu() if z.device.type == "mps" else z).double().sum(0)
                sums[layer] = sums[layer] + total if layer in sums else total
    return sums


def given_reference(given: Reference | PromptBatch | Sequence[PromptBatch] | None, batch: PromptBatch) -> Reference:
    """The reference of a sweep: what was given, or the clean prompts of its batch."""
    if given is None:
        return Reference(batch.without_roles(), name="this batch's clean prompts, same position")
    return given if isinstance(given, Reference) else Reference(given)
