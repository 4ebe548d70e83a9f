"""`suite.toml`, the settings of a folder of files. Every line is optional.

```toml
name = "geography"                # of the suite; otherwise the folder's

[categories]                      # in the order of the figures, with their colours (hex, rgb() or names of CSS)
Knowledge = "#ff7f0e"
Borders = "#7733aa"

[files."world/capitals.csv"]      # one table a file: its path within the folder
category = "Knowledge"            # otherwise that of the file, or its subfolder
template = "The capital of {} is" # or a list; word pairs become finished prompts, {} is the input
source = "Wikidata, 2024"         # where the facts are from
tokenizer = "gpt2"                # of token ids in the columns correct_idx and incorrect_idx
group = "capitals"                # tasks that are no independent evidence; otherwise the column or key "group"
answer = "text"                   # of questions with options; otherwise the answer is the letter of one
columns = {input = "city", answer = "country"}  # what they are; a list names those of a file without names

[layouts.ours]                    # of every file that has these columns
has = ["city", "country"]
input = "city"                    # as in columns
answer = "country"
```
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headcats.base.errors import DataError, unknown_name_message
from headcats.results.categories import Category
from headcats.tasks.files.columns import Columns
from headcats.tasks.files.content import reading
from headcats.tasks.files.written_columns import check_pattern, read_columns

NAME = "suite.toml"
LETTER, TEXT = "letter", "text"
_ANSWERS = (LETTER, TEXT)
_TEXTS = ("category", "source", "tokenizer", "answer", "group")


@dataclass(frozen=True)
class FileSettings:
    """Settings of one file; what is empty is not set."""

    category: str = ""
    templates: tuple[str, ...] = ()
    source: str = ""
    tokenizer: str = ""
    answer: str = ""
    group: str = ""
    columns: Columns | None = None
    names: tuple[str, ...] = ()
    """Names of the columns of a file that has none."""
    layouts: Mapping[str, Any] = field(default_factory=dict)
    """Name -> columns of the user's own layouts."""
    path: str = ""
    """Path within the folder of the suite."""


@dataclass(frozen=True)
class SuiteSettings:
    """Settings of a folder."""

    name: str = ""
    categories: tuple[Category, ...] = ()
    files: Mapping[str, FileSettings] = field(default_factory=dict)
    """Path within the folder, with `/` -> settings."""
    layouts: Mapping[str, Any] = field(default_factory=dict)

    def of(self, path: str) -> FileSettings:
        """The settings of a file."""
        return replace(self.files.get(path, FileSettings()), layouts=self.layouts, path=path)


def read_settings(folder: Path) -> SuiteSettings:
    """The settings of a folder, none if it has no `suite.toml`."""
    path = folder / NAME
    if not path.is_file():
        return SuiteSettings()
    with reading(path):
        text = path.read_text(encoding="utf-8-sig")
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(f"{NAME} is not TOML: {error}.") from None
    _check_keys(content, ("name", "categories", "files", "layouts"), NAME)
    colours = _table(content, "categories")
    try:
        categories = tuple(Category(name, colour) for name, colour in colours.items())
    except DataError as error:
        raise DataError(f"{NAME}: {error}") from None
    files = {_inside(folder, name): _file(name, values) for name, values in _table(content, "files").items()}
    layouts = _table(content, "layouts")
    for name, values in layouts.items():
        has = values.get("has") if isinstance(values, dict) else None
        if not (isinstance(has, list) and has and all(isinstance(each, str) for each in has)):
            raise DataError(f"{NAME}, [layouts.{name}]: expected `has`, a list of columns; got {values!r:.60}.")
        where, only, place = values.get("where", {}), values.get("only", []), f"{NAME}, [layouts.{name}]"
        if not isinstance(only, list) or not isinstance(where, dict):
            raise DataError(f"{place}: expected `where` as a table and `only` as a list of columns.")
        for column, held in where.items():
            check_pattern(column, held, place)
        read_columns({key: of for key, of in values.items() if key not in ("has", "where", "only")}, place=place)
    return SuiteSettings(_text(content, "name", NAME), categories, files, layouts)


def _inside(folder: Path, name: str) -> str:
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"{NAME}: {name!r} leaves the folder {folder.name!r}; name files within it.")
    if not path.exists():
        raise DataError(f"{NAME}: there is no file {name!r} in the folder {folder.name!r}.")
    return path.relative_to(folder).as_posix()


def _file(name: str, values: Any) -> FileSettings:
    place = f'{NAME}, [files."{name}"]'
    if not isinstance(values, dict):
        raise DataError(f"{place}: expected a table of settings; got {values!r:.40}.")
    _check_keys(values, ("template", "columns", *_TEXTS), place)
    template = values.get("template", [])
    templates = [template] if isinstance(template, str) else template
    if not isinstance(templates, list) or not all(isinstance(text, str) and text.strip() for text in templates):
        raise DataError(f"{place}: expected 'template' as a text or a list of texts; got {template!r:.40}.")
    texts = {key: _text(values, key, place) for key in _TEXTS}
    if texts["answer"] and texts["answer"] not in _ANSWERS:
        raise DataError(f"{place}: expected 'answer' as one of {', '.join(_ANSWERS)}; got {texts['answer']!r:.40}.")
    made = FileSettings(**texts)  # type: ignore[arg-type]
    columns = values.get("columns")
    if isinstance(columns, list) and columns and all(isinstance(each, str) for each in columns):
        return replace(made, templates=tuple(templates), names=tuple(columns))
    named = None if columns is None else read_columns(columns, place=place)
    return replace(made, templates=tuple(templates), columns=named)


def _check_keys(values: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    for key in values:
        if key not in known:
            raise DataError(unknown_name_message(f"key in {place}", key, known))


def _table(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = content.get(key, {})
    if not isinstance(value, dict):
        raise DataError(f"{NAME}: expected [{key}] as a table; got {value!r:.40}.")
    return value


def _text(values: Mapping[str, Any], key: str, place: str) -> str:
    value = values.get(key, "")
    if not isinstance(value, str) or (key in values and not value.strip()):
        raise DataError(f"{place}: expected {key!r} as text; got {value!r:.40}.")
    return value.strip()
