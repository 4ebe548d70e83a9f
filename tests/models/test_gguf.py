"""A GGUF file is a model like a folder; what cannot be read is one sentence."""

from pathlib import Path

import gguf
import numpy as np
import pytest
import torch

import headcats as hc
from headcats.base.errors import ModelError
from headcats.models.transformers_model import read_model

WIDTH, HIDDEN, WORDS = 32, 64, 40


def write(path: Path, *, architecture: str = "llama", tokenizer: bool = True, unknown: bool = False) -> Path:
    """A random model of one block, with one matrix quantised to Q8_0, or in a way that nobody undoes."""
    writer, draws = gguf.GGUFWriter(path, architecture), np.random.default_rng(0)
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(WORDS)
    writer.add_rope_dimension_count(WIDTH // 2)
    if tokenizer:
        writer.add_tokenizer_model("gpt2")
        writer.add_token_merges(["t 2"])
        writer.add_token_list([*"abcdefghijklmnopqrstuvwxyz2", "t2", *(f"<{place}>" for place in range(WORDS - 28))])
        writer.add_token_types([1] * WORDS)
        writer.add_bos_token_id(0)
        writer.add_eos_token_id(1)
    for name, shape in {
        "token_embd": (WORDS, WIDTH),
        "output_norm": (WIDTH,),
        "blk.0.attn_norm": (WIDTH,),
        "blk.0.ffn_norm": (WIDTH,),
        **{f"blk.0.attn_{part}": (WIDTH, WIDTH) for part in ("q", "k", "v", "output")},
        "blk.0.ffn_gate": (HIDDEN, WIDTH),
        "blk.0.ffn_up": (HIDDEN, WIDTH),
        "blk.0.ffn_down": (WIDTH, HIDDEN),
    }.items():
        values = draws.normal(size=shape).astype(np.float32)
        kind = gguf.GGMLQuantizationType.Q8_0
        if name == "blk.0.ffn_up" and unknown:
            rows = np.zeros((HIDDEN, 40), np.uint8)
            writer.add_tensor(f"{name}.weight", rows, raw_dtype=gguf.GGMLQuantizationType.Q8_1)
        elif name == "blk.0.ffn_up":
            writer.add_tensor(f"{name}.weight", gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(f"{name}.weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_file_works_like_a_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = hc.load_model(write(tmp_path / "tiny-Q8_0.gguf"), device="cpu")
    assert capfd.readouterr().err == ""  # transformers draws a bar
    assert (model.name, model.dtype, len(model.heads)) == ("tiny-Q8_0", torch.float32, 2)
    assert model.tokenizer("ab").input_ids == [0, 1]
    read = read_model(tmp_path / "tiny-Q8_0.gguf", dtype=torch.float32, device=torch.device("cpu"), options={})
    read.save_pretrained(tmp_path / "folder")
    model.tokenizer.save_pretrained(tmp_path / "folder")
    assert hc.load_model(str(tmp_path / "folder"), device="cpu").weights_hash() == model.weights_hash()


@pytest.mark.parametrize(
    ("change", "words"),
    [({"architecture": "rwkv9"}, "architectures"), ({"tokenizer": False}, "tokenizer="), ({"unknown": True}, "Q8_0")],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, change: dict[str, object], words: str) -> None:
    path = write(tmp_path / "model.gguf", **change)
    with pytest.raises(ModelError, match=words) as error:
        hc.load_model(str(path), device="cpu")
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("content", [b"", b"hello", None])
def test_a_damaged_file_is_one_sentence(tmp_path: Path, content: bytes | None) -> None:
    path = write(tmp_path / "model.gguf")
    path.write_bytes(path.read_bytes()[:6000] if content is None else content)
    with pytest.raises(ModelError, match="damaged"):
        hc.load_model(str(path), device="cpu")


def test_without_the_package_and_without_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="does not exist"):
        hc.load_model("none.gguf")
    path = write(tmp_path / "model.gguf")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"headcats\[gguf\]"):
        hc.load_model(str(path))
