"""Constants and positions of Orgad et al. (2025) and of their code, beside those of the preset `orgad2025`."""

from dataclasses import replace
from typing import Any

from headcats.methods.choices import Choice
from headcats.papers.token_probe.settings import KEEP, LEAVE_OUT, PRESETS, REPRESENTATIONS, TokenProbeSettings

_OURS, _CODE = PRESETS["orgad2025"], PRESETS["orgad2025-code"]
_UTILS, _PROBE, _ANSWERS = "src/probing_utils.py", "src/probe.py", "src/generate_model_answers.py"
_TESTS = "tests/papers/token_probe"
_POSITIONS = f"{_TESTS}/test_literal_positions.py::test_roles_are_those_of_the_authors"
_LITERAL = f"{_TESTS}/test_literal_probe.py::test_the_preset_of_the_code_is_the_authors_probe"
_SETTINGS = f"{_TESTS}/test_settings.py::test_the_paper_preset_is_the_one_of_the_method"
_CODE_SETTINGS = f"{_TESTS}/test_settings.py::test_the_preset_of_the_code"
_READER = f"{_TESTS}/test_answered_files.py"
_ITEMS = f"{_TESTS}/test_items.py"
_TYPES = f"{_TESTS}/test_taxonomy.py"
_SCORES = f"{_TESTS}/test_detectors.py"
_IN_CODE = "; the preset orgad2025-code has it"
_WORDS = {KEEP: "kept", LEAVE_OUT: "left out"}


def _value(settings: TokenProbeSettings, field: str) -> Any:
    """A setting, in the words of the table."""
    value = getattr(settings, field)
    return _WORDS.get(value, value)


def _set(field: str, what: str, where: str, paper: Any, test: str, why: str = "") -> Choice:
    """A choice that a field of the settings holds."""
    return Choice(what, where, paper, _value(_OURS, field), test, why, field)


