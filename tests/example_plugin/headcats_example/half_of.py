"""A task: half of an even number."""

import headcats as hc


@hc.task(category="Algorithmic", source="arithmetic", suite="icl")
def half_of(n: int, *, seed: int) -> list[tuple[str, str]]:
    """Half of the number: `4` for `8`."""
    return [(str(2 * number), str(number)) for number in range(1, 50)]
