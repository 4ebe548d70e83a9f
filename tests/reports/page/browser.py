"""Pages in headless Chromium, with the network off and everything watched that goes wrong."""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

_SERIOUS = {"serious", "critical"}


@contextlib.contextmanager
def opened_browser() -> Iterator[Browser]:
    """The machine's own Chromium."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.fail("Chromium is needed to look at the report, and none was found: apt-get install chromium")
    with sync_playwright() as playwright:
        # The numbers in software, on every machine alike.
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@dataclass
class Tab:
    """A page, and what it complained of or asked the network for."""

    page: Page
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @classmethod
    @contextlib.contextmanager
    def on(cls, browser: Browser, file: Path, *, width: int, dark: bool = False, address: str = "") -> Iterator["Tab"]:
        """Open a file; at the end there must have been no problem and no request but for the file itself."""
        scheme = "dark" if dark else "light"
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
        found = cls(context.new_page())
        found.page.on("console", lambda said: found.problems.append(f"{said.type}: {said.text}"))
        found.page.on("pageerror", lambda error: found.problems.append(str(error)))
        found.page.on("request", lambda request: found.requests.append(request.url))
        uri = file.resolve().as_uri()
        found.page.goto(uri + address)
        found.page.wait_for_function("document.documentElement.dataset.drawn === 'all'")
        found.page.wait_for_function("document.documentElement.dataset.heads === 'ready'")
        yield found
        assert found.problems == []
        assert {one.partition("#")[0] for one in found.requests} == {uri}
        context.close()

    def serious_findings(self) -> list[str]:
        """What axe-core finds that keeps somebody out."""
        found = Axe().run(self.page).response["violations"]
        return [
            f"{one['id']}: {[node['html'][:160] for node in one['nodes'][:4]]}"
            for one in found
            if one["impact"] in _SERIOUS
        ]
