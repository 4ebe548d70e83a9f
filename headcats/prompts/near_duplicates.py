"""Finished prompts that count as several cases and show one contrast, as paraphrases do."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from headcats.prompts.pair import PromptPair


def near_duplicates(pairs: Sequence[PromptPair]) -> list[PromptPair]:
    """Find pairs whose contrast a pair of another item has too.

    Two contrasts are one if answer, distractor and the replaced words are, wherever they stand, with what replaces
    them; capitals and punctuation do not count. Prompts of unequal length are compared by the words that one of the two
    lacks.
    """
    items = defaultdict[tuple[object, ...], set[str]](set)
    contrasts = [_contrast(pair) for pair in pairs]
    for pair, contrast in zip(pairs, contrasts, strict=True):
        items[contrast].add(pair.item)
    return [pair for pair, contrast in zip(pairs, contrasts, strict=True) if len(items[contrast]) > 1]


def _contrast(pair: PromptPair) -> tuple[object, ...]:
    clean, corrupted = (re.findall(r"\w+", text.casefold()) for text in (pair.clean, pair.corrupted))
    if len(clean) == len(corrupted):
        replaced = Counter(words for words in zip(clean, corrupted, strict=True) if words[0] != words[1])
        return pair.answer, pair.distractor, frozenset(replaced.items())
    removed, added = Counter(clean) - Counter(corrupted), Counter(corrupted) - Counter(clean)
    return pair.answer, pair.distractor, frozenset(removed.items()), frozenset(added.items())
