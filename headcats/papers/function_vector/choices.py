"""Function vectors, choice by choice: Todd et al. (2024), arXiv 2310.15213, and its code."""

from typing import Any

from headcats.methods.choices import Choice
from headcats.papers.function_vector.settings import PAPERS_RUN, SteeringSettings
from headcats.prompts.template import find_template

_steering = SteeringSettings().completed({})
_EFFECT, _EVALUATE, _EXTRACT, _EVAL, _PROMPT = (
    f"src/{name}.py"
    for name in (
        "compute_indirect_effect",
        "evaluate_function_vector",
        "utils/extract_utils",
        "utils/eval_utils",
        "utils/prompt_utils",
    )
)
_PATCH, _PROMPTS, _RANKING, _STEERING, _ACCURACY = (
    f"tests/papers/function_vector/test_{name}.py::" for name in ("patch", "prompts", "ranking", "steering", "accuracy")
)
_PINNED = "tests/methods/test_presets.py::test_the_constants_of_function_vectors"
_PINNED_STEERING = f"{_PROMPTS}test_the_papers_numbers"
_LITERAL = f"{_PATCH}test_equals_its_definition_on_prompts_of_several_lengths"
_LITERAL_STEERING = f"{_STEERING}test_equals_a_literal_replica"
_PREPARED = "tests/study/test_preparation.py::test_scored_and_reference_prompts_are_as_many_as_asked_and_disjoint"
_NUMBER_OF_HEADS = f"{_RANKING}test_the_papers_number_of_heads"


def _written(name: str) -> str:
    """How a template writes a demonstration."""
    text, spans = find_template(name).render([("x", "y")], "")
    return text[: spans["before_query"].start]


def _same(what: str, where: str, value: Any, test: str) -> Choice:
    """A choice that is the paper's and that no setting holds."""
    return Choice(what, where, value, value, test)


_EFFECTS = (
    Choice(
        "tasks",
        "dataset_files/",
        "its own",
        "the suite's",
        "tests/tasks/files/test_layouts.py::test_word_pairs",
        "any suite can be scored; the paper's files load as one",
    ),
    Choice("template", _PROMPT, "Q: x\nA: y\n\n", _written(PAPERS_RUN["template"]), _PINNED),
    Choice("demonstrations", _EFFECT, 10, PAPERS_RUN["n_demos"], _PINNED),
    _same("BOS", _PROMPT, "in front, once", "tests/prompts/test_encode.py::test_bos_stands_in_front_exactly_once"),
    Choice("corrupted prompts", _EFFECT, 25, PAPERS_RUN["n_prompts"], _PINNED),
    Choice("corruption", _EFFECT, "shuffled_labels", PAPERS_RUN["corruption"], _PINNED),
    Choice(
        "shuffled labels",
        _PROMPT,
        "in any order",
        "all moved that can be",
        "tests/prompts/test_corruption.py::test_shuffled_labels_are_a_permutation_that_moves_all_it_can",
        "a label in its place still shows the task",
    ),
    _same("clean prompts in the mean", _EVALUATE, 100, _PINNED),
    Choice(
        "queries",
        _EVALUATE,
        "those answered rightly with demonstrations",
        "all",
        _PREPARED,
        "what a model gets wrong is part of its effect; a task below `min_accuracy` is skipped",
    ),
    Choice(
        "words of demonstrations and queries",
        _PROMPT,
        "70 % and 9 %",
        "all words are both, in different prompts",
        _PREPARED,
        "small tasks would lose most of their words; the mean and the patched prompts share none",
    ),
    _same("position", _EFFECT, "last", _LITERAL),
    _same("patch", _EFFECT, "z of one head set to its mean over clean prompts", _LITERAL),
    Choice("metric", _EFFECT, ("prob",), PAPERS_RUN["metrics"], _PINNED),
    Choice("answer", _EFFECT, "first_token", PAPERS_RUN["answers"], _PINNED),
    _same("effect", _EFFECT, "raw difference", f"{_RANKING}test_nothing_is_divided_by_the_gap"),
    _same(
        "ranking of heads", f"{_EXTRACT}, --universal_set", "mean over tasks", f"{_RANKING}test_equals_a_slow_replica"
    ),
    _same("heads of a function vector", _EVALUATE, 10, _NUMBER_OF_HEADS),
    Choice(
        "heads in models larger than GPT-J",
        "paper",
        "more",
        "10",
        _NUMBER_OF_HEADS,
        "`n` says how many",
    ),
)

_STEERED = (
    _same("function vector", _EXTRACT, "sum of mean head outputs at the last position", _LITERAL_STEERING),
    Choice(
        "bias of the output projection",
        _EXTRACT,
        "once per head",
        "left out",
        f"{_ACCURACY}test_equal_plain_hooks_and_loops",
        "it belongs to no head",
    ),
    Choice(
        "clean prompts in a function vector",
        _EVALUATE,
        100,
        _steering.n_reference,
        _PINNED_STEERING,
        field="n_reference",
    ),
    Choice(
        "demonstrations, steering",
        _EVALUATE,
        10,
        _steering.n_demos,
        _PINNED_STEERING,
        field="n_demos",
    ),
    Choice(
        "template, steering",
        _PROMPT,
        "Q: x\nA: y\n\n",
        _written(str(_steering.template)),
        _PINNED_STEERING,
        field="template",
    ),
    _same("place of the vector", _EVAL, "after a block, at the last position, every block in turn", _LITERAL_STEERING),
    _same("strength of the vector", _EVAL, 1, _LITERAL_STEERING),
    Choice(
        "steered prompts",
        _EVALUATE,
        "without demonstrations, and with shuffled labels",
        "without demonstrations",
        _LITERAL_STEERING,
        "shuffled labels still show which words answer",
    ),
    Choice(
        "steered queries",
        _EVALUATE,
        "those answered rightly with demonstrations, of 21 % of the words",
        "all of the half of the words that ranked no head",
        f"{_PROMPTS}test_no_query_is_among_the_demonstrations",
        "accuracy with demonstrations stands beside (`few_shot`); halves give small tasks enough queries",
    ),
    Choice(
        "most steered queries",
        _EVAL,
        "all",
        _steering.n_prompts,
        f"{_PROMPTS}test_all_queries_where_there_are_few",
        "an interval of 100 is narrow enough",
        field="n_prompts",
    ),
    Choice(
        "answers of several tokens, steering",
        _EVAL,
        "first token",
        "dropped",
        f"{_PROMPTS}test_what_is_dropped_is_counted",
        "a right first token is no right answer",
    ),
    _same("right answer", _EVAL, "the most likely token", _LITERAL_STEERING),
    Choice(
        "random sets of heads",
        _EVALUATE,
        "none",
        _steering.n_draws,
        f"{_PROMPTS}test_the_papers_numbers",
        "a vector of any heads may raise accuracy",
        field="n_draws",
    ),
)

CHOICES: tuple[Choice, ...] = (*_EFFECTS, *_STEERED)
"""The paper's choices and ours."""
