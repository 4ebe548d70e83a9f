"""Lines on finished parts and the time left, read back as fields."""

import re

LINE = re.compile(r"(.*): (skipped )?(?:after )?(.+?); (\d+) of (\d+) \w+ done(?:, about (.+) left)?\.")
ESTIMATE = re.compile(r"(.*): about (.+) for the (.+), measured .*")


def finished(line):
    """Part, whether it was skipped, its time, how many are done, of how many, and the time left."""
    part, skipped, took, done, total, left = LINE.fullmatch(line).groups()
    return part, bool(skipped), took, int(done), int(total), left


def estimate(line):
    """Part, time of all parts, and what they are called."""
    return ESTIMATE.fullmatch(line).groups()
