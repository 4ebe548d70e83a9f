"""Every constant and position of Causal Head Gating, in the paper or its code, beside ours."""

from typing import Any

from headcats.methods.choices import Choice
from headcats.papers.head_gating.settings import (
    N_EXAMPLES,
    N_ORDERS,
    N_SEEDS,
    PRESETS,
    STAGES,
    THRESHOLD,
    GatingSettings,
)

_TESTS = "tests/papers/head_gating/"
_STAGES = f"{_TESTS}test_authors_loop.py::test_stages_are_those_of_the_loop"
_SETTINGS = f"{_TESTS}test_settings.py::test_the_papers_constants"
_SMALL = "batches and updates are for models of a few million parameters"
_CONTRAST = f"{_TESTS}test_contrast.py::test_updates_follow_the_formula"
_PAIRS = f"{_TESTS}test_contrast.py::test_texts_of_the_same_items_are_pairs_and_held_out_together"
_TOGGLES = f"{_TESTS}test_toggling.py::test_curves_equal_runs_with_heads_zeroed_by_hand"
_REDUCED = f"{_TESTS}test_over_seeds.py::test_the_smallest_the_largest_and_the_share"
_HOOKS = f"{_TESTS}test_log_probs.py::test_gates_act_on_the_heads_that_a_layer_has"
_MEANS = f"{_TESTS}test_log_probs.py::test_texts_of_many_lengths_are_averaged_text_by_text"
_RATES = f"{_TESTS}test_authors_loop.py::test_the_schedule_is_torchs_up_to_its_last_step"
_START = f"{_TESTS}test_stages.py::TestAgainstTheFormulas::test_the_start_is_even_between_0_and_1"
_BATCHES = f"{_TESTS}test_stages.py::TestSeeds::test_batches_differ_between_seeds_data_sets_and_stages"
_ORDER = f"{_TESTS}test_settings.py::test_stages_push_nowhere_then_up_then_down"
_DIVERGED = f"{_TESTS}test_fit.py::TestPlainFunction::test_a_seed_that_diverges_is_left_out"
_OPTIONS = f"{_TESTS}test_fit.py::TestStudy::test_options_are_those_of_the_paper_first"
_AT = f"{_TESTS}test_over_seeds.py::test_the_threshold"
_TARGETS = f"{_TESTS}test_texts.py::test_texts_are_encoded_and_their_targets_found"
_SPLIT = f"{_TESTS}test_texts.py::test_items_are_held_out_whole"
_QUESTIONS = f"{_TESTS}test_questions.py::"
_DROPPED = f"{_QUESTIONS}test_what_cannot_be_asked_is_counted_by_reason"
_FINISHED = f"{_QUESTIONS}test_finished_prompts_are_taken_as_they_are"


def choices(settings: GatingSettings) -> tuple[Choice, ...]:
    """One row per constant and position; differences from the paper are those of these settings."""
    return (*_gates(settings), *_fit(settings), *_reading(), *_contrast(settings), *_texts(settings))


def _row(what: str, where: str, paper: Any, ours: Any, test: str, why: str = "", field: str = "") -> Choice:
    """A row whose reason is given where the values differ."""
    return Choice(what, where, paper, ours, test, why if paper != ours else "", field)


