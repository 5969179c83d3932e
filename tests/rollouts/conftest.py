"""Runs of the fake world, kept small."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import websockets.sync.client

from thinktwice.rollouts import RunConfig, Summary, run

type FakeRun = Callable[..., Summary]


def fake_config(out: Path, **settings: Any) -> RunConfig:
    given = {"world": "fake", "tasks": "0,2", "episodes": 4, "agent": "fake", "report": False, "workers": 1}
    given["agent_options"] = {"skill": 0.55}
    return RunConfig(out=out, **(given | settings))


def lines_of(folder: Path) -> list[str]:
    """The finished episodes' lines, whatever order they ended in."""
    return sorted((folder / "episodes.jsonl").read_text().splitlines())


@pytest.fixture
def config() -> Callable[..., RunConfig]:
    return fake_config


@pytest.fixture
def lines() -> Callable[[Path], list[str]]:
    return lines_of


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run by one worker; tests read it and never write it."""
    out = tmp_path_factory.mktemp("reference") / "run"
    run(fake_config(out))
    return out


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

_WATCH = """
window.problems = [];
addEventListener("securitypolicyviolation", (event) => window.problems.push("blocked " + event.blockedURI));
addEventListener("error", (event) => window.problems.push("error " + event.message));
"""


_CODES = {"Tab": 9, "Enter": 13, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}


class Browser:
    """A headless Chromium that is driven over its own debugging protocol, with real keys.

    Args:
        connection: to the page.
    """

    def __init__(self, connection: Any) -> None:
        self._connection, self._calls = connection, 0

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._calls += 1
        self._connection.send(json.dumps({"id": self._calls, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._connection.recv(timeout=60))
            if answer.get("id") == self._calls:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, page: Path, *, dark: bool = False, width: int = 1280) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=1400, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=page.as_uri())
        self.until("document.readyState === 'complete' && window.problems !== undefined")

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, expression: str) -> Any:
        """The first value of an expression that is true."""
        for _ in range(600):
            value = self.run(expression)
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"never true: {expression}")

    def press(self, *keys: str) -> None:
        for key in keys:
            text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "")
            code = {" ": "Space"}.get(key, key)
            named = {"key": key, "code": code, "windowsVirtualKeyCode": _CODES.get(key, 0)}
            self.call("Input.dispatchKeyEvent", type="keyDown", **named, **({"text": text} if text else {}))
            self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def problems(self) -> list[str]:
        """What the content security policy blocked, and every uncaught error."""
        return self.run("window.problems")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium is installed: apt-get install chromium")
    home = tmp_path_factory.mktemp("chromium")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    command = [CHROMIUM, *flags, "--remote-debugging-port=0", f"--user-data-dir={home}", "about:blank"]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "HOME": str(home), "LANG": "C.UTF-8"}
    )
    try:
        assert process.stderr is not None
        spoken = (re.search(r"listening on ws://[^:]+:(\d+)/", line) for line in process.stderr)
        port = next(found[1] for found in spoken if found)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
            (target,) = [entry for entry in json.load(answer) if entry["type"] == "page"]
        with websockets.sync.client.connect(target["webSocketDebuggerUrl"], max_size=None) as connection:
            driven = Browser(connection)
            driven.call("Page.enable")
            driven.call("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
            yield driven
    finally:
        process.terminate()
        process.wait(timeout=30)
        if process.stderr is not None:
            process.stderr.close()
