"""Chromium without a screen, led over its debugging pipe: no port, and nothing to install."""

import base64
import json
import os
import subprocess
import time


class Browser:
    """One browser; `Page`s are its tabs."""

    def __init__(self, folder, program="chromium"):
        to_browser, own_out = os.pipe()
        own_in, from_browser = os.pipe()

        def place():
            # The browser reads from 3 and writes to 4.
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3)
            os.dup2(write, 4)

        arguments = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--mute-audio", "--no-first-run", "--disable-dev-shm-usage",
                     "--autoplay-policy=no-user-gesture-required", "--remote-debugging-pipe", f"--user-data-dir={folder}/browser", "about:blank"]
        self.process = subprocess.Popen(arguments, preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.output = os.fdopen(own_out, "wb", buffering=0)
        self.input = os.fdopen(own_in, "rb")
        self.number = 0
        self.held = b""

    def ask(self, method, session=None, **parameters):
        """The result of a command."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self.output.write(json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.held:
                block = os.read(self.input.fileno(), 1 << 20)
                if not block:
                    raise EOFError("the browser has gone")
                self.held += block
            line, self.held = self.held.split(b"\0", 1)
            answer = json.loads(line)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def close(self):
        """Ends it."""
        try:
            self.ask("Browser.close")
        except (EOFError, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Page:
    """A tab of its own window size."""

    def __init__(self, browser, address, width, height, is_phone=False):
        self.browser = browser
        target = browser.ask("Target.createTarget", url="about:blank", newWindow=True)["targetId"]
        self.session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.ask("Emulation.setDeviceMetricsOverride", self.session, width=width, height=height, deviceScaleFactor=1, mobile=is_phone)
        # A page that is not looked at would be slowed down.
        browser.ask("Emulation.setFocusEmulationEnabled", self.session, enabled=True)
        browser.ask("Page.navigate", self.session, url=address)

    def value(self, expression):
        """What an expression is in the page."""
        answer = self.browser.ask("Runtime.evaluate", self.session, expression=expression, returnByValue=True, awaitPromise=True)
        return answer["result"].get("value")

    def screenshot(self, path):
        """Writes a PNG."""
        data = self.browser.ask("Page.captureScreenshot", self.session, format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def sample(self):
        """What the player does now."""
        found = self.value("""(() => { const v = document.getElementById("video"), p = window.hawserLive || {};
            const q = v.getVideoPlaybackQuality(), b = v.buffered;
            return { time: v.currentTime, paused: v.paused, state: v.readyState, width: v.videoWidth, height: v.videoHeight,
                late: typeof latency === "function" ? latency() : null, stalls: p.stalls, jumps: p.jumps, sessions: p.sessions,
                frames: q.totalVideoFrames, dropped: q.droppedVideoFrames, ahead: b.length ? b.end(b.length - 1) - v.currentTime : null,
                says: document.getElementById("state").textContent, across: document.documentElement.scrollWidth }; })()""")
        return {"at": time.monotonic(), **(found or {})}
