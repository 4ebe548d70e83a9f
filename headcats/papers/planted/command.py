"""`headcats demo`: the tool on models whose heads are known."""

from pathlib import Path
from typing import Annotated

import typer

from headcats.cli.answer import put
from headcats.cli.arguments import AsJson
from headcats.cli.console import tell
from headcats.results.finding import paragraph

_OUT = "Folder for the results and the page."
_SEED = "Seed of the places of heads, of noise, prompts and shuffled labels."


def demo_command(
    out: Annotated[Path, typer.Option("--out", help=_OUT)] = Path("results/demo"),
    seed: Annotated[int, typer.Option("--seed", help=_SEED)] = 0,
    as_json: AsJson = False,
) -> None:
    """Show in a minute, without network, that planted heads are found, and that shuffled labels are not supported.

    Examples:
    - `headcats demo`
    - `headcats demo --seed 7 --json`

    Keys of `--json`: `planted`, `found`, `false`, `supported`, `supported_shuffled` (of `categories`), `serving`,
    `compiled_found`, `compiled_false`, `page`.
    """
    from headcats.papers.planted.showing import show

    out /= f"seed-{seed}" if seed else ""
    shown = show(out, seed=seed, tell=lambda text: None if as_json else tell([paragraph("text.plain", text=text)]))
    if as_json:
        numbers = {"planted": shown.planted, "found": shown.true.found, "false": shown.true.false}
        numbers |= {"supported": shown.true.supported, "supported_shuffled": shown.shuffled.supported}
        numbers |= {"categories": len(shown.true.verdicts), "serving": shown.serving}
        numbers |= {"compiled_found": shown.compiled_found, "compiled_false": shown.compiled_false}
        put(numbers | {"page": shown.page})
        return
    tell([paragraph("text.plain", text=f"Pictures, and the commands for your own model: {shown.page}")])


demo_command.ending = "; the same command goes on"  # type: ignore[attr-defined]
