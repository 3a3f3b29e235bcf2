#!/usr/bin/env python3
"""Runs rustc (the first argument) and notes the crate's name and the CPU time of rustc and the linker in RUSTC_TIME_LOG."""

import os
import resource
import subprocess
import sys

words = sys.argv[1:]
# With the files that are open: among them are the pipes by which cargo limits how many threads run at once.
code = subprocess.run(words, check=False, close_fds=False).returncode
if "--crate-name" in words:
    name = words[words.index("--crate-name") + 1]
    if name != "___":  # cargo asks rustc about the target
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(os.environ["RUSTC_TIME_LOG"], "a", encoding="utf-8") as log:
            log.write(f"{name} {used.ru_utime + used.ru_stime:.3f}\n")
sys.exit(code)
