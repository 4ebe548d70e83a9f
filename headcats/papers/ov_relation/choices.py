"""MAPS, constant by constant and position by position: Elhelo & Geva (2025), arXiv 2412.11965, and its code."""

from typing import Any

from headcats.methods.choices import Choice
from headcats.papers.ov_relation.settings import PRESETS

_usual, _llama3, _llama3_70b = (PRESETS[name] for name in ("maps2025", "maps2025-llama3", "maps2025-llama3-70b"))
_MAPS, _UTILS, _CORRELATIVE, _CAUSAL = (
    f"src/{name}.py" for name in ("maps", "utils", "experiment1_correlative", "experiment2_causal")
)
_CAUSAL_EFFECTS = f"{_MAPS}, calc_causal_effects"
_PAIRS, _STATIC, _FIT, _SALIENT, _DYNAMIC, _ABLATION, _SETTINGS, _FAMILY = (
    f"tests/papers/ov_relation/test_{name}.py::"
    for name in ("pairs", "static", "fit", "salient", "dynamic", "ablation", "settings", "family")
)
_PINNED = f"{_SETTINGS}test_presets_hold_the_numbers_of_the_paper"
_LITERAL = f"{_STATIC}test_scores_and_null_are_those_of_the_literal_replica"
_LITERAL_DYNAMIC = f"{_DYNAMIC}test_scores_are_those_of_the_literal_replica"
_LITERAL_ABLATION = f"{_ABLATION}test_curves_are_those_of_the_literal_replica"
_CONTROLS = f"{_ABLATION}test_controls_share_few_heads_and_are_about_as_accurate"
_SEVERAL_TOKENS = f"{_PAIRS}test_words_of_several_tokens_are_dropped_and_named"
_READ = {True: "what the first MLP makes of it, without the residual stream", False: "the embedding"}


def _same(what: str, where: str, value: Any, test: str) -> Choice:
    """A choice that is the paper's and that no setting holds."""
    return Choice(what, where, value, value, test)


_WORDS = (
    Choice(
        "word pairs",
        "datasets/",
        "its 20 relations",
        "the suite's",
        "tests/tasks/files/test_maps.py::test_its_folder_loads_unchanged",
        "any relation can be scored; the suite `relations` has pairs of ours for the 20, and the paper's folder loads",
    ),
    _same(
        "tokens of a word",
        _MAPS,
        "with a space before it, no special token",
        f"{_PAIRS}test_words_are_read_with_a_space_before_them",
    ),
    _same("pairs that count", _MAPS, "one token on both sides", _SEVERAL_TOKENS),
    Choice(
        "the unknown token",
        _MAPS,
        "counted",
        "dropped",
        f"{_PAIRS}test_words_the_tokenizer_does_not_know_are_no_tokens",
        "it stands for many words at once; the paper's tokenizers have none",
    ),
    Choice(
        "pairs given twice",
        _MAPS,
        "counted twice",
        "once",
        _SEVERAL_TOKENS,
        "one pair would weigh twice; the paper's files hold none",
    ),
    Choice(
        "sources of several tokens",
        "src/multi_token.py",
        "checked in running text",
        "dropped",
        _SEVERAL_TOKENS,
        "that check is not part of headcats",
    ),
    Choice(
        "least pairs of a relation",
        _MAPS,
        30,
        _usual.min_pairs,
        f"{_FIT}TestRefusals::test_thirty_pairs_are_needed",
        field="min_pairs",
    ),
)

