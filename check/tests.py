#!/usr/bin/env python3
"""Runs all tests of the workspace, those of some crates once more in other settings, two test binaries at a time.

Use: check/tests.py ["NAME=VALUE NAME=VALUE...:CRATE,CRATE..."]...

Each argument is a setting, that is variables of the environment, and the crates whose tests run once more in it. cargo builds everything
once, for the whole workspace: naming crates to it would choose other features of what they depend on, and build it all
again. It would also run one binary after the other, and many of them wait for most of their time.

No binary runs beside itself, so what it leaves in files is its own. What one prints is shown at the end if it fails, and how it ended.
"""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

AT_ONCE = 2
# Those that take longest begin first. One that is missing here only begins later.
LONGEST = ["it", "own_process", "doc", "iter_drops", "heist_pool", "tick_virtual_time", "regions", "stress"]
# Many packets a second must not be lost, so nothing runs beside these.
ALONE = ["regions"]
# These run each other in fenced mode; here everything does.
ARGUMENTS = ["--quiet", "--skip", "in_fenced_mode"]
# What the compiler refuses is the same in all settings.
ONCE = ["--skip", "must_not_compile"]


def main():
    runs = [Run(*test) for test in binaries()]
    crates = {run.crate for run in runs}
    runs.append(Run("the workspace", "doc", Path.cwd(), ["cargo", "test", "--workspace", "--quiet", "--doc"]))
    for argument in sys.argv[1:]:
        setting, _, wanted = argument.rpartition(":")
        wanted = set(wanted.split(","))
        if not all("=" in variable for variable in setting.split()) or not wanted <= crates:
            sys.exit(f"{argument}: not variables and crates with tests")
        runs += [run.again(setting) for run in runs if run.crate in wanted and not run.setting]
    runs.sort(key=lambda run: LONGEST.index(run.name) if run.name in LONGEST else len(LONGEST))
    failed = Queue([run for run in runs if run.name not in ALONE]).work(AT_ONCE)
    failed += Queue([run for run in runs if run.name in ALONE]).work(1)
    print(f"{len(runs) - len(failed)} of {len(runs)} passed")
    for run in failed:
        print(f"\nfailed: {run}, which ended with {run.ended}\n{shortened(run.output)}")
    return 1 if failed else 0


def shortened(output):
    """The first and the last lines, none of them endless: one failure may not hide another."""
    lines = [line[:500] for line in output.splitlines()]
    return "\n".join(lines if len(lines) <= 200 else [*lines[:50], "...", *lines[-150:]])


def binaries():
    """Crate, name, folder and command of each test binary; all are built."""
    command = ["cargo", "test", "--workspace", "--no-run", "--quiet", "--message-format=json"]
    built = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if built.returncode != 0:
        sys.exit("the tests do not build")
    for message in map(json.loads, built.stdout.splitlines()):
        if message.get("executable") and message["profile"]["test"]:
            folder = Path(message["manifest_path"]).parent
            yield folder.name, message["target"]["name"], folder, [message["executable"], *ARGUMENTS]


class Run:
    """One run of one binary."""

    def __init__(self, crate, name, folder, command, setting=""):
        self.crate, self.name, self.folder, self.command, self.setting = crate, name, folder, command, setting
        self.ended, self.output = None, ""

    def again(self, setting):
        return Run(self.crate, self.name, self.folder, [*self.command, *ONCE], setting)

    def __str__(self):
        return f"{self.crate} {self.name}" + (f" with {self.setting}" if self.setting else "")

    def passes(self):
        """Whether it passes. It keeps what it prints, and how it ends: with an exit code, or minus the number of a signal."""
        environment = dict(os.environ)
        environment.update(variable.split("=", 1) for variable in self.setting.split())
        done = subprocess.run(
            self.command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False,
        )
        self.ended, self.output = done.returncode, done.stdout.decode(errors="replace")
        return self.ended == 0


class Queue:
    """What is left to run, in this order."""

    def __init__(self, runs):
        self.left, self.running, self.failed = list(runs), [], []
        self.change = threading.Condition()

    def work(self, at_once):
        """Runs all of them; returns those that have failed."""
        threads = [threading.Thread(target=self.serve) for _ in range(at_once)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.failed

    def serve(self):
        while run := self.next():
            begun = time.monotonic()
            has_passed = run.passes()
            with self.change:
                self.running.remove(run)
                print(f"{'passed ' if has_passed else 'FAILED '} {run} ({time.monotonic() - begun:.0f} s)", flush=True)
                if not has_passed:
                    self.failed.append(run)
                self.change.notify_all()

    def next(self):
        """The first that does not run yet; waits while all that is left does."""
        with self.change:
            while self.left:
                busy = [run.command[0] for run in self.running]
                for run in self.left:
                    if run.command[0] not in busy:
                        self.left.remove(run)
                        self.running.append(run)
                        return run
                self.change.wait()
            return None


if __name__ == "__main__":
    sys.exit(main())
