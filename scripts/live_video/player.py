"""A player without a buffer: what it shows when, and how that looks (docs/video.md, docs/live.md)."""

import subprocess
from typing import NamedTuple

FRAMES_PER_SECOND = 25
PERIOD = 1 / FRAMES_PER_SECOND


class Arrival(NamedTuple):
    """A frame at the receiver."""

    # When its last byte came, seconds since the sending side was started.
    at: float
    is_whole: bool


class Shown(NamedTuple):
    """What a player made of a stream."""

    startup: float
    stalled: float
    stalls: int
    # Frames from `first` up to before `end` had their turn.
    first: int
    end: int


def play(arrivals, keys):
    """Plays what comes.

    `arrivals` has an `Arrival`, or `None`, for each frame of the clip; `keys` are the indices of key frames. The player starts with the first
    whole key frame and shows a frame per period. It waits for a frame that is still to come, and everything behind it shifts; in the
    place of one that does not come it shows the last one again, as soon as one behind it is there. `None` if nothing could be shown.
    """
    first = next((index for index in keys if arrivals[index] and arrivals[index].is_whole), None)
    if first is None:
        return None
    next_there, earliest = [None] * len(arrivals), None
    for index in reversed(range(len(arrivals))):
        if arrivals[index]:
            earliest = arrivals[index].at if earliest is None else min(earliest, arrivals[index].at)
        next_there[index] = earliest
    due, stalled, stalls, end = arrivals[first].at, 0.0, 0, first + 1
    for index in range(first + 1, len(arrivals)):
        if next_there[index] is None:
            break
        due += PERIOD
        wait = (arrivals[index].at if arrivals[index] else next_there[index]) - due
        if wait > 0:
            stalled, stalls, due = stalled + wait, stalls + 1, due + wait
        end = index + 1
    return Shown(arrivals[first].at, stalled, stalls, first, end)


def similarities(received, offset, clip, scratch):
    """SSIM (luma) of each frame of the clip with what was on the screen in its place, from the clip's first frame on.

    Both are decoded. `offset` is the time, in seconds, of the clip's first frame in what was received; a frame that the decoder has not got is
    the last one again. The list ends with the last frame that there is.
    """
    # One thread: several let the damage of a frame reach the next group of pictures.
    frames = f"fps={FRAMES_PER_SECOND}:start_time=0:round=near"
    graph = f"[0:v]setpts=PTS-{offset:.6f}/TB,{frames}[a];[1:v]setpts=PTS-STARTPTS,{frames}[b];[a][b]ssim=stats_file={scratch}:shortest=1"
    decoder = ["-threads", "1", "-copyts", "-flags", "+output_corrupt", "-i"]
    subprocess.run(["ffmpeg", "-v", "quiet", "-y", *decoder, received, *decoder, clip, "-lavfi", graph, "-f", "null", "-"], check=True)
    with open(scratch) as rows:
        return [float(row.split(" Y:")[1].split()[0]) for row in rows]


def average_similarity(shown, seen, count):
    """aSSIM: the sum over the clip's frames, with 0 for what was never shown and for each frame period of a stall."""
    total = sum(seen[shown.first:shown.end])
    return total / (count + FRAMES_PER_SECOND * shown.stalled)
