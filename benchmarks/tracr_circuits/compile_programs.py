"""Compile RASP programs into one transformer, with the truth about its heads, which `headcats.papers.planted` holds.

Needs tracr (Lindner et al. 2023, arXiv 2301.05062; https://github.com/google-deepmind/tracr), which nothing else of
headcats does, in an environment of its own. The committed files were made with its version 1.0.0, commit 9ce2b8c:

    pip install PATH_OF_TRACR safetensors && python benchmarks/tracr_circuits/compile_programs.py

A prompt is `<bos> TASK x0 x1 x2 x3 q`: four different letters of five, then x0 or x1 once more. One RASP program
answers all tasks: a head moves the name of the task to q, the programs of all tasks run side by side, and MLPs pass on
the answer that was asked for. Nobody asks for `third`, so its head is alive and serves nothing.

The truth does not come from the transformer. tracr's RASP interpreter evaluates the program on the corrupted prompt
with the clean values of one head's expression put in (denoising; noising the other way round), at all positions or at
the last one. Which head computes which expression is read off the dims of the residual stream that it writes.
"""

import itertools
import json
import random
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save_file
from tracr.compiler import compiling
from tracr.rasp import causal_eval, rasp

FOLDER = Path(__file__).parents[2] / "headcats" / "demo"
COMMIT = "9ce2b8c82b6ba10e62e86cf6f390e7536d4fd2cd"
LETTERS, NO_ANSWER = tuple("abcde"), "-"
BOS, PAD = "<bos>", "<pad>"
N_PAIRS = 32


# -------------------------------------------------------------------------------------------------------- programs
def move(name: str, keys: Any, queries: Any, predicate: Callable, values: Any = rasp.tokens) -> Any:
    """One head: `values` from the place where `predicate(key, query)` holds."""
    return rasp.Aggregate(rasp.Select(keys, queries, predicate), values, default=None).named(name)


def at(name: str, place: int) -> Any:
    """The word at a place; the task is at 0, x0 at 1."""
    return move(name, rasp.indices, rasp.indices, lambda key, query: key == place)


def back(name: str, steps: int, values: Any = rasp.tokens) -> Any:
    """What stands so many places earlier."""
    return move(name, rasp.indices, rasp.indices, lambda key, query: query == key + steps, values)


def letters(function: Callable) -> Callable:
    """The function, and None (for tracr a zero vector) where a word is no letter."""
    return lambda *words: function(*words) if all(word in LETTERS for word in words) else None


EQUAL = rasp.Comparison.EQ
task, first, second, third = at("task", 0), at("first", 1), at("second", 2), at("third", 3)
previous, previous_but_one = back("previous", 1), back("previous_but_one", 2)
previous_of_previous = back("previous_of_previous", 1, previous)
after = move("after", previous, rasp.tokens, EQUAL)
two_after = move("two_after", previous_but_one, rasp.tokens, EQUAL)
after_after = move("after_after", previous, after, EQUAL)
smaller = rasp.SelectorWidth(
    rasp.Select(rasp.tokens, rasp.tokens, lambda key, query: {key, query} <= {*LETTERS} and key < query)
).named("smaller")
HEADS = (task, first, second, third, previous, previous_but_one, previous_of_previous, after, two_after, after_after,
         smaller)  # fmt: skip

PROGRAMS = {
    "last": ("x3", previous),
    "first": ("x0", first),
    "second": ("x1", second),
    "third": ("x2", third),
    "next_letter": (
        "letter of the alphabet after x0",
        rasp.Map(letters(lambda word: LETTERS[(LETTERS.index(word) + 1) % len(LETTERS)]), first),
    ),
    "larger": ("the later letter of x0 and x3", rasp.SequenceMap(letters(max), first, previous)),
    "rank": ("number of letters before q in the alphabet", rasp.Map(lambda n: LETTERS[min(n, 4)], smaller)),
    "second_to_last": ("x2, as previous of previous", previous_of_previous),
    "after": ("what follows q (induction)", after),
    "two_after": ("the word two after q", two_after),
    "after_after": ("what follows what follows q", after_after),
}
ASKED = [name for name in PROGRAMS if name != "third"]


