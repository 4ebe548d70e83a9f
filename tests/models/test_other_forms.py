"""Adapters, objects of transformers, nnsight and peft, and language models within larger ones: the numbers of each."""

import json
import shutil
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
import transformers
from for_each import for_each
from toys import word_tokenizer

import headcats as hc
from headcats.base.errors import ModelError, OptionError
from headcats.base.registry import lookup

# Of peft, which asks a model whether it checkpoints its gradients.
pytestmark = pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
SIZES = {
    "vocab_size": 32, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64,
}  # fmt: skip
TOKENS = torch.tensor([[1, 5, 9, 3, 7]])


def tokenizer() -> Any:
    return word_tokenizer(["<bos>", "<unk>", *(f"w{n}" for n in range(30))])


def llama(**more: Any) -> Any:
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES | more)).eval()


@torch.no_grad()
def log_probs(model: Any) -> torch.Tensor:
    return model(TOKENS).logits.log_softmax(-1)


@torch.no_grad()
def of(model: Any) -> torch.Tensor:
    return model.model(TOKENS, return_type="logits").log_softmax(-1)


def adapted(model: Any, **changes: Any) -> Any:
    wrapped = peft.get_peft_model(model, peft.LoraConfig(r=4, target_modules=["q_proj", "o_proj"], **changes))
    for name, weight in wrapped.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(weight, std=0.2)
    return wrapped.eval()


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path, torch.Tensor]:
    """A base model, an adapter of it, and the log-probabilities of both together."""
    base, adapter = tmp_path / "base", tmp_path / "adapter"
    llama().save_pretrained(base)
    tokenizer().save_pretrained(base)
    model = adapted(transformers.LlamaForCausalLM.from_pretrained(base))
    model.save_pretrained(adapter)
    return base, adapter, log_probs(model)


@pytest.mark.both_versions
def test_the_folder_of_an_adapter_is_merged_into_its_base(folders: Any, caplog: pytest.LogCaptureFixture) -> None:
    base, adapter, expected = folders
    with caplog.at_level("INFO", logger="headcats"):
        model = hc.load_model(adapter)
    assert (of(model) - expected).abs().max() < 1e-5
    assert (of(hc.load_model(base)) - expected).abs().max() > 1e-2
    assert (model.name, model.origin.source) == ("adapter", str(adapter))
    assert str(base) in caplog.text or base.name in caplog.text


def test_an_adapter_beside_its_base(folders: Any) -> None:
    base, adapter, expected = folders
    shutil.move(str(base), adapter / "base")
    config = json.loads((adapter / "adapter_config.json").read_text()) | {"base_model_name_or_path": "base"}
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    assert (of(hc.load_model(adapter)) - expected).abs().max() < 1e-5


def test_an_adapter_that_does_not_fit_is_refused(folders: Any, tmp_path: Path) -> None:
    _, adapter, _ = folders
    for name, other in {
        "wider": llama(hidden_size=64),
        "deeper": llama(num_hidden_layers=3),
        "shallower": llama(num_hidden_layers=1),
        "gpt2": transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=32, n_embd=32, n_layer=2, n_head=4)),
    }.items():
        other.save_pretrained(tmp_path / name)
        tokenizer().save_pretrained(tmp_path / name)
        config = json.loads((adapter / "adapter_config.json").read_text())
        (adapter / "adapter_config.json").write_text(
            json.dumps(config | {"base_model_name_or_path": str(tmp_path / name)})
        )
        with pytest.raises(ModelError, match="does not fit its base") as refused:
            hc.load_model(adapter)
        assert name in str(refused.value)
    (adapter / "adapter_model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"adapter_model\.safetensors"):
        hc.load_model(adapter)


def test_a_merged_model_with_nan_is_refused(folders: Any, tmp_path: Path) -> None:
    base, _, _ = folders
    model = adapted(transformers.LlamaForCausalLM.from_pretrained(base))
    with torch.no_grad():
        next(weight for name, weight in model.named_parameters() if "lora_B" in name).fill_(float("nan"))
    model.save_pretrained(tmp_path / "broken")
    with pytest.raises(ModelError, match=r"q_proj.* holds NaN"):
        hc.load_model(tmp_path / "broken")


@pytest.mark.both_versions
@for_each(
    "wrap",
    [lambda model: model, adapted, lambda model: type("Envoy", (), {"__module__": "nnsight.x", "_model": model})()],
)
def test_an_object_stays_as_it_is_and_gives_its_numbers(wrap: Any) -> None:
    original = wrap(llama().train())
    inner = getattr(original, "_model", original)
    modules = {name: type(module) for name, module in inner.named_modules()}
    expected = log_probs(inner.eval())
    inner.train()
    model = hc.load_model(original, tokenizer=tokenizer())
    assert (of(model) - expected).abs().max() < 1e-5
    assert inner.training
    assert {name: type(module) for name, module in inner.named_modules()} == modules
    assert inner.config._attn_implementation == "sdpa"
    assert (log_probs(inner.eval()) - expected).abs().max() == 0
    with pytest.raises(ModelError, match="tokenizer="):
        hc.load_model(original)
    with pytest.raises(OptionError, match="device"):
        hc.load_model(original, tokenizer=tokenizer(), device="cpu")


def test_a_run_of_an_object_goes_to_a_map() -> None:
    mini = hc.load_model("mini")
    loaded = transformers.AutoModelForCausalLM.from_pretrained(lookup("model", "mini"), dtype=torch.float32)
    options = {"tasks": ["plural"], "n_prompts": 4, "methods": ["denoising_patch@last"]}
    expected = hc.run("mini", **options)
    results = hc.run(hc.load_model(loaded, tokenizer=mini.tokenizer), **options)
    first, second = (hc.score(each).effect.values for each in (results, expected))
    assert abs(first - second).max() < 1e-5


TEXT = SIZES | {"head_dim": 8}
VISION = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 8,
    "patch_size": 4,
}


@pytest.mark.both_versions
@pytest.mark.usefixtures("no_programs")
@for_each(
    "stem,text",
    [
        ("Gemma3", TEXT | {"layer_types": ["full_attention"] * 2}),
        ("Llava", TEXT | {"model_type": "llama"}),
        ("Idefics3", TEXT | {"model_type": "llama", "pad_token_id": 0}),
    ],
)
def test_the_language_model_of_one_that_reads_images(tmp_path: Path, stem: str, text: dict[str, Any]) -> None:
    torch.manual_seed(0)
    kind = {"Llava": "clip_vision_model", "Gemma3": "siglip_vision_model"}.get(stem)
    vision = VISION | ({"model_type": kind} if kind else {})
    config = getattr(transformers, f"{stem}Config")(text_config=text, vision_config=vision, image_token_id=31)
    whole = getattr(transformers, f"{stem}ForConditionalGeneration")(config).eval()
    folder = tmp_path / stem
    whole.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    assert (of(hc.load_model(folder)) - log_probs(whole)).abs().max() < 1e-5


@for_each(
    "file,kind",
    [
        ("model.onnx", "ONNX"),
        ("tf_model.h5", "TensorFlow"),
        ("consolidated.00.pth", "its authors"),
        ("a.pt", "PyTorch"),
    ],
)
def test_another_format_is_refused_by_what_it_is(tmp_path: Path, file: str, kind: str) -> None:
    (tmp_path / file).touch()
    with pytest.raises(ModelError, match=kind):
        hc.load_model(tmp_path)
