"""Tokens of prompt pairs of one length, the input of every sweep."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headcats.models.continued import Continued
from headcats.prompts.batch_checks import check_batch
from headcats.prompts.from_script import fields_of_texts, fields_of_tokens
from headcats.prompts.packing import Labels, Side, continued_prompts, mask_of, whole_answers


@dataclass(frozen=True, eq=False)
class PromptBatch:
    """Clean prompts of one length and corrupted prompts of one length; within a study they may be filled up in front.

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
        second_labels: Roles of the second corruptions; None takes `corrupted_labels`.
        answer_rest: Token ids of the answers after their first, `[prompt, rest]`, then -1; None if each answer is one.
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

    # Unchecked axes (`_prompt`): `check_batch` reports shapes that do not match with a better message.
    clean: Int[Tensor, "prompt pos"]
    corrupted: Int[Tensor, "_prompt _corrupted_pos"]
    answer: Int[Tensor, " _prompt"]
    distractor: Int[Tensor, " _prompt"]
    keys: tuple[str, ...]
    items: tuple[str, ...]
    distractor_tasks: tuple[str, ...]
    labels: tuple[Labels, ...] | None = None
    corrupted_labels: tuple[Labels, ...] | None = None
    task: str = ""
    second: Int[Tensor, "_prompt _second_pos"] | None = None
    second_tasks: tuple[str, ...] | None = None
    second_labels: tuple[Labels, ...] | None = None
    answer_rest: Int[Tensor, "_prompt _rest"] | None = None
    distractor_rest: Int[Tensor, "_prompt _rest"] | None = None

    def __post_init__(self) -> None:
        check_batch(self)

    def __len__(self) -> int:
        return self.clean.shape[0]

    @property
    def length(self) -> int:
        """Tokens of a clean prompt."""
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
        labels: Sequence[str] | Sequence[Sequence[str]] | None = None,
    ) -> "PromptBatch":
        """A batch from a script's own token ids (tensors, arrays or nested lists).

        For the prompts of a task, with roles, use `hc.task_prompts`.

        Args:
            clean: `[prompt, pos]` ids.
            corrupted: `[prompt, pos]` ids of as many prompts, which may have another length: then they can be patched
                at their last token.
            answer: `[prompt]` ids; of answers of several tokens `[prompt, token]`, or a list of lists of any lengths.
            distractor: The same; its first token differs from that of the answer, prompt by prompt. Tokens with which
                both begin belong to the prompts.
            items: Query of each prompt; default: every prompt is its own item.
            distractor_tasks: Stratum of each prompt; default: one stratum.
            second: `[prompt, pos]` ids of a second corruption, for methods that read it. A row that repeats the
                corrupted prompt means that this prompt has none.
            labels: The role of every token, once for all prompts or prompt by prompt: of clean and corrupted prompts
                of one length, in both at the same places. Tokens may share a role.

        Returns:
            The batch; its prompts are called "prompt 0", "prompt 1", ...

        Raises:
            DataError: No such ids or labels, or as `PromptBatch`.

        Example:
            >>> import headcats as hc
            >>> roles = ["bos", "x1", "other", "x1"]
            >>> batch = hc.PromptBatch.from_tokens([[0, 10, 3, 11]], [[0, 10, 3, 12]], [20], [21], labels=roles)
            >>> batch.keys, batch.clean.shape, batch.labels
            (('prompt 0',), torch.Size([1, 4]), (('bos', 'x1[0/2]', 'other', 'x1[1/2]'),))
            >>> batch.positions("x1").tolist()
            [[False, True, False, True]]
        """
        sides, answers = {"clean": clean, "corrupted": corrupted}, {"answer": answer, "distractor": distractor}
        options = {"items": items, "distractor_tasks": distractor_tasks, "second": second, "labels": labels}
        return cls(**fields_of_tokens(sides, answers=answers, **options))

    @classmethod
    def from_texts(
        cls,
        model: Any,
        clean: str | Sequence[str],
        corrupted: str | Sequence[str],
        answer: str | Sequence[str],
        distractor: str | Sequence[str],
        *,
        items: Sequence[str] | None = None,
    ) -> "PromptBatch":
        r"""A batch from texts, as a notebook writes them; in front stands what the tokenizer writes, else its BOS.

        Answers begin with the space before them; tokens with which both begin are moved to the end of the prompts.

        Args:
            model: The model, for its tokenizer, or the tokenizer.
            clean: Clean prompts, all of one number of tokens; one text for one prompt, as everywhere here.
            corrupted: As many corrupted prompts, of one number of tokens too.
            answer: The right continuation of each clean prompt.
            distractor: What the corrupted prompt suggests instead.
            items: Query of each prompt; default: every prompt is its own item.

        Returns:
            The batch, without roles; its prompts are called "prompt 0", "prompt 1", ...

        Raises:
            DataError: Texts of several lengths in tokens, or a prompt that cannot be scored; it is named, with why.
            ModelError: A model without a tokenizer.

        Example:
            >>> import headcats as hc
            >>> model = hc.load_model("mini")
            >>> clean, corrupted = "hot → cold\nbig →", "hot → heiß\nbig →"
            >>> batch = hc.PromptBatch.from_texts(model, clean, corrupted, " small", " groß")
            >>> batch.clean.shape, model.tokenizer.decode(batch.answer)
            (torch.Size([1, 7]), 'small')
        """
        texts = {"clean": clean, "corrupted": corrupted, "answer": answer, "distractor": distractor}
        return cls(**fields_of_texts(model, texts, items))

    @property
    def steps(self) -> int:
        """Tokens that an answer or distractor has after its first, at most."""
        return 0 if self.answer_rest is None else self.answer_rest.shape[1]

    @property
    def answers(self) -> Int[Tensor, "prompt token"]:
        """Token ids of the answers; -1 behind the end of shorter ones."""
        return whole_answers(self.answer, self.answer_rest)

    @property
    def distractors(self) -> Int[Tensor, "prompt token"]:
        """Token ids of the distractors; -1 behind the end of shorter ones."""
        return whole_answers(self.distractor, self.distractor_rest)

    def continued(self, side: Side) -> Continued:
        """The clean or (second) corrupted prompts, with answer and distractor behind them if some have several tokens.

        Args:
            side: Which prompts.
        """
        return continued_prompts(self, side)

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
        """Batches of at most `max_tokens` tokens, or of one prompt, in the same order.

        Args:
            max_tokens: Largest number of tokens of a part.
        """
        size = max(1, max_tokens // self.length)
        return [self.select(range(start, min(start + size, len(self)))) for start in range(0, len(self), size)]

    def lacks_second(self) -> list[int]:
        """Indices of the prompts without a second corruption."""
        return [index for index, task in enumerate(self.second_tasks or [""] * len(self)) if not task]

    def without_roles(self) -> "PromptBatch":
        """Drop the roles: positions are matched by index."""
        return replace(self, labels=None, corrupted_labels=None, second_labels=None)

    @property
    def roles(self) -> tuple[Labels, ...]:
        """The role of every token, per clean prompt: `labels`, or without them "end", the last token, and "other"."""
        return self.roles_of("clean")

    def roles_of(self, side: Side) -> tuple[Labels, ...]:
        """Roles of one side.

        Args:
            side: Which prompts.
        """
        length = getattr(self, side).shape[1]
        corrupted = self.corrupted_labels or self.labels
        labels = {"clean": self.labels, "corrupted": corrupted, "second": self.second_labels or corrupted}[side]
        return labels or (("other",) * (length - 1) + ("end",),) * len(self)

    def positions(self, positions: str, *, of: Side = "clean") -> Bool[Tensor, "prompt packed"]:
        """Mask of the tokens at the given positions.

        An answer a_1 .. a_k is scored by the sum over j of log p(a_j | prompt, a_1 .. a_(j-1)). Behind a prompt of P
        tokens, term j is read at position P - 2 + j. `last` replaces z[P - 1] alone: the answer's own tokens see the
        change through keys and values of later layers. `answer` replaces z[P - 2 + j] for j = 1 .. k, wherever a token
        is predicted. New values come from the same step of the same answer, z[Q - 2 + j] of the other run with prompts
        of Q tokens, so that prompts and answers may differ in length. The distractor is treated likewise.

        Behind the prompts, the mask goes on: the answer's tokens but its last, filled up, then those of the distractor.

        Args:
            positions: "last", the last token of the prompt; "answer", every token that predicts one of the answer (or
                the distractor); "all"; or a role such as "y1" or "x_query" (every token of that role). Prompts without
                roles have "end", the last token, and "other".
            of: Of which prompts, where clean and corrupted ones differ in length.

        Raises:
            DataError: A role that a prompt lacks.

        Example:
            >>> import headcats as hc
            >>> batch = hc.PromptBatch.from_tokens([[7, 8, 9]], [[6, 6, 7, 8, 9]], [[20, 21]], [[22, 23, 24]])
            >>> batch.positions("answer").nonzero()[:, 1].tolist()
            [2, 3, 5, 6]
            >>> batch.positions("answer", of="corrupted").nonzero()[:, 1].tolist()
            [4, 5, 7, 8]
        """
        return mask_of(self, positions, of=of)

    def fingerprint(self) -> str:
        """Hash of tokens, answers, items, strata, roles and task: equal batches, equal numbers."""
        words = (self.items, self.distractor_tasks, self.labels, self.corrupted_labels, self.task)
        rest = [ids for ids in (self.answer_rest, self.distractor_rest) if ids is not None]
        return _hash_of((self.clean, self.corrupted, self.answer, self.distractor, *rest), words)

    def second_fingerprint(self) -> str:
        """Hash of the second corruptions, which `fingerprint` ignores."""
        words = self.second_tasks if self.second_labels is None else (self.second_tasks, self.second_labels)
        return _hash_of(() if self.second is None else (self.second,), words)


def _hash_of(tensors: Sequence[Tensor], words: Any) -> str:
    """Hash of token ids, with their shapes, and of words that belong to them."""
    digest = hashlib.blake2b(digest_size=16)
    for ids in tensors:
        digest.update(repr(tuple(ids.shape)).encode())
        digest.update(ids.to("cpu", torch.int64).contiguous().numpy().tobytes())
    digest.update(repr(words).encode("utf-8"))
    return digest.hexdigest()
