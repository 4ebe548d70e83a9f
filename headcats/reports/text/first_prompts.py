"""Findings on the first prompt of each task, token by token."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headcats.results.finding import Finding, Prompts, line, paragraph

_CONTINUED_BY = {"clean": "answer", "corrupted": "distractor"}


def first_prompts(entries: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """Explain, then list the clean and corrupted prompt of every task under its source, where it gives some.

    Tasks that are answered in sentences have none, and are left out.
    """
    first = [entry["first_prompt"] for entry in entries.values() if "first_prompt" in entry]
    if first:
        token, written = first[0]["bos"], first[0]["bos_written"]
        bos = line("validation.bos", token=token) if token else None
        parts = line("validation.parts") if any("" in tokens for tokens in _token_lists(first)) else None
        yield paragraph("validation.first_prompts", bos=bos, parts=parts)
        if token != written:
            yield paragraph(f"validation.bos_{'asked' if written else 'put'}", token=written or token)
    for name, entry in entries.items():
        about = {"task": name, "category": entry["category"], "source": entry["source"]}
        if "first_prompt" in entry:
            yield Prompts("validation.first_prompt", about, prompts=_prompts(entry["first_prompt"]))
        elif "prompts" in entry:
            yield paragraph("validation.first_prompt", **about)


def _token_lists(first: Iterable[Mapping[str, Any]]) -> Iterator[Sequence[str]]:
    for texts in first:
        yield from (texts[name] for names in _CONTINUED_BY.items() for name in names)


def _prompts(texts: Mapping[str, Any]) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    bos = [texts["bos"]] if texts["bos"] else []
    return {prompt: ((*bos, *texts[prompt]), tuple(texts[word])) for prompt, word in _CONTINUED_BY.items()}
