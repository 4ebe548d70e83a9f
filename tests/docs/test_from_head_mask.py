"""Each of the ten rows: the old line does today what the page says, and the line here runs."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from architectures import tiny_bridge
from batches import random_batch
from for_each import for_each

import headcats as hc
from headcats.base.registry import lookup
from headcats.prompts.batch import PromptBatch

PAGE = (Path(__file__).parents[2] / "docs" / "from_head_mask.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if re.match(r"\| \d+ \|", line)]
IDS = torch.arange(12).reshape(2, 6)
SIZES = {"vocab_size": 40, "n_embd": 32, "n_layer": 2, "n_head": 4, "bos_token_id": 0, "eos_token_id": 0}


def gpt2(**more: Any) -> Any:
    torch.manual_seed(0)
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**SIZES, **more)).eval()


@torch.no_grad()
def logits(model: Any, **options: Any) -> torch.Tensor:
    return model(IDS, **options).logits


def test_there_are_ten_rows() -> None:
    assert [int(row[0]) for row in ROWS] == list(range(1, 11))


@for_each("row", ROWS)
@pytest.mark.filterwarnings("ignore::headcats.base.errors.ModelWarning")
def test_the_line_here_runs(row: list[str]) -> None:
    model = tiny_bridge("llama")
    batch = random_batch(6, 7)
    with torch.no_grad():
        gained = (model(batch.clean) - model(batch.corrupted))[:, -1]
    batch = PromptBatch.from_tokens(batch.clean, batch.corrupted, gained.argmax(-1), gained.argmin(-1))
    names = {"hc": hc, "model": hc.load_model("mini") if "attention(" in row[3] else model, "batch": batch}
    assert eval(row[3].strip("`"), names) is not None


def test_masks_and_pruned_heads_are_ignored_or_gone() -> None:
    model = gpt2()
    assert float((logits(model, head_mask=torch.zeros(2, 4)) - logits(model)).abs().max()) == 0
    assert not hasattr(model, "prune_heads")
    pruned = gpt2(pruned_heads={1: [2]})
    assert float((logits(pruned) - logits(model)).abs().max()) == 0


def test_a_slice_of_the_output_is_no_head_and_one_of_the_input_is() -> None:
    model = gpt2()
    attention = model.transformer.h[1].attn
    clean = logits(model)

    def zeroed(value: torch.Tensor) -> torch.Tensor:
        value = value.clone()
        value[..., 16:24] = 0
        return value

    handle = attention.register_forward_hook(lambda module, args, out: (zeroed(out[0]), *out[1:]))
    of_output = logits(model)
    handle.remove()
    handle = attention.c_proj.register_forward_pre_hook(lambda module, args: (zeroed(args[0]),))
    of_head = logits(model)
    handle.remove()
    assert float((of_head - clean).abs().max()) > 1e-4
    assert float((of_head - of_output).abs().max()) > 1e-4


def test_attentions_are_empty_without_eager_attention() -> None:
    assert not gpt2()(IDS, output_attentions=True).attentions
    eager = gpt2()
    eager.set_attn_implementation("eager")
    assert len(eager(IDS, output_attentions=True).attentions) == 2


def test_the_bundled_model_takes_no_mask_either() -> None:
    mini = transformers.AutoModelForCausalLM.from_pretrained(lookup("model", "mini"))
    mask = torch.zeros(mini.config.num_hidden_layers, mini.config.num_attention_heads)
    assert float((logits(mini, head_mask=mask) - logits(mini)).abs().max()) == 0