_SCORES = (
    Choice("k", f"{_UTILS}, get_k", 10, _usual.k, _PINNED, field="k"),
    Choice("k, copying", f"{_UTILS}, get_k", 1, _usual.copying_k, _PINNED, field="copying_k"),
    Choice("k, Llama 3", f"{_UTILS}, get_k", 25, _llama3.k, _PINNED, field="k"),
    Choice("k, copying, Llama 3", f"{_UTILS}, get_k", 3, _llama3.copying_k, _PINNED, field="copying_k"),
    Choice("k, Llama-3.1-70B", f"{_UTILS}, get_k", 25, _llama3_70b.k, _PINNED, field="k"),
    Choice("k, copying, Llama-3.1-70B", f"{_UTILS}, get_k", 3, _llama3_70b.copying_k, _PINNED, field="copying_k"),
    Choice(
        "copying relations",
        f"{_UTILS}, get_k",
        "by name",
        "by their tokens",
        f"{_PAIRS}test_copying_is_recognised_after_the_gate",
        "those whose pairs all have one token on both sides, whatever they are called; of the 20, the same two",
    ),
    Choice(
        "family of a model",
        f"{_UTILS}, get_k",
        "by name",
        "by architecture and vocabulary",
        f"{_FAMILY}test_the_family_is_that_of_the_configuration",
        "a folder or a fine-tune may have any name; a preset of another family runs with a warning",
    ),
    _same("heads of layer 0 read", _MAPS, "the embedding, without position", _LITERAL),
    Choice("heads of later layers read", _MAPS, _READ[True], _READ[_usual.first_mlp], _LITERAL, field="first_mlp"),
    Choice(
        "heads of later layers read, Llama-3.1-70B",
        f"{_CORRELATIVE}, get_static_scores",
        _READ[False],
        _READ[_llama3_70b.first_mlp],
        f"{_FIT}TestCall::test_presets",
        field="first_mlp",
    ),
    _same("weights", _MAPS, "unprocessed", f"{_FIT}TestRefusals::test_folded_weights"),
    _same("biases and final norm", _MAPS, "left out", _LITERAL),
    _same("values under shared keys and values", _MAPS, "those of the head's group", _LITERAL),
    _same("score", _MAPS, "share of pairs whose target is among the top k", _LITERAL),
    _same("suppression", _MAPS, "the same of the negative projection", _LITERAL),
    Choice(
        "tokens of equal value at place k",
        _MAPS,
        "as topk keeps them",
        "all in",
        f"{_STATIC}test_tokens_that_share_the_last_place_are_all_in",
        "which of them topk keeps is not defined",
    ),
    Choice(
        "a head that gives all tokens one value",
        _MAPS,
        "as topk keeps them",
        "maps nothing",
        f"{_STATIC}test_a_head_that_writes_nothing_maps_nothing",
        "it writes nothing",
    ),
    Choice("least score of a head", "paper", 0.15, _usual.threshold, _PINNED, field="threshold"),
    Choice(
        "permutations of the targets, as a null",
        "paper",
        "none",
        _usual.permutations,
        _PINNED,
        "a head that raises the same few words for every source hits by chance",
        field="permutations",
    ),
    Choice(
        "percentile of that null to reach",
        "paper",
        "none",
        _usual.null_percentile,
        f"{_FIT}TestCall::test_what_it_returns",
        "as the null; `--rule threshold:value=0.15` reads the scores without it",
        field="null_percentile",
    ),
    _same(
        "relations of a head in a category",
        "paper",
        "at least 1",
        "tests/methods/test_presets.py::test_the_reading_of_maps",
    ),
    Choice(
        "first MLP for salient tokens of layer 0",
        f"{_MAPS}, get_salient_operations",
        "applied",
        "left out",
        f"{_SALIENT}test_they_are_those_of_the_literal_replica",
        "an accident, the code says; the scores read the embedding there",
    ),
)

