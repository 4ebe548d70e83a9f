"""Folders of trained models: written in the Hugging Face layout and read back."""

import json
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerFast


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


def write_json(path: Path, content: Any) -> None:
    """Write JSON that people can read."""
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
