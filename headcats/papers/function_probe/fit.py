"""Function probe: which heads a classifier of functions relies on."""

import json
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.errors import DataError, StatisticsWarning
from headcats.methods.method import SuiteInputs, attempt_each
from headcats.methods.spec import Option, WholeNumber, check_whole
from headcats.models.adapter import HookedModel, adapt
from headcats.models.checks import check_model
from headcats.papers.function_probe.features import HeadFeatures, PreparedTexts, prepare
from headcats.papers.function_probe.seed import SeedResult, probe_seed
from headcats.papers.function_probe.settings import POSITIONS, PRESETS, FunctionProbeSettings
from headcats.papers.function_probe.splits import rounds_of, task_of
from headcats.papers.function_probe.summary import most_seeds_fitted, not_used, verdict
from headcats.papers.settings import preset_of
from headcats.prompts.answered import AnsweredText
from headcats.sweeps.labels import model_provenance

NAME = "function_probe"
_BY_SEED = (
    "accuracy", "accuracy_low", "accuracy_high", "chance",
    "left_out_accuracy", "left_out_low", "left_out_high", "left_out_chance",
    "word_accuracy", "word_low", "word_high", "word_p",
)  # fmt: skip
_SEEDS = WholeNumber(default=5, least=1)


def labelled(
    features: HeadFeatures, functions: Sequence[str], results: Mapping[int, SeedResult], *, axes: Mapping[str, Any]
) -> xr.Dataset:
    """Results by seed as a dataset, NaN for heads that a layer lacks; `axes` are the coordinates over heads."""
    layers, n_heads = list(axes["layer"]), len(axes["head"])
    importance = np.full((len(results), len(functions), len(layers), n_heads), np.nan, dtype=np.float32)
    for place, head in enumerate(features.heads):
        of_head = [result.importance[:, place] for result in results.values()]
        importance[:, :, layers.index(head.layer), head.head] = of_head
    tasks = _task_names(features)
    categories = [text.category for text in features.texts]
    by_seed = pd.DataFrame(
        [
            (*result.accuracy, result.chance, *result.left_out, result.left_out_chance, *result.words, result.words_p)
            for result in results.values()
        ],
        columns=_BY_SEED,
    )
    dataset = xr.Dataset(
        {
            "importance": (("seed", "function", "layer", "head"), importance),
            **{name: ("seed", values.to_numpy()) for name, values in by_seed.items()},
            "function_accuracy": (("seed", "function"), [result.function_accuracy for result in results.values()]),
            "task_left_out_accuracy": (
                ("seed", "task"),
                [[result.by_task.get(task, np.nan) for task in tasks] for result in results.values()],
            ),
            "n": ("function", [categories.count(function) for function in functions]),
        },
        coords={
            "seed": list(results),
            "function": list(functions),
            **axes,
            "task": list(tasks.values()),
            "task_function": ("task", [function for function, _ in tasks]),
        },
    )
    return dataset.assign_attrs(method=NAME, verdict=verdict(dataset))


def _task_names(features: HeadFeatures) -> dict[tuple[str, str], str]:
    """(function, task) -> a name that no other has."""
    pairs = list(dict.fromkeys(task_of(text) for text in features.texts))
    plain = [task for _, task in pairs]
    return {
        (function, task): task if task and plain.count(task) == 1 else f"{function}: {task}" if task else function
        for function, task in pairs
    }


