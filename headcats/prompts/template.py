"""Templates: render demonstrations and a query as one prompt."""

from collections.abc import Sequence
from dataclasses import dataclass

from headcats.prompts.pair import Span
from headcats.registry import register


@dataclass(frozen=True)
class Template:
    """Fixed text around inputs `x` and outputs `y`.

    A demonstration is `before + x + between + lead + y + after`, the query `before + x + between`; the answer is
    `lead + y`. The space belongs to the answer because that is how subword tokenizers cut words.

    Attributes:
        name: Name on the command line and in the manifest.
        before: Text before an input.
        between: Text between input and output, without the lead.
        lead: Text directly before an output, tokenised with it.
        after: Text after a demonstration.
    """

    name: str
    before: str
    between: str
    lead: str
    after: str

    def answer(self, output: str) -> str:
        """The continuation that answers a query with `output`."""
        return self.lead + output

    def query(self, x: str) -> str:
        """A prompt without demonstrations."""
        return self.before + x + self.between

    def render(self, demonstrations: Sequence[tuple[str, str]], query: str) -> tuple[str, dict[str, Span]]:
        """The prompt, and role -> span in the order of the text.

        The roles are `before1 x1 between1 y1 after1 ... x_query between_query`, without those of empty text; `y`
        includes its lead.

        Args:
            demonstrations: (input, output) pairs in order.
            query: Input to be answered.
        """
        pieces: list[tuple[str, str]] = []
        for number, (word, output) in enumerate(demonstrations, start=1):
            pieces += [
                (f"before{number}", self.before),
                (f"x{number}", word),
                (f"between{number}", self.between),
                (f"y{number}", self.answer(output)),
                (f"after{number}", self.after),
            ]
        pieces += [("before_query", self.before), ("x_query", query), ("between_query", self.between)]
        text, spans = "", {}
        for role, piece in pieces:
            if piece:
                spans[role] = Span(len(text), len(text) + len(piece))
            text += piece
        return text, spans


ARROW = register("template", "arrow", Template("arrow", before="", between=" →", lead=" ", after="\n"))
QUESTION = register("template", "question", Template("question", before="Q: ", between="\nA:", lead=" ", after="\n\n"))
