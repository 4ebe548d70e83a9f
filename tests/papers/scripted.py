"""A model whose answers are scripted and in which one layer shows, at one token role, whether the answer is wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from toys import tiny_model, word_tokenizer

from headcats.models.adapter import HookedModel
from headcats.papers.token_probe.answers import AnswerShape
from headcats.papers.token_probe.items import Question

DIGITS = [str(digit) for digit in range(10)]
_WORDS = ["the", "sum", "is", "surely", "now", "and", "then", "plus", "?"]
VOCABULARY = ["<bos>", "<unk>", "<pad>", "→", "\n", ",", *DIGITS, *_WORDS]
EXACT = r"\d(?: \d)*"
_HEADS, _TAILS = ("the sum is", "surely the sum is", "is"), ("now", "and now then", "then now")


def spaced_tokenizer() -> Any:
    """One token per word between spaces, written back with spaces between."""
    from tokenizers import pre_tokenizers

    tokenizer = word_tokenizer(VOCABULARY)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split("\n", "isolated"), pre_tokenizers.Split(" ", "removed")]
    )
    tokenizer.eos_token = "<bos>"
    return tokenizer


class ScriptedModel(HookedModel):
    """A tiny random model that says what a script says: prompt tokens -> answer tokens.

    What its hooks hold is its own. At `planted` (hook name, role) the reader of the hook sees a direction added if the
    answer is wrong, and the model itself goes on without it: the direction is in this one place alone.
    """

    def __init__(self, script: Mapping[tuple[int, ...], tuple[int, ...]], **options: Any) -> None:
        tokenizer = spaced_tokenizer()
        super().__init__(tiny_model("llama", n_layers=2, d_vocab=len(VOCABULARY), **options).model, tokenizer=tokenizer)
        self.script = script
        self.newline = tokenizer.convert_tokens_to_ids("\n")
        self.planted: tuple[str, str] | None = None
        self.strength = 0.0
        self.wrong: Mapping[tuple[int, ...], tuple[bool, AnswerShape]] = {}

    def run(self, tokens: torch.Tensor, *, hooks: Mapping[str, Any]) -> torch.Tensor:
        hooks = dict(hooks)
        if self.planted is not None and self.planted[0] in hooks:
            hooks[self.planted[0]] = self._showing(tokens, hooks[self.planted[0]], self.planted[1])
        logits = super().run(tokens, hooks=hooks)
        for row, text in enumerate(tokens.tolist()):
            for question, answer in self._possible(tuple(text)):
                said = len(text) - len(question)
                logits[row] = -1.0
                logits[row, (*answer, self.newline)[min(said, len(answer))]] = 1.0
        return logits

    def _possible(self, text: tuple[int, ...]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        starts = (text[:stop] for stop in range(1, len(text) + 1))
        return [(start, self.script[start]) for start in starts if start in self.script]

    def _showing(self, tokens: torch.Tensor, read: Any, role: str) -> Any:
        def edit(value: torch.Tensor) -> torch.Tensor:
            shown = value.clone()
            direction = torch.ones(value.shape[-1]) * self.strength
            for row, text in enumerate(tokens.tolist()):
                failed, shape = self.wrong[tuple(text)]
                shown[row, shape.position(role)] += direction * (1 if failed else -1)
            read(shown)
            return value

        return edit


def scripted(
    n: int, *, share: Sequence[float] = (0.5,), seed: int = 0, wordings: int = 3
) -> tuple[ScriptedModel, list[Question]]:
    """A model that answers `n` sums of each task in sentences of different length, wrongly with the task's probability.

    Whether an answer is wrong has nothing to do with the question.
    """
    draws = np.random.default_rng(seed)
    tokenizer = spaced_tokenizer()
    questions: list[Question] = []
    script: dict[tuple[int, ...], tuple[int, ...]] = {}
    wrong: dict[tuple[int, ...], tuple[bool, AnswerShape]] = {}
    numbers = draws.permutation(80 * 80)[: n * len(share)]
    for place, number in enumerate(numbers.tolist()):
        task = place % len(share)
        left, right = (" ".join(str(10 + part)) for part in divmod(number, 80))
        right_sum = int(left.replace(" ", "")) + int(right.replace(" ", ""))
        failed = bool(draws.random() < share[task])
        # The last digit alone is wrong: as many tokens as the right answer.
        said = right_sum - right_sum % 10 + (right_sum % 10 + int(draws.integers(1, 10))) % 10 if failed else right_sum
        head, tail = _HEADS[int(draws.integers(wordings))], _TAILS[int(draws.integers(wordings))]
        prompt = f"{left} plus {right} ?" if task else f"{left} plus {right} →"
        answer = f"{head} {' '.join(str(said))} {tail}"
        questions.append(
            Question(prompt, f"{head} {' '.join(str(right_sum))} {tail}", EXACT, f"task {task}", f"{left} {right}")
        )
        ids = (0, *tokenizer(prompt, add_special_tokens=False)["input_ids"])
        script[ids] = tuple(tokenizer(answer, add_special_tokens=False)["input_ids"])
        first = len(ids) + len(head.split())
        shape = AnswerShape(len(ids), len(ids) + len(answer.split()), first, first + len(str(said)) - 1)
        wrong[ids + script[ids]] = (failed, shape)
    model = ScriptedModel(script)
    model.wrong = wrong
    return model, questions
