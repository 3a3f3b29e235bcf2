#!/usr/bin/env python3
"""Records frames of a live view: record.py URL COUNT > frames.jsonl, where the URL is the one that the program has printed."""

import http.cookiejar
import sys
import urllib.request


def main(url, count):
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    opener.open(url, timeout=10).close()
    with opener.open(url.split("?")[0] + "events", timeout=10) as events:
        for line in events:
            if line.startswith(b"data: {"):
                print(line.removeprefix(b"data: ").decode().rstrip("\n"))
                count -= 1
                if count == 0:
                    return


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]))
