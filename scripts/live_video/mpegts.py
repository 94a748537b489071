"""Video frames of an MPEG transport stream from which packets may be missing."""

from typing import NamedTuple

PACKET = 188
SYNC = 0x47


class Frame(NamedTuple):
    """One PES packet of the video."""

    # Presentation time, units of 1/90000 s.
    pts: int
    data: bytes
    # Bytes of the stream up to the end of its last transport packet.
    end: int


def frames(data):
    """The frames in order. One whose beginning is missing is not there; one that lacks something has other bytes than were sent."""
    found, pid, current = [], None, None
    at = 0
    while at + PACKET <= len(data):
        if data[at] != SYNC:
            at += 1
            continue
        packet, at = data[at:at + PACKET], at + PACKET
        payload = packet_payload(packet)
        packet_pid = int.from_bytes(packet[1:3], "big") & 0x1FFF
        starts = packet[1] & 0x40 and payload[:3] == b"\0\0\x01" and payload[3] & 0xF0 == 0xE0
        if starts and pid in (None, packet_pid):
            pid = packet_pid
            if current:
                found.append(Frame(*current))
            current = (timestamp(payload), payload[9 + payload[8]:], at)
        elif packet_pid == pid and current:
            current = (current[0], current[1] + payload, at)
    if current:
        found.append(Frame(*current))
    return found


def packet_payload(packet):
    """What follows the header and its adaptation field."""
    control = packet[3] >> 4 & 3
    begin = 4 + (1 + packet[4] if control & 2 else 0)
    return packet[begin:] if control & 1 else b""


def timestamp(pes):
    """The PTS of a PES header."""
    first, second, third = pes[9], int.from_bytes(pes[10:12], "big"), int.from_bytes(pes[12:14], "big")
    return (first >> 1 & 7) << 30 | second >> 1 << 15 | third >> 1
