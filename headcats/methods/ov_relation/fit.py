"""OV relations: which relations between words a head implements by its weights alone."""

import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import xarray as xr

from headcats.errors import DataError, TokenizationWarning
from headcats.methods.joint.inputs import SuiteInputs
from headcats.methods.options import Option
from headcats.methods.ov_relation.labels import category_list, joined, labelled
from headcats.methods.ov_relation.pairs import Relation, single_tokens
from headcats.methods.ov_relation.settings import FIRST_MLP, PRESETS, RelationSettings, settings_of
from headcats.methods.ov_relation.static import relation_counts
from headcats.models.adapter import HookedModel, adapt
from headcats.models.circuit import Circuit
from headcats.sweeps.labels import model_provenance


class OVRelation:
    """Share of a relation's word pairs that a head maps from source to target, by its weights alone; no prompt is run.

    For a pair (source s, target t) and a head h of layer l, with E = W_E[s] in layer 0 and E = mlp_0(ln2_0(W_E[s]))
    in later layers (what the first MLP writes, without the residual stream; of parallel blocks, the norm that the MLP
    reads): `proj = E @ W_V[l, kv(h)] @ W_O[l, h] @ W_U`, without biases and without the last norm, where kv(h) is the
    group of h under grouped-query attention. `score` is the share of pairs whose target is among the top k tokens of
    proj, `suppression` the same for -proj. Both lie in [0, 1]; neither says that the model uses the head so: see
    `hc.methods.ov_relation.dynamic_relation` and `hc.methods.ov_relation.relation_ablation`.

    Pairs: words with a space before them, of exactly one token each; a relation with fewer than 30 such pairs is
    skipped. k is that of the preset, another one for copying relations, which are those whose pairs all have the same
    token on both sides (`k` says which was taken). Ties: a target counts if fewer than k tokens have a larger value; a
    head that gives all tokens one value maps nothing.

    Null: the targets of the relation in 200 random orders, scored likewise and pooled over orders and heads. Chance
    hits are common where some head raises the same few words whatever the source, and these are targets of many pairs
    or all of one kind (numbers). `threshold = max(.15, 99.9th percentile of the null)` is the calibrated threshold, the
    paper's is .15 alone. `direct` is another control: the score of `E @ W_U` without any head (in layer 0;
    `direct_later` in later layers). Where it is high, related words lie near each other in the embedding, and a head
    that does no more than copy has a high score; permuted targets do not show this.

    Presets: "maps2025" (k 10, copying 1), "maps2025-llama3" (25 and 3), "maps2025-llama3-70b" (as Llama 3, without the
    first MLP). `first_mlp` "on" or "off" overrides the preset.

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
        self._last: _Scored | None = None

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
            pairs: Name of a relation -> its (source, target) pairs, or the pairs of one; words without spaces around
                them, or token ids where the model has no tokenizer.
            preset: Name of a preset, or settings of your own.
            first_mlp: "preset", "on" or "off".
            categories: Name of a relation -> its category, for `hc.categories.relation_members`.
            seed: Seed of the permuted targets.

        Returns:
            `score` and `suppression (task, layer, head)`, NaN where a layer has fewer heads. Per task: `n` pairs, `k`,
            `null` and `suppression_null` (percentile of the null), `threshold` and `suppression_threshold`, `direct`
            and `direct_later` (scores without a head). Coordinate
            `category (task)`; attributes `method`, `provenance` and, where categories are given, `categories`. A single
            list of pairs is the task "relation".

        Raises:
            DataError: No relation with enough pairs of single tokens; says how many were kept and why the others were
                not. A relation without a category.
            ModelError: Folded weights, or an architecture whose weights cannot be read.
            UnknownNameError, OptionError: A preset or option that does not exist.

        Warns:
            TokenizationWarning: Relations that are skipped, where others are left.
        """
        settings = settings_of(preset, first_mlp=first_mlp)
        adapted = adapt(model)
        given = pairs if isinstance(pairs, Mapping) else {"relation": pairs}
        if categories is not None and (lacking := [name for name in given if name not in categories]):
            raise DataError(f"Relations without a category: {', '.join(lacking)}. Name one for each, or for none.")
        relations, skipped = _readable(adapted, given, settings)
        if not relations:
            raise DataError(" ".join(map(str, skipped.values())) or "No relation was given.")
        if skipped:
            warnings.warn(
                f"{len(skipped)} of {len(given)} relations are skipped. {' '.join(map(str, skipped.values()))}",
                TokenizationWarning,
                stacklevel=2,
            )
        named = dict.fromkeys(given, "") if categories is None else categories
        found = _score(adapted, relations, settings, seed=seed, categories=named)
        scores = self.join(found)
        if categories is None:
            return scores
        return scores.assign_attrs(categories=category_list([categories[name] for name in given]))

    def parts(self, inputs: SuiteInputs, **options: Any) -> dict[str, tuple[str, ...]]:
        """One part per task; a task of finished prompts reads nothing and is refused."""
        return {task.name: (task.name,) if task.name in inputs.pairs else () for task in inputs.tasks}

    def work(self, inputs: SuiteInputs, part: str, **options: Any) -> float:
        """None of its own: the part that is done first computes them all."""
        return 0.0

    def on_part(
        self, inputs: SuiteInputs, part: str, *, preset: str = "maps2025", first_mlp: str = "preset"
    ) -> xr.Dataset:
        """The scores of one task, as a call.

        Each weight is read once for all tasks, so the first part computes the others too and keeps them for their turn.

        Raises:
            DataError: Too few pairs of single tokens, or a task of finished prompts.
            ModelError: As in a call.
        """
        if part not in inputs.pairs:
            raise DataError(f"Task {part!r} is made of finished prompts; {self.name} needs pairs of words.")
        settings = settings_of(preset, first_mlp=first_mlp)
        if self._last is None or not self._last.is_of(inputs, settings):
            self._last = _Scored(inputs, settings)
        return self._last.of(part)

    def join(self, parts: Mapping[str, xr.Dataset]) -> xr.Dataset:
        """Parts along `task`, in their order."""
        return joined(list(parts.values()))