def _gates(settings: GatingSettings) -> tuple[Choice, ...]:
    return (
        _row("what a gate multiplies", "chg.py", "z, before W_O", "z, before W_O",
             _HOOKS),
        _row("positions gated", "chg.py", "all", "all", _STAGES),
        _row("gate", "the paper", "sigmoid(theta)", "sigmoid(theta)", _STAGES),
        _row("gates at the start", "chg.py", "U(0, 1)", "U(0, 1)", _START),
        _row("NLL", "chg_trainer.py", "mean over targets, then over texts", "mean over targets, then over texts",
             _MEANS),
        _row("push", "chg_trainer.py", "mean over heads", "mean over heads", _STAGES),
        _row("lambda of G+ and of G-", "the paper", (0.1, -0.1), tuple(stage.push for stage in settings.stages[1:]),
             _SETTINGS, field="push"),
        _row("clamp of theta", "chg_trainer.py", 4.0, settings.clamp, _SETTINGS, field="clamp"),
        _row("norm at which the gradient is clipped", "chg_trainer.py", 1.0, settings.max_norm,
             _SETTINGS, field="max_norm"),
        _row("stages", "chg_trainer.py", ("g0", "g_plus", "g_minus"), STAGES, _ORDER),
        _row("G+ and G- start from", "chg_trainer.py", "G0", "G0", _STAGES),
        _row("optimiser", "chg_trainer.py", "Adam, anew in each stage", "Adam, anew in each stage", _STAGES),
    )  # fmt: skip


def _fit(settings: GatingSettings) -> tuple[Choice, ...]:
    rate = "first + k / (N - 1) (last - first)"
    return (
        _row("texts per update", "the paper; 2 x 32 in chg_example.ipynb", 64, settings.batch,
             _SETTINGS, _SMALL, field="batch"),
        _row("updates per stage", "chg_example.ipynb", 500, settings.updates, _SETTINGS, _SMALL, field="updates"),
        _row("learning rates of G0", "the paper", (0.1, 0.01), settings.first_rates, _SETTINGS, field="first_rates"),
        _row("learning rates of G+ and G-", "the paper", (0.5, 0.1), settings.later_rates,
             _SETTINGS, field="later_rates"),
        _row("rate of update k of N, from 0", "chg_trainer.py", "first + k / N (last - first)", rate,
             _RATES,
             "the last update has the last rate that the paper names; the code stops one step before (.0102 for .01)"),
        _row("texts of an update", "tensordict_dataset.py", "next of a shuffled pass", "drawn anew, without repeats",
             _BATCHES,
             "an update then does not depend on how many texts a pass has"),
        _row("texts of several lengths", "prompt_tokenizer.py", "padded", "grouped by length",
             _STAGES,
             "the same log-probabilities to 1e-6, with fewer tokens"),
        _row("numbers", "chg_trainer.py", "float16, gradients scaled", "those of the model",
             _HOOKS,
             "float32 unless --dtype says otherwise: a fit is then the same on every device"),
        _row("held-out share of the questions", "format_data.py", 0.1, settings.held_out, _SETTINGS,
             "losses alone are measured on them, no score is", field="held_out"),
        _row("fits that are left out", "chg_trainer.py", "none", "those that diverge, by name",
             _DIVERGED,
             "gates of a fit that did not lower its loss say nothing of heads"),
    )  # fmt: skip


def _reading() -> tuple[Choice, ...]:
    formulas = {"facilitation": "G-", "interference": "1 - G+", "irrelevance": "G+ (1 - G-)"}
    scored = f"{_TESTS}test_over_seeds.py::test_scores_are_those_of_the_gates"
    return (
        *(_row(score, "the paper", formula, formula, scored) for score, formula in formulas.items()),
        _row("seeds", "the paper", 10, N_SEEDS, _OPTIONS),
        _row("threshold of a score", "figure 3b", 0.5, THRESHOLD, _AT),
        _row("Always", "figure 3b", "smallest over seeds", "smallest over seeds", _REDUCED),
        _row("Any", "figure 3b", "largest over seeds", "largest over seeds", _REDUCED),
        _row("toggling starts from", "the paper", "G+", "G+", _TOGGLES),
        _row("order of toggling", "the paper", "descending score", "descending score", _TOGGLES),
        _row("gate of a head that is off", "the paper", 0, 0, _TOGGLES),
    )  # fmt: skip


