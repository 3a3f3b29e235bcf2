#!/usr/bin/env python3
"""What Perfetto makes of our files, against what is in them: test.py BUILT PERFETTO, the folders of our programs and of Perfetto's page.

Perfetto's parser runs in the browser, as it does on ui.perfetto.dev.
"""

import collections
import functools
import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "browser"))
from webdriver import Browser  # noqa: E402

QUERIES = {
    "complaints": "select name, severity, value from stats where value > 0 and severity != 'info'",
    "slices": """
        select process.pid, thread.tid, slice.name, slice.category, count(*), sum(dur > 0), sum(dur < 0), sum(dur), min(slice.ts), max(slice.ts)
        from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) join process using (upid) group by 1, 2, 3, 4""",
    "all slices": "select count(*) from slice",
    "arrows": """
        select extract_arg(flow.arg_set_id, 'cat'), count(*), sum(b.ts < a.ts)
        from flow join slice a on a.id = slice_out join slice b on b.id = slice_in group by 1""",
    "counters": """
        select process.pid, process_counter_track.name, count(*), sum(value) from counter
        join process_counter_track on counter.track_id = process_counter_track.id join process using (upid) group by 1, 2""",
    "threads": "select process.pid, thread.tid, thread.name from thread join process using (upid)",
    "processes": "select pid, name from process",
}


# Programs, how many items they are to record at least, and whether they are killed in the middle.
RUNS = [
    ("busy", ["examples/busy", "55"], 100_000, False),
    ("killed", ["examples/busy", "60"], 1_000, True),
    ("demo", ["heist", "demo"], 10_000, False),
]


def run(path, command, is_killed):
    program = subprocess.Popen(command, env={**os.environ, "HEIST_TRACE": str(path)}, stdout=subprocess.DEVNULL)
    try:
        if is_killed:
            until = time.monotonic() + 30
            while not path.exists() or path.stat().st_size < 400_000:
                check(program.poll() is None and time.monotonic() < until, "a run is recorded")
                time.sleep(0.01)
            program.send_signal(signal.SIGKILL)
        check(program.wait(120) == (-signal.SIGKILL if is_killed else 0), f"{command} ends as it is to")
    finally:
        program.kill()


def check(is_right, what):
    if not is_right:
        raise AssertionError(what)


def items_of(path):
    text = path.read_text()
    return json.loads(text if text.rstrip().endswith("]") else text + "]")


class Served:
    """Folders by HTTP on the loopback: a page with Perfetto's parser, and the traces."""

    def __init__(self, perfetto, traces):
        class Handler(http.server.SimpleHTTPRequestHandler):
            def translate_path(self, path):
                name = path.lstrip("/")
                for folder in (HERE, traces, perfetto):
                    if (folder / name).is_file():
                        return str(folder / name)
                return str(HERE / "page.html")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"


def looked_at(browser, served, path):
    """What Perfetto answers, by name of the query."""
    browser.go(served.url + "page.html")
    browser.run("look(...arguments); return null", served.url + path.name, QUERIES)
    answer = browser.wait(f"Perfetto opens {path.name}", "return window.answer", 120)
    check("error" not in answer, f"{path.name}: {answer.get('error')}")
    return answer["rows"]


def compare(path, items, rows, is_killed):
    """Each slice, arrow, point of a graph and name in the file is there, and nothing else."""
    say = functools.partial("{}: {}".format, path.name)
    check(not rows["complaints"], say(f"Perfetto complains of {rows['complaints']}"))

    open_slices = sum(row[6] for row in rows["slices"])
    check(is_killed or open_slices == 0, say(f"{open_slices} slices have no end"))
    slices = collections.Counter()
    for item in items:
        if item["ph"] in "BXi":
            slices[item["pid"], item["tid"], item["name"], item["cat"]] += 1
    found = collections.Counter({tuple(row[:4]): row[4] for row in rows["slices"]})
    check(found == slices, say(f"slices {dict(found - slices)} too many, {dict(slices - found)} missing"))
    check(rows["all slices"] == [[sum(slices.values())]], say(f"{rows['all slices']} slices in all, not {sum(slices.values())}"))

    # An arrow is there if both of its ends are.
    ends = {phase: collections.Counter((item["cat"], item["id"]) for item in items if item["ph"] == phase) for phase in "sf"}
    arrows = collections.Counter(category for category, _ in (ends["s"] & ends["f"]).elements())
    check(is_killed or {"steal", "wake"} <= arrows.keys(), say(f"arrows of each kind are recorded, not only {dict(arrows)}"))
    found = collections.Counter({category: count for category, count, _ in rows["arrows"]})
    check(found == arrows, say(f"arrows {dict(found)}, not {dict(arrows)}"))
    check(not any(row[2] for row in rows["arrows"]), say("an arrow goes back in time"))

    counters = collections.Counter((item["pid"], item["name"] + " value") for item in items if item["ph"] == "C")
    found = collections.Counter({tuple(row[:2]): row[2] for row in rows["counters"]})
    check(found == counters, say(f"points of graphs {dict(found - counters)} too many, {dict(counters - found)} missing"))

    for what, found in [("thread", {(row[0], row[1]): row[2] for row in rows["threads"]}), ("process", {(row[0], None): row[1] for row in rows["processes"]})]:
        wanted = named(items, f"{what}_name")
        wrong = {of: (name, found.get(of)) for of, name in wanted.items() if found.get(of) != name}
        check(wanted and not wrong, say(f"names of a {what}: {wrong}"))


def named(items, what):
    return {(item["pid"], item.get("tid")): item["args"]["name"] for item in items if item.get("name") == what}


def main(built, perfetto):
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="heist-perfetto-") as folder, Browser() as browser:
        traces = Path(folder)
        served = Served(perfetto, traces)
        for name, command, least, is_killed in RUNS:
            path = traces / f"{name}.json"
            run(path, [built / command[0], *command[1:]], is_killed)
            items = items_of(path)
            check(len(items) >= least, f"{name}: {len(items)} items, fewer than {least}")
            compare(path, items, looked_at(browser, served, path), is_killed)
            print(f"{name}: {len(items)} items, good ({time.monotonic() - begun:.1f} s)", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
