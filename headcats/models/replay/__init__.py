"""Running parts of a model again: what the fast paths of `headcats.sweeps` are made of."""

from headcats.models.replay.record import record
from headcats.models.replay.recording import Recording, RowEdit, Rows
from headcats.models.replay.unreplayable import Unreplayable, check_replayable

__all__ = ["Recording", "RowEdit", "Rows", "Unreplayable", "check_replayable", "record"]