def whole_program() -> Any:
    """The answer to the task that the prompt names."""
    answers = [
        rasp.SequenceMap(
            lambda asked, word: word if asked and word in LETTERS else NO_ANSWER,
            rasp.Map(lambda word, name=name: word == name, task),
            program,
        )
        for name, (_, program) in PROGRAMS.items()
    ]
    while len(answers) > 1:
        pairs = zip(answers[::2], answers[1::2], strict=False)
        joined = [rasp.SequenceMap(lambda one, other: other if one == NO_ANSWER else one, *pair) for pair in pairs]
        answers = joined + answers[2 * len(joined) :]
    return answers[0].named("answer")


# ----------------------------------------------------------------------------------------------------------- truth
class Run(causal_eval.CausalEvaluator):
    """One evaluation that keeps the values of all expressions, some of them given.

    None is selected by nobody and selects nothing, as its zero vector in the compiled model; tracr's own interpreter
    refuses it.
    """

    def __init__(self, words: Sequence[str], program: Any, given: dict[str, list] | None = None) -> None:
        super().__init__()
        self.values: dict[str, Any] = dict(given or {})
        self.answer = self.evaluate(program, words)[-1]

    def evaluate(self, expr: Any, xs: Sequence[Any]) -> Any:
        """As tracr, each expression once."""
        if expr.label not in self.values:
            self.values[expr.label] = super().evaluate(expr, xs)
        return self.values[expr.label]

    def eval_select(self, sel: Any, xs: Sequence[Any]) -> Any:
        """As tracr, but for None."""
        keys, queries = self.evaluate(sel.keys, xs), self.evaluate(sel.queries, xs)
        return [[None not in (key, query) and bool(sel.predicate(key, query)) for key in keys] for query in queries]


def effects(program: Any, name: str, clean: str, corrupted: str) -> dict[str, dict[str, dict[str, float]]] | None:
    """Method -> positions -> head -> effect as a share of the gap; None if a patched program has no answer.

    The logit difference is 1 for the answer, -1 for the distractor and 0 for any other letter.
    """
    runs = {"clean": Run([name, *clean], program), "corrupted": Run([name, *corrupted], program)}
    shares = {runs["clean"].answer: 1.0, runs["corrupted"].answer: 0.0}
    found: dict[str, dict[str, dict[str, float]]] = {}
    for method, base, source in (
        ("denoising_patch", "corrupted", "clean"), ("noising_patch", "clean", "corrupted"),
    ):  # fmt: skip
        for positions, kept in (("all", 0), ("last", len(clean))):
            of_heads = found.setdefault(method, {})[positions] = {}
            for head in HEADS:
                given = runs[base].values[head.label][:kept] + runs[source].values[head.label][kept:]
                words = [name, *{"clean": clean, "corrupted": corrupted}[base]]
                try:
                    answer = Run(words, program, {head.label: given}).answer
                except ValueError:  # a head selects two different words at once
                    return None
                if answer is None:  # a head selects nothing
                    return None
                share = shares.get(answer, 0.5)
                of_heads[head.name] = share if base == "corrupted" else 1 - share
    return found


def pairs_of(program: Any, name: str, inputs: Sequence[str], answers: str) -> dict[str, Any]:
    """Prompt pairs of a task and the heads' effects on each; corrupted is another list with the same q.

    Pairs are drawn from those on which the program still has an answer whichever head is patched.
    """
    draw, answer_to = random.Random(f"tracr {name}"), dict(zip(inputs, answers, strict=True))
    prompts: list[tuple[str, str]] = []
    truth: dict[str, dict[str, dict[str, list[float]]]] = {}
    for clean in draw.sample(inputs, len(inputs)):
        others = [one for one in inputs if one[-1] == clean[-1] and answer_to[one] != answer_to[clean]]
        for corrupted in draw.sample(others, len(others)):
            if (found := effects(program, name, clean, corrupted)) is not None:
                break
        else:
            continue
        prompts.append((clean, corrupted))
        for (method, by_positions), head in itertools.product(found.items(), HEADS):
            for positions, of_heads in by_positions.items():
                lists = truth.setdefault(method, {}).setdefault(positions, {})
                lists.setdefault(head.name, []).append(of_heads[head.name])
        if len(prompts) == N_PAIRS:
            break
    for by_positions in truth.values():
        for positions, lists in by_positions.items():
            by_positions[positions] = {head: values for head, values in lists.items() if any(values)}
    return {"computes": PROGRAMS[name][0], "prompts": prompts, "effects": truth}