class FunctionProbe:
    """Importance of every head for every function: what a classifier of functions makes of the head's output.

    Head outputs z are averaged over the answer tokens of each text (the 5 least expected ones) and joined to the mean
    over the heads of the layer. For each token z is taken one position earlier, where the model predicts it, or at the
    token itself (`at`). One linear map to 64 numbers `u`, shared by all heads, a hidden layer of 512 with dropout, and
    one logit per function are trained together (AdamW, 100 epochs of batches of 32 shuffled texts, features
    standardised on the training texts). A fifth of the query items is held out.

    `importance(c, head) = mean over held-out texts of function c of mean_64(d logit_c / d u * u)`

    Signed, in units of the class logit, not normalised; heads are ranked by its absolute value. It says what can be
    read from a head, not what the model does with it: for that see the causal methods. Because of the mean over the
    layer a head leaks into its neighbours: judge by several seeds.

    A probe may know functions by their tasks. So in the first seed (`left_out_seeds` of the settings) it is also
    trained without one task of every function at a time, as often as the function with the most tasks has tasks, and
    tested on those left out. If the interval of that accuracy includes chance, the verdict is "separates tasks, not
    functions". Prompts of left-out tasks may share query words with the rest.

    It may also know functions by the words of their answers, above all with `at="answer"`. So beside each probe another
    of the same layers is trained on the mean embedding of the same answer tokens, without heads, and tested on the same
    held-out items (`word_accuracy`).

    References:
        Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978. `headcats list presets` says what differs.

    Example:
        >>> import headcats as hc
        >>> few = hc.papers.function_probe.FunctionProbeSettings(epochs=5, left_out_seeds=0)  # the paper: 100 epochs
        >>> tasks = ("country_capital", "plural")
        >>> texts = [text for task in tasks for text in hc.papers.head_gating.task_texts(task, n_prompts=40)]
        >>> probes = hc.methods.function_probe(hc.load_model("mini"), texts, preset=few, n_seeds=1)
        >>> probes.importance.dims, bool(probes.accuracy > probes.chance)
        (('seed', 'function', 'layer', 'head'), True)
    """

    name = NAME

    def __init__(self) -> None:
        self.options: dict[str, Option] = {"preset": tuple(PRESETS), "n_seeds": _SEEDS, "at": POSITIONS}
        # Features of the last study: all its parts read the same.
        self._kept: tuple[Any, PreparedTexts] | None = None

    def __call__(
        self,
        model: Any,
        texts: Sequence[Any],
        *,
        preset: str | FunctionProbeSettings = "cogmirrors2025",
        at: str | None = None,
        n_seeds: int = 5,
        seed: int = 0,
    ) -> xr.Dataset:
        """Probes on texts with marked answers.

        Args:
            model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
            texts: `hc.methods.AnsweredText` of at least two functions; `category` is the function, `task` a task within
                it, `item` what is asked. `hc.papers.head_gating.task_texts` writes those of a task.
            preset: Name of a preset, or `hc.papers.function_probe.FunctionProbeSettings` of your own.
            at: "predicting" or "answer": z where an answer token is predicted, or at the token; None takes the
                preset's.
            n_seeds: Number of probes.
            seed: Seed of every random choice.

        Returns:
            `importance (seed, function, layer, head)`, NaN where a layer has fewer heads; `accuracy` with
            `accuracy_low`, `accuracy_high` and `chance (seed)` on held-out items; `left_out_accuracy` with
            `left_out_low`, `left_out_high` and `left_out_chance (seed)` on left-out tasks, NaN where it was not
            measured; `word_accuracy` with `word_low`, `word_high (seed)` of the probe of answer words on the same
            held-out items, and `word_p (seed)`, two-sided, that both are right equally often (sign flips of items);
            `function_accuracy (seed, function)`, `task_left_out_accuracy (seed, task)`; `n (function)` texts.
            Intervals are Wilson's, at 95 %, for clusters of items or of tasks; chance is the best constant guess.
            Attributes `verdict` and `provenance`, with what was left out: functions of few items, seeds that failed.

        Raises:
            DataError: Not a list of texts, fewer than two functions with enough items, or a probe that does not
                converge or is not above chance on held-out items in half of the seeds or more.
            ModelError: No tokenizer, heads of different sizes in different layers, or as in `hc.sweep`.
            UnknownNameError, OptionError: An unknown preset, or a value out of range.

        Warns:
            StatisticsWarning: Functions, texts and seeds that are left out, if others are left.
        """
        adapted, settings = adapt(model), _settings(preset, at)
        check_whole(_SEEDS, n_seeds, name="n_seeds", method=self.name)
        check_model(adapted)
        for text in texts:
            if not isinstance(text, AnsweredText):
                raise DataError(
                    f"function_probe takes a list of hc.methods.AnsweredText; got one with a {type(text).__name__} in "
                    "it. Of a task: hc.papers.head_gating.task_texts(name)."
                )
        prepared = prepare(adapted, texts, settings, left_out={})
        probe = partial(probe_seed, prepared.features, prepared.functions, settings=settings, seed=seed)
        results, problems = attempt_each(lambda number: probe(probe=number), range(n_seeds))
        refused = {f"seed {number}": str(problem) for number, problem in problems.items()}
        if not most_seeds_fitted(len(results), n_seeds):
            first = next(iter(refused.values()))
            raise DataError(f"{len(refused)} of {n_seeds} seeds of the function probe failed. The first: {first}")
        source = {"preset": preset, "settings": settings, "seed": seed, "n_seeds": n_seeds, "refused": refused}
        block = _block(adapted, prepared, results, source)
        for message in not_used(json.loads(block.attrs["provenance"])):
            warnings.warn(message, StatisticsWarning, stacklevel=2)
        return block

    def parts(self, inputs: SuiteInputs, *, n_seeds: int = 5, **options: Any) -> dict[str, tuple[str, ...]]:
        """One part per seed, each reading all tasks of word pairs."""
        return {f"seed {probe}": inputs.readable for probe in range(n_seeds)}

    def work(self, inputs: SuiteInputs, part: str, *, preset: str = "cogmirrors2025", **options: Any) -> float:
        """Trainings of a seed: one, and in the first seeds one more for every round of left-out tasks."""
        if int(part.removeprefix("seed ")) >= _settings(preset).left_out_seeds:
            return 1.0
        counts = Counter(inputs.categories[task] for task in inputs.readable)
        return 1.0 + rounds_of(counts)

    def on_part(
        self, inputs: SuiteInputs, part: str, *, preset: str = "cogmirrors2025", n_seeds: int = 5, at: str | None = None
    ) -> xr.Dataset:
        """One seed, with the errors of a call; functions are the categories of the suite."""
        settings, probe = _settings(preset, at), int(part.removeprefix("seed "))
        tasks = [task.name for task in inputs.tasks]
        texts, left_out = inputs.texts_of(tasks, n=inputs.n_prompts, purpose=NAME)
        key = (inputs.model.name, inputs.model.weights_hash(), settings, tuple(texts))
        if self._kept is None or self._kept[0] != key:
            self._kept = key, prepare(inputs.model, texts, settings, left_out=left_out, advance=inputs.advance)
        prepared = self._kept[1]
        if probe == n_seeds - 1:
            self._kept = None
        result = probe_seed(
            prepared.features,
            prepared.functions,
            settings=settings,
            seed=inputs.seed,
            probe=probe,
            advance=inputs.advance,
        )
        source = {"preset": preset, "settings": settings, "seed": inputs.seed, "n_seeds": n_seeds, "refused": {}}
        return _block(inputs.model, prepared, {probe: result}, source)

    def join(self, parts: Mapping[str, xr.Dataset]) -> xr.Dataset:
        """Seeds along `seed`, with the verdict on all of them; "too few seeds" if half or more are missing."""
        joined = xr.concat(
            list(parts.values()),
            dim="seed",
            data_vars="minimal",
            coords="minimal",
            compat="equals",
            join="exact",
            combine_attrs="override",
        )
        n_seeds = json.loads(joined.attrs["provenance"])["n_seeds"]
        return joined.assign_attrs(verdict=verdict(joined, n_seeds=n_seeds))


def _settings(preset: str | FunctionProbeSettings, at: str | None = None) -> FunctionProbeSettings:
    """Settings of the preset, with z where `at` says."""
    settings = preset_of(NAME, preset, PRESETS)
    return settings if at is None else replace(settings, at=at)


def _block(
    model: HookedModel, prepared: PreparedTexts, results: Mapping[int, SeedResult], source: Mapping[str, Any]
) -> xr.Dataset:
    preset, report = source["preset"], prepared.features.report
    provenance = {
        **model_provenance(model),
        "method": NAME,
        **source,
        "preset": preset if isinstance(preset, str) else "custom",
        "settings": asdict(source["settings"]),
        "sign": "positive importance = the head speaks for the function; heads are ranked by absolute importance",
        "texts": report.summary(),
        "dropped": report.dropped,
        "left_out": prepared.left_out,
    }
    block = labelled(prepared.features, prepared.functions, results, axes=model.axes)
    return block.assign_attrs(provenance=json.dumps(provenance, ensure_ascii=False), preset=provenance["preset"])
