#!/usr/bin/env python3
"""What the live page does in a browser. Called by check/browser.sh with the folder of the built programs."""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from webdriver import Browser

HERE = Path(__file__).resolve().parent
BUILT = Path(sys.argv[1]).resolve()
SIZES = [(1280, 800), (390, 844)]
THEMES = ["light", "dark"]


def check(is_right, what):
    if not is_right:
        raise AssertionError(what)


class Program:
    """A program with a live view, ended with the `with`."""

    def __init__(self, command, url_of, **environment):
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment}
        )
        self.url = url_of(self.process.stdout.readline())
        self.host = self.url.split("/")[2]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def status(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection(self.host, timeout=10)
        connection.request(method, path, headers=headers)
        return connection.getresponse().status


def demo():
    return Program([BUILT / "heist", "live", "--demo", "--json"], lambda line: json.loads(line)["url"])


def busy():
    url = lambda line: line.removeprefix("heist: live view at ").strip()
    return Program([BUILT / "examples/busy", "120"], url, HEIST_LIVE="127.0.0.1:0")


def at(browser):
    return float(browser.run("return document.getElementById('main').dataset.at"))


def calm(browser, seconds=1.0):
    """How much of the program's time the page shows in so much of ours."""
    first, begun = at(browser), time.monotonic()
    time.sleep(seconds)
    return (at(browser) - first) / 1000 / (time.monotonic() - begun)


def quiet(browser, where):
    """The console has nothing to complain of."""
    told = [entry for entry in browser.console() if entry["level"] in ("SEVERE", "WARNING")]
    check(not told, f"{where}: the console says {told}")
    # What comes next is the next page's, also the end of this one's program.
    browser.go("about:blank")


def refusals(browser, program):
    token = program.url.split("token=")[1]
    port = program.host.split(":")[1]
    cookie = f"heist-live-{port}={token}"
    check(program.status("/frame.json", Cookie=cookie) == 200, "who has the cookie is let in")
    check(program.status("/frame.json") == 403, "a missing token is refused")
    check(program.status("/?token=" + "0" * 32) == 403, "a wrong token is refused")
    check(program.status("/frame.json", Cookie=cookie, Host="evil.example") == 403, "a foreign Host is refused")
    check(program.status("/frame.json", Cookie=cookie, Origin="http://evil.example") == 403, "a foreign Origin is refused")
    foreign = {"Cookie": cookie, "Origin": "http://evil.example"}
    check(program.status("/demo/pause", "POST", **foreign) == 403, "foreign orders are refused")
    browser.go(f"http://{program.host}/")
    text = browser.run("return document.body.textContent")
    check("token is missing" in text, f"a browser without the token is told so, not {text!r}")
    browser.console()


def the_demonstration(browser):
    with demo() as program:
        refusals(browser, program)
        browser.go(program.url)
        browser.wait("four workers", "return document.querySelectorAll('.worker').length === 4")
        check("token" not in browser.run("return location.href"), "the token is gone from the address")
        check(not browser.run("return document.cookie"), "the page's own code does not see the cookie")
        browser.wait("steals as arrows", "return Number(document.getElementById('arrows').dataset.seen) > 0", 30)
        browser.wait("a rate of steals", "return /[1-9]/.test(document.getElementById('f-steals').textContent)", 30)
        words = browser.run("return [...document.querySelectorAll('.worker .state')].map((e) => e.textContent)")
        check(all(words), "each state has a word")

        check(0.7 < calm(browser) < 1.4, "the page follows the program")
        browser.press(" ")
        check(calm(browser) == 0, "the pause holds the page")
        check(browser.run("return document.getElementById('status-text').textContent") == "paused", "it says so")
        before = at(browser)
        browser.press("\ue012")  # The arrow to the left.
        browser.wait("one frame back", f"return Number(document.getElementById('main').dataset.at) < {before}")
        browser.press("3")
        browser.press(" ")
        pace = calm(browser, 2.0)
        check(0.15 < pace < 0.4, f"slow motion at a quarter of the speed, not at {pace}")
        browser.press("l")
        browser.wait("the present again", "return document.getElementById('status-text').textContent === 'live'")
        check(0.7 < calm(browser) < 1.4, "full speed again")

        note = browser.run("return document.getElementById('demo-note').textContent")
        browser.click("#demo-run")
        browser.wait("the work has stopped", "return document.getElementById('demo-run').textContent.startsWith('Start')")
        browser.click("#demo-reseed")
        changed = "return document.getElementById('demo-note').textContent !== " + json.dumps(note)
        browser.wait("other work", changed)
        browser.press("?")
        check(browser.run("return document.getElementById('help').open"), "the keys are explained")
        browser.press("\ue00c")  # Escape.
        quiet(browser, "demonstration")


def names_are_text(browser):
    with busy() as program:
        browser.go(program.url)
        names = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>"]
        listed = "return [...document.querySelectorAll('#tasks b')].map((e) => e.textContent)"
        browser.wait("the tasks", f"return document.querySelectorAll('#tasks tr').length > 10")
        until = time.monotonic() + 20
        missing = set(names)
        while missing and time.monotonic() < until:
            missing -= set(browser.run(listed))
        check(not missing, f"{missing} are shown as they are")
        check(browser.run("return document.images.length") == 0, "no name has become markup")
        check(browser.run("return document.scripts.length") == 1, "no name has become a script")
        quiet(browser, "names")


# Boxes that share a parent and should not share a place; what is drawn over others on purpose excepted.
OVERLAPS = """
const found = [];
const parents = [...document.querySelectorAll('body, main, main *, .top, .transport, .demo')];
const isShown = (e) => {
  const style = getComputedStyle(e);
  return style.display !== 'none' && style.visibility !== 'hidden' && style.display !== 'contents';
};
for (const parent of parents) {
  if (parent.closest('svg, select, [hidden]')) continue;
  const children = [...parent.children].filter((e) =>
    isShown(e) && !e.matches('.arrows, .sprite, dialog, script, th, i, option') && !e.closest('thead') && getComputedStyle(e).position !== 'absolute' && getComputedStyle(e).position !== 'sticky');
  const boxes = children.map((e) => [e, e.getBoundingClientRect()]).filter(([, b]) => b.width > 0 && b.height > 0);
  const name = (e) => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + (e.className && e.className.baseVal === undefined ? '.' + e.className : '');
  for (let i = 0; i < boxes.length; i += 1) {
    const [e, a] = boxes[i];
    for (let k = i + 1; k < boxes.length; k += 1) {
      const [f, b] = boxes[k];
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (width > 1.5 && height > 1.5) found.push(name(e) + ' and ' + name(f) + ' overlap by ' + width.toFixed(0) + ' x ' + height.toFixed(0));
    }
  }
  if (parent.matches('.panel, .worker, .figure, .transport, .demo, .top, .lane')) {
    const box = parent.getBoundingClientRect();
    for (const [e, b] of boxes) {
      if (b.left < box.left - 1 || b.right > box.right + 1 || b.bottom > box.bottom + 1) found.push(name(e) + ' leaves ' + name(parent));
    }
  }
}
for (const box of document.querySelectorAll('.table-box')) {
  if (box.scrollWidth > box.clientWidth + 1) found.push('the table in ' + box.parentElement.getAttribute('aria-labelledby') + ' is cut off by ' + (box.scrollWidth - box.clientWidth));
}
if (document.documentElement.scrollWidth > innerWidth) found.push('the page is ' + document.documentElement.scrollWidth + ' wide, and the window ' + innerWidth);
return found;
"""

# The contrast of small text with what is behind it, at its least.
CONTRAST = """
const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length > 3 && n[3] === 0 ? null : n; };
const light = ([r, g, b]) => [r, g, b].map((c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }).reduce((s, c, i) => s + c * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c) return c; } return [255, 255, 255]; };
const bad = [];
for (const e of document.querySelectorAll('body *')) {
  if (e.closest('dialog, [hidden], svg, .worker[data-state=inactive]') || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length || getComputedStyle(e).fontSize === '0px') continue;
  const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5 && !e.disabled) bad.push(e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 20) + ' ' + ratio.toFixed(2));
}
return [...new Set(bad)];
"""


def layout(browser):
    frames = (HERE / "frames.jsonl").read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_bytes(subprocess.run([BUILT / "examples/one_file"], input=frames, check=True, capture_output=True).stdout)
        for width, height in SIZES:
            for theme in THEMES:
                where = f"{width}x{height}, {theme}"
                browser.show(width, height, theme)
                browser.go(page.as_uri())
                browser.wait("the workers", "return document.querySelectorAll('.worker').length === 4")
                browser.wait("the tasks", "return document.querySelectorAll('#tasks tr').length > 10")
                dark = browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
                check(dark == (theme == "dark"), f"{where}: the system's theme is followed")
                overlaps = browser.run(OVERLAPS)
                check(not overlaps, f"{where}: " + "; ".join(overlaps[:10]))
                faint = browser.run(CONTRAST)
                check(not faint, f"{where}: faint text: " + "; ".join(faint[:10]))
                browser.press("t")
                browser.press("t")
                check(browser.run("return document.documentElement.dataset.theme") == "dark", f"{where}: the switch")
                browser.run("localStorage.clear()")
                quiet(browser, where)


def main():
    begun = time.monotonic()
    with Browser() as browser:
        browser.show(1280, 800, "light")
        for part in (the_demonstration, names_are_text, layout):
            part(browser)
            print(f"{part.__name__.replace('_', ' ')}: good ({time.monotonic() - begun:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