# ----------------------------------------------------------------------------------------------------------- model
def heads_of(model: Any) -> dict[str, str]:
    """`L0H1` -> name of the expression whose dims the head writes; tracr fills up layers with heads of zeros."""
    by_label = {head.label: head.name for head in HEADS} | {f"{smaller.label}_selector_width_attn_output": smaller.name}
    config, found = model.model_config, {}
    for layer, head in itertools.product(range(config.num_layers), range(config.num_heads)):
        rows = slice(head * config.key_size, (head + 1) * config.key_size)
        written = np.asarray(model.params[f"transformer/layer_{layer}/attn/linear"]["w"])[rows].any(0)
        labels = {model.residual_labels[dim].split(":")[0] for dim in np.flatnonzero(written)}
        if labels:
            (label,) = labels
            found[f"L{layer}H{head}"] = by_label[label]
    assert sorted(found.values()) == sorted(head.name for head in HEADS)
    return found


def sparse(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is not zero (one weight in 600), by its place in the flattened array."""
    return {
        f"{name}.{part}": array
        for name, weight in weights.items()
        for part, array in (
            ("shape", np.array(weight.shape, np.int32)),
            ("places", np.flatnonzero(weight).astype(np.int32)),
            ("values", weight[weight != 0].astype(np.float32)),
        )
    }


def main() -> None:
    """Compile, compare with the RASP interpreter on all inputs, write both files."""
    program = whole_program()
    model = compiling.compile_rasp_to_model(
        program, {*LETTERS, *PROGRAMS}, max_seq_len=6, causal=True, compiler_bos=BOS, compiler_pad=PAD
    )
    numbers, outputs = model.input_encoder.encoding_map, model.output_encoder.encoding_map
    unembed = np.zeros((len(model.residual_labels), len(outputs)), np.float32)
    for word, number in outputs.items():
        unembed[model.residual_labels.index(f"{program.label}:{word}"), number] = 1
    inputs = ["".join((*word, q)) for word in itertools.permutations(LETTERS, 4) for q in word[:2]]
    answers, logit = {}, 0.0
    for name in PROGRAMS:
        answers[name] = "".join(Run([name, *word], program).answer for word in inputs)
        tokens = jnp.array([[numbers[BOS], numbers[name], *(numbers[x] for x in word)] for word in inputs])
        logits = np.asarray(model.forward(model.params, tokens).transformer_output.output[:, -1]) @ unembed
        expected = np.eye(len(outputs))[[outputs[answer] for answer in answers[name]]]
        logit = logit or float(logits.max())
        # Not 1: the compiled softmax leaves a little for <bos>.
        np.testing.assert_allclose(logits, logit * expected, atol=1e-6)
    weights = {
        f"{module}/{name}": np.asarray(value)
        for module, arrays in model.params.items()
        for name, value in arrays.items()
    }
    save_file(sparse(weights | {"unembed": unembed}), FOLDER / "circuits.safetensors")
    config = model.model_config
    content = {
        "tracr": {"version": version("tracr"), "commit": COMMIT},
        "config": {"n_layers": config.num_layers, "n_heads": config.num_heads, "key_size": config.key_size},
        "words": sorted(numbers, key=numbers.__getitem__),
        "outputs": sorted(outputs, key=outputs.__getitem__),
        "logit_of_answer": logit,
        "heads": heads_of(model),
        "inputs": " ".join(inputs),
        "answers": answers,
    }
    tasks = {name: pairs_of(program, name, inputs, answers[name]) for name in ASKED}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()]
    of_tasks = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in tasks.items())
    text = "{\n" + ",\n".join([*lines, f'"tasks": {{\n{of_tasks}\n}}']) + "\n}\n"
    (FOLDER / "circuits.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