class _Scored:
    """All relations of a study, scored together."""

    def __init__(self, inputs: SuiteInputs, settings: RelationSettings) -> None:
        self._model = weakref.ref(inputs.model)
        self._pairs, self._key = inputs.pairs, _key(inputs, settings)
        given = {task.name: inputs.pairs[task.name] for task in inputs.tasks if task.name in inputs.pairs}
        relations, self._skipped = _readable(inputs.model, given, settings)
        self._found = (
            _score(
                inputs.model,
                relations,
                settings,
                seed=inputs.seed,
                categories=inputs.categories,
                advance=inputs.advance,
            )
            if relations
            else {}
        )

    def is_of(self, inputs: SuiteInputs, settings: RelationSettings) -> bool:
        same = self._model() is inputs.model and self._pairs is inputs.pairs
        return same and self._key == _key(inputs, settings)

    def of(self, part: str) -> xr.Dataset:
        if part in self._skipped:
            raise DataError(str(self._skipped[part]))
        return self._found[part]


def _key(inputs: SuiteInputs, settings: RelationSettings) -> tuple[Any, ...]:
    tasks = tuple((task.name, inputs.categories[task.name]) for task in inputs.tasks)
    return settings, inputs.seed, tasks, inputs.model.weights_hash()


def _readable(
    model: HookedModel, given: Mapping[str, Any], settings: RelationSettings
) -> tuple[list[Relation], dict[str, DataError]]:
    """The relations that can be scored, and why the others cannot."""
    relations, skipped = [], {}
    for name, pairs in given.items():
        try:
            relations.append(
                single_tokens(
                    name, pairs, tokenizer=model.tokenizer, d_vocab=model.d_vocab, min_pairs=settings.min_pairs
                )
            )
        except DataError as problem:
            skipped[name] = problem
    return relations, skipped


def _score(
    model: HookedModel,
    relations: Sequence[Relation],
    settings: RelationSettings,
    *,
    seed: int,
    categories: Mapping[str, str],
    advance: Callable[[float, str], None] = lambda share, what: None,
) -> dict[str, xr.Dataset]:
    counts = relation_counts(Circuit(model), relations, settings=settings, seed=seed, advance=advance)
    provenance = {"method": OVRelation.name, "seed": seed, **model_provenance(model)}
    return {
        one.name: labelled(
            one,
            counts[one.name],
            settings,
            layers=model.layers,
            category=categories[one.name],
            provenance=provenance,
        )
        for one in relations
    }
