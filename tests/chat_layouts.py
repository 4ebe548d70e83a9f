"""Instruction-tuned tokenizers: those of the zoo with special tokens and chat templates in the layouts of real ones."""

import functools
from typing import Any, NamedTuple

from tokenizer_zoo import LLAMA3_SPLIT, byte_level, sentencepiece_bpe
from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast

from headcats.prompts.template import Template

_SYSTEM = "You are an assistant."
_CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
_CHATML_SYSTEM = (
    "{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
    + _SYSTEM
    + "<|im_end|>\n' }}{% endif %}"
    + _CHATML
)
_QWEN3 = _CHATML + "{% if add_generation_prompt %}{{ '<think>\n\n</think>\n\n' }}{% endif %}"
_LLAMA2 = (
    "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant') }}{% endif %}"
    "{% if message['role'] == 'user' %}"
    "{{ bos_token + '[INST] ' + FIRST + message['content'].strip() + ' [/INST]' }}"
    "{% else %}{{ ' ' + message['content'].strip() + ' ' + eos_token }}{% endif %}{% endfor %}"
)
_MISTRAL = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}"
    "{{ '[INST] ' + message['content'] + '[/INST]' }}{% else %}{{ ' ' + message['content'] + eos_token }}{% endif %}"
    "{% endfor %}"
)
_LLAMA3 = (
    "{% for message in messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'"
    " + message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}"
    "{% endif %}{{ content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
_GEMMA = (
    "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant') }}{% endif %}"
    "{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}"
    "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)
_PHI3 = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>\n' + message['content'] + '<|end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}"
)
_GLM = (
    "[gMASK]<sop>{% for message in messages %}{{ '<|' + message['role'] + '|>\n' + message['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
_IM = ("<|im_start|>", "<|im_end|>")
_HEADERS = ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")


class Layout(NamedTuple):
    """A tokenizer, and its chat template by hand."""

    tokenizer: PreTrainedTokenizerFast
    template: Template


def with_chat(tokenizer: PreTrainedTokenizerFast, chat_template: str | None, *special: Any) -> PreTrainedTokenizerFast:
    """The tokenizer itself, with special tokens and a chat template."""
    tokenizer.add_special_tokens({"additional_special_tokens": list(special)})
    tokenizer.chat_template = chat_template
    return tokenizer


def _gpt2(*, bos: bool) -> PreTrainedTokenizerFast:
    tokenizer = byte_level(special="<|endoftext|>")
    tokenizer.bos_token = "<|endoftext|>" if bos else None
    return tokenizer


def _llama3() -> PreTrainedTokenizerFast:
    return byte_level(split=LLAMA3_SPLIT, special="<|begin_of_text|>", front=["<|begin_of_text|>"], ignore_merges=True)


def _chat(before: str, between: str, after: str, **texts: str) -> Template:
    return Template("chat", before, between, texts.pop("lead", ""), after, bos="written", **texts)


_USER, _ASSISTANT, _END = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>\n"
_OF_LLAMA2 = f"<<SYS>>\n{_SYSTEM}\n<</SYS>>\n\n"
# The tokens of Phi-3 swallow the line ends behind them.
_PHI3_TOKENS = [AddedToken(f"<|{name}|>", rstrip=True, special=True) for name in ("user", "assistant", "end")]

LAYOUTS = {
    "ChatML, no BOS": lambda: Layout(
        with_chat(_gpt2(bos=False), _CHATML, *_IM), _chat(_USER, _ASSISTANT, _END)
    ),
    "ChatML, BOS not written": lambda: Layout(
        with_chat(_gpt2(bos=True), _CHATML, *_IM), _chat(_USER, _ASSISTANT, _END)
    ),
    "ChatML, default system message": lambda: Layout(
        with_chat(_gpt2(bos=False), _CHATML_SYSTEM, *_IM),
        _chat(_USER, _ASSISTANT, _END, start=f"<|im_start|>system\n{_SYSTEM}<|im_end|>\n"),
    ),
    "empty think block": lambda: Layout(
        with_chat(_gpt2(bos=False), _QWEN3, *_IM, "<think>", "</think>"),
        _chat(_USER, _ASSISTANT, _END, between_query=f"{_ASSISTANT}<think>\n\n</think>\n\n"),
    ),
    "Llama 2": lambda: Layout(
        with_chat(sentencepiece_bpe(prefix_space=True), _LLAMA2.replace("FIRST", "''")),
        _chat("<s>[INST] ", " [/INST]", " </s>", lead=" "),
    ),
    "Llama 2, default system message": lambda: Layout(
        with_chat(
            sentencepiece_bpe(prefix_space=True),
            _LLAMA2.replace("FIRST", f"('{_OF_LLAMA2}' if loop.first else '')"),
        ),
        # Inside the first turn of the user, so that what stands in front of the others is not in front of it.
        _chat("", " [/INST]", " </s><s>[INST] ", lead=" ", start=f"<s>[INST] {_OF_LLAMA2}"),
    ),
    "Mistral": lambda: Layout(
        with_chat(sentencepiece_bpe(prefix_space=False), _MISTRAL, "[INST]", "[/INST]"),
        _chat("[INST] ", "[/INST]", "</s>", lead=" ", start="<s>"),
    ),
    "Llama 3": lambda: Layout(
        with_chat(_llama3(), _LLAMA3, *_HEADERS),
        _chat(
            "<|start_header_id|>user<|end_header_id|>\n\n",
            "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
            "<|eot_id|>",
            start="<|begin_of_text|>",
        ),
    ),
    "Gemma": lambda: Layout(
        with_chat(sentencepiece_bpe(prefix_space=False), _GEMMA, "<start_of_turn>", "<end_of_turn>"),
        _chat("<start_of_turn>user\n", "<end_of_turn>\n<start_of_turn>model\n", "<end_of_turn>\n", start="<s>"),
    ),
    "Phi-3": lambda: Layout(
        with_chat(sentencepiece_bpe(prefix_space=True), _PHI3, *_PHI3_TOKENS),
        _chat("<|user|>\n", "<|end|>\n<|assistant|>\n", "<|end|>\n"),
    ),
    "GLM": lambda: Layout(
        with_chat(_gpt2(bos=False), _GLM, "[gMASK]", "<sop>", "<|user|>", "<|assistant|>"),
        _chat("<|user|>\n", "<|assistant|>", "", lead="\n", start="[gMASK]<sop>"),
    ),
}  # fmt: skip
"""Name -> trains the tokenizer, in less than a second."""

_USERS = "{% if m['role'] == 'assistant' %}{{ raise_exception('Users only') }}{% endif %}"
_CHANNELS = (
    "{% for m in messages %}{{ '<|start|>' + m['role'] + ('<|channel|>final' if m['role'] == 'assistant' else '')"
    " + '<|message|>' + m['content'] + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}"
)


def each(message: str, *, of: str = "messages", before: str = "") -> str:
    """A chat template that writes an expression of every message `m`."""
    return f"{{% for m in {of} %}}{before}{{{{ {message} + '\n' }}}}{{% endfor %}}"


WRAPPED = (
    "w52\n{% for m in messages %}{{ 'w53,' + m['content'] + '\n→' if m['role'] == 'user' else m['content'] + '\n' }}"
    "{% endfor %}"
)
"""A chat template of the words in `toys.WORDS`, without BOS, though the tokenizer has one."""
REFUSED = {
    "refuses assistants": (each("m['content']", before=_USERS), "Users only"),
    "is broken": (each("1 + m['content']"), "cannot write"),
    "last message alone": (each("m['content']", of="messages[-1:]"), "leaves out messages"),
    "message twice": (each("m['content'] + '|' + m['content']"), "repeats them"),
    "other order": (each("m['content']", of="messages | reverse"), "leaves out messages"),
    "numbered turns": (each("loop.index ~ '. ' + m['content']"), "differently"),
    "upper case": (each("m['content'] | upper"), "'Italy'"),
    "five messages": (each("m['content']", of="messages[-5:]"), "'summer'"),
    "no generation prompt": (_CHATML.replace("{% if add_generation_prompt %}", "{% if false %}"), "not come next"),
    "channel behind the generation prompt": (_CHANNELS, "not come next"),
}
"""Name -> a chat template that is no `Template`, and part of what is said of it."""


@functools.cache
def layout(name: str) -> Layout:
    """One of `LAYOUTS`, trained once; its tokenizer is not to be changed."""
    return LAYOUTS[name]()


def messages(demonstrations: Any, query: str) -> list[dict[str, str]]:
    """Turns of user and assistant, and the query."""
    texts = [text for pair in demonstrations for text in pair] + [query]
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]


def chat_ids(tokenizer: Any, turns: list[dict[str, str]], *, add_generation_prompt: bool = True) -> list[int]:
    """The token ids that transformers make of a conversation."""
    return tokenizer.apply_chat_template(
        turns, tokenize=True, add_generation_prompt=add_generation_prompt, return_dict=True
    )["input_ids"]
