"""`load_model`: load a bundled model, a local folder or a hub name, or wrap the user's own model."""

import contextlib
import copy
import importlib.resources
import io
import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars
from transformers.utils import logging as transformers_logging

from headcats.base import registry
from headcats.base.errors import ModelError, OptionError, first_line
from headcats.models.adapter import HookedModel
from headcats.models.conversion import build_bridge, build_hooked_transformer, check_reproduces, take_reference
from headcats.models.hooks import model_class
from headcats.models.origin import Origin
from headcats.models.other_forms import base_of, is_adapter, merged, transformers_model
from headcats.models.source import check_folder, find_folder, has_tokenizer
from headcats.models.transformers_model import (
    check_loader_options,
    check_vocabulary,
    is_placed,
    read_model,
    read_tokenizer,
    tokenizer_source,
)
from headcats.models.weights import check_finite

_BACKENDS = ("bridge", "hooked")
_log = logging.getLogger("headcats")
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "float64": torch.float64}

# Bundled models are folders in Hugging Face layout.
_MODELS = Path(str(importlib.resources.files("headcats") / "models"))
registry.register("model", "mini", _MODELS / "mini")
registry.register("model", "mini-cognitive", _MODELS / "mini_cognitive")


def load_model(
    source: Any,
    *,
    device: str | torch.device | None = None,
    dtype: torch.dtype | str = torch.float32,
    revision: str | None = None,
    tokenizer: Any | None = None,
    backend: str = "bridge",
    **loader: Any,
) -> HookedModel:
    """Load a model in eval mode, without weight processing, or wrap one that is already loaded.

    A model that its loader dispatches over several devices, offloads to memory or disk, or quantises is never moved.

    Args:
        source: "mini" or "mini-cognitive" (bundled, need no network), a local folder in Hugging Face layout (such as
            './mini'), a GGUF file (read into `dtype`), the folder of an adapter (merged into its base model), a hub
            name such as "gpt2", a model of transformers, nnsight or peft (which stays as it is), or a
            HookedTransformer, TransformerBridge or HookedModel as it is. Of a model of text and images the language
            model is read.
        device: None for CUDA, else MPS, else CPU; the choice is logged.
        dtype: Dtype of the weights, or "auto" for that of the file. Effects are small: use float32 if it fits.
        revision: Branch, tag or commit, for a hub name.
        tokenizer: A tokenizer, or the folder or hub name of one, instead of the model's own.
        backend: Class to build: "bridge" (TransformerBridge) or "hooked" (HookedTransformer, transformer-lens 3.x).
        **loader: Further arguments of transformers' `from_pretrained`, such as `device_map`, `max_memory`,
            `offload_folder` and `quantization_config`, or TransformerLens' `n_devices`.

    Returns:
        The adapter; `.model` is TransformerLens' model, `.tokenizer` the untouched tokenizer.

    Raises:
        ModelError: The model cannot be found or loaded, weights are missing or not finite, it has no attention heads,
            or TransformerLens' version of it gives other numbers.
        OptionError: An unknown backend, device or dtype, an unavailable device, options that contradict each other, or
            `device`, `dtype`, `revision` or a loader's argument for a model that is already loaded.

    Example:
        >>> import headcats as hc
        >>> hc.load_model("mini", device="cpu")
        HookedModel('mini', TransformerBridge, 6 attention layers, cpu)
    """
    if backend not in _BACKENDS:
        raise OptionError(f"Expected backend 'bridge' or 'hooked'; got {backend!r}.")
    dtype = _dtype(dtype)
    if not isinstance(source, str | os.PathLike):
        options = {"device": device, "dtype": dtype, "revision": revision, **loader}
        return _wrap(source, options, tokenizer=tokenizer, backend=backend)
    check_loader_options(loader, device=device, backend=backend)
    place = _device(device)
    name, folder, commit = find_folder(source, revision)
    is_named = commit is not None or os.fspath(source) in registry.names("model")
    origin = Origin(name if is_named else str(folder), commit, loader, tokenizer_source(tokenizer))
    adapter = folder if is_adapter(folder) else None
    of_base = name
    if adapter is not None:
        of_base, folder, commit = find_folder(*base_of(adapter))
    check_folder(folder, needs_tokenizer=tokenizer is None, fetched="" if commit is None else of_base)
    with quiet():
        tokenizer_folder = adapter if adapter is not None and has_tokenizer(adapter) else folder
        loaded_tokenizer = read_tokenizer(tokenizer_folder if tokenizer is None else tokenizer)
        hf_model = read_model(folder, dtype=dtype, device=place, options=loader)
        if adapter is not None:
            hf_model = merged(hf_model, adapter)
    if adapter is not None:
        _log.info("Adapter %s is merged into its base model %s.", name, of_base)
    chosen = device is not None or "device_map" in loader or is_placed(hf_model)
    note = "" if chosen else " (no device was given)"
    return _converted(hf_model, loaded_tokenizer, name=name, origin=origin, place=place, backend=backend, note=note)


