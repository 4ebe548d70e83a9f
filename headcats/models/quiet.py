"""Silence TransformerLens and transformers while a model loads."""

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars
from transformers.utils import logging as transformers_logging

# transformer-lens 3.x warns on every construction of the class that 4.0 removes; headcats supports it on purpose.
HOOKED_TRANSFORMER_DEPRECATED = r"HookedTransformer(\.\w+)? is deprecated"


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No stdout, progress bars or log lines on stderr inside; all settings are restored.

    Handlers that the program attached still get every record. Of the warnings, only the deprecation of
    HookedTransformer is silenced.
    """
    root, swallow = logging.getLogger(), logging.NullHandler()
    verbosity = transformers_logging.get_verbosity()
    bars, hub_bars = transformers_logging.is_progress_bar_enabled(), not are_progress_bars_disabled()
    # Without a handler, logging.warning() would install one for good (basicConfig) or write to stderr itself.
    root.addHandler(swallow)
    transformers_logging.set_verbosity_error()
    _switch(transformers_logging.disable_progress_bar)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.filterwarnings("ignore", HOOKED_TRANSFORMER_DEPRECATED, DeprecationWarning)
            yield
    finally:
        if bars:
            # Switches those of huggingface_hub too, in both directions.
            _switch(transformers_logging.enable_progress_bar)
            if not hub_bars:
                _switch(disable_progress_bars)
        transformers_logging.set_verbosity(verbosity)
        root.removeHandler(swallow)


def _switch(bars: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Cannot (enable|disable) progress bars"
        )  # HF_HUB_DISABLE_PROGRESS_BARS is set
        bars()
