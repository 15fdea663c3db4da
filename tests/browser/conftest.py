"""A real browser for the tests of the page: one for the session, cut off from every network."""

import base64
import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from results import RESULTS

ROOT = Path(__file__).parent.parent.parent
AXE = Path(".cache/axe/node_modules/axe-core/axe.min.js")
PROGRAMS = ("chromium", "chromedriver")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    # whatever is asked for elsewhere finds neither a name nor a way
    "--proxy-server=127.0.0.1:9",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def pytest_runtest_setup(item):
    """Leave a test out with one line that says why; fail where everything must be there."""
    # here and not in a fixture: so all tests share the line, whatever their own place is
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if importlib.util.find_spec("selenium") is None:
        missing.append("selenium")
    if "axe" in item.fixturenames and not _axe_path().exists():
        missing.append("axe-core")
    if not missing:
        return
    cure = "install chromium and chromedriver, then run `make test-browser`"
    reason = f"the report was not opened in a browser: no {', no '.join(missing)}; {cure}"
    if os.environ.get("WEIGHBRIDGE_REQUIRE_BROWSER") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _axe_path():
    return Path(os.environ.get("WEIGHBRIDGE_AXE", ROOT / AXE))


class Browser:
    """Opens pages from disk, at any size and in any scheme, and asks them questions."""

    def __init__(self, driver, folder):
        self.driver = driver
        self.folder = folder
        self._open = self._looks = None
        self.cdp("Network.enable")
        offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        self.cdp("Network.emulateNetworkConditions", **offline)

    def cdp(self, command, **arguments):
        """Send a command of the devtools protocol."""
        return self.driver.execute_cdp_cmd(command, arguments)

    def run(self, script, *arguments):
        """Run a script in the page and return its answer."""
        return self.driver.execute_script(script, *arguments)

    def look(
        self, width=1280, height=800, *, dark=False, zoom=1, mobile=False, media="", **features
    ):
        """Set the size of the window in CSS pixels, the scheme, and screen or print."""
        size = {"width": width, "height": height, "deviceScaleFactor": zoom, "mobile": mobile}
        features = {"prefers-color-scheme": "dark" if dark else "light", **features}
        named = [{"name": n.replace("_", "-"), "value": v} for n, v in features.items()]
        if self._looks != (size, media, named):  # a change lays the whole page out again
            self.cdp("Emulation.setDeviceMetricsOverride", **size)
            self.cdp("Emulation.setEmulatedMedia", media=media, features=named)
            self._looks = (size, media, named)

    def path(self, name):
        """Return the file of a result's page, drawn at its first use."""
        from weighbridge.report import write_report

        path = self.folder / f"{name}.html"
        if not path.exists():
            write_report(RESULTS[name](), path)
        return path

    def open(self, name, *size, script=True, fragment="", **look):
        """Load a page afresh, with or without its script; probes can look at it either way."""
        self._open = None
        self.look(*size, **look)
        self.driver.get("about:blank")
        self.messages()
        self.requests()
        self.cdp("Emulation.setScriptExecutionDisabled", value=not script)
        self.driver.get(self.path(name).as_uri() + fragment)
        self.cdp("Emulation.setScriptExecutionDisabled", value=False)
        self.run(_probes())

    def show(self, name, *size, **look):
        """Show a page for looking only; it is not loaded again where it is open already."""
        if self._open != name:
            self.open(name)
            self._open = name
        self.look(*size, **look)

    def messages(self):
        """Return what the console was told since the last call or loading."""
        return self.driver.get_log("browser")

    def requests(self):
        """Return the addresses asked for since the last call or loading."""
        log = self.driver.get_log("performance")
        sent = [json.loads(each["message"])["message"] for each in log]
        return [
            each["params"]["request"]["url"]
            for each in sent
            if each["method"] == "Network.requestWillBeSent"
        ]

    def pdf(self, width, height):
        """Print to a paper of a size in inches, and return the bytes."""
        answer = self.cdp("Page.printToPDF", paperWidth=width, paperHeight=height)
        return base64.b64decode(answer["data"])


def _probes():
    return (Path(__file__).parent / "probes.js").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Return the browser."""
    folder = tmp_path_factory.mktemp("browser")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SE_OFFLINE", "true")
        patch.setenv("SE_AVOID_STATS", "true")
        driver = _start(folder)
    yield Browser(driver, folder)
    driver.quit()


def _start(folder):
    from selenium import webdriver

    programs = {name: shutil.which(name) for name in PROGRAMS}
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(programs["chromedriver"], log_output=subprocess.DEVNULL)
    return webdriver.Chrome(options=options, service=service)


@pytest.fixture(scope="session", params=RESULTS)
def report(request, browser):
    """Return the name of each result in turn; all that only look at it share one loading."""
    return request.param


@pytest.fixture(scope="session")
def axe():
    """Return the source of axe-core."""
    return _axe_path().read_text(encoding="utf-8")
