"""OV relations: which relations between words a head implements by its weights alone."""

import json
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from headcats.base.errors import DataError, ModelWarning, TokenizationWarning
from headcats.methods.method import SuiteInputs, attempt_each
from headcats.methods.spec import Option
from headcats.models.adapter import HookedModel, adapt
from headcats.papers.ov_relation.settings import FIRST_MLP, PRESETS, USUAL, RelationSettings, settings_of
from headcats.papers.ov_relation.static import Counts, Relation, relation_counts, single_tokens
from headcats.papers.ov_relation.weights import unprocessed_circuit
from headcats.results.categories import coloured
from headcats.sweeps.labels import model_provenance

LLAMA_3_VOCABULARY = range(128_256, 128_512)
"""Its tokens, with room for a few that a fine-tune has added; no other Llama has as many."""
LLAMA_3_70B = (80, 8192)
"""Blocks and width, of Llama 3, 3.1 and 3.3 alike."""
_GRID = ("task", "layer", "head")


def family_preset(model: HookedModel) -> str:
    """The preset that the paper's code takes for a model of this family; "" if the family is not known.

    The paper goes by the model's name; here its architecture and vocabulary decide, which local folders have, too.
    """
    config = model.model.cfg
    recorded = (getattr(config, name, None) for name in ("architecture", "original_architecture"))
    architecture = next((str(name) for name in recorded if name), "")
    if not architecture:
        return ""
    if not architecture.startswith("Llama") or model.d_vocab not in LLAMA_3_VOCABULARY:
        return USUAL
    return "maps2025-llama3-70b" if (model.n_layers, model.d_model) == LLAMA_3_70B else "maps2025-llama3"


def warn_of_other_family(
    model: HookedModel, preset: str | RelationSettings, *, first_mlp: str = "preset", stacklevel: int = 2
) -> None:
    """A ModelWarning if a preset by name has other constants than the paper takes for this family."""
    usual = family_preset(model)
    if not usual or not isinstance(preset, str):
        return
    names = {"k": "k", "copying_k": "k of copying relations"}
    names |= {"first_mlp": "first MLP"} if first_mlp == "preset" else {}
    used, papers = PRESETS[preset], PRESETS[usual]
    differing = [
        f"{name} {_shown(getattr(used, field))}, not {_shown(getattr(papers, field))}"
        for field, name in names.items()
        if getattr(used, field) != getattr(papers, field)
    ]
    if differing:
        warnings.warn(
            f"Preset {preset!r} is not what MAPS takes for a model like {model.name!r}: {', '.join(differing)}. "
            f"For the paper's numbers: preset={usual!r} (--preset {usual}, or --methods ov_relation:preset={usual}).",
            ModelWarning,
            stacklevel=stacklevel + 1,
        )


def _shown(value: int | bool) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


