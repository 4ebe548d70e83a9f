"""What a method says of itself: everything that reading, reports and comparisons need to know. Imports no torch."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import xarray as xr

from headcats.base.errors import UnknownNameError
from headcats.base.registry import lookup, names
from headcats.results.head_axes import unit_attrs
from headcats.results.label import Label, format_call

CONTROL_CAUTION = (
    "it shows what donors of the wrong task or of another query item do, and says nothing about which heads serve a "
    "task."
)


@dataclass(frozen=True)
class Strength:
    """Reduction of a method's block to one number per group and head.

    Attributes:
        variable: Variable of a joint method's block, with dims `layer`, `head`, `over` and that of `group`; of a method
            that scores task by task, "effect" or "raw" of `hc.score`.
        over: Dim that is reduced: "seed", "task".
        group: Coordinate that names the groups: "category", "dataset", "function".
        reduce: "mean", "max", or "mean_abs", the mean of absolute values.
        kind: Source of the numbers: "weights", "gates", "probe".
        text: Words for the reduction: "facilitation, mean over seeds".
        metric: Metric to read where the results hold it; "" for that of the study.
        void: Verdicts (attribute `verdict` of the block) under which the numbers mean nothing.

    Example:
        >>> import headcats as hc
        >>> strength = hc.methods.denoising_patch.declaration.strength
        >>> strength.variable, strength.over, strength.group, strength.reduce
        ('effect', 'task', 'category', 'mean')
    """

    variable: str = "effect"
    over: str = "task"
    group: str = "category"
    reduce: Literal["mean", "max", "mean_abs"] = "mean"
    kind: str = "causal"
    text: str = "effect in shares of the gap, mean over tasks"
    metric: str = ""
    void: tuple[str, ...] = ()


@dataclass(frozen=True)
class Selection:
    """Rule that sorts the heads of a joint method's block into categories (`hc.categorize`).

    Attributes:
        variable: Variable that heads are judged by, the larger the more, with dims `layer`, `head` and `over`.
        over: "task": a head is in a category if it passes in at least `min_tasks` of its tasks (one, where nothing is
            said). "seed": seeds are reduced first, and every category is one row.
        group: Coordinate that names the categories: "category", "dataset", "function".
        reduce: Of seeds, "min" (always), "max" (any), "mean", or "mean_abs", the mean of absolute values.
        rule: The paper's rule, as it is written on the command line.
        suppressing: Variable of the opposite, such as "interference"; "" for none.
        threshold: Variable with a threshold for every task, which is the rule where none is named (with the prefix
            `<suppressing>_` for the opposite); "" for none.
        text: Words for the number that heads are judged by: "least facilitation over seeds".

    Example:
        >>> import headcats as hc
        >>> gates = hc.methods.Selection("gate", over="seed", group="dataset", reduce="min", rule="threshold:value=0.5")
        >>> hc.methods.Declaration(name="gates", kind="joint", selection=gates).selection.rule
        'threshold:value=0.5'
    """

    variable: str
    over: Literal["task", "seed"]
    group: str
    reduce: Literal["", "min", "max", "mean", "mean_abs"] = ""
    rule: str = ""
    suppressing: str = ""
    threshold: str = ""
    text: str = ""


@dataclass(frozen=True)
class Declaration:
    """A method as the rest of the package knows it; finished blocks carry it as JSON in the attribute `declaration`.

    Attributes:
        name: Registered name; `hc.methods.causal_method` fills it in.
        kind: "task" for a method that scores task by task, "joint" for one that judges heads over all tasks at once.
        strength: Strength of a head; None where blocks have no number per head.
        figure: Figure that draws a block, by its registered name; "" for none.
        figure_heads: Order of the axes of that figure that name heads: "layer-head", or "" where there are none.
        reader: Call that reads a block, such as "hc.categorize".
        selection: Rule by which a block sorts heads, for maps and attention; None where it does not.
        needs: Requirement of the tasks: "exact answers", "two categories", or "".
        control_of: Method that this one is a control of; "" for none.
        control: Part that it holds fixed: "task" (donor of a wrong task) or "item" (donor of another query item).
        caution: Sentence on what the numbers cannot show.
        unprocessed: True if the numbers change with folded weights, so that a sweep of processed ones warns.
        paper: Paper that the method follows.
        cost: Cost in words; `hc.methods.causal_method` has a default.
        default: Place among the methods of a run that names none, from 1; 0 for none.
        default_suite: Bundled suite of which it is the only default method; "" for none.

    Example:
        >>> import headcats as hc
        >>> about = hc.methods.mean_ablation.declaration
        >>> about.kind, about.strength.variable
        ('task', 'effect')
    """

    name: str = ""
    kind: Literal["task", "joint"] = "task"
    strength: Strength | None = None
    figure: str = ""
    figure_heads: Literal["", "layer-head"] = ""
    reader: str = ""
    selection: Selection | None = None
    needs: Literal["", "exact answers", "two categories"] = ""
    control_of: str = ""
    control: Literal["", "task", "item"] = ""
    caution: str = ""
    unprocessed: bool = False
    paper: str = ""
    cost: str = ""
    default: int = 0
    default_suite: str = ""

    def as_text(self) -> str:
        """The declaration as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> "Declaration":
        """Read what `as_text` gives; fields that this version does not have are left out.

        Args:
            text: JSON, such as the attribute `declaration` of a block.
        """
        content = _fields(cls, json.loads(text))
        if strength := content.get("strength"):
            content["strength"] = Strength(**_fields(Strength, strength | {"void": tuple(strength.get("void", ()))}))
        if selection := content.get("selection"):
            content["selection"] = Selection(**_fields(Selection, selection))
        return cls(**content)


