"""FLV as ffmpeg and `hawser live` write it, and the clip that the tests send."""

import subprocess
from typing import NamedTuple

FILE_HEADER = b"FLV\x01\x01\0\0\0\x09\0\0\0\0"


class Tag(NamedTuple):
    """One tag: audio (8), video (9) or script data (18)."""

    kind: int
    time: int
    body: bytes
    # Bytes of the file up to the end of this tag.
    end: int


def tags(data):
    """All whole tags of a file's bytes, and how many bytes lie behind the last one."""
    at, found = len(FILE_HEADER), []
    while at + 11 <= len(data):
        size = int.from_bytes(data[at + 1:at + 4], "big")
        if at + 15 + size > len(data):
            break
        time = int.from_bytes(data[at + 7:at + 8] + data[at + 4:at + 7], "big")
        at += 15 + size
        found.append(Tag(data[at - 15 - size], time, data[at - 4 - size:at - 4], at))
    return found, max(0, len(data) - at)


def write(path, entries):
    """A file of these (kind, time, body)."""
    with open(path, "wb") as file:
        file.write(FILE_HEADER)
        for kind, time, body in entries:
            file.write(bytes([kind]) + len(body).to_bytes(3, "big") + (time & 0xFFFFFF).to_bytes(3, "big") + bytes([time >> 24, 0, 0, 0]))
            file.write(body + (len(body) + 11).to_bytes(4, "big"))


def is_delta(kind, body):
    """Whether it is a frame that needs others."""
    return kind == 9 and body[0] >> 4 in (2, 3)


def is_header(kind, body):
    """Set-up of decoders, and the end of a sequence (2), whose time an encoder chooses for each output."""
    return kind == 18 or body[1] == 0 or kind == 9 and body[1] == 2


def encode(path, seconds, megabits, size="1280x720", audio=True):
    """A moving test picture with noise, 25 frames/s, a key frame every two seconds, no B-frames."""
    rate = f"{megabits}M"
    source = ["-f", "lavfi", "-i", f"testsrc2=size={size}:rate=25,noise=alls=20:allf=t"]
    sound = ["-f", "lavfi", "-i", "sine=frequency=440", "-c:a", "aac"] if audio else []
    video = ["-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "50", "-b:v", rate, "-maxrate", rate, "-bufsize", rate,
             "-pix_fmt", "yuv420p"]
    # Options of an output stand behind all inputs.
    inputs, outputs = source + sound[:4], sound[4:]
    subprocess.run(["ffmpeg", "-v", "error", "-y", *inputs, "-t", str(seconds), *video, *outputs, "-f", "flv", path], check=True)
