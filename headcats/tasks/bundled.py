"""The bundled suites: which tasks and categories each has."""

from headcats.registry import lookup, register
from headcats.registry import names as registered
from headcats.tasks.categories import FUNCTIONS, SPARE_COLOURS, STANDARD_CATEGORIES, Category
from headcats.tasks.definition import Task
from headcats.tasks.maps_relations import MAPS_RELATIONS
from headcats.tasks.suites import Suite, make_suite


def tasks_of_suite(name: str) -> list[Task]:
    """Registered tasks that belong to this suite, in the order of registration."""
    return [task for task in (lookup("task", task_name) for task_name in registered("task")) if task.suite == name]


def icl() -> Suite:
    """In-context learning: few-shot tasks in the four categories Algorithmic, Knowledge, Linguistic, Translation."""
    return make_suite(tasks_of_suite("icl"), name="icl", categories=STANDARD_CATEGORIES)


def cognitive() -> Suite:
    """Eight functions of Cognitive Mirrors, Knowledge Recall to Math Calculation, with three few-shot tasks each."""
    functions = [Category(name, colour) for name, colour in zip(FUNCTIONS, SPARE_COLOURS, strict=True)]
    return make_suite(tasks_of_suite("cognitive"), name="cognitive", categories=functions)


def sentences() -> Suite:
    """Zero-shot questions about numbers, answered in a sentence, rightly or wrongly."""
    return make_suite(tasks_of_suite("sentences"), name="sentences")


def induction() -> Suite:
    """The beginning of a list of random words, repeated: what followed its last word the first time?"""
    return make_suite(tasks_of_suite("induction"), name="induction")


def ioi() -> Suite:
    """Indirect object identification: which of two people is given or told something by the other?"""
    return make_suite(tasks_of_suite("ioi"), name="ioi")


def greater_than() -> Suite:
    """Years that must be later, or earlier, than one that is given."""
    return make_suite(tasks_of_suite("greater_than"), name="greater_than")


def agreement() -> Suite:
    """Verbs that agree with their subject in number, whatever noun stands between them."""
    return make_suite(tasks_of_suite("agreement"), name="agreement")


def relations() -> Suite:
    """The 20 relations of MAPS in its four categories, as pairs of short words."""
    tasks = [relation.task for relation in MAPS_RELATIONS.values()]
    return make_suite(tasks, name="relations", categories=STANDARD_CATEGORIES)


for _make in (icl, cognitive, sentences, induction, ioi, greater_than, agreement, relations):
    register("suite", _make.__name__, _make)