class OVRelation:
    """Share of a relation's word pairs that a head maps from source to target by its weights alone; no prompt is run.

    For a pair (source s, target t) and head h of layer l, `proj = E @ W_V[l, kv(h)] @ W_O[l, h] @ W_U`, without biases
    and without the final norm. E is W_E[s] in layer 0 and mlp_0(ln2_0(W_E[s])) in later layers: what the first MLP
    writes, without the residual stream (in parallel blocks, after the norm that the MLP reads). kv(h) is the key-value
    group of h. `score` is the share of pairs whose target is among the top k tokens of proj, `suppression` the same for
    -proj, both in [0, 1]. Whether the model uses the head this way is a separate question: see
    `hc.papers.ov_relation.dynamic_relation`.

    Pairs: words with a leading space, each exactly one token; relations with fewer than 30 such pairs are skipped.
    Copying relations, with the same token on both sides of every pair, have a k of their own (`k` holds the one used).
    A target counts if fewer than k tokens have a larger value; a head that gives all tokens the same value maps
    nothing.

    Null: the targets of the relation in 200 random orders, scored the same way, pooled over orders and heads. Chance
    hits are common where a head raises the same few words for every source, and those are targets of many pairs or all
    of one kind (numbers). `threshold = max(.15, 99.9th percentile of the null)`; the paper uses .15 alone. `direct`
    scores `E @ W_U` without any head in layer 0, `direct_later` in later layers. Where they are high, related words are
    close in the embedding and a head that merely copies scores high; permuting the targets does not reveal this.

    Presets: "maps2025" (k 10, copying 1), "maps2025-llama3" (25 and 3), "maps2025-llama3-70b" (as Llama 3, without the
    first MLP). `first_mlp` "on" or "off" overrides the preset. Another preset than the paper's for the model's family
    (known by its architecture and vocabulary) is used with a warning.

    Example:
        >>> import headcats as hc
        >>> (task,) = hc.suite("icl").named(["country_capital"])
        >>> relations = hc.methods.ov_relation(hc.load_model("mini"), {"country_capital": task.pairs(40, seed=0)[:40]})
        >>> relations.score.dims, relations.k.values
        (('task', 'layer', 'head'), array([10]))
        >>> bool(0 <= relations.score.min() and relations.score.max() <= 1)
        True

    References:
        Elhelo & Geva (2025), MAPS, arXiv 2412.11965.
    """

    name = "ov_relation"

    def __init__(self) -> None:
        self.options: dict[str, Option] = {"preset": tuple(PRESETS), "first_mlp": FIRST_MLP}
        self._last: tuple[Any, dict[str, xr.Dataset], dict[str, DataError]] | None = None

    def __call__(
        self,
        model: Any,
        pairs: Mapping[str, Any] | Sequence[Any],
        *,
        preset: str | RelationSettings = "maps2025",
        first_mlp: str = "preset",
        categories: Mapping[str, str] | None = None,
        seed: int = 0,
    ) -> xr.Dataset:
        """Scores of all heads for some relations.

        Args:
            model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns; weights unprocessed.
            pairs: Relation -> its (source, target) pairs, or the pairs of one relation, called "relation". Words
                without spaces around them, or token ids for a model without a tokenizer.
            preset: Name of a preset, or settings of your own. Each preset is that of a family of models; see above.
            first_mlp: "preset", "on" or "off".
            categories: Relation -> category, for `hc.categorize`.
            seed: Seed of the permuted targets.

        Returns:
            `score` and `suppression (task, layer, head)`, NaN where a layer has fewer heads. Per task: `n` pairs, `k`,
            `null` and `suppression_null` (percentile of the null), `threshold` and `suppression_threshold`, `direct`
            and `direct_later`, and `by_chance`, the share of permutations in which any head reaches the threshold.
            Coordinate `category (task)`; attributes `method`, `provenance` and, if categories were given, `categories`.

        Raises:
            DataError: No relation with enough pairs of single tokens (the message counts them), or a relation without
                a category.
            ModelError: Folded weights, or an architecture whose weights cannot be read.
            UnknownNameError, OptionError: Unknown preset or option.

        Warns:
            TokenizationWarning: Some relations are skipped.
            ModelWarning: The preset is that of another family of models.
        """
        settings = settings_of(preset, first_mlp=first_mlp)
        adapted = adapt(model)
        warn_of_other_family(adapted, preset, first_mlp=first_mlp, stacklevel=2)
        by_name = pairs if isinstance(pairs, Mapping) else {"relation": pairs}
        if categories is not None and (lacking := [name for name in by_name if name not in categories]):
            raise DataError(f"Relations without a category: {', '.join(lacking)}. Name one for each, or for none.")
        blocks, skipped = _score(adapted, by_name, settings, categories=categories or {}, seed=seed)
        problems = " ".join(map(str, skipped.values()))
        if not blocks:
            raise DataError(problems or "No relation was given.")
        if skipped:
            skipping = f"{len(skipped)} of {len(by_name)} relations are skipped. {problems}"
            warnings.warn(skipping, TokenizationWarning, stacklevel=2)
        scores = self.join(blocks)
        if categories is None:
            return scores
        listed = [asdict(category) for category in coloured(categories[name] for name in by_name)]
        return scores.assign_attrs(categories=json.dumps(listed, ensure_ascii=False))

    def parts(self, inputs: SuiteInputs, **options: Any) -> dict[str, tuple[str, ...]]:
        """One part per task; a task of finished prompts reads nothing and is skipped."""
        return {task.name: (task.name,) if task.name in inputs.readable else () for task in inputs.tasks}

    def work(self, inputs: SuiteInputs, part: str, **options: Any) -> float:
        """0 for all parts: the first one computes the others."""
        return 0.0

    def on_part(
        self, inputs: SuiteInputs, part: str, *, preset: str = "maps2025", first_mlp: str = "preset"
    ) -> xr.Dataset:
        """The scores of one task, as a call returns them; a DataError for too few pairs, or a task of finished prompts.

        Each weight is read once for all tasks: the first part scores the others too and keeps them for their turn.
        """
        if part not in inputs.pairs:
            raise DataError(f"Task {part!r} is made of finished prompts; {self.name} needs pairs of words.")
        settings, model = settings_of(preset, first_mlp=first_mlp), inputs.model
        tasks = [(task.name, inputs.categories[task.name]) for task in inputs.tasks]
        key = (weakref.ref(model), model.weights_hash(), settings, inputs.seed, tasks, inputs.pairs)
        if self._last is None or self._last[0] != key:
            warn_of_other_family(model, preset, first_mlp=first_mlp)
            by_name = {name: inputs.pairs[name] for name in inputs.readable}
            categories, seed, advance = inputs.categories, inputs.seed, inputs.advance
            self._last = key, *_score(model, by_name, settings, categories=categories, seed=seed, advance=advance)
        _, blocks, skipped = self._last
        if part in skipped:
            raise DataError(str(skipped[part]))
        return blocks[part]

    def join(self, parts: Mapping[str, xr.Dataset]) -> xr.Dataset:
        """Parts along `task`, in their order."""
        joined = xr.concat(list(parts.values()), dim="task", combine_attrs="override", join="exact")
        provenances = [json.loads(part.attrs["provenance"]) for part in parts.values()]
        relations = {name: entry for part in provenances for name, entry in part["relations"].items()}
        return joined.assign_attrs(provenance=json.dumps(provenances[0] | {"relations": relations}, ensure_ascii=False))


