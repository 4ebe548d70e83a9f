"""Exact answers that a model copies out of long answers, where no right answer is in them."""

from collections.abc import Sequence

from headcats.models.adapter import HookedModel
from headcats.models.generation import generate, line_ends
from headcats.prompts.tokens import encode_with_bos, unknown_id

NO_ANSWER = "NO ANSWER"
"""Text in place of an exact answer where an answer gives none."""
_PROMPT = """\
Copy the short answer out of each long answer, word for word. If the long answer gives none, write NO ANSWER.

Question: In which city does the Colosseum stand?
Long answer: The Colosseum is an ancient theatre in the centre of Rome, a short walk from the Forum.
Short answer: Rome

Question: Which river flows through the town?
Long answer: I am sorry, but you would have to tell me which town you have in mind.
Short answer: NO ANSWER

Question: {question}
Long answer: {answer}
Short answer:"""


def extracted(model: HookedModel, questions: Sequence[str], answers: Sequence[str], *, limit: int) -> list[str]:
    """The exact answer of each answer, in the model's words; "" where it cannot be asked, or says nothing.

    The model completes a prompt with two examples, greedily, up to the end of a line; of that, what stands before a
    bracket, without a full stop. Whether it is in the answer is for the caller to say.
    """
    tokenizer = model.text_tokenizer
    prompts = [
        _PROMPT.format(question=question.strip(), answer=" ".join(answer.split()))
        for question, answer in zip(questions, answers, strict=True)
    ]
    unknown = unknown_id(tokenizer)
    encoded = [(*bos, *tokens) for bos, tokens, _ in encode_with_bos(tokenizer, prompts, bos=["once"] * len(prompts))]
    asked = [
        place
        for place, tokens in enumerate(encoded)
        if len(tokens) < model.n_ctx and (unknown is None or unknown not in tokens)
    ]
    copied = [""] * len(prompts)
    if asked:
        replies = generate(model, [encoded[place] for place in asked], ends=line_ends(tokenizer), limit=limit)
        for place, reply in zip(asked, replies, strict=True):
            text = str(tokenizer.decode(list(reply.tokens), clean_up_tokenization_spaces=False))
            copied[place] = text.split("(")[0].strip().strip(".").strip()
    return copied


def gives_none(exact: str) -> bool:
    """True if an exact answer says that there is none."""
    return exact.strip().upper().replace("_", " ") == NO_ANSWER
