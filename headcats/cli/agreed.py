"""Heads of categories that two methods of a run agree on: what `headcats map` and `headcats figure` draw."""

from dataclasses import replace

from headcats.categories.agreed import in_both
from headcats.categories.map_tables import kept_judged
from headcats.categories.reading import Reading, refuse_unused
from headcats.categories.shared import overlap
from headcats.cli.console import note_control
from headcats.errors import OptionError
from headcats.reports.text.selected import Selected, select_joint
from headcats.reports.text.suggestions import check_scored, sorting_label
from headcats.results.folder import slug
from headcats.results.label import Label
from headcats.results.place import Place
from headcats.results.run_results import RunResults


def select_both(run: RunResults, place: Place, reading: Reading, other: str) -> Selected:
    """By two methods: rule, metric and so on are for those that score task by task; a joint one has its paper's rule.

    An OptionError where both are the same, and as `headcats map` of each.
    """
    first = _one(run, place, reading)
    second = _one(run, place, replace(reading, label=Label.parse(other)))
    if first.joint and second.joint:
        unread = reading.options.keys() & {"rule", "min-tasks", "metric", "effect", "positions"}
        refuse_unused(unread, by="A map of two joint methods, each by the rule of its paper,")
    if first.names == second.names:
        raise OptionError(f"--and takes another method than {first.names[0]}, which is mapped already.")
    members = in_both(first.tables["members"], second.tables["members"])
    tables = {"members": members, "overlap": overlap(members, sign=reading.sign)}
    names = (*first.names, *second.names)
    # Both methods are in the name, and behind them what else is not the default: metric, effect, how heads are judged.
    two_joint = first.joint and second.joint
    options = reading.judging_suffix if two_joint else replace(reading, label=Label("")).file_suffix(run)
    suffix = f"-{slug(names[0])}-and-{slug(names[1])}{options}"
    return Selected(tables, names, f"{first.title}; and {second.title}", suffix)


def _one(run: RunResults, place: Place, reading: Reading) -> Selected:
    method = str(reading.label) if reading.label.name else None
    label = sorting_label(run, place, method)
    if label is not None:
        return select_joint(run, label, Reading(Label.parse(label), sign=reading.sign))
    check_scored(run, place, method, by="A map")
    reading = reading.resolve(run)
    note_control(reading.label)
    tables = kept_judged(run, reading)
    return Selected(tables, (str(reading.label),), reading.title, reading.file_suffix(run))
