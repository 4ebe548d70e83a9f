"""The files that CONTRIBUTING.md shows are those of the example package, which the tests run."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHOWN = re.findall(
    r"^`([\w/]+\.py)`:\n\n```python\n(.*?)```$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.M | re.S
)
EXAMPLE = ROOT / "tests" / "example_plugin"


def test_every_file_of_the_example_is_shown_as_it_is() -> None:
    files = {f"headcats_example/{path.name}" for path in (EXAMPLE / "headcats_example").glob("*.py")}
    assert files - {"headcats_example/__init__.py"} <= {name for name, _ in SHOWN}
    for name, text in SHOWN:
        folder = EXAMPLE if name.startswith("headcats_example") else ROOT
        assert text == (folder / name).read_text(encoding="utf-8"), name


def test_its_entry_points_are_shown_as_they_are() -> None:
    entry_points = (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8").partition("# One line")[2]
    assert entry_points.strip() in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
