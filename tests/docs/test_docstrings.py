"""What every public docstring says: parameters, what comes back, errors, shapes, units, source and an example.

Members of classes and exceptions need less: what they are, and their parameters.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable, Sequence

from examples_run import parsed
from for_each import for_each
from public_names import PublicName, public_names

ALL = public_names()
NAMES = [public for public in ALL if not public.is_member and not public.name.startswith("errors.")]
SECTION = re.compile(r"^([A-Z][a-z]+):\n((?:[ \t]+.*\n|\n)*)", re.MULTILINE)

# They hold, load, name, write or register things; what they do has no source but themselves.
WITHOUT_A_SOURCE = {
    "Head", "PromptBatch", "PromptPair", "SecondCorruption", "Suite", "Task", "attention",
    "categories.head_table", "figures.checkpoints",
    "figures.data", "figures.figure", "figures.head_grid", "figures.head_tasks",
    "figures.write", "load", "load_model",
    "make_suite", "methods.AnsweredText", "methods.Declaration", "methods.Selection",
    "methods.Strength", "methods.add_preset", "methods.declare", "methods.preset", "papers.head_gating.task_texts",
    "metrics.Rest", "metrics.Targets", "metrics.metric", "push", "report", "rules.Cutoffs", "rules.Rule",
    "rules.rule", "run", "run_series", "suite", "save_attention", "smallest_set", "suite_blocks", "task",
    "task_prompts",
}  # fmt: skip
# Nothing that fits their types is refused.
WITHOUT_ERRORS = {
    "Head", "methods.Declaration", "methods.Selection",
    "methods.Strength", "metrics.Rest", "metrics.Targets", "metrics.accuracy", "metrics.kl", "metrics.log_prob",
    "metrics.logit_diff", "metrics.pair_accuracy", "metrics.prob", "metrics.rank", "rules.Cutoffs", "rules.Rule",
    "rules.elbow", "suite_blocks",
}  # fmt: skip
# A list of axes, a result described by another name, or one number.
SHAPE = re.compile(
    r"[(\[](?:[a-z_]+(?: \| [a-z_]+)*, ?)+\.{0,3}[a-z_]*[)\]]|\([a-z_]+\)|\[[a-z_]+\]|per row|scalar"
    r"|[Aa]s `hc\.\w|[Ww]hat `hc\.\w+`.* returns"
)
UNIT = re.compile(
    r"share|nats|\[0, 1\]|\bunits?\b|probabilit|correlation|\bgap\b|heads in|numbers? of|how many|int8|count"
)
ARRAYS = ("Dataset", "DataArray", "DataTree", "Tensor", "ndarray", "PromptBatch")


def sections(public: PublicName) -> dict[str, str]:
    return dict(SECTION.findall(public.docstring + "\n"))


def parameters(public: PublicName) -> dict[str, inspect.Parameter]:
    return {} if public.is_value else dict(public.signature.parameters)


def says_what_it_is(public: PublicName) -> None:
    first = public.docstring.split("\n\n")[0].strip()
    assert len(first.split()) >= 3
    assert re.search(r"[.:?](\*\*)?$", first), first


def describes_its_parameters_and_no_other(public: PublicName) -> None:
    if public.name.startswith("errors."):
        return
    found = sections(public)
    place = "Attributes" if dataclasses.is_dataclass(public.item) or _is_tuple(public) else "Args"
    described = set(re.findall(r"^    (\*{0,2}\w+)(?: \([^)]*\))?:", found.get(place, ""), re.MULTILINE))
    given = {_as_written(parameter) for parameter in parameters(public).values()}
    assert given <= described
    assert place == "Attributes" or described == given


def says_what_it_returns(public: PublicName) -> None:
    if public.is_class:
        assert sections(public).get("Attributes", "").strip()
    else:
        assert sections(public).get("Returns", "").strip()


def says_what_it_raises(public: PublicName) -> None:
    assert bool(sections(public).get("Raises", "").strip()) != (public.name in WITHOUT_ERRORS)


def gives_arrays_shapes_and_units(public: PublicName) -> None:
    annotations = [str(parameter.annotation) for parameter in parameters(public).values()]
    annotations += [] if public.is_class else [str(public.signature.return_annotation)]
    if any(word in annotation for annotation in annotations for word in ARRAYS):
        assert SHAPE.search(public.docstring)
    if not public.is_class and "Dataset" in annotations[-1]:
        assert UNIT.search(public.docstring)


def names_its_source(public: PublicName) -> None:
    source = sections(public).get("References", "").strip()
    assert bool(source) or public.name in WITHOUT_A_SOURCE
    assert not source or re.search(r"\(\d{4}\)|`hc\.\w|headcats' own", source)


def has_an_example(public: PublicName) -> None:
    examples = parsed(public.name, sections(public).get("Example", "")).examples
    assert examples
    # Classes are shown by what users do with one, whoever made it.
    assert public.is_class or any(public.name.rpartition(".")[2] in example.source for example in examples)


CHECKS: list[tuple[Callable[[PublicName], None], Sequence[PublicName]]] = [
    (says_what_it_is, ALL),
    (describes_its_parameters_and_no_other, ALL),
    (says_what_it_returns, NAMES),
    (says_what_it_raises, NAMES),
    (gives_arrays_shapes_and_units, NAMES),
    (names_its_source, NAMES),
    (has_an_example, NAMES),
]


@for_each("check,public", [(check, public) for check, names in CHECKS for public in names])
def test_docstrings(check: Callable[[PublicName], None], public: PublicName) -> None:
    check(public)


def test_the_exceptions_are_public_names() -> None:
    assert {public.name for public in NAMES} >= WITHOUT_A_SOURCE | WITHOUT_ERRORS


def _is_tuple(public: PublicName) -> bool:
    return public.is_class and issubclass(public.item, tuple)


def _as_written(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
    return stars.get(parameter.kind, "") + parameter.name
