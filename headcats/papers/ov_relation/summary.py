"""Summary of relation scores: relations that reach the bar, by how many heads, and what chance reaches."""

import json

import xarray as xr

CONTEXTS = ("with", "without")


def with_categories(table: xr.Dataset, relations: xr.Dataset) -> xr.Dataset:
    """A table over `task` with the categories and colours of its relations, where `relations` has them."""
    if "category" in relations.coords:
        table = table.assign_coords(category=relations["category"].sel(task=table["task"].values).drop_vars("task"))
    listed = {name: relations.attrs[name] for name in ("categories",) if name in relations.attrs}
    return table.assign_attrs(listed)


def summary(block: xr.Dataset) -> list[str]:
    """Sentences on what `ov_relation` returns: relations that reach the bar, and as many as permuted targets would."""
    provenance = json.loads(block.attrs["provenance"])
    settings = provenance["settings"]
    least, percentile, n_tasks = settings["threshold"], settings["null_percentile"], block.sizes["task"]
    reached = block["score"] >= block["threshold"]
    n_heads = int(block["score"].notnull().any("task").sum())
    passing = f"{int(reached.any(('layer', 'head')).sum())} of {n_tasks} relations reach the bar"
    bar = f"score at least {least:g} and at least the {percentile:g}th percentile of that with permuted targets"
    by_chance = float(block["by_chance"].sum())
    lines = [f"{passing} by at least one of {n_heads} heads, with permuted targets {by_chance:.1f} would ({bar})."]
    categories = list(dict.fromkeys(str(name) for name in block["category"].values if str(name)))
    if categories:
        counts = {name: int(reached[(block["category"] == name).values].any("task").sum()) for name in categories}
        heads = ", ".join(f"{name} {count}" for name, count in counts.items())
        lines.append(f"Heads with at least one relation of a category: {heads}.")
    if raised := [str(name) for name in block["task"].values[(block["null"] > least).values]]:
        lines.append(
            f"Permuted targets reach {least:g} too, so their threshold is higher: {', '.join(raised)}. There, some "
            "head raises the same few words for every source, and targets are among them."
        )
    for name, reader, layers in (
        ("direct", "the embedding", "layer 0"),
        ("direct_later", "what later layers read", "later layers"),
    ):
        if nearby := int((block[name] >= block["threshold"]).sum()):
            lines.append(
                f"In {nearby} of {n_tasks} relations {reader} alone reaches the threshold, without any head: it holds "
                f"the targets already, and a high score in {layers} says little."
            )
    if copying := [name for name, entry in provenance["relations"].items() if entry["copying"]]:
        lines.append(
            f"Copying relations (every target is its source), scored by the top {settings['copying_k']}: "
            f"{', '.join(copying)}."
        )
    return lines
