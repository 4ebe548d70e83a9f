"""The ablations of `hc.run_evidence`, piece by piece: what is finished stays in the folder, and the time is told."""

import json
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import xarray as xr

from headcats.base.errors import about, pluralize
from headcats.evidence.damage import Ablation, AblationInputs, Work, blocks_needed
from headcats.models.adapter import HookedModel
from headcats.results.cached_tables import TableCache
from headcats.study.progress import PartsClock

_TABLE = "piece"
_PROBED_SETS, _PROBED_PROMPTS = 32, 8
_log = logging.getLogger("headcats")


def kept_work(model: HookedModel, work: Work, cache: TableCache, *, tells_time: bool) -> Work:
    """Do pieces by `work`, but for those that an earlier call has kept in the folder."""

    def done(pieces: Sequence[Ablation], shared: AblationInputs) -> Iterator[tuple[Ablation, xr.Dataset]]:
        of_all = [batch.fingerprint() for batch in shared.reference.batches]
        options = {id(piece): json.dumps([*piece.contents, shared.reference.run, *of_all]) for piece in pieces}
        found = {id(piece): cache.read(options[id(piece)], (_TABLE,)) for piece in pieces}
        missing = [piece for piece in pieces if found[id(piece)] is None]
        for piece in pieces:
            if (kept := found[id(piece)]) is not None:
                yield piece, kept[0][_TABLE]
        if not missing:
            return
        costs = {piece.title: _blocks(model, piece) for piece in missing}
        if tells_time and (seconds := _expected(model, missing, shared, sum(costs.values()))):
            n_sets = sum({piece.task: len(piece.sets) for piece in missing}.values())
            _log.info("Time: at most %s for %s, estimated from a few.", about(seconds), pluralize(n_sets, "ablation"))
        clock = PartsClock("", costs, total=len(pieces), tell=_log.info, noun=("piece", "pieces"))
        clock.begin()
        for piece, table in work(missing, shared):
            cache.write(options[id(piece)], {_TABLE: table})
            clock.finished(piece.title)
            clock.begin()
            yield piece, table

    return done


def _blocks(model: HookedModel, piece: Ablation) -> float:
    """Passes of a token through a block, to which the time is proportional."""
    return blocks_needed([piece.batch], piece.sets, positions=piece.positions, n_layers=model.n_layers)


def _expected(model: HookedModel, pieces: Sequence[Ablation], shared: AblationInputs, blocks: float) -> float:
    """Seconds that pieces will take, by a few of the sets of one; 0 where none can be measured."""
    piece = next((piece for piece in pieces if piece.sets), None)
    if piece is None:
        return 0.0
    few = piece.sets[:: max(1, len(piece.sets) // _PROBED_SETS)]
    probe = replace(piece, batch=piece.batch.select(range(min(_PROBED_PROMPTS, len(piece.batch)))), sets=few)
    seconds = 0.0
    for _ in range(2):  # the first time also pays for checks and for the mean of the reference
        started = time.monotonic()
        if probe.on(model, shared).attrs["problem"]:
            return 0.0
        seconds = time.monotonic() - started
    return seconds * blocks / _blocks(model, probe)
