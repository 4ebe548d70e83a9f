"""Pages in headless Chromium, with the network off and everything watched that goes wrong.

`conftest.py` has it as the fixture `browser`.
"""

import contextlib
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

_ABOVE_MINOR = {"moderate", "serious", "critical"}


@contextlib.contextmanager
def opened_browser() -> Iterator[Browser]:
    """The machine's own Chromium."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.fail("Chromium is needed to look at pages, and none was found: apt-get install chromium")
    with sync_playwright() as playwright:
        # Drawn in software and in one range of colours, on every machine alike.
        flags = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb"]
        found = playwright.chromium.launch(executable_path=program, args=flags)
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
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, reduced_motion="reduce"
        )
        found = cls(context.new_page())
        found.watch()
        uri = file.resolve().as_uri()
        found.page.goto(uri + address)
        found.page.wait_for_function("document.documentElement.dataset.drawn === 'all'")
        found.page.wait_for_function("document.documentElement.dataset.heads === 'ready'")
        yield found
        assert found.problems == []
        assert {one.partition("#")[0] for one in found.requests} == {uri}
        context.close()

    def watch(self) -> None:
        """Keep what goes wrong and what is asked for."""
        self.page.on("console", lambda said: self.problems.append(f"{said.type}: {said.text}"))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda asked: (self.problems.append(f"dialog: {asked.message}"), asked.dismiss()))
        self.page.on("request", lambda request: self._note(request.url))

    def _note(self, url: str) -> None:
        if not url.startswith("blob:"):  # what the page itself holds: plotly's script, a table that is saved
            self.requests.append(url)

    def injected(self) -> list[str]:
        """Elements that no page of ours has: they come from names that were read as HTML."""
        ours = "script:not([type]), script[type='application/json'], script[type='application/octet-stream']"
        return self.page.evaluate(
            """ours => [...document.querySelectorAll("b, i, img, svg a, [onerror], [onload], script")]
              .concat([...document.querySelectorAll("a")].filter((a) => /^(java|data|file:.*passwd)/.test(a.href)))
              .filter((found) => !found.matches(ours) || /alert\\(/.test(found.textContent.slice(0, 99)))
              .map((found) => found.outerHTML.slice(0, 99))""",
            ours,
        )

    def weighty_findings(self, *, within: str = "html") -> list[str]:
        """What axe-core finds above minor in the element of a selector."""
        found = Axe().run(self.page, context=within).response["violations"]
        return [
            f"{one['id']}: {[node['html'][:160] for node in one['nodes'][:4]]}"
            for one in found
            if one["impact"] in _ABOVE_MINOR
        ]


@contextlib.contextmanager
def watched(browser: Browser, file: Path) -> Iterator[Tab]:
    """Any page of ours, drawn; at the end there must have been no problem, no question and no further request."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, offline=True)
    tab = Tab(context.new_page())
    tab.watch()
    uri = file.resolve().as_uri()
    tab.page.goto(uri)
    yield tab
    assert tab.problems == []
    assert set(tab.requests) == {uri}
    context.close()


if __name__ == "__main__":  # python tests/browser.py REPORT
    with opened_browser() as chromium, Tab.on(chromium, Path(sys.argv[1]), width=1440):
        print(f"{sys.argv[1]}: drawn, nothing went wrong")
