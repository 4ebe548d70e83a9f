"""Tasks and words of a model with random weights, and the memory that its runs take.

Random weights can do no task, so the tasks are made of the model: random prompts whose right answer is what it says to
the clean one, and whose wrong one is what it says to the corrupted one.
"""

import weakref
from collections.abc import Callable
from typing import Any

import torch
from random_weights import random_hooked_model
from sweep_speed.shapes import Shape
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import PreTrainedTokenizerFast

from headcats.models.adapter import HookedModel
from headcats.prompts.pair import PromptPair
from headcats.study.plan import REFERENCE_PROMPTS
from headcats.tasks.definition import Task

# Of two prompts that the model answers alike, none is left: some more than a study asks for.
_SPARE = 40


def random_word_model(shape: Shape) -> HookedModel:
    """The random model of a shape, whose tokenizer knows the words `w2`, `w3`, ... as tokens 2, 3, ..."""
    words = ["<bos>", "<unk>", *(f"w{number}" for number in range(2, shape.d_vocab))]
    backend = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<bos>", unk_token="<unk>")
    return HookedModel(random_hooked_model(shape, "bridge").model, name="random", tokenizer=tokenizer)


def own_task(model: HookedModel, shape: Shape, number: int, *, prompts: int) -> Task:
    """Random finished prompts with the answers that the model gives; the first and the last quarter are not corrupted.

    Four categories in turn.
    """
    draws = torch.Generator().manual_seed(number)
    size = (prompts + REFERENCE_PROMPTS + _SPARE, shape.length)
    clean, corrupted = (torch.randint(2, shape.d_vocab, size, generator=draws) for _ in range(2))
    quarter = shape.length // 4
    corrupted[:, :quarter], corrupted[:, -quarter:] = clean[:, :quarter], clean[:, -quarter:]
    clean[:, 0] = corrupted[:, 0] = 0
    answers, distractors = (_answers(model, tokens) for tokens in (clean, corrupted))
    name = f"random_{number}"
    pairs = [
        PromptPair(
            key=f"{name} {row}",
            item=f"{name} {row}",
            clean=_words(clean[row, 1:]),
            corrupted=_words(corrupted[row, 1:]),
            answer=f" w{answer}",
            distractor=f" w{distractor}",
        )
        for row, (answer, distractor) in enumerate(zip(answers, distractors, strict=True))
        if answer != distractor
    ]
    return Task(name, f"category {number % 4}", "random words", lambda n, *, seed: pairs)


def _answers(model: HookedModel, tokens: torch.Tensor) -> list[int]:
    """The likeliest word after each prompt."""
    logits = torch.cat([model.logits(part) for part in tokens.split(32)])
    return (2 + logits[:, 2:].argmax(1)).tolist()


def _words(tokens: torch.Tensor) -> str:
    return " ".join(f"w{token}" for token in tokens.tolist())


def peak_bytes(work: Callable[[], object]) -> int:
    """Largest number of bytes that tensors made by `work` take at a time."""
    with _Counting() as counting:
        work()
    return counting.peak


class _Counting(TorchDispatchMode):
    """Sees the result of every operation, and when its storage is freed."""

    def __init__(self) -> None:
        super().__init__()
        self.peak = self._now = 0
        self._storages: dict[int, weakref.ref[Any]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation; its result may be a view of what it was given."""
        result = func(*args, **(kwargs or {}))
        given = {id(storage) for storage in _storages((args, kwargs))}
        for storage in _storages(result):
            if id(storage) not in given and id(storage) not in self._storages:
                self._add(storage)
        return result

    def _add(self, storage: Any) -> None:
        key, size = id(storage), storage.nbytes()

        def freed(_: Any) -> None:
            self._now -= size
            del self._storages[key]

        self._storages[key] = weakref.ref(storage, freed)
        self._now += size
        self.peak = max(self.peak, self._now)


def _storages(values: Any) -> list[Any]:
    return [value.untyped_storage() for value in tree_leaves(values) if isinstance(value, torch.Tensor)]