def _converted(
    hf_model: Any, tokenizer: Any, *, name: str, origin: Origin, place: torch.device, backend: str, note: str = ""
) -> HookedModel:
    """The adapter of a transformers model, as a class of TransformerLens that gives the same numbers."""
    with quiet():
        check_vocabulary(tokenizer, hf_model)
        # Before the comparison, which would blame transformer-lens.
        check_finite(hf_model, name=name)
        with _one_sentence(f"transformers cannot run the model {name!r}, before TransformerLens has it"):
            reference = take_reference(hf_model)
        build = build_hooked_transformer if backend == "hooked" else build_bridge
        model = build(hf_model, _for_transformer_lens(tokenizer), name=name, device=place)
        with _one_sentence(f"What TransformerLens makes of {reference.architecture} does not run"):
            check_reproduces(model, reference)
    adapted = HookedModel(model, name=name, tokenizer=tokenizer, origin=origin)
    _log.info("Model %s: %s on %s%s, %s.", name, type(model).__name__, adapted.placement, note, adapted.dtype)
    return adapted


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing on stdout or stderr, no progress bars, no deprecation of HookedTransformer; settings are restored."""
    root, swallow = logging.getLogger(), logging.NullHandler()
    verbosity = transformers_logging.get_verbosity()
    bars, hub_bars = transformers_logging.is_progress_bar_enabled(), not are_progress_bars_disabled()
    # Without a handler, logging.warning() would install one for good (basicConfig) or write to stderr itself.
    root.addHandler(swallow)
    transformers_logging.set_verbosity_error()
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        # transformer-lens 3.x warns on every construction of the class that 4.0 removes; headcats supports it.
        warnings.filterwarnings("ignore", r"HookedTransformer(\.\w+)? is deprecated", DeprecationWarning)
        # HF_HUB_DISABLE_PROGRESS_BARS is set.
        warnings.filterwarnings("ignore", "Cannot (enable|disable) progress bars")
        transformers_logging.disable_progress_bar()
        try:
            yield
        finally:
            if bars:
                # Switches those of huggingface_hub too, in both directions.
                transformers_logging.enable_progress_bar()
                if not hub_bars:
                    disable_progress_bars()
            transformers_logging.set_verbosity(verbosity)
            root.removeHandler(swallow)


def _wrap(source: Any, options: dict[str, Any], *, tokenizer: Any, backend: str) -> HookedModel:
    model = source.model if isinstance(source, HookedModel) else source
    unwrapped = None if isinstance(source, HookedModel) else transformers_model(source)
    if unwrapped is None:
        model_class(model)
    else:
        model, own_tokenizer = unwrapped
    model_dtype = next((p.dtype for p in model.parameters() if p.is_floating_point()), options["dtype"])
    # float32 is the default and cannot be told from "not given".
    if options["dtype"] in ("auto", torch.float32, model_dtype):
        options["dtype"] = None
    if unusable := [name for name, value in options.items() if value is not None]:
        raise OptionError(
            f"{' and '.join(unusable)} cannot be set for a model that is already loaded: headcats uses it as it is. "
            f"Move or convert it yourself, or pass its name or folder."
        )
    if unwrapped is not None:
        if tokenizer is None and own_tokenizer is None:
            raise ModelError("A transformers model needs its tokenizer: hc.load_model(model, tokenizer=tokenizer).")
        name = os.path.basename(model.config.name_or_path.rstrip("/")) or type(model).__name__
        model.config.architectures = model.config.architectures or [type(model).__name__]
        used = read_tokenizer(own_tokenizer if tokenizer is None else tokenizer)
        return _converted(model, used, name=name, origin=Origin(), place=model.device, backend=backend)
    if isinstance(source, HookedModel) and tokenizer is None:
        return source
    name, origin = (source.name, source.origin) if isinstance(source, HookedModel) else (None, None)
    tokenizer = None if tokenizer is None else read_tokenizer(tokenizer)
    return HookedModel(model, name=name, tokenizer=tokenizer, origin=origin)


def _for_transformer_lens(tokenizer: Any) -> Any:
    """A copy for TransformerLens, which adds eos, pad and bos tokens, and is kept from loading another by name."""
    inner = copy.deepcopy(tokenizer)
    inner.init_kwargs.setdefault("name_or_path", "")
    inner.init_kwargs["add_bos_token"] = True
    return inner


@contextlib.contextmanager
def _one_sentence(what: str) -> Iterator[None]:
    """A ModelError for whatever a first forward pass raises: kernels and placements have conditions of their own."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"{what}: {first_line(error)}.") from error


def _device(device: str | torch.device | None) -> torch.device:
    if device is None:
        best = "mps" if torch.backends.mps.is_available() else "cpu"
        return torch.device("cuda" if torch.cuda.is_available() else best)
    try:
        place = torch.device(device)
        torch.empty(0, device=place)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise OptionError(f"Device {str(device)!r} cannot be used here ({first_line(error)}).") from None
    return place


def _dtype(dtype: torch.dtype | str) -> torch.dtype | str:
    if dtype == "auto":
        return dtype
    resolved = dtype if isinstance(dtype, torch.dtype) else _DTYPES.get(dtype)
    if resolved is None or resolved not in _DTYPES.values():
        raise OptionError(f"Expected dtype {', '.join(_DTYPES)} or auto; got {dtype!r}.")
    return resolved
