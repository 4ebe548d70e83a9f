"""Quantised models: exact against their own hooked path, or refused by name."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from covering import some
from for_each import for_each
from prefixes import prefixed_batch
from toys import random_tokens, save_folder
from transformers import BitsAndBytesConfig

from headcats.base.errors import ModelError, OptionError
from headcats.models.adapter import HookedModel
from headcats.models.checks import check_model
from headcats.models.loading import load_model
from headcats.models.origin import restored_loader
from headcats.sweeps.batch_sweep import sweep

# The first import of bitsandbytes looks for GPUs, and torch 2.13 finds its types old-fashioned.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
# What the kernels of a CPU take: multiples of their blocks.
SIZES = {"hidden_size": 64, "intermediate_size": 128}
KINDS = {
    "4bit": {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": torch.float32},
    "8bit": {"load_in_8bit": True, "llm_int8_threshold": 0.0},
}


@pytest.fixture(autouse=True)
def _quiet() -> None:
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_folder(tmp_path_factory.mktemp("wide") / "wide", "llama", **SIZES)


def quantised(folder: Path, **options: Any) -> HookedModel:
    return load_model(folder, quantization_config=BitsAndBytesConfig(**options))


@pytest.mark.parametrize(("kind", "positions"), some([("4bit", "all"), ("8bit", "last")], 1))
def test_fast_paths_give_the_numbers_of_the_hooked_path(wide: Path, kind: str, positions: str) -> None:
    model, batch = quantised(wide, **KINDS[kind]), prefixed_batch(2, 12, 5)
    fast, hooked = (
        sweep(model, batch, "denoising_patch", positions=positions, path=path) for path in ("auto", "hooked")
    )
    assert fast.attrs["path"] == {"last": "last_position", "all": "suffix"}[positions]
    assert np.abs(fast.patched - hooked.patched).max() < 1e-5
    assert np.abs(hooked.patched - hooked.corrupted).max() > 0.01
    resident = load_model(wide)
    assert (model.logits(random_tokens()) - resident.logits(random_tokens())).abs().max() > 1e-4


@pytest.mark.parametrize("kind", some(["8bit", "4bit"], 1))
def test_its_weights_have_a_hash_and_are_not_read(wide: Path, kind: str) -> None:
    model = quantised(wide, **KINDS[kind])
    assert model.weights_hash() == quantised(wide, **KINDS[kind]).weights_hash() != load_model(wide).weights_hash()
    with pytest.raises(ModelError, match="'wide' are quantised"):
        model.W_O(0)


def test_what_depends_on_the_batch_is_refused(wide: Path) -> None:
    with pytest.raises(ModelError, match=r"llm_int8_threshold=0\.0"):
        check_model(quantised(wide, load_in_8bit=True))


@for_each(
    "loader,named",
    [
        ({"trust_remote_code": True}, "trust_remote_code"),
        ({"device_map": "auto", "code_revision": "x"}, "code_revision"),
        ({"attn_implementation": "owner/kernel"}, "attn_implementation"),
        ({"quantization_config": {"quant_method": "other"}}, "quantization_config"),
        ({"quantization_config": "./x.py:config"}, "quantization_config"),
    ],
)
def test_other_options_of_a_manifest_are_refused_by_name(loader: dict[str, Any], named: str) -> None:
    with pytest.raises(OptionError, match=named):
        restored_loader(loader)


def test_it_is_loaded_again_from_what_a_manifest_keeps(wide: Path) -> None:
    model = quantised(wide, **KINDS["4bit"])
    again = load_model(wide, **restored_loader(model.origin.recorded_loader()))
    assert again.weights_hash() == model.weights_hash()
