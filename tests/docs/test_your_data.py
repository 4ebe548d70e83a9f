"""Every example of the page on users' data loads, as the file that the page calls it."""

import re
import tomllib
from pathlib import Path

from for_each import for_each

import headcats as hc
from headcats.cli.options import settings

PAGE = (Path(__file__).parents[2] / "docs" / "your_data.md").read_text(encoding="utf-8")
EXAMPLES = {
    name: text for name, _, text in re.findall(r"`(\w+\.\w+)`:\n\n```(json|csv)\n(.+?)```", PAGE, flags=re.DOTALL)
}
LAYOUT, FOLDER, STUDY = re.findall(r"```toml\n(.+?)```", PAGE, flags=re.DOTALL)


def test_every_block_of_data_has_a_name() -> None:
    assert len(EXAMPLES) == len(re.findall(r"^```(?:json|csv)$", PAGE, flags=re.MULTILINE))


@for_each("name", EXAMPLES)
def test_an_example_loads_without_a_drop(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(EXAMPLES[name], encoding="utf-8")
    (tmp_path / "suite.toml").write_text(LAYOUT, encoding="utf-8")
    (task,) = hc.suite(tmp_path / name).tasks
    assert len(task.pairs(10, seed=0)) >= 2
    assert task.drops is not None
    assert task.drops.dropped == {}


def test_the_settings_fit_a_folder_of_the_examples(tmp_path: Path) -> None:
    for name in ("capitals.csv", "ioi.csv", "mcq.csv", "world/tokens.csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(EXAMPLES.get(name, EXAMPLES["ioi.csv"]), encoding="utf-8")
    (tmp_path / "suite.toml").write_text(FOLDER, encoding="utf-8")
    suite = hc.suite(tmp_path)
    assert suite.name == "geography"
    assert suite.categories[0].colour == "#ff7f0e"
    (capitals,) = suite.named(["capitals"])
    assert {pair.clean.split()[3] for pair in capitals.pairs(9, seed=0)} == {"France", "Italy"}


def test_the_study_in_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    options = tomllib.loads(STUDY)
    read = settings(tmp_path / "study.toml", {})
    assert {name: read[name.replace("-", "_")] for name in options} == options
    assert "n-prompts" in options
