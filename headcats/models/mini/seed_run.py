"""One seed from its first step to its report: train in cycles until the gate is passed."""

import argparse
import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from headcats.models.mini.fit import Fit, Logits
from headcats.models.mini.shipped import as_shipped, write, write_json


def train_seed(
    fit: Fit,
    tokenizer: PreTrainedTokenizerFast,
    out: Path,
    *,
    seed: int,
    check: Callable[[Logits], Mapping[str, float]],
    gate: Callable[[LlamaForCausalLM], Mapping[str, Any]],
    failures: Callable[[Mapping[str, Any]], Mapping[str, float]],
) -> None:
    """Train until the gate is passed, and write the model folder with its `train_report.json`.

    The folder can be loaded from the first check on; it then holds the model as it is.

    Args:
        fit: The run.
        tokenizer: Its tokenizer.
        out: Folder to write; a checkpoint in it is gone on from.
        seed: Seed number, for the report.
        check: Quick accuracy per task.
        gate: What is measured after a cycle, on the model as it would be shipped.
        failures: What of a gate's result is not good enough.

    Raises:
        SystemExit: The gate was not passed within the cycles of the settings.
    """
    out.mkdir(parents=True, exist_ok=True)
    progress, settings = fit.progress, fit.settings

    def checked(logits: Logits) -> Mapping[str, float]:
        write(fit.model, tokenizer, out)
        return check(logits)

    def passed(model: LlamaForCausalLM) -> bool:
        rounded = as_shipped(model)
        progress.gates.append(dict(gate(rounded)))
        failed = failures(progress.gates[-1])
        fit.log(f"below the gate: {failed or 'nothing'}")
        write(rounded, tokenizer, out)
        return not failed

    ok = fit.run(checked, passed, checkpoint=out / "checkpoint.pt")
    steps = settings.first_cycle + settings.later_cycle * (progress.cycle - 1)
    report = {
        "seed": seed,
        "passed": ok,
        "cycles": progress.cycle,
        "steps": steps,
        "minutes": round(progress.seconds / 60, 1),
        "threads": torch.get_num_threads(),
        "settings": vars(settings),
        "gates": progress.gates,
        "checks": progress.checks,
    }
    write_json(out / "train_report.json", report)
    if not ok:
        raise SystemExit(f"Seed {seed} has not passed its gate after {steps} steps; see {out}.")


def run_script(
    doc: str | None,
    *,
    train: Callable[..., None],
    evaluate: Callable[[Path], Mapping[str, Any]],
    ship: Callable[[Sequence[Path], Path], None],
) -> None:
    """The command line of a training script, with its log switched on and the number of threads set.

    Args:
        doc: Its description.
        train: `train(seed, out, compiled=)` trains one seed.
        evaluate: The numbers of a written folder.
        ship: `ship(folders, out)` chooses among trained folders.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--seed", type=int, help="train this seed into --out")
    action.add_argument("--evaluate", type=Path, metavar="DIR", help="print the numbers of a written folder as JSON")
    action.add_argument("--ship", type=Path, nargs="+", metavar="DIR", help="choose among trained folders, into --out")
    parser.add_argument("--out", type=Path, metavar="DIR")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--eager", action="store_true", help="do not compile the forward pass (no C++ compiler needed)")
    options = parser.parse_args()
    if options.out is None and options.evaluate is None:
        parser.error("--seed and --ship need --out DIR")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    torch.set_num_threads(options.threads)
    if options.evaluate is not None:
        sys.stdout.write(json.dumps(evaluate(options.evaluate), indent=1) + "\n")
    elif options.ship is not None:
        ship(options.ship, options.out)
    else:
        train(options.seed, options.out, compiled=not options.eager)