CHOICES: tuple[Choice, ...] = (
    Choice("representation", "README", "activations of the MLP", "activations of the MLP",
           f"{_TESTS}/test_passes.py::test_they_are_what_one_hook_shows_of_one_text"),
    Choice("hook", _UTILS, "mlp.down_proj, its input", "mlp.down_proj, its input"
           if next(iter(REPRESENTATIONS.values())) == "mlp.hook_post" else "another", _SETTINGS),
    _set("roles", "token roles", "src/probe_all_layers_and_tokens.py", (
        "last_q", "first_answer", "second_answer", "exact_answer_before_first", "exact_answer_first",
        "exact_answer_last", "exact_answer_after_last", "-8", "-7", "-6", "-5", "-4", "-3", "-2", "-1"), _SETTINGS),
    Choice("last_q, first_answer, second_answer", _UTILS, "q_len - 1, q_len, q_len + 1", "q_len - 1, q_len, q_len + 1",
           _POSITIONS),
    Choice("token before the exact answer", _UTILS, "first - 1", "first - 1", _POSITIONS),
    Choice("token after the exact answer", _UTILS, "last + 1, or the last", "last + 1, or the last", _POSITIONS),
    Choice("tokens of the exact answer", _UTILS, "fewest that decode to its first occurrence, ignoring case",
           "fewest that decode to its first occurrence, ignoring case", _POSITIONS),
    _set("stop_token", "token that ended the answer", _UTILS, "kept",
         f"{_TESTS}/test_literal_positions.py::test_the_token_that_ended_an_answer",
         f"-1 is then the last word of every answer, however it ended{_IN_CODE}"),
    _set("coinciding", "answers whose roles coincide", _UTILS, "kept", _CODE_SETTINGS,
         f"columns of the map would show one token under two names{_IN_CODE}"),
    _set("min_answer_tokens", "fewest tokens of an answer", _UTILS, 1, _CODE_SETTINGS,
         f"see the roles that coincide{_IN_CODE}"),
    _set("min_exact_tokens", "fewest tokens of an exact answer", _UTILS, 1, _CODE_SETTINGS,
         f"see the roles that coincide{_IN_CODE}"),
    Choice("classifier", _UTILS, "logistic regression, lbfgs", "logistic regression, lbfgs", _LITERAL),
    _set("penalty_strength", "L2 penalty C", _UTILS, 1.0, _LITERAL),
    _set("features", "features", _UTILS, "raw", _LITERAL,
         f"the penalty then means the same at every layer; AUCs differ by at most .002{_IN_CODE}"),
    _set("max_iter", "steps of the solver", _UTILS, 100, _LITERAL, f"probes should converge{_IN_CODE}"),
    _set("unconverged", "probes that do not converge", _UTILS, "kept",
         f"{_TESTS}/test_literal_probe.py::test_unfinished_probes_are_kept_and_named",
         f"where the solver stops is no property of the model{_IN_CODE}"),
    Choice("label", _UTILS, "wrong is the positive class", "wrong is the positive class", _LITERAL),
    _set("min_class", "fewest right, and fewest wrong, answers", _UTILS, "no limit",
         f"{_TESTS}/test_fit.py::test_too_few_of_a_class_are_refused_with_both_numbers",
         "headcats' own: a fifth of fewer says little about an AUC"),
    _set("test_share", "held-out share", _UTILS, 0.2, _SETTINGS),
    Choice("held-out answers at most", _UTILS, "1000", "no limit",
           f"{_TESTS}/test_token_map.py::test_both_sides_have_the_classes_and_tasks_of_the_whole",
           "more answers make intervals narrower"),
    Choice("split", _UTILS, "by answer", "by query item, within task and class",
           f"{_TESTS}/test_token_map.py::test_no_item_is_on_both_sides",
           "a probe can memorise an item that is on both sides"),
    Choice("interval", _PROBE, "standard deviation over 5 seeds", "95 % over resampled query items",
           f"{_TESTS}/test_probe.py::test_the_interval_holds_the_true_area",
           "answers to one item are one unit"),
    _set("resamples", "draws behind an interval", _PROBE, "none", _SETTINGS,
         "headcats' own: enough for the ends of a 95 % interval"),
    Choice("metric", _UTILS, "ROC-AUC", "ROC-AUC",
           f"{_TESTS}/test_probe.py::test_the_area_is_that_of_scikit_learn_ties_included"),
    Choice("decoding", _ANSWERS, "greedy", "greedy",
           "tests/models/test_generation.py::test_the_bundled_model_answers_as_transformers_generates"),
    _set("max_new_tokens", "most new tokens", _ANSWERS, 100, _CODE_SETTINGS,
         f"answers here are sentences; 200 for arithmetic there{_IN_CODE}"),
    Choice("answers end at", _ANSWERS, "end of text; of base models, a line break", "end of text or a line break",
           f"{_TESTS}/test_answers.py::test_answers_are_judged_by_their_exact_part",
           "one sentence is read, of chat models too"),
    Choice("right answer", "src/compute_correctness.py", "an alias in the answer, ignoring case",
           "an alias in the answer, ignoring case", f"{_ITEMS}::test_labels_are_those_of_the_authors"),
    Choice("exact answer of a right answer", "src/extract_exact_answer.py", "alias that comes first",
           "alias that comes first", f"{_ITEMS}::test_exact_answers_are_those_of_the_authors"),
    Choice("exact answer of a choice", "src/compute_correctness.py", "option that comes first, the wrong one at a tie",
           "option that comes first, the wrong one at a tie", f"{_ITEMS}::test_exact_answers_are_those_of_the_authors"),
    Choice("exact answer of a wrong answer", "src/extract_exact_answer.py",
           "copied out by Mistral-7B-Instruct, sampled up to 5 times", "copied out by the model itself, greedily",
           f"{_TESTS}/test_extraction.py::test_a_wrong_answer_is_copied_out_by_the_model",
           "no second model is needed"),
    Choice("answers without an exact answer", _UTILS, "left out", "left out",
           f"{_READER}::test_every_reason_is_counted_and_named"),
    Choice("numbers that are not whole", "src/compute_correctness.py", "9.5 or 9", "9.5",
           f"{_READER}::test_cells", "9 is not 9.5"),
    Choice("judge of natural questions", "src/compute_correctness.py", "Mistral-7B-Instruct", "aliases or a label",
           f"{_ITEMS}::test_labels_are_those_of_the_authors", "a label column takes any judge's word"),
    Choice("log-probability baselines", "src/logprob_detection.py", "mean, min, max of logits and probabilities",
           "mean, min, max of logits and probabilities", f"{_SCORES}::test_confidences_are_those_of_the_authors"),
    Choice("last and next token as baselines", "src/logprob_detection.py", "last, after the last", "neither",
           f"{_SCORES}::test_confidences_are_those_of_the_authors", "one token more or less is the tokenizer's choice"),
    Choice("p(True), order of the options", "src/p_true_detection.py", "the better of two", "mean of two",
           f"{_SCORES}::test_p_true_is_the_mean_of_both_orders", "the better of two on the same answers flatters"),
    Choice("resampled answers", "src/resampling.py", 30, 30, f"{_TESTS}/test_resampling.py::test_draws"),
    Choice("temperature, top k", "src/resampling.py", "1.0, 50", "1.0, 50", f"{_TESTS}/test_resampling.py::test_draws"),
    Choice("thresholds of error types", "src/resamples_utils.py", "n // 2, n // 3, n // 6", "n // 2, n // 3, n // 6",
           f"{_TYPES}::test_types_are_those_of_the_authors"),
    Choice("probe of error types", "src/probe_type_of_error.py", "one type against all others",
           "one type against all others", f"{_TESTS}/test_error_probes.py::test_a_planted_type_is_told"),
    Choice("generalisation, judged on", _PROBE, "a test file of the other set", "held-out items of the other set",
           f"{_TESTS}/test_across_sets.py::test_what_transfers_and_what_does_not",
           "an item that is in both sets stays on one side"),
    Choice("questions", "section 2", "10 data sets", "those of the suite",
           f"{_READER}::test_the_authors_tables", "answered_items reads the paper's tables"),
)  # fmt: skip
"""Every constant and position of the method."""


def _of_code(choice: Choice) -> Choice:
    """The choice as the preset of the code has it."""
    if not choice.field:
        return choice
    ours = _value(_CODE, choice.field)
    return replace(choice, ours=ours, why="" if ours == choice.paper else choice.why.removesuffix(_IN_CODE))


CODE_CHOICES = tuple(map(_of_code, CHOICES))
"""The same beside the preset `orgad2025-code`."""
