"""A real browser without a window, driven over its DevTools protocol."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pytest
import websocket

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)
HELP = "needs Chromium: apt-get install chromium"


def find() -> str:
    """The browser; without one the test is skipped, but in continuous integration it fails."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(HELP)
    return found


class Browser:
    """One page, and what happened in it: network requests, and errors of its scripts."""

    def __init__(self, profile: Path) -> None:
        program = find()
        self.process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            port, _ = self._port(profile / "DevToolsActivePort")
            self.socket = self._page(port)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        self.count, self.requests, self.errors, self.loaded = 0, [], [], False
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def _port(self, path: Path) -> list[str]:
        for _ in range(600):
            if path.exists() and len(lines := path.read_text().splitlines()) == 2:
                return lines
            if self.process.poll() is not None:
                raise RuntimeError(f"The browser ended with code {self.process.returncode}.")
            time.sleep(0.05)
        raise TimeoutError("The browser did not start.")

    def _page(self, port: str) -> websocket.WebSocket:
        for _ in range(200):
            with urlopen(f"http://127.0.0.1:{port}/json/list", timeout=30) as answer:
                pages = [target for target in json.load(answer) if target["type"] == "page"]
            if pages:
                return websocket.create_connection(pages[0]["webSocketDebuggerUrl"], suppress_origin=True, timeout=60)
            time.sleep(0.05)
        raise TimeoutError("The browser has no page.")

    def send(self, method: str, **parameters):
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.count:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self._note(message)

    def _note(self, message: dict) -> None:
        what, details = message["method"], message["params"]
        if what == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])
        elif what == "Runtime.exceptionThrown":
            self.errors.append(str(details["exceptionDetails"].get("exception", details)))
        elif what == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
            self.errors.append(details["entry"]["text"])
        elif what == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning", "assert"):
            self.errors.append(str(details["args"]))
        elif what == "Page.loadEventFired":
            self.loaded = True

    def open(self, path: Path, width: int = 1200, theme: str = "light") -> None:
        self.requests.clear()
        self.errors.clear()
        self.resize(width)
        self.theme(theme)
        self.loaded = False
        self.send("Page.navigate", url=path.as_uri())
        while not self.loaded:
            self._note(json.loads(self.socket.recv()))

    def resize(self, width: int) -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.send("Emulation.setDeviceMetricsOverride", **size)

    def theme(self, name: str) -> None:
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def run(self, script: str):
        """The value of an expression in the page."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"])
        return found["result"].get("value")

    def screenshot(self, path: Path) -> None:
        found = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))

    def close(self) -> None:
        with suppress(websocket.WebSocketException, OSError):
            self.send("Browser.close")
        self.socket.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