def _contrast(settings: GatingSettings) -> tuple[Choice, ...]:
    code = "ContrastiveCHGTrainer"
    return (
        _row("contrast: clamp of the difference", code, "each pair of texts", "each pair of texts", _CONTRAST),
        _row("contrast: floor of the difference", code, -5.0, settings.forget_floor, _SETTINGS, field="forget_floor"),
        _row("contrast: gradient of the retained text in it", code, "none", "none", _CONTRAST),
        _row("contrast: lambda", code, 0.1, settings.push, _SETTINGS, field="push"),
        _row("contrast: pairs per update", code, 64, settings.batch, _SETTINGS, _SMALL, field="batch"),
        _row("contrast: updates", "cchg_example.ipynb", 500, settings.updates, _SETTINGS, _SMALL, field="updates"),
        _row("contrast: learning rates", code, (0.1, 0.01), settings.first_rates, _SETTINGS, field="first_rates"),
        _row("contrast: a pair is", "function_vectors.ipynb", "one question in two prompts",
             "one item where half or more have a partner, else two at random", _PAIRS,
             "any two data sets can be contrasted, such as two tasks"),
        _row("contrast: data", "function_vectors.ipynb",
             "6 tasks, 10 shots against an instruction, one task left out",
             "two lists of texts", _PAIRS, "texts are what is passed; hc.methods.task_texts makes few-shot prompts"),
        _row("contrast: measured by", "cchg_example.ipynb", "accuracy on the task left out",
             "log-probability of held-out items",
             _CONTRAST, "it is what the loss is made of, and moves before the most likely token does"),
    )  # fmt: skip


def _texts(settings: GatingSettings) -> tuple[Choice, ...]:
    made = f"{_QUESTIONS}test_one_example_comes_first_and_is_never_asked"
    orders = f"{_QUESTIONS}test_orders_are_different_and_the_letter_follows_the_answer"
    study = f"{_TESTS}test_fit.py::TestStudy::test_texts_come_from_all_tasks_that_can_give_some"
    drawn = f"{_QUESTIONS}test_a_question_is_the_same_whichever_others_are_drawn"
    return (
        _row("data sets", "the paper", "OpenMathInstruct-2, CommonsenseQA, BIG-bench syntax, ABA/ABB",
             "categories of the suite",
             study, "a study scores one suite by all methods; question_texts reads the paper's files"),
        _row("texts per data set", "math.ipynb", "49,500 (Math)", settings.n_texts, study,
             "few-shot prompts of a suite repeat words sooner", field="n_texts"),
        _row("examples before a question", "format_data.py", 1, 1, made),
        _row("examples to choose from", "format_data.py", "10 shortest questions",
             f"{N_EXAMPLES} shortest questions", made),
        _row("examples to choose from, Math", "math.ipynb", 50, N_EXAMPLES, made,
             "one default; n_examples=50 gives them"),
        _row("orders of the options", "format_data.py", "all", N_ORDERS, orders,
             "five options have 120 orders, which are one item; n_orders=120 gives all"),
        _row("answer to options", "format_data.py", "letter", "letter", orders),
        _row("targets", "prompt_tokenizer.py", "all tokens of the answer", "all tokens of the answer", _TARGETS),
        _row("targets of ABA/ABB", "aba_abb.ipynb", "last token", "all tokens of the target", _FINISHED,
             "the same where the target is one token, as there"),
        _row("BOS", "prompt_tokenizer.py", "none (ABA/ABB: one)", "one", _TARGETS,
             "one rule for all texts and methods"),
        _row("instruction, Math", "math.ipynb", "steps, LaTeX, boxed answer", "none", made,
             "instruction= takes any words"),
        _row("problems, Math", "math.ipynb", "the 55,050 shortest in tokens", "drawn at random", drawn,
             "lengths in tokens differ by model; what is longer than the context is dropped and counted"),
        _row("solutions of one problem, Math", "math.ipynb", "the first", "the first", _DROPPED),
        _row("problems without a final answer, Math", "math.ipynb", "left out", "left out", _DROPPED),
        _row("split by", "format_data.py", "question", "question", _SPLIT),
    )  # fmt: skip


CHOICES = choices(PRESETS["chg2025"])
SMALL_CHOICES = choices(PRESETS["chg-mini"])
