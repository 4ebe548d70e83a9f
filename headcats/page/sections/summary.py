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
        yield f"`{label}` judged heads over the whole suite: {_size(block)}. See [other methods](#methods)."
    if material.evidence:
        yield _stands(material)
    elif material.found:
        yield (
            "Whether these categories are real has not been tested: [evidence](#evidence) names the command. A map "
            "always shows something."
        )


def _asked(material: Material) -> str:
    tasks, model, plan = (material.manifest[part] for part in ("tasks", "model", "plan"))
    scored = sum(not entry["refusal"] for entry in tasks.values())
    n_heads = sum(model["heads"])
    grid = f"{counted(len(model['layers']), 'layer')} with {counted(n_heads, 'head')}"
    of = f"{scored} of {counted(len(tasks), 'task')} of suite {plan['suite']}" if tasks else f"suite {plan['suite']}"
    return f"The model {model['name']} has {grid}. Its heads were judged on {of}."


def _heads(material: Material) -> Iterator[Part]:
    members, overlap = material.found["members"], material.found["overlap"]
    if why := members.attrs.get("not_judged"):
        yield f"No head can be judged, so the map shows every head as undecided: {why}"
        return
    kind = "suppressing heads" if overlap.attrs.get("sign") == "suppressing" else "heads that help"
    sizes = [f"{name} {_sizes(members, overlap, name)}" for name in members["category"].values.tolist()]
    yield f"By {title(material.found)}, {kind}: {', '.join(sizes)}."
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
