"""Joint methods: what to read in place of scores of single tasks."""

import xarray as xr

from headcats.results.declaration import declarations, registered
from headcats.results.label import Label
from headcats.results.one_table import tables_of
from headcats.results.tree import suite_blocks


def instead_of_scores(results: xr.DataTree, method: str) -> str:
    """What to call where scores of single tasks are asked of a method that has none; "" for any other method.

    Args:
        results: As `hc.load` returns them.
        method: As the user wrote it, with or without options: "head_gating:preset=chg-mini".
    """
    name = Label.parse(method).name
    tables = tables_of(name, suite_blocks(results))
    about = next(
        (one for label, one in declarations(results).items() if Label.parse(label).name == name), registered(name)
    )
    if about.kind != "joint":
        return ""
    call = about.reader
    asked = (
        f"Read {' or '.join(f'{call}({table})' if call else table for table in tables)}."
        if tables
        else _how_to_have(method)
    )
    return f"{name!r} judges heads over the whole suite, so there are no scores of single tasks. {asked}"


def _how_to_have(method: str) -> str:
    return f'It was not run: hc.run(model, methods=["{method}"], out=...) adds it to a results folder.'
