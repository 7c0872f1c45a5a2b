"""A real Chromium without a window, asked through the DevTools protocol on a pair of pipes. The house's own test tool."""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = os.environ.get("MUSTER_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One browser with one page. With `with`: it is gone afterwards, and so is its profile."""

    def __init__(self, width=1280, height=900, dark=False):
        self.width, self.height, self.dark = width, height, dark
        self.complaints = []  # of the console, and exceptions nobody caught
        self.requests = []    # URLs that the page asked for
        self._next, self._answers, self._buffer = 0, {}, b""
        self._session = None
        self._done = set()  # names of events that came

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="muster-chromium-")
        commands, self._in = os.pipe()
        self._out, answers = os.pipe()

        def pipes_as_3_and_4():
            first, second = os.dup(commands), os.dup(answers)  # neither of them is 3 or 4 any more
            os.dup2(first, 3)
            os.dup2(second, 4)

        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
                 "--remote-debugging-pipe", "--disable-background-networking", "--disable-extensions", "--disable-component-update",
                 f"--user-data-dir={self.profile}", f"--window-size={self.width},{self.height}"]
        # A session of its own: what it started ends with it.
        self.process = subprocess.Popen([PROGRAM, *flags, "about:blank"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
                                        stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=pipes_as_3_and_4)
        os.close(commands)
        os.close(answers)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.resize(self.width, self.height)
        if self.dark:
            self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        return self

    def __exit__(self, *_):
        os.close(self._in)
        os.close(self._out)
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def ask(self, method, **params):
        """The result of a command; its failure is an AssertionError."""
        self._next += 1
        number = self._next
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._in, json.dumps(message).encode() + b"\0")
        self._until(lambda: number in self._answers, f"an answer to {method}")
        answer = self._answers.pop(number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def _until(self, claim, what, seconds=60):
        deadline = time.monotonic() + seconds
        while not claim():
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._out], [], [], max(0, left))
            data = os.read(self._out, 1 << 20) if ready else b""
            if not data:
                raise AssertionError(f"Chromium: waited for {what}")
            self._buffer += data
            *messages, self._buffer = self._buffer.split(b"\0")
            for message in messages:
                self._take(json.loads(message))

    def _take(self, message):
        if "id" in message:
            self._answers[message["id"]] = message
            return
        method, params = message["method"], message.get("params", {})
        self._done.add(method)
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"])[:2000])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(params["args"])[:2000])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(json.dumps(params["entry"])[:2000])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def resize(self, width, height, phone=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def open(self, path, fragment=""):
        """Opens a file, waits until it is loaded, and returns the seconds that took."""
        # Another fragment alone would not load it again.
        self._load("about:blank")
        return self._load(pathlib.Path(path).resolve().as_uri() + (f"#{fragment}" if fragment else ""))

    def _load(self, url):
        self._done.discard("Page.loadEventFired")
        began = time.monotonic()
        self.ask("Page.navigate", url=url)
        self._until(lambda: "Page.loadEventFired" in self._done, f"{url} to load")
        return time.monotonic() - began

    def value(self, expression):
        """What a JavaScript expression is worth, as Python has it; promises are waited for."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, expression, seconds=10):
        deadline = time.monotonic() + seconds
        while not self.value(f"!!({expression})"):
            assert time.monotonic() < deadline, f"never came true: {expression}"
            time.sleep(0.02)

    def click(self, selector, number=0):
        """A real click of the mouse on the middle of an element, which must be what lies there."""
        place = f"document.querySelectorAll({json.dumps(selector)})[{number}]"
        # Pictures that come near are drawn and may push it on.
        for _ in range(2):
            self.value(f"{place}?.scrollIntoView({{block: 'center', behavior: 'instant'}})")
            self.settle()
        at = self.value(f"(() => {{ const e = {place}; if (!e) return null; "
                        "const b = e.getBoundingClientRect(); const x = b.left + b.width / 2, y = b.top + b.height / 2; "
                        "const hit = document.elementFromPoint(x, y); return [x, y, !!hit && (e.contains(hit) || hit.contains(e))]; })()")
        assert at and at[2], f"{selector} [{number}] is not there to be clicked: {at}"
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="none" if kind == "mouseMoved" else "left", clickCount=1)

    def key(self, key):
        """One key, such as Tab, Enter, ArrowRight, /."""
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes.get(key, 0), **({"text": text} if text and kind == "keyDown" else {}))

    def write(self, text):
        self.ask("Input.insertText", text=text)

    def settle(self):
        """Two frames, so that what is drawn lazily is."""
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))")

    def screenshot(self, path, whole=False):
        """A PNG of the window, or of the whole page."""
        self.settle()
        if whole:
            self.value("dispatchEvent(new Event('beforeprint'))")
            self.settle()
            height = self.value("document.documentElement.scrollHeight")
            width = self.value("innerWidth")
            self.resize(width, min(height, 16000))
            self.settle()
        data = self.ask("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def print_pdf(self, path):
        data = self.ask("Page.printToPDF", printBackground=True)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))
