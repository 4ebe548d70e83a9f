"""What relations by weights say: how many are implemented, by how many heads, and what chance does."""

import json

import xarray as xr


def summary(block: xr.Dataset) -> list[str]:
    """How many relations are implemented, by how many heads, and what chance does.

    Args:
        block: What `hc.methods.ov_relation` returns.
    """
    settings = json.loads(block.attrs["provenance"])["settings"]
    least, percentile = settings["threshold"], settings["null_percentile"]
    reached = block["score"] >= block["threshold"]
    n_heads = int(block["score"].notnull().any("task").sum())
    some = int(reached.any(("layer", "head")).sum())
    bar = f"score at least {least:g} and at least the {percentile:g}th percentile of that with permuted targets"
    relations = f"{some} of {block.sizes['task']} relations"
    said = [f"{relations} are implemented by at least one of {n_heads} heads ({bar})."]
    groups = list(dict.fromkeys(str(name) for name in block["category"].values if str(name)))
    heads = {name: int(reached[(block["category"] == name).values].any("task").sum()) for name in groups}
    if heads:
        listed = ", ".join(f"{name} {count}" for name, count in heads.items())
        said.append(f"Heads with at least one relation of a category: {listed}.")
    by_chance = [str(name) for name in block["task"].values[(block["null"] > least).values]]
    if by_chance:
        said.append(
            f"Permuted targets reach {least:g} too, so their threshold is higher: {', '.join(by_chance)}. There, "
            f"some head raises the same few words whatever the source, and targets are among them."
        )
    for name, what, where in (
        ("direct", "the embedding", "layer 0"),
        ("direct_later", "what later layers read", "later layers"),
    ):
        if nearby := int((block[name] >= block["threshold"]).sum()):
            said.append(
                f"In {nearby} of {block.sizes['task']} relations {what} alone reaches the threshold, without any "
                f"head: it holds the targets already, and a high score in {where} says little."
            )
    copying = [name for name, one in json.loads(block.attrs["provenance"])["relations"].items() if one["copying"]]
    if copying:
        said.append(
            f"Copying relations (every target is its source), judged by the top {settings['copying_k']}: "
            f"{', '.join(copying)}."
        )
    return said