def _score(
    model: HookedModel,
    pairs: Mapping[str, Any],
    settings: RelationSettings,
    *,
    categories: Mapping[str, str],
    seed: int,
    advance: Callable[[float, str], None] = lambda share, what: None,
) -> tuple[dict[str, xr.Dataset], dict[str, DataError]]:
    """The scores of each relation that has enough pairs, and why the others are skipped."""
    readable = partial(single_tokens, tokenizer=model.tokenizer, d_vocab=model.d_vocab, min_pairs=settings.min_pairs)
    relations, skipped = attempt_each(lambda name: readable(name, pairs[name]), pairs)
    if not relations:
        return {}, skipped
    circuit = unprocessed_circuit(model)
    counts = relation_counts(circuit, list(relations.values()), settings=settings, seed=seed, advance=advance)
    provenance = {"method": OVRelation.name, "seed": seed, **model_provenance(model), "settings": asdict(settings)}
    blocks = {}
    for relation in relations.values():
        coords = {"task": [relation.name], **model.axes, "category": ("task", [categories.get(relation.name, "")])}
        block = _block(relation, counts[relation.name], settings, provenance)
        blocks[relation.name] = block.assign_coords(coords)
    return blocks, skipped


def _block(relation: Relation, counts: Counts, settings: RelationSettings, provenance: Mapping[str, Any]) -> xr.Dataset:
    """One relation, with its null and thresholds, along a `task` axis of one."""
    block = xr.Dataset()
    for name, side, prefix in (("score", "top", ""), ("suppression", "bottom", "suppression_")):
        null = counts.null(side, percentile=settings.null_percentile)
        block[name] = (_GRID, counts.shares(side)[None])
        block[f"{prefix}null"] = ("task", [null])
        block[f"{prefix}threshold"] = ("task", [max(settings.threshold, null)])
    block["by_chance"] = ("task", [counts.reached_by_chance(block["threshold"].item())])
    block["direct"] = ("task", [counts.direct / counts.pairs])
    block["direct_later"] = ("task", [counts.direct_later / counts.pairs])
    block["n"] = ("task", np.array([len(relation)]))
    block["k"] = ("task", np.array([settings.k_for(copying=relation.copying)]))
    entry = {"copying": relation.copying, "kept": relation.report.kept, "dropped": relation.report.dropped}
    described = {
        **provenance,
        "sign": "score: the head raises the targets; suppression: it lowers them",
        "relations": {relation.name: entry},
    }
    return block.assign_attrs(method=provenance["method"], provenance=json.dumps(described, ensure_ascii=False))
