"""Which texts of two data sets are a pair: those that ask the same item."""

from collections import Counter

from headcats.errors import pluralize
from headcats.papers.head_gating.texts import GateTexts

Key = tuple[tuple[str, str], int]
"""Task and item of a text, and which of the texts of its item it is."""


def paired(retain: GateTexts, forget: GateTexts) -> tuple[GateTexts, GateTexts] | None:
    """The texts of items that both have, text k of the one with text k of the other, in the order of `retain`.

    Tasks tell items apart where both have the same tasks; else the same questions have another task, such as the name
    of another file. None where fewer than half of the texts of the smaller data set have a partner, or those are of one
    item alone.
    """
    by_task = len({frozenset(task for task, _ in texts.items) for texts in (retain, forget)}) == 1
    kept, lost = _keyed(retain, by_task=by_task), _keyed(forget, by_task=by_task)
    common = [key for key in kept if key in lost]
    if 2 * len(common) < min(len(retain), len(forget)) or len({item for item, _ in common}) < 2:
        return None
    items = [item for item, _ in common]
    first, second = (
        GateTexts([texts.rows[places[key]] for key in common], items, texts.left_out)
        for texts, places in ((retain, kept), (forget, lost))
    )
    return first, second


def unpaired(retain: GateTexts, forget: GateTexts, both: tuple[GateTexts, GateTexts] | None) -> str:
    """What a user should know of texts without a partner, in words; "" where there are none."""
    if both is None:
        return (
            "Texts are paired at random: less than half of them ask an item that the other kind asks, too. To compare "
            "one question asked in two ways, give both texts of a question the same `item`."
        )
    n_kept, n_lost = (len(texts) - len(chosen) for texts, chosen in zip((retain, forget), both, strict=True))
    if not n_kept + n_lost:
        return ""
    return (
        f"Left out, as the other kind has no text of the same item: {pluralize(n_kept, 'text')} to retain, "
        f"{pluralize(n_lost, 'text')} to forget."
    )


def _keyed(texts: GateTexts, *, by_task: bool) -> dict[Key, int]:
    """Place of every text, in the order in which the texts were given."""
    seen: Counter[tuple[str, str]] = Counter()
    keyed: dict[Key, int] = {}
    for place in sorted(range(len(texts)), key=texts.given.__getitem__):
        task, item = texts.items[place]
        name = (task if by_task else "", item)
        keyed[name, seen[name]] = place
        seen[name] += 1
    return keyed
