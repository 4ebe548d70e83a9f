"""Choosing prompts that a study has not used, evenly over what their corrupted twins show."""

import itertools
from collections.abc import Callable, Iterable, Sequence

from headcats.prompts.batch import PromptBatch
from headcats.prompts.encode import DropReport
from headcats.prompts.pair import PromptPair

Encode = Callable[[Sequence[PromptPair]], tuple[list[PromptBatch], DropReport]]


def choose_even(
    pairs: Iterable[PromptPair], *, n: int, strata: Iterable[str], encode: Encode
) -> tuple[tuple[PromptBatch, ...], DropReport]:
    """Up to `n` prompts, in turn from each stratum (what the corrupted prompt shows).

    Args:
        pairs: Candidates. They are looked through until every stratum could give its share.
        n: How many at most.
        strata: The strata there are; one without candidates leaves its share to the others.
        encode: Pairs -> batches of those that can be encoded, and the report of all.

    Returns:
        The chosen prompts, and their number beside that of the candidates that could not be encoded.
    """
    pools: dict[str, list[PromptPair]] = {name: [] for name in strata}
    report, candidates = DropReport(), iter(pairs)
    while chunk := list(itertools.islice(candidates, n)):
        batches, found = encode(chunk)
        report.add(found)
        encoded = {key for batch in batches for key in batch.keys}
        for pair in chunk:
            if pair.key in encoded:
                pools.setdefault(pair.distractor_task, []).append(pair)
        if all(len(pool) * len(pools) >= n for pool in pools.values()):
            break
    rounds = itertools.chain.from_iterable(itertools.zip_longest(*pools.values()))
    chosen = list(itertools.islice(filter(None, rounds), n))
    report.kept = len(chosen)
    return tuple(encode(chosen)[0]), report
