"""The page in a few sentences."""

from collections.abc import Iterator

import xarray as xr

from headcats.findings.mapping import title
from headcats.page.material import Material
from headcats.page.parts import Part, section
from headcats.wording import counted


@section("In short")
def summary(material: Material) -> Iterator[Part]:
    """What was asked, and what came out."""
    yield _asked(material)
    if material.found:
        yield from _heads(material)
    for label, block in material.blocks.items():
        yield f"`{label}` was run over the whole suite: {_size(block)}. See [other methods](#methods)."
    if material.evidence:
        yield _stands(material)
    elif material.found and bool((material.found["overlap"]["member"] == 1).any()):
        yield (
            "Whether these categories are real has not been tested, and a map always shows something: see "
            "[evidence](#evidence)."
        )


def _asked(material: Material) -> str:
    tasks, model, plan = (material.manifest[part] for part in ("tasks", "model", "plan"))
    scored = sum(not entry.get("refusal") for entry in tasks.values())
    n_heads = sum(model["heads"])
    grid = f"{counted(len(model['layers']), 'layer')} with {counted(n_heads, 'head')}"
    of = f"; its heads were scored on {scored} of {counted(len(tasks), 'task')}" if tasks else ""
    return f"The model {model['name']} has {grid}. It was run on suite {plan['suite']}{of}."


def _heads(material: Material) -> Iterator[Part]:
    members, overlap = material.found["members"], material.found["overlap"]
    if why := members.attrs.get("not_judged"):
        yield f"No head can be judged, so the map shows every head as undecided: {why}"
        return
    kind = "Suppressing heads" if overlap.attrs.get("sign") == "suppressing" else "Heads that help"
    sizes = [f"{name} {_sizes(members, overlap, name)}" for name in members["category"].values.tolist()]
    yield f"{kind}: {', '.join(sizes)}. Judged by {title(material.found)}."
    several = [k for k in overlap["k"].values.tolist() if k > 1]
    if several:
        observed, expected = (float(overlap[name].sel(k=several).sum()) for name in ("observed", "expected"))
        yield (
            f"{counted(int(observed), 'head is', 'heads are')} in more than one category; {expected:.1f} would be by "
            "chance, if each category had as many heads anywhere."
        )


def _sizes(members: xr.Dataset, overlap: xr.Dataset, name: str) -> str:
    if not bool(members["effect"].sel(category=name).notnull().any()):
        return "not judged"
    return str(int((overlap["member"].sel(category=name) == 1).sum()))


def _stands(material: Material) -> str:
    verdicts = material.evidence[0].tree["specificity"].to_dataset()["verdict"]
    told = [f"{name} {verdicts.sel(category=name).item()}" for name in verdicts["category"].values.tolist()]
    return f"Tested on prompts that the map has not seen: {', '.join(told)}. See [evidence](#evidence)."


def _size(block: xr.Dataset) -> str:
    axes = [axis for axis in ("task", "dataset", "function", "seed") if axis in block.sizes]
    return " x ".join(counted(block.sizes[axis], axis) for axis in axes) or "one map of layers and tokens"
