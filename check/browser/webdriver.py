"""A browser driven by the WebDriver protocol: chromium and chromedriver, and nothing but Python's own library."""

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Browser:
    """One session with a profile of its own. Use it in a `with`."""

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="heist-browser-")
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _begin(self):
        until = time.monotonic() + 20
        while True:
            try:
                if self._call("GET", "/status")["ready"]:
                    break
            except OSError:
                if time.monotonic() > until:
                    raise RuntimeError("chromedriver does not answer") from None
                time.sleep(0.05)
        options = {"args": [*FLAGS, f"--user-data-dir={self.profile}"], "binary": shutil.which("chromium")}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        begun = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = "/session/" + begun["sessionId"]

    def __exit__(self, *_):
        try:
            self._call("DELETE", self.session)
        except (AttributeError, OSError):
            pass
        self.driver.terminate()
        try:
            self.driver.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.driver.kill()
            self.driver.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            told = json.load(error)["value"]
            raise RuntimeError(f"{told['error']}: {told['message']}") from None

    def go(self, url):
        self._call("POST", self.session + "/url", {"url": url})

    def run(self, script, *arguments):
        """Runs the body of a function in the page, and returns what that returns."""
        return self._call("POST", self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, what, script, seconds=15):
        """Waits until the script returns something true, and returns that."""
        until = time.monotonic() + seconds
        while True:
            found = self.run(script)
            if found:
                return found
            if time.monotonic() > until:
                raise AssertionError(f"waited {seconds} s in vain: {what}")
            time.sleep(0.05)

    def cdp(self, command, **parameters):
        return self._call("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def show(self, width, height, theme, scale=1):
        """The window's size, and what the system says of light and dark."""
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=scale, mobile=width < 640,
        )
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def press(self, key):
        keys = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._call("POST", self.session + "/actions", {"actions": [{"type": "key", "id": "keys", "actions": keys}]})

    def click(self, selector):
        found = self._call("POST", self.session + "/element", {"using": "css selector", "value": selector})
        self._call("POST", f"{self.session}/element/{next(iter(found.values()))}/click", {})

    def picture(self, path, whole=False):
        shot = self.cdp("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def console(self):
        """What the page has written to the console since the last call, and what the browser had to complain of."""
        return self._call("POST", self.session + "/se/log", {"type": "browser"})