_IN_TEXT = (
    Choice(
        "templates",
        _CORRELATIVE,
        (
            "No <X> means no",
            "The story of <X> contains",
            "This is a document about <X>",
            "When I think about <X> I think about",
        ),
        _usual.templates,
        f"{_DYNAMIC}test_the_papers_templates_are_the_default",
        field="templates",
    ),
    _same("BOS in templates", _CORRELATIVE, "the tokenizer's own", f"{_DYNAMIC}test_tokens_are_the_tokenizers_own"),
    _same("position of z", _MAPS, "last", _LITERAL_DYNAMIC),
    _same("z is read through", _MAPS, "W_O and W_U, without the final norm", _LITERAL_DYNAMIC),
    _same(
        "without context",
        _MAPS,
        "at every layer the last position attends to the source alone, and the clean z goes on",
        _LITERAL_DYNAMIC,
    ),
    Choice(
        "place of the source",
        f"{_MAPS}, calc_dynamic_relation_scores",
        "as in the first prompt",
        "checked in each",
        f"{_DYNAMIC}test_pairs_that_a_template_cannot_hold_are_counted",
        "where a text writes a source with other tokens, another word stands there; such pairs are counted out",
    ),
    _same("r of static and dynamic scores", _CORRELATIVE, "over heads and templates", f"{_DYNAMIC}test_pooled_r"),
)

_ABLATED = (
    Choice(
        "prompts of the ablation",
        _CAUSAL,
        "a text for each of 13 relations",
        "as given",
        "tests/tasks/test_texts.py::test_answers_are_marked_and_the_rest_is_the_prompt",
        "any relation has few-shot prompts (`hc.methods.task_texts`)",
    ),
    _same(
        "BOS in prompts of the ablation",
        _CAUSAL_EFFECTS,
        "the tokenizer's own",
        f"{_ABLATION}test_where_bos_stands_the_texts_say",
    ),
    _same("ablation", _CAUSAL_EFFECTS, "z set to 0", _LITERAL_ABLATION),
    _same("positions of the ablation", _CAUSAL_EFFECTS, "last", _LITERAL_ABLATION),
    _same("right answer", _CAUSAL_EFFECTS, "the most likely token", _LITERAL_ABLATION),
    _same("order of heads", _CAUSAL, "largest score first", _LITERAL_ABLATION),
    _same("heads of equal score", f"{_UTILS}, top_k_indices", "last first", f"{_ABLATION}test_ties_last_first"),
    _same(
        "heads of score 0",
        f"{_UTILS}, get_topm_relation_heads",
        "left in place",
        f"{_ABLATION}test_relations_that_cannot_be_ablated_are_listed",
    ),
    Choice(
        "most heads ablated in models below a size",
        _CAUSAL,
        ((300, 30), (500, 50), (1000, 100), (1500, 150)),
        _usual.head_limits,
        f"{_SETTINGS}test_heads_ablated_by_the_size_of_the_model",
        field="head_limits",
    ),
    Choice(
        "most heads ablated in larger models",
        _CAUSAL,
        250,
        _usual.most_heads,
        f"{_SETTINGS}test_heads_ablated_by_the_size_of_the_model",
        field="most_heads",
    ),
    Choice("random sets of heads", _CAUSAL, 5, _usual.random_sets, _PINNED, field="random_sets"),
    _same(
        "random heads",
        _CAUSAL,
        "as many, none of the relation's",
        f"{_ABLATION}test_random_heads_end_where_there_are_no_more",
    ),
    Choice("most control relations", _CAUSAL, 5, _usual.control_tasks, _PINNED, field="control_tasks"),
    _same("order of control relations", _CAUSAL, "random", f"{_ABLATION}test_controls_are_shuffled"),
    _same("heads of a control", _CAUSAL, "its best, as many as the relation has", _CONTROLS),
    Choice(
        "heads shared with a control, below", _CAUSAL, 0.15, _usual.control_overlap, _CONTROLS, field="control_overlap"
    ),
    Choice(
        "accuracy apart from a control, below",
        _CAUSAL,
        0.2,
        _usual.control_accuracy,
        _CONTROLS,
        field="control_accuracy",
    ),
    Choice("least accuracy without ablation", _CAUSAL, 0.1, _usual.least_accuracy, _PINNED, field="least_accuracy"),
)

CHOICES: tuple[Choice, ...] = (*_WORDS, *_SCORES, *_IN_TEXT, *_ABLATED)
"""The paper's choices and ours, for its three presets."""
