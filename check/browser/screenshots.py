#!/usr/bin/env python3
"""Pictures of the demonstration: screenshots.py HEIST FOLDER."""

import json
import subprocess
import sys
import time
from pathlib import Path

from webdriver import Browser


def main(heist, folder):
    folder.mkdir(parents=True, exist_ok=True)
    program = subprocess.Popen([heist, "live", "--demo", "--json"], stdout=subprocess.PIPE, text=True)
    try:
        url = json.loads(program.stdout.readline())["url"]
        with Browser() as browser:
            browser.show(1280, 1030, "light")
            browser.go(url)
            time.sleep(31)  # The charts show 30 seconds.
            moment = """
                const n = (id) => Number(document.getElementById(id).textContent);
                const arrows = Number(document.getElementById('arrows').dataset.arrows);
                return arrows >= 2 && arrows <= 6 && n('f-working') >= 3 && n('f-queued') >= 12;"""
            browser.wait("several steals at once", moment, 60)
            browser.press(" ")
            for theme in ("light", "dark"):
                browser.show(1280, 1030, theme)
                time.sleep(0.5)
                browser.picture(folder / f"live-{theme}.png")
    finally:
        program.kill()
        program.wait()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]))
