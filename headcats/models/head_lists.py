"""`heads`: lists of heads in files, as papers publish them."""

import csv
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headcats.base.errors import DataError, OptionError, check_count
from headcats.models.head import Head, distinct
from headcats.results.whole_file import regular

_PAIR = re.compile(r"(\d+)-(\d+)$")
_NODE = re.compile(r"a(\d+)\.h(\d+)$")
Scored = tuple[Head, float | None]


def heads(path: str | os.PathLike[str], *, n: int | None = None, least: float | None = None) -> list[Head]:
    """Read heads from a file, those with the largest scores first where it has scores.

    Understood are names ("L9H6", "9.6"; in lines or in JSON), [layer, head], [layer, head, score] (function-vector
    heads), {"16-19": [scores]} (retrieval heads), nodes {"a9.h6": {"score": ...}} of the Mechanistic Interpretability
    Benchmark (without those that are not "in_graph"), any of these in the field "heads" or "nodes" or the only field of
    an object, and CSV with the columns layer, head and score.

    Args:
        path: A file of JSON, CSV or text.
        n: Take the first so many; a file with scores of all heads needs this or `least`.
        least: Take those with at least this score.

    Returns:
        The heads, each once.

    Raises:
        DataError: A file that holds no heads, a head twice, or a score that is no number.
        OptionError: `least` for a file without scores, or `n` below 1.

    Example:
        >>> import headcats as hc
        >>> import pathlib
        >>> _ = pathlib.Path("retrieval.json").write_text('{"16-19": [0.9, 0.7], "0-3": [0.1], "11-15": [0.95]}')
        >>> [str(head) for head in hc.heads("retrieval.json", n=2)]
        ['L11H15', 'L16H19']
        >>> hc.heads("retrieval.json", least=0.5) == hc.heads("retrieval.json", n=2)
        True

    References:
        Wu et al. (2024), arXiv 2404.15574; Todd et al. (2024), arXiv 2310.15213; Mueller et al. (2025), arXiv
        2504.13151.
    """
    if n is not None:
        check_count("n", n)
    name = Path(path).name
    try:
        text = regular(Path(path)).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{name} cannot be read as a list of heads: {error}.") from None
    scored = list(_entries(_content(text)))
    if not scored:
        raise DataError(f"{name} holds no head; expected names such as L9H6, or [layer, head] with or without a score.")
    named = distinct([head for head, _ in scored])
    if any(score is None for _, score in scored):
        if least is not None:
            raise OptionError(f"{name} has no scores of its heads: leave out `least`.")
        return named[:n]
    ranked = sorted(scored, key=lambda entry: -float(entry[1] or 0.0))
    return [head for head, score in ranked if least is None or float(score or 0.0) >= least][:n]


def _content(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
    if "layer" in (first := [cell.strip().casefold() for cell in lines[0].split(",")] if lines else []):
        return [dict(zip(first, row, strict=False)) for row in csv.reader(lines[1:])]
    cells = [re.split(r"[,;\s]+", line) for line in lines]
    if cells and all(len(row) == 2 and "h" in row[0].casefold() and "h" not in row[1].casefold() for row in cells):
        return [[*Head.parse(name), score] for name, score in cells]
    return [name for row in cells for name in row]


def _entries(content: Any) -> Iterator[Scored]:
    if isinstance(content, Mapping):
        inside = [value for key, value in content.items() if key in ("heads", "nodes") or len(content) == 1]
        if inside and isinstance(inside[0], list | Mapping) and _named(next(iter(content))) is None:
            yield from _entries(inside[0])
            return
        for key, value in content.items():
            if (head := _named(key)) is not None and not (
                isinstance(value, Mapping) and value.get("in_graph") is False
            ):
                yield head, _score(value)
        return
    for entry in content if isinstance(content, list) else []:
        if isinstance(entry, Mapping):
            layer, head, score = (entry.get(name) for name in ("layer", "head", "score"))
            yield Head.parse(f"{layer}.{head}"), _score(score)
        elif isinstance(entry, list) and len(entry) == 3:
            yield Head.parse(entry[:2]), _score(entry[2])
        else:
            yield Head.parse(entry), None


def _named(key: str) -> Head | None:
    """The head of a key of a mapping; None for another key, such as an MLP."""
    if match := _PAIR.match(key) or _NODE.match(key):
        return Head(int(match[1]), int(match[2]))
    try:
        return Head.parse(key)
    except DataError:
        return None


def _score(value: Any) -> float | None:
    """A finite score, the mean of several; None without one."""
    value = value.get("score") if isinstance(value, Mapping) else value
    given = [each for each in (value if isinstance(value, list) else [value]) if each not in (None, "")]
    try:
        score = sum(map(float, given)) / len(given) if given else None
    except (TypeError, ValueError):
        score = math.nan
    if score is not None and not math.isfinite(score):
        raise DataError(f"Expected the score of a head as a number; got {value!r:.40}.")
    return score
