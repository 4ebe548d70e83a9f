"""Memory of a sweep: how much the work needs, and how many prompts and rows fit at a time.

The need is estimated from shapes, as an upper bound: never below measured peaks, and up to 3.5 times as much, 7 in tiny
models or for metrics that read few tokens (`tests/sweeps/test_footprint.py`). On a CPU there is only the estimate,
because a process that takes too much is ended without an error. Work is cut into powers of two, so that a little more
or less free memory cuts it in the same places.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from headcats.base.errors import MemoryLimitError, pluralize
from headcats.models.adapter import HookedModel
from headcats.models.continued import Continued
from headcats.models.hooks import bridge_takes
from headcats.models.replay.recording import LOGITS_AT_A_TIME
from headcats.models.weights import largest_offloaded, resident_bytes

# More at a time brings nothing: about a thousand tokens keep a processor busy (measured on CPUs: less than 3 % between
# 1,000 and 6,000), and what leaves its caches is slower again.
ENOUGH_BYTES = 1 << 28

# Copies held together at the peak of a block: streams as wide as the model (residual, norms, queries, keys, values, z),
# hidden units of the MLP (GELU by its formula makes five), scores (in fp32, with the pattern and the copies that hooks
# make), and fp32 logits while `kl` is computed.
_STREAMS, _HIDDEN, _SCORES, _LOGITS = 10, 5, 4.5, 8
# What rows in blocks take of that bound, and ordinary forward passes: .34 to .49, and .55 to .79, in the shapes of
# `benchmarks/plan.py`.
_TAKEN, _TAKEN_BY_FORWARD = 0.4, 0.68


@dataclass(frozen=True)
class Sizes:
    """Sizes of a model that is loaded, or that is to be."""

    name: str
    weights: int  # bytes of those that have values all the time
    loaded: int  # bytes of offloaded weights while they are used
    number: int  # bytes of a number
    layers: int  # with heads
    max_heads: int
    d_z: int  # of all heads of a layer
    d_kv: int  # of keys, and of values
    d_model: int
    d_hidden: int  # hidden units of an MLP that a token goes through, of all its experts
    d_vocab: int
    is_bridge: bool
    keeps_logits: bool  # gives the logits of the last positions alone
    streams: int  # residual streams that a recording keeps of a layer
    n_patterns: int  # layers whose module keeps the attention pattern
    on_cpu: bool

    @classmethod
    def of(cls, model: HookedModel) -> "Sizes":
        """Sizes of a loaded model."""
        cfg, bridge = model.model.cfg, model.model_class == "TransformerBridge"
        # None where it equals the number of query heads.
        kv_heads = getattr(cfg, "n_key_value_heads", None) or model.max_heads
        blocks = (model.model.blocks[layer] for layer in model.layers)
        experts = getattr(cfg, "experts_per_token", None) or 1
        return cls(
            name=model.name,
            weights=resident_bytes(model.model),
            loaded=largest_offloaded(model.model),
            number=model.dtype.itemsize,
            layers=len(model.layers),
            max_heads=model.max_heads,
            d_z=max(heads * model.d_head[layer] for layer, heads in model.n_heads.items()),
            d_kv=min(kv_heads, model.max_heads) * max(model.d_head.values()),
            d_model=model.d_model,
            d_hidden=(getattr(cfg, "d_mlp", None) or 4 * model.d_model) * experts,
            d_vocab=model.d_vocab,
            is_bridge=bridge,
            keeps_logits=bridge_takes(model.model, "logits_to_keep"),
            # What fresh rows of parallel blocks start from is no residual stream of the run.
            streams=2 if not bridge and cfg.parallel_attn_mlp else 1,
            n_patterns=sum(getattr(block.attn, "_pattern", None) is not None for block in blocks),
            on_cpu=model.device.type == "cpu",
        )


@dataclass(frozen=True)
class Footprint:
    """Bytes that a sweep takes beside the weights, estimated from shapes; `path` is "hooked", or else it replays."""

    sizes: Sizes
    prompts: int
    length: int
    first: int  # position that can change
    path: str
    branches: int = 0  # continuations of each prompt
    steps: int = 0  # tokens of each
    kept_from: int | None = None  # first position of which z is kept, where it is an earlier one

    @classmethod
    def of(
        cls, sizes: Sizes, continued: Continued, *, first: int, path: str, kept_from: int | None = None
    ) -> "Footprint":
        """Footprint of a sweep over prompts and what follows them."""
        shape = len(continued), continued.length
        return cls(sizes, *shape, first, path, len(continued.branches), continued.steps, kept_from)

    def peak(self, part: int, rows: int, *, budget: int) -> int:
        """Most bytes of prompts in parts, with some variants (rows) of each prompt at a time."""
        recordings = 2 * self._recording(self.prompts) if self.keeps_recordings(budget) else self._recording(part)
        return self._z + recordings + self._work(part, rows) + self.sizes.loaded

    def expected(self, part: int, rows: int, *, budget: int, captured: int = 0) -> int:
        """Likely bytes, where `peak` is the most; `captured` reference prompts are run beside recordings."""
        work = self._work(part, rows)
        beside = self._captured(captured) + _TAKEN_BY_FORWARD * self._forward(captured) if captured else 0
        return self.peak(part, rows, budget=budget) - work + round(max(_TAKEN * work, beside))

    def fits(self, part: int, rows: int, budget: int) -> bool:
        """True if that many prompts and rows at a time are within the budget, and no more than helps."""
        return self._in_blocks(part, rows) <= ENOUGH_BYTES and self.peak(part, rows, budget=budget) <= budget

    def keeps_recordings(self, budget: int) -> bool:
        """True if recordings of both runs of all prompts take less than half of the budget; else of one part."""
        return 2 * (self._z + 2 * self._recording(self.prompts) + self._work(1, 1)) <= budget

    def chunk(self, part: int, rows: int) -> int:
        """While that many rows of each prompt of a part are computed."""
        read = 1 + (self.steps if self.path == "hooked" else self._later)
        return max(self._in_blocks(part, rows), self._readout(part * rows * read))

    def capture(self, rows: int) -> int:
        """Bytes of an ordinary forward pass of so many prompts that keeps z of all layers at all positions."""
        return self._forward(rows) + self._captured(rows)

    def _captured(self, rows: int) -> int:
        return rows * self._row * self.sizes.layers * self.sizes.d_z * self.sizes.number

    def _in_blocks(self, part: int, rows: int) -> int:
        """While they go through the blocks; their logits are read a part at a time anyway."""
        if self.path == "hooked":
            return self._forward(part * rows)
        at_last, bridge = self.first == self.length - 1, self.sizes.is_bridge
        # In a bridge, all rows of last positions are columns of each other's scores; longer rows get copies of the
        # earlier keys and values.
        columns = self.first + self._width * (rows if bridge and at_last else 1)
        copies = 2 * self._row * (self.sizes.d_kv + self.sizes.d_z) * self.sizes.number if bridge and not at_last else 0
        return self._block(part * rows, self._width, columns) + part * rows * copies

    def _work(self, part: int, rows: int) -> int:
        return max(self._forward(part) + self._recording(part), self.chunk(part, rows))

    @property
    def _z(self) -> int:
        """Head outputs of two runs of all prompts and what replaces them (or a third run), with their last logits."""
        sizes = self.sizes
        return 3 * self.prompts * (sizes.layers * self._kept * sizes.d_z * sizes.number + 4 * sizes.d_vocab)

    def _recording(self, prompts: int) -> int:
        """Bytes that a recording keeps beside z: residual streams, and keys and values before them."""
        if self.path == "hooked":
            return 0
        sizes = self.sizes
        numbers = 2 * self.first * sizes.d_kv + sizes.streams * self._kept * sizes.d_model
        return prompts * sizes.layers * numbers * sizes.number

    def _forward(self, rows: int) -> int:
        """An ordinary hooked forward pass of some prompts and what metrics make of its logits."""
        sizes, rows = self.sizes, rows * max(1, self.branches)
        # A HookedTransformer reorders its weights as it goes; a bridge fills a cache of keys and values.
        weights = 0 if sizes.is_bridge else max(sizes.d_vocab, 3 * sizes.d_z) * sizes.d_model * sizes.number
        cache = sizes.layers * 2 * self._row * sizes.d_kv * sizes.number if sizes.is_bridge else 0
        computed = 1 + self.steps if not sizes.is_bridge or sizes.keeps_logits else self._row
        logits = rows * computed * sizes.d_vocab * sizes.number + self._readout(rows * (1 + self.steps))
        # Later positions are cast together.
        cast = rows * (1 + self.steps) * sizes.d_vocab * 4 if self.steps else 0
        return weights + rows * cache + max(self._block(rows, self._row, self._row), logits + cast)

    def _block(self, rows: int, width: int, columns: int) -> int:
        """Rows in a block, and the attention patterns that modules of some bridges keep of them in every block."""
        sizes, number = self.sizes, self.sizes.number
        positions = in_mlp = rows * width
        scores = held_scores = positions * sizes.max_heads * columns
        if not sizes.is_bridge and self.path != "hooked":
            # Its blocks are computed from their weights: 2,048 positions of an MLP at a time, and 2^20 scores (2^26 on
            # a GPU) with their pattern (`headcats.models.replay`).
            in_mlp = min(positions, 1 << 11)
            held_scores = min(scores, 1 << (20 if sizes.on_cpu else 26)) // 2
        streams = _STREAMS * positions * max(sizes.d_model, sizes.d_z)
        hidden = _HIDDEN * in_mlp * sizes.d_hidden
        return (streams + hidden + scores * sizes.n_patterns) * number + int(_SCORES * held_scores) * max(4, number)

    def _readout(self, rows: int) -> int:
        vocab = self.sizes.d_vocab
        return 8 * min(rows, readouts(vocab)) * vocab + 4 * _LOGITS * min(rows * vocab, max(LOGITS_AT_A_TIME, vocab))

    @property
    def _later(self) -> int:
        """Positions of a packed sequence behind the prompt."""
        return self.branches * self.steps

    @property
    def _row(self) -> int:
        """Positions of a row in an ordinary forward pass."""
        return self.length + self.steps

    @property
    def _width(self) -> int:
        """Positions of a packed sequence that can change."""
        return self.length + self._later - self.first

    @property
    def _kept(self) -> int:
        """Positions of a packed sequence of which z and residual streams are kept."""
        return self._width if self.kept_from is None else self._width + self.first - self.kept_from


@dataclass(frozen=True)
class MemoryPlan:
    """Cuts of a sweep: `prompts` per part, `rows` (variants) of each at a time; bytes, beside the weights."""

    prompts: int
    rows: int
    budget: int
    peak: int
    """Bytes that are used at most, by estimate."""
    weights: int

    def describe(self) -> str:
        """The plan as a sentence."""
        peak, weights, budget = map(readable_bytes, (self.peak, self.weights, self.budget))
        pieces = f"{pluralize(self.prompts, 'prompt')}, {pluralize(self.rows, 'row')} at a time; limit {budget}"
        return f"at most {peak} beside {weights} of weights: {pieces}"


def plan(footprint: Footprint, *, rows: int, budget: int) -> MemoryPlan:
    """The largest pieces of work that fit, of some variants (rows: heads or sets of heads) of each prompt."""
    part, weights = prompts_per_part(footprint, budget=budget), footprint.sizes.weights
    count = _largest(rows, lambda count: footprint.fits(part, count, budget))
    peak = footprint.peak(part, count, budget=budget)
    if peak > budget:
        suggested = f"{math.ceil(peak / 1e8) / 10:g}GB"
        raise MemoryLimitError(
            f"A sweep of {pluralize(footprint.prompts, 'prompt')} of {footprint.length} tokens needs at least about "
            f"{readable_bytes(peak)} beside the {readable_bytes(weights)} of weights of model "
            f"{footprint.sizes.name!r}; the limit is {readable_bytes(budget)}. Raise it with --memory {suggested} "
            f"(memory={suggested!r}), free memory, or take fewer or shorter prompts."
        )
    return MemoryPlan(part, count, budget, peak, weights)


def prompts_per_part(footprint: Footprint, *, budget: int) -> int:
    """Prompts whose unpatched run and first rows fit; at least one."""
    return _largest(footprint.prompts, lambda part: footprint.fits(part, 1, budget))


def readouts(d_vocab: int) -> int:
    """Residual streams whose logits over the whole vocabulary are read at a time."""
    return max(1, ENOUGH_BYTES // (8 * d_vocab))


def readable_bytes(size: int) -> str:
    """`1.2 GB`, `34 MB`, `10 kB`, `7 B`."""
    for unit, scale, digits in (("TB", 1e12, 1), ("GB", 1e9, 1), ("MB", 1e6, 0), ("kB", 1e3, 0)):
        if size >= 0.9995 * scale:
            return f"{size / scale:.{digits}f} {unit}"
    return f"{size} B"


def _largest(whole: int, fits: Callable[[int], bool]) -> int:
    """The whole, or the largest power of two below it that fits; at least one."""
    powers = (2**power for power in reversed(range((whole - 1).bit_length())))
    return next((size for size in (whole, *powers) if fits(size)), 1)
