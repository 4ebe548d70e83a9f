import logging
import subprocess
import sys
import warnings
from pathlib import Path

import huggingface_hub
import pytest
import transformers
from toys import BACKENDS

from headcats.models.quiet import quiet


class TestQuiet:
    @pytest.mark.ci
    @pytest.mark.parametrize("backend", BACKENDS)
    def test_loading_prints_nothing(self, folders: dict[str, Path], backend: str) -> None:
        # A fresh process without pytest's handlers: what a user sees. Warnings are errors there too.
        code = f"import headcats as hc; hc.load_model({str(folders['gpt2'])!r}, backend={backend!r})"
        done = subprocess.run(
            [sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", code],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        )
        assert (done.stdout, done.stderr) == ("", "")

    @pytest.mark.parametrize(("bars", "hub_bars"), [(True, True), (True, False), (False, False)])
    def test_every_setting_is_restored(self, bars: bool, hub_bars: bool) -> None:
        from transformers.utils import logging as transformers_logging

        before = transformers_logging.get_verbosity()
        (transformers_logging.enable_progress_bar if bars else transformers_logging.disable_progress_bar)()
        (huggingface_hub.utils.enable_progress_bars if hub_bars else huggingface_hub.utils.disable_progress_bars)()
        transformers_logging.set_verbosity_info()
        handlers, filters = list(logging.getLogger().handlers), list(warnings.filters)
        try:
            with pytest.raises(RuntimeError):
                self.fail_quietly()
            assert transformers_logging.get_verbosity() == logging.INFO
            assert transformers_logging.is_progress_bar_enabled() == bars
            assert huggingface_hub.utils.are_progress_bars_disabled() != hub_bars
            assert logging.getLogger().handlers == handlers
            assert warnings.filters == filters
        finally:
            transformers_logging.enable_progress_bar()
            transformers_logging.set_verbosity(before)

    @staticmethod
    def fail_quietly() -> None:
        with quiet():
            raise RuntimeError

    def test_it_says_nothing_while_it_lasts(self, capfd: pytest.CaptureFixture[str]) -> None:
        with quiet():
            print("noise")
            transformers.utils.logging.get_logger("transformers.x").warning("noise")
        assert capfd.readouterr() == ("", "")
