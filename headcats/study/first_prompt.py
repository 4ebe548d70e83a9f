"""The first scored prompt of a task, token by token."""

from typing import Any

from headcats.prompts.batch import PromptBatch
from headcats.prompts.tokens import bos_of, token_texts, written_front
from headcats.study.preparation import Prepared


def first_prompt(prepared: Prepared, tokenizer: Any) -> dict[str, Any]:
    """Tokens as text of the first clean prompt and its answer, and of the corrupted prompt and its distractor.

    Joined, the tokens of a prompt are its text, with what answer and distractor both begin with where that was moved
    to the prompts. Of answer and distractor the tokens that are scored.

    Returns:
        `key`; `bos`, what stands in front of both prompts, and `bos_written`, what the tokenizer itself writes there,
        both None without any; `clean`, `answer`, `corrupted` and `distractor`. Empty for a task without prompts.
    """
    if prepared.first is None:
        return {}
    pair, batch = prepared.first, prepared.scored[0]
    front = bos_of(tokenizer)
    bos = front if _ids(batch, "clean")[: len(front)] == front else []
    fronts = {"bos": bos, "bos_written": written_front(tokenizer)}
    tokens = {"key": pair.key} | {name: tokenizer.decode(ids) if ids else None for name, ids in fronts.items()}
    for prompt, word in (("clean", "answer"), ("corrupted", "distractor")):
        before, after = _ids(batch, prompt)[len(bos) :], _ids(batch, f"{word}s")
        texts = token_texts(tokenizer, [*before, *after], text=getattr(pair, prompt) + getattr(pair, word))
        tokens |= {prompt: texts[: len(before)], word: texts[len(before) :]}
    return tokens


def _ids(batch: PromptBatch, field: str) -> list[int]:
    """Token ids of the first prompt; -1 stands behind the end of an answer."""
    return [token for token in getattr(batch, field)[0].tolist() if token >= 0]
