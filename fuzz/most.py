#!/usr/bin/env python3
"""Takes from a corpus what reaches least, until KEEP files are left: `most.py CONTROL KEEP`.

CONTROL is what libFuzzer writes with -set_cover_merge=1 -merge_control_file: the files, and for each the features it
reaches. The file that adds most comes first. Names that a person gave, which are no 40 hexadecimal digits, stay in any case.
"""

import heapq
import re
import sys
from pathlib import Path

FOUND = re.compile(r"[0-9a-f]{40}")


def read(control):
    """The files of a merge, and the features that each reaches."""
    lines = Path(control).read_text().split("\n")
    count = int(lines[0])
    files = [Path(line) for line in lines[2 : 2 + count]]
    features = {file: set() for file in files}
    for line in lines[2 + count :]:
        kind, _, numbers = line.partition(" ")
        if kind == "FT":
            index, *reached = map(int, numbers.split())
            features[files[index]] = set(reached)
    return features


def chosen(features, keep):
    """At most `keep` files, each of which adds most to those before it; those of a person first."""
    named = {file for file in features if not FOUND.fullmatch(file.name)}
    covered = set().union(*(features[file] for file in named))
    kept = set(named)
    heap = [(-len(reached), str(file), file) for file, reached in features.items() if file not in named]
    heapq.heapify(heap)
    while heap and len(kept) < keep:
        _, name, file = heapq.heappop(heap)
        adds = len(features[file] - covered)
        if heap and adds < -heap[0][0]:
            heapq.heappush(heap, (-adds, name, file))
            continue
        if adds == 0:
            break
        kept.add(file)
        covered |= features[file]
    return kept


def main():
    control, keep = sys.argv[1], int(sys.argv[2])
    features = read(control)
    kept = chosen(features, keep)
    for file in features:
        if file not in kept:
            file.unlink(missing_ok=True)
    print(f"{len(kept)} of {len(features)} inputs stay")


main()
