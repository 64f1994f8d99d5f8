"""Drives Chromium without a window, as a phone, through chromedriver (WebDriver)."""

import base64
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request

DRIVER = "/usr/bin/chromedriver"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"

# Scripts that find elements of the device's page as a person would, without its texts.
SHOWN = "const shown = e => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length > 0;"
ROW = SHOWN + """
return [...document.querySelectorAll("main :is(label, summary, button, a)")].find(
  e => shown(e) && [e.textContent, e.getAttribute("aria-label") ?? ""].some(t => t.includes(arguments[0]))) ?? null;
"""
PASSWORD = SHOWN + """
return [...document.querySelectorAll("main input:is([type=password], [autocomplete$=password])")].find(shown) ?? null;
"""
# Finds the button that submits the form of a field, or of the first form if there is no field.
SUBMIT = SHOWN + """
const form = arguments[0]?.form ?? [...document.querySelectorAll("main form")].find(shown);
return [...form.querySelectorAll("button")].find(e => e.type === "submit" && shown(e)) ?? null;
"""
IS_UNDER_WAY = 'document.getElementById("phase") !== null'


class Browser:
    def __init__(self, language="en", width=390, dark=False, has_scripts=True, insecure=False):
        self.driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                self.base = "http://127.0.0.1:" + line.split("port")[1].strip(" .\n")
                break
        else:
            sys.exit("chromedriver does not start")
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--hide-scrollbars", f"--lang={language}", f"--accept-lang={language}"]
        if dark:
            arguments.append("--blink-settings=preferredColorScheme=0")
        if insecure:
            arguments.append("--ignore-certificate-errors")
        phone = {"deviceMetrics": {"width": width, "height": 844, "pixelRatio": 2, "mobile": True, "touch": True}}
        chrome = {"args": arguments, "mobileEmulation": phone, "prefs": {"intl.accept_languages": language}}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": chrome}}})
        self.session = f"/session/{answer['sessionId']}"
        self.has_scripts = has_scripts
        if not has_scripts:
            # Disables the page's scripts. The driver's scripts still run.
            self.tool("Emulation.setScriptExecutionDisabled", value=True)

    def call(self, method, path, body=None):
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise LookupError(json.load(error)["value"]["message"].split("\n")[0])

    def tool(self, command, **parameters):
        """Sends a command of Chromium's developer tools."""
        return self.call("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url):
        self.call("POST", self.session + "/url", {"url": url})

    @property
    def url(self):
        return self.call("GET", self.session + "/url")

    def find(self, selector):
        found = self.call("POST", self.session + "/element", {"using": "css selector", "value": selector})
        return f"{self.session}/element/{found[ELEMENT]}"

    # Without scripts in the page, the driver cannot wait until an element stops moving.

    def click(self, selector):
        if self.has_scripts:
            self.call("POST", self.find(selector) + "/click")
        else:
            self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def write(self, selector, text):
        if self.has_scripts:
            self.call("POST", self.find(selector) + "/value", {"text": text})
        else:
            self.run(f"document.querySelector({json.dumps(selector)}).value = {json.dumps(text)}")

    def text(self, selector):
        return self.call("GET", self.find(selector) + "/text")

    def run(self, script, *arguments):
        return self.call("POST", self.session + "/execute/sync", {"script": script, "args": arguments})

    def screenshot(self):
        return base64.b64decode(self.call("GET", self.session + "/screenshot"))

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(self.screenshot())

    def show(self, width, height=844, is_phone=True):
        """Changes the size of the screen in CSS pixels. A CSS pixel is a pixel of the picture."""
        self.tool("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=is_phone)

    def wait(self, selector, limit):
        end = time.monotonic() + limit
        while True:
            try:
                return self.find(selector)
            except LookupError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def until(self, limit, script, *arguments):
        """Waits until a script returns a true value, and returns that."""
        end = time.monotonic() + limit
        while True:
            try:
                if found := self.run(script, *arguments):
                    return found
            except LookupError:
                pass  # The page was about to change.
            if time.monotonic() > end:
                raise LookupError(f"not within {limit} s at {self.url}: {script} {arguments}")
            time.sleep(0.1)

    # Actions of a person on the device's page.

    def press(self, element):
        self.call("POST", f"{self.session}/element/{element[ELEMENT]}/click")

    def choose(self, network):
        """Opens a network of the list."""
        self.press(self.until(20, ROW, network))

    def fill(self, text):
        """Types into the field for a password or key."""
        field = self.until(5, PASSWORD)
        self.call("POST", f"{self.session}/element/{field[ELEMENT]}/clear")
        self.call("POST", f"{self.session}/element/{field[ELEMENT]}/value", {"text": text})

    def submit(self):
        self.press(self.run(SUBMIT, self.run(PASSWORD)))

    def await_end(self, limit=60):
        """Waits until no attempt is under way."""
        self.until(limit, f"return !({IS_UNDER_WAY}) && document.readyState === 'complete'")

    def close(self):
        try:
            self.call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()