def declaration_of(block: xr.Dataset | xr.DataTree | xr.DataArray, name: str = "") -> Declaration:
    """Declaration that a block carries, or else that of the registered method `name` ("": the attribute `method`)."""
    if text := block.attrs.get("declaration"):
        return Declaration.from_text(str(text))
    return registered(name or str(block.attrs.get("method", "")))


def approximation_label(table: xr.Dataset | xr.DataTree | str) -> str:
    """Name of the effects of an approximate method wherever they are shown; "" where they are exact."""
    kind = table if isinstance(table, str) else str(table.attrs.get("approximation", ""))
    if kind in ("", "first order"):
        return kind and "first-order approximation"
    return f"gradient approximation ({kind})"


def registered(name: str) -> Declaration:
    """The declaration of a registered method; a bare one for a name that is not registered."""
    try:
        return lookup("method", name).declaration
    except (UnknownNameError, AttributeError):
        return Declaration(name)


def registered_declarations() -> dict[str, Declaration]:
    """Name of every registered method -> its declaration."""
    return {name: registered(name) for name in names("method")}


def controls_of(method: str) -> dict[str, str]:
    """Registered controls of a method, for the same unit, by what each holds fixed ("task", "item")."""
    label = Label.parse(method)
    options = unit_attrs(label.unit).items()
    return {
        kind: format_call(name, options)
        for kind in ("task", "item")
        for name, about in registered_declarations().items()
        if about.control_of == label.name and about.control == kind
    }


def default_methods() -> tuple[str, ...]:
    """Methods of a run that names none, in their order; on the command line a bundled suite may have others."""
    places = {name: about.default for name, about in registered_declarations().items() if about.default}
    return tuple(sorted(places, key=lambda name: places[name]))


def _fields(kind: Any, content: Mapping[str, Any]) -> dict[str, Any]:
    return {field.name: content[field.name] for field in fields(kind) if field.name in content}


def join_parts(method: Any, parts: Mapping[str, xr.Dataset], *, categories: str, model: str) -> xr.Dataset:
    """Finished parts of a method, by name, as the block of a results folder."""
    fingerprints = " ".join(str(part.attrs["fingerprint"]) for part in parts.values())
    joined = method.join(dict(parts)).assign_attrs(categories=categories, model=model, fingerprint=fingerprints)
    joined.attrs |= {
        "declaration": method.declaration.as_text(),
        "summary": json.dumps(method.summary(joined), ensure_ascii=False),
    }
    joined.attrs = {name: value for name, value in joined.attrs.items() if name != "part"}
    return joined
