"""Folders of trained models: written in the Hugging Face layout, read back, and chosen among."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerFast

SHIPPED_FILES = (
    "model.safetensors",
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
)


def as_shipped(model: LlamaForCausalLM) -> LlamaForCausalLM:
    """A float32 copy with the weights rounded to float16, as the file holds them."""
    copy = LlamaForCausalLM(model.config)
    copy.load_state_dict({name: weight.half().float() for name, weight in model.state_dict().items()})
    return copy.eval()


def write(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, out: Path) -> None:
    """Write the Hugging Face folder, weights as float16."""
    half = LlamaForCausalLM(model.config).half()
    half.load_state_dict(model.state_dict())
    half.save_pretrained(out)
    tokenizer.save_pretrained(out)
    # transformers 5 writes a class name that transformers 4 does not know.
    path = out / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config.pop("backend", None)
    write_json(path, config | {"tokenizer_class": "PreTrainedTokenizerFast"})


def load(folder: Path) -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """The model in float32 and the tokenizer of a written folder."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    return model.eval(), AutoTokenizer.from_pretrained(folder, local_files_only=True)


def selected(reports: Sequence[Mapping[str, Any]]) -> int:
    """Index of the report of the lowest seed number that passed its gate.

    Raises:
        SystemExit: No seed passed.
    """
    passed = [index for index, report in enumerate(reports) if report["passed"]]
    if not passed:
        raise SystemExit("No seed passed its gate, so none is shipped.")
    return min(passed, key=lambda index: reports[index]["seed"])


def copy_selected(folders: Sequence[Path], out: Path) -> tuple[int, list[Any]]:
    """Copy the lowest seed that passed its gate to `out`.

    Returns:
        Its seed number, and the reports of all seeds in order, with numbers of four decimals.

    Raises:
        SystemExit: No seed passed.
    """
    reports = {folder: json.loads((folder / "train_report.json").read_text(encoding="utf-8")) for folder in folders}
    ordered = sorted(reports, key=lambda folder: reports[folder]["seed"])
    selection = ordered[selected([reports[folder] for folder in ordered])]
    out.mkdir(parents=True, exist_ok=True)
    for name in SHIPPED_FILES:
        # Contents only: the weights are saved readable by their owner alone.
        shutil.copyfile(selection / name, out / name)
    return reports[selection]["seed"], [_rounded(reports[folder]) for folder in ordered]


def write_json(path: Path, content: Any) -> None:
    """Write JSON that people can read."""
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _rounded(value: Any) -> Any:
    """The same nested lists and dictionaries with numbers of four decimals."""
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(value, 4) if isinstance(value, float) else value
