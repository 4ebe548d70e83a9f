"""A hand-made model that can do few-shot tasks, and tasks for it: whole studies run in milliseconds, without training.

The model names the output that the prompt shows most often: head L0H0 attends to all tokens alike and copies the words
`w40` to `w47` (the only ones with an unembedding that counts). So it solves every task with one constant output, and no
other; patching L0H0 must matter, whatever else the noise in the other heads does.
"""

from pathlib import Path

import torch
from toys import WORDS, hf_model, word_tokenizer

from headcats.base.registry import register
from headcats.prompts.pair import PromptPair
from headcats.tasks.definition import Task
from headcats.tasks.suites import Suite, make_suite

OUTPUTS = [f"w{number}" for number in range(40, 48)]
INPUTS = [f"w{number}" for number in range(24)]
COUNTING_HEAD = (0, 0)
SUITE = "counting"


def counting_folder(folder: Path, *, seed: int = 0, head: int = 0, strength: float = 8.0, n_layers: int = 2) -> Path:
    """The model as a local Hugging Face folder; another seed, other noise.

    The counting is done by L0H0 or, as they share their values, by L0H1; with strength 0 by none.
    """
    model = hf_model("llama", n_layers=n_layers, seed=seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(("proj.weight", "lm_head.weight")):
                weight.mul_(0.2)
        first = model.model.layers[0].self_attn
        first.q_proj.weight.zero_()
        first.v_proj.weight[:16].zero_()
        first.o_proj.weight[:, :16].zero_()
        first.o_proj.weight[:, 16 * head : 16 * head + 16].zero_()
        embed = model.model.embed_tokens.weight
        embed[:, :8].zero_()
        for place, word in enumerate(OUTPUTS):
            row = WORDS.index(word)
            embed[row] = 0.05 * embed[row]
            embed[row, place] = 3.0
            model.lm_head.weight[row].zero_()
            model.lm_head.weight[row, place] = 4.0
            first.v_proj.weight[place, place] = 1.0
            first.o_proj.weight[place, 16 * head + place] = strength
    model.save_pretrained(folder)
    word_tokenizer().save_pretrained(folder)
    return folder


def counting_checkpoints(folder: Path) -> Path:
    """Three checkpoints of the model, `step0`, `step10` and `step20`, beside the tokenizer that they share.

    The first can do no task. In the second L0H0 counts, in the third L0H1 in its place.
    """
    for step, options in {0: {"strength": 0.0}, 10: {"head": 0}, 20: {"head": 1}}.items():
        checkpoint = counting_folder(folder / f"step{step}", **options)
        for file in checkpoint.glob("*token*"):
            file.unlink()
    word_tokenizer().save_pretrained(folder)
    return folder


def constant(name: str, output: str, category: str) -> Task:
    """A task that answers every input with one output; the model can do it."""
    return Task(name, category, "made up", lambda n, *, seed: [(given, output) for given in INPUTS])


def shifted(n: int, *, seed: int) -> list[tuple[str, str]]:
    """A task that the model cannot do: the answer is another input."""
    return list(zip(INPUTS, [*INPUTS[1:], INPUTS[0]], strict=True))


def several_tokens(n: int, *, seed: int) -> list[tuple[str, str]]:
    """A task whose answers are three tokens each."""
    return [(given, f"{given},w50") for given in INPUTS]


def finished_pairs(n: int, *, seed: int) -> list[PromptPair]:
    """A task of finished prompt pairs; no two show the same contrast."""
    return [
        PromptPair(f"pair {given}", given, f"w30 → w40\n{given} →", f"{other} → w41\n{given} →", " w40", " w41")
        for given, other in zip(INPUTS, INPUTS[-1:] + INPUTS, strict=False)
    ]


def counting_suite(*, shifted_corrupts: bool = False) -> Suite:
    """Two tasks of Knowledge, one of Linguistic, and one that the model cannot do, which corrupts no others.

    With `shifted_corrupts` it is marked as one that does: then every task has three distractor tasks.
    """
    return make_suite(
        [
            constant("always_a", "w40", "knowledge"),
            constant("always_b", "w41", "knowledge"),
            constant("always_c", "w42", "linguistic"),
            Task("shifted", "algorithmic", "made up", shifted, needs_demonstrations=not shifted_corrupts),
        ],
        name=SUITE,
    )


register("suite", SUITE, counting_suite)


# The less tasks can corrupt each other, the sooner a run begins to score.
STUDY = {
    "suite": make_suite(
        [constant("always_a", "w40", "knowledge"), constant("always_b", "w41", "linguistic")], name=SUITE
    ),
    "n_prompts": 8,
    "n_demos": 2,
    "methods": ["denoising_patch", "mean_ablation"],
}
