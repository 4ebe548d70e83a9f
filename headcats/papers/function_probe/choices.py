"""What the paper and its code chose, beside what the function probe does; file names are those of its repository.

The collector and the scaling of heads are hooks of pyvene 0.1.7 around `generate`. That version calls them in every
pass but the first, over the prompt, so what they see last is the token that was just written, not the one that comes.
"""

from headcats.methods.choices import Choice
from headcats.papers.function_probe.settings import CONTROLS, PRESETS, SCALE, SCALED_POSITIONS

_OURS = PRESETS["cogmirrors2025"]
_TESTS = "tests/papers/function_probe/test_{}.py::test_{}"
_SETTINGS = _TESTS.format("settings", "the_paper_preset_holds_the_constants_of_the_specification")
_REPLICA = _TESTS.format("features", "features_equal_a_literal_replica")
_PROBE = _TESTS.format("classifier", "training_is_adamw_on_shuffled_batches_with_dropout_after_the_relu")
_OWN = _TESTS.format("own_answers", "they_are_the_greedy_continuations_of_the_prompts")
_TRAINING, _IMPORTANCE = "get_importance.py train_model", "get_importance.py compute_feature_importance_per_label"
_SCALING = "ablation_topk.py"

CHOICES = (
    Choice("head output", "get_activations.py", "input of o_proj", "input of o_proj", _REPLICA),
    Choice("beside it", "get_importance.py", "mean over the layer's heads", "mean over the layer's heads", _REPLICA),
    Choice(
        "position of z",
        "utils.py get_llama_activations_pyvene",
        "answer",
        _OURS.at,
        _TESTS.format("features", "positions_are_the_last_ones_of_decoding_steps"),
        "z at a token holds which word it is; where it is predicted, what was made of the text before it",
        field="at",
    ),
    Choice(
        "answers",
        "utils.py",
        "generated",
        _OURS.answers,
        _SETTINGS,
        "those of a suite are known to be right",
        field="answers",
    ),
    Choice("decoding", "utils.py", "greedy", "greedy", _OWN),
    Choice(
        "tokens of a generated answer at most", "utils.py", 128, _OURS.max_new_tokens, _SETTINGS, field="max_new_tokens"
    ),
    Choice(
        "end of a generated answer",
        "utils.py StopOnCloseBracket",
        "]",
        "line break, end of text or closing quotation mark",
        _TESTS.format("own_answers", "a_quotation_that_the_prompt_opens_is_closed_by_the_answer"),
        "the opening of the reply is part of the prompt",
    ),
    Choice(
        "generated answers that are wrong",
        "get_topk_tokens_by_answer.py",
        "kept, all tokens",
        f"kept, {_OURS.top_tokens} tokens",
        _TESTS.format("own_answers", "right_ones_are_counted_and_wrong_ones_kept"),
        "no judge is asked; how many are right is counted",
    ),
    Choice(
        "generated answers without text",
        "get_importance.py main",
        "dropped in training",
        "dropped and counted",
        _OWN,
        "a mean over no token is no number",
    ),
    Choice(
        "prompt",
        "utils.py prompt",
        "instruction",
        "few-shot",
        _TESTS.format("cogqa_texts", "the_instruction_shows_the_earlier_steps_of_retrieval_alone"),
        "for models without instruction tuning; cogqa_texts(layout='instruction') gives the paper's in other words",
    ),
    Choice(
        "earlier steps in the instruction",
        "utils.py cot_prompt",
        "Retrieval",
        "Retrieval",
        _TESTS.format("cogqa_texts", "the_instruction_shows_the_earlier_steps_of_retrieval_alone"),
    ),
    Choice(
        "answer tokens averaged at most",
        "get_topk_tokens_by_answer.py",
        5,
        _OURS.top_tokens,
        _SETTINGS,
        field="top_tokens",
    ),
    Choice(
        "which of them",
        "get_topk_tokens_by_answer.py",
        "the most important to another language model",
        "the least expected",
        _REPLICA,
        "can be repeated, offline",
    ),
    Choice(
        "answers of up to 5 tokens",
        "get_topk_tokens_by_answer.py",
        "whole",
        "whole",
        _TESTS.format("features", "answers_no_longer_than_the_choice_are_used_whole"),
    ),
    Choice(
        "shared projection",
        "get_importance.py FeatureLevelClassifier",
        64,
        _OURS.projection,
        _SETTINGS,
        field="projection",
    ),
    Choice("hidden layer", "get_importance.py FeatureLevelClassifier", 512, _OURS.hidden, _SETTINGS, field="hidden"),
    Choice("activation", "get_importance.py FeatureLevelClassifier", "ReLU", "ReLU", _PROBE),
    Choice("dropout", "get_importance.py FeatureLevelClassifier", 0.3, _OURS.dropout, _SETTINGS, field="dropout"),
    Choice(
        "classes",
        "get_importance.py FeatureLevelClassifier",
        "12, the skills of the training file",
        f"functions with {_OURS.least_items} items or more",
        _TESTS.format("fit", "functions_with_too_few_items_are_skipped_by_name"),
        "skills of one to three steps cannot be held out",
        field="least_items",
    ),
    Choice("loss", _TRAINING, "cross-entropy", "cross-entropy", _PROBE),
    Choice("optimizer", _TRAINING, "AdamW", "AdamW", _PROBE),
    Choice("learning rate", _TRAINING, 1e-4, _OURS.learning_rate, _SETTINGS, field="learning_rate"),
    Choice("weight decay", _TRAINING, 0.01, _OURS.weight_decay, _SETTINGS, field="weight_decay"),
    Choice("epochs", _TRAINING, 100, _OURS.epochs, _SETTINGS, field="epochs"),
    Choice("batch size", _TRAINING, 1, _OURS.batch_size, _SETTINGS, "32 times fewer steps", field="batch_size"),
    Choice(
        "order of the texts",
        _TRAINING,
        "that of the file",
        "shuffled",
        _PROBE,
        "a suite's texts come task by task",
    ),
    Choice(
        "features",
        _TRAINING,
        "as they are",
        "standardised",
        _TESTS.format("classifier", "features_are_standardised_and_those_that_do_not_vary_count_for_nothing"),
        "norms of z differ by layer and model, and one learning rate has to do for all",
    ),
    Choice(
        "held out",
        "get_importance.py main",
        "148 of 720 questions",
        f"one of {_OURS.folds} parts of the items",
        _TESTS.format("splits", "an_item_is_on_one_side_and_every_function_on_both"),
        "a suite has no test file; each seed holds out another part",
        field="folds",
    ),
    Choice(
        "importance",
        _IMPORTANCE,
        "mean over u of gradient x u",
        "mean over u of gradient x u",
        _TESTS.format("classifier", "importance_is_gradient_times_activation_head_by_head_and_text_by_text"),
    ),
    Choice(
        "texts it is averaged over",
        _IMPORTANCE,
        "held out, of the function",
        "held out, of the function",
        _TESTS.format("seed", "importance_is_read_on_held_out_texts_alone"),
    ),
    Choice(
        "probes",
        "get_importance.py main",
        "one",
        "5, mean absolute importance",
        _TESTS.format("fit", "the_paper_preset_and_options_are_what_the_command_line_offers"),
        "single probes rank heads in different orders",
    ),
    Choice(
        "probes trained without tasks too",
        "get_importance.py main",
        0,
        _OURS.left_out_seeds,
        _TESTS.format("seed", "only_the_first_seeds_are_tested_on_left_out_tasks"),
        "they tell functions from tasks",
        field="left_out_seeds",
    ),
    Choice(
        "heads of a function",
        f"get_importance.py find_elbow_point, {_SCALING} (which overwrites its 30)",
        "those before the elbow",
        "those up to the elbow",
        "tests/rules/test_rules.py::test_elbow_by_hand",
        "every function has one",
    ),
    Choice(
        "scale of heads",
        _SCALING,
        1e-4,
        SCALE,
        _TESTS.format("scaling", "texts_that_are_dropped_are_counted"),
    ),
    Choice(
        "positions of scaling",
        "interveners.py head_Intervener",
        "the tokens that the model has written",
        SCALED_POSITIONS[0],
        _TESTS.format("scaling", "one_pass_is_decoding_with_the_last_position_scaled"),
        "the paper's replies open with a form, so these tokens predict every one of the answer; here it comes first",
    ),
    Choice(
        "random heads beside them",
        _SCALING,
        "1 set, which may hold heads of the function",
        f"{CONTROLS} sets without heads of the function",
        _TESTS.format("scaling", "random_sets_exclude_the_heads_and_are_distinct"),
        "gives a p value",
    ),
    Choice(
        "outcome of scaling",
        _SCALING,
        "BLEU, ROUGE or cosine of what is generated",
        "log-probability and first choice of the answer",
        _TESTS.format("scaling", "numbers_are_those_of_a_scaled_run"),
        "needs no other model",
    ),
)
