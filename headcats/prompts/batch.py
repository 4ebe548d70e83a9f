"""Tokens of prompt pairs of one length, the input of every sweep."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headcats.errors import DataError

Labels = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PromptBatch:
    """Clean and corrupted prompts of equal length, never padded.

    Attributes:
        clean: Token ids of the clean prompts, `[prompt, pos]`.
        corrupted: Token ids of the corrupted prompts, `[prompt, pos]`.
        answer: First token id of the right continuation of the clean prompt, `[prompt]`.
        distractor: First token id of what the corrupted prompt suggests instead, `[prompt]`.
        keys: Name of each prompt, for messages.
        items: Query of each prompt; prompts of one item are one statistical cluster.
        distractor_tasks: Task that each corrupted prompt demonstrates; a stratum of the statistics.
        labels: Per clean prompt, the role of every token (`x1`, `between1`, `y1`, ...; `x1[0/3]` if three tokens share
            a role); None if roles are unknown, then positions are matched by index.
        corrupted_labels: The same for the corrupted prompts.
        task: Name of the task, "" for a script's tokens.
        second: Token ids of a second, independent corruption of every prompt; None if no prompt has one.
        second_tasks: Task that each second corruption demonstrates; "" for a prompt without one, whose row of `second`
            repeats the corrupted tokens. None if `second` is.
        answer_rest: Token ids of the answers after their first, `[prompt, rest]`; -1 behind the end of an answer. None
            if no answer and no distractor of the batch has more than one token.
        distractor_rest: The same of the distractors.

    Raises:
        DataError: Shapes or lengths that do not match, or answer and distractor that begin with the same token.

    Example:
        >>> import headcats as hc
        >>> (batch,) = hc.task_prompts("mini", "country_capital", n_prompts=4)
        >>> len(batch), batch.length, batch.clean.shape
        (4, 23, torch.Size([4, 23]))
        >>> batch.labels[0][:5]
        ('bos', 'x1', 'between1', 'y1', 'after1')
        >>> batch.positions("y1").sum(1)  # one token of every prompt has that role
        tensor([1, 1, 1, 1])
        >>> batch.select([0, 2]).items == batch.items[::2]
        True
    """

    # Unchecked axes (`_prompt`): `_check` reports shapes that do not match with a better message.
    clean: Int[Tensor, "prompt pos"]
    corrupted: Int[Tensor, "_prompt _pos"]
    answer: Int[Tensor, " _prompt"]
    distractor: Int[Tensor, " _prompt"]
    keys: tuple[str, ...]
    items: tuple[str, ...]
    distractor_tasks: tuple[str, ...]
    labels: tuple[Labels, ...] | None = None
    corrupted_labels: tuple[Labels, ...] | None = None
    task: str = ""
    second: Int[Tensor, "_prompt _pos"] | None = None
    second_tasks: tuple[str, ...] | None = None
    answer_rest: Int[Tensor, "_prompt _rest"] | None = None
    distractor_rest: Int[Tensor, "_prompt _rest"] | None = None

    def __post_init__(self) -> None:
        _check(self)

    def __len__(self) -> int:
        return self.clean.shape[0]

    @property
    def length(self) -> int:
        """Tokens per prompt."""
        return self.clean.shape[1]

    @classmethod
    def from_tokens(
        cls,
        clean: Any,
        corrupted: Any,
        answer: Any,
        distractor: Any,
        *,
        items: Sequence[str] | None = None,
        distractor_tasks: Sequence[str] | None = None,
        second: Any = None,
    ) -> "PromptBatch":
        """A batch from a script's own token ids (tensors, arrays or nested lists), without roles.

        For the prompts of a task, with roles, use `hc.task_prompts`.

        Args:
            clean: `[prompt, pos]` ids.
            corrupted: `[prompt, pos]` ids of the same shape.
            answer: `[prompt]` ids.
            distractor: `[prompt]` ids, different from `answer` prompt by prompt.
            items: Query of each prompt; default: every prompt is its own item.
            distractor_tasks: Stratum of each prompt; default: one stratum.
            second: `[prompt, pos]` ids of a second corruption, for methods that read it. A row that repeats the
                corrupted prompt means that this prompt has none.

        Returns:
            The batch; its prompts are called "prompt 0", "prompt 1", ...

        Example:
            >>> import headcats as hc
            >>> batch = hc.PromptBatch.from_tokens([[0, 10, 3, 11]], [[0, 10, 3, 12]], [20], [21])
            >>> batch.keys, batch.clean.shape
            (('prompt 0',), torch.Size([1, 4]))
        """
        clean_ids = _ids("clean", clean, "[prompt, pos]")
        corrupted_ids = _ids("corrupted", corrupted, "[prompt, pos]")
        n = len(clean_ids)
        keys = tuple(f"prompt {number}" for number in range(n))
        return cls(
            clean=clean_ids,
            corrupted=corrupted_ids,
            answer=_ids("answer", answer, "[prompt]"),
            distractor=_ids("distractor", distractor, "[prompt]"),
            keys=keys,
            items=keys if items is None else tuple(map(str, items)),
            distractor_tasks=("corrupted",) * n if distractor_tasks is None else tuple(map(str, distractor_tasks)),
            **_second(corrupted_ids, second),
        )

    def select(self, prompts: Sequence[int]) -> "PromptBatch":
        """A batch of these prompts, in this order.

        Args:
            prompts: Indices of prompts.
        """
        index = torch.as_tensor(list(prompts), dtype=torch.long)

        def pick(value: Any) -> Any:
            if isinstance(value, Tensor):
                return value[index.to(value.device)]
            return tuple(value[i] for i in prompts) if isinstance(value, tuple) else value

        return PromptBatch(**{f.name: pick(getattr(self, f.name)) for f in fields(self)})

    def in_parts(self, *, max_tokens: int = 4096) -> list["PromptBatch"]:
        """The same prompts in the same order, as batches of at most `max_tokens` tokens, or of one prompt.

        Args:
            max_tokens: Largest number of tokens of a part.
        """
        size = max(1, max_tokens // self.length)
        return [self.select(range(start, min(start + size, len(self)))) for start in range(0, len(self), size)]

    def lacks_second(self) -> list[int]:
        """Indices of the prompts without a second corruption."""
        return [index for index, task in enumerate(self.second_tasks or [""] * len(self)) if not task]

    def without_roles(self) -> "PromptBatch":
        """The same tokens without roles: positions are matched by index."""
        return replace(self, labels=None, corrupted_labels=None)

    def misaligned(self) -> list[str]:
        """Keys of prompts whose roles cover other positions in the clean than in the corrupted prompt."""
        if self.labels is None or self.corrupted_labels is None:
            return []
        pairs = zip(self.keys, self.labels, self.corrupted_labels, strict=True)
        return [key for key, clean, corrupted in pairs if clean != corrupted]

    @property
    def roles(self) -> tuple[Labels, ...]:
        """The role of every token, per clean prompt: `labels`, or without them "end", the last token, and "other"."""
        return self.labels or (("other",) * (self.length - 1) + ("end",),) * len(self)

    def positions(self, positions: str) -> Bool[Tensor, "prompt pos"]:
        """Mask of the tokens at the given positions.

        Args:
            positions: "last", "all", or a role such as "y1" or "x_query" (every token of that role). Prompts without
                roles have "end", the last token, and "other".

        Raises:
            DataError: A role that a prompt lacks, or, unless "last", prompts whose roles do not align.
        """
        mask = torch.zeros_like(self.clean, dtype=torch.bool)
        if positions == "last":
            mask[:, -1] = True
            return mask
        if keys := self.misaligned():
            raise DataError(
                f"Positions {positions!r} need roles that align between the clean and the corrupted prompt; they do "
                f"not in {keys[0]!r} ({len(keys)} of {len(self)} prompts). Use positions='last', or drop these prompts."
            )
        if positions == "all":
            return ~mask
        for row, labels in enumerate(self.roles):
            roles = [label.split("[")[0] for label in labels]
            if positions not in roles:
                raise DataError(
                    f"{self.keys[row]!r} has no role {positions!r}; its roles: "
                    f"last, all, {', '.join(dict.fromkeys(roles))}."
                )
            mask[row] = torch.tensor([role == positions for role in roles])
        return mask

    def fingerprint(self) -> str:
        """Hash of tokens, answers, items, strata, roles and task: equal batches, equal numbers."""
        words = (self.items, self.distractor_tasks, self.labels, self.corrupted_labels, self.task)
        return _hash((self.clean, self.corrupted, self.answer, self.distractor), words)

    def second_fingerprint(self) -> str:
        """Hash of the second corruptions, which `fingerprint` ignores."""
        return _hash(() if self.second is None else (self.second,), self.second_tasks)


def is_last_alone(mask: Bool[Tensor, "prompt pos"]) -> bool:
    """Whether a mask of positions holds the last one alone."""
    return not mask[:, :-1].any()


def _hash(tensors: Sequence[Tensor], words: Any) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for ids in tensors:
        digest.update(repr(tuple(ids.shape)).encode())
        digest.update(ids.to("cpu", torch.int64).contiguous().numpy().tobytes())
    digest.update(repr(words).encode("utf-8"))
    return digest.hexdigest()


def _second(corrupted: Tensor, second: Any) -> dict[str, Any]:
    """The fields `second` and `second_tasks`, none if no prompt has a second corruption."""
    if second is None:
        return {}
    ids = _ids("second", second, "[prompt, pos]")
    if ids.shape != corrupted.shape:
        return {"second": ids, "second_tasks": ("second",) * len(ids)}  # refused by `_check`
    differs = (ids != corrupted.to(ids.device)).any(1).tolist()
    return {"second": ids, "second_tasks": tuple("second" if row else "" for row in differs)} if any(differs) else {}


def _ids(name: str, value: Any, axes: str) -> Tensor:
    try:
        tensor = torch.as_tensor(value)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} token ids must form a rectangular array of integers: {error}") from None
    if tensor.ndim != len(axes.split()) or not tensor.numel():
        raise DataError(f"{name} token ids must be {axes} with at least one entry; got shape {tuple(tensor.shape)}.")
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        raise DataError(f"{name} token ids must be integers; got {tensor.dtype}.")
    return tensor.to(torch.int64)


def _check(batch: PromptBatch) -> None:
    shape = tuple(batch.clean.shape)
    if batch.clean.ndim != 2 or 0 in shape:
        raise DataError(f"clean tokens must be [prompt, pos] with at least one prompt and one token; got {shape}.")
    if (batch.second is None) != (batch.second_tasks is None):
        raise DataError("second and second_tasks belong together: give both, or neither.")
    for name in ("corrupted", "second"):
        value = getattr(batch, name)
        if value is not None and tuple(value.shape) != shape:
            raise DataError(
                f"{name} prompts must have the same shape [prompt, pos] as the clean ones, {shape}; got "
                f"{tuple(value.shape)}. Group prompts by length instead of padding."
            )
    for name in ("answer", "distractor"):
        if (actual := tuple(getattr(batch, name).shape)) != shape[:1]:
            raise DataError(f"{name} must hold one id per prompt [{shape[0]}]; got {actual}.")
    for name in ("keys", "items", "distractor_tasks", "labels", "corrupted_labels", "second_tasks"):
        value = getattr(batch, name)
        if value is not None and len(value) != shape[0]:
            raise DataError(f"{name} must hold one entry per prompt: {shape[0]} prompts, {len(value)} entries.")
    same = (batch.answer == batch.distractor).nonzero().flatten().tolist()
    if same:
        raise DataError(
            f"{batch.keys[same[0]]!r}: answer and distractor are the same token {int(batch.answer[same[0]])} "
            f"({len(same)} of {shape[0]} prompts); the logit difference would always be 0."
        )
