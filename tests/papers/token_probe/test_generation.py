"""Greedy generation against transformers' own."""

from typing import Any

import torch
from toys import tiny_model

from headcats.models.adapter import HookedModel
from headcats.papers.token_probe.generation import generate, line_ends


def own_answer(hf: Any, prompt: list[int], *, ends: list[int], limit: int) -> tuple[int, ...]:
    with torch.no_grad():
        tokens = hf.generate(
            torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long), do_sample=False,
            max_new_tokens=limit, eos_token_id=ends, pad_token_id=0,
        )[0, len(prompt) :].tolist()  # fmt: skip
    return tuple(tokens[:-1] if tokens[-1] in ends else tokens)


def test_the_bundled_model_answers_as_transformers_generates(mini: HookedModel) -> None:
    from transformers import AutoModelForCausalLM

    from headcats.base import registry

    model = mini
    folder = registry.lookup("model", "mini")
    hf = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    ends = line_ends(model.tokenizer)
    texts = ["France →", "one → two\nthree →", "big → bigger\nsmall → smaller\nold →", "1,2,3 →", "Rome →"]
    prompts = [[0, *model.tokenizer(text, add_special_tokens=False)["input_ids"]] for text in texts] + [[0]]
    stops = [token for token in range(model.d_vocab) if ends(token)]
    newline = model.tokenizer.convert_tokens_to_ids("\n")
    assert stops == sorted({0, newline})
    found = generate(model, prompts, ends=ends, limit=6)
    assert [one.tokens for one in found] == [own_answer(hf, prompt, ends=stops, limit=6) for prompt in prompts]
    assert any(one.tokens for one in found)


def test_prompts_of_several_lengths_get_their_own_answers() -> None:
    toy = tiny_model("llama")
    toy.tokenizer.eos_token = "<bos>"
    model = HookedModel(toy.model, tokenizer=toy.tokenizer)
    draws = torch.Generator().manual_seed(3)
    prompts = [[0, *torch.randint(6, 60, (size,), generator=draws).tolist()] for size in (4, 7, 4, 5)]
    ends = line_ends(toy.tokenizer)
    stops = [token for token in range(60) if ends(token)]
    assert stops == [0, 4]
    found = generate(model, prompts, ends=ends, limit=8)
    expected = [own_answer(toy.oracle, prompt, ends=stops, limit=8) for prompt in prompts]
    assert [one.tokens for one in found] == expected
    assert [one.cut for one in found] == [len(one) == 8 for one in expected]
    alone = [generate(model, [prompt], ends=ends, limit=8)[0] for prompt in prompts]
    assert alone == found


def test_an_answer_ends_at_the_limit_and_at_the_end_of_the_context() -> None:
    toy = tiny_model("llama", n_layers=1)
    toy.tokenizer.eos_token = "<bos>"
    model = HookedModel(toy.model, tokenizer=toy.tokenizer)
    never: Any = lambda token: False  # noqa: E731
    short, long = generate(model, [[0, 7], [0, *range(6, 59), *range(6, 14)]], ends=never, limit=5)
    assert (len(short.tokens), short.cut) == (5, True)
    assert (len(long.tokens), long.cut) == (2, True)  # 62 of 64 tokens are the prompt
    assert generate(model, [[0, 7]], ends=never, limit=0) == [type(short)((), True)]
