"""soak.py FAR SECONDS TUNNEL GATEWAY: mixed traffic of a host for so long, while its links come and go.

TUNNEL and GATEWAY are process ids. Prints what each kind of traffic did, and memory and descriptors of both processes over time, as JSON."""

import json
import os
import random
import socket
import struct
import sys
import threading
import time

FAR, SECONDS = sys.argv[1], float(sys.argv[2])
PROCESSES = {"client": int(sys.argv[3]), "gateway": int(sys.argv[4])}
OBJECT = 20_000
END = time.monotonic() + SECONDS


class Kind:
    """Traffic of one kind: how much there was, and the longest time in which a flow of it did not move."""

    def __init__(self):
        self.count = self.bytes = self.failed = 0
        self.longest = 0.0

    def moved(self, since, length):
        now = time.monotonic()
        self.longest = max(self.longest, now - since)
        self.bytes += length
        return now

    def summary(self):
        return {"count": self.count, "bytes": self.bytes, "failed": self.failed, "longest_stall_s": round(self.longest, 2)}


KINDS = {name: Kind() for name in ("download", "upload", "object", "call")}


def connect():
    made = socket.create_connection((FAR, 5201), 30)
    made.settimeout(30)
    return made


def transfer(kind, letter):
    """Connections that carry as much as they can, for a while each."""
    while (now := time.monotonic()) < END:
        until, last = min(END, now + random.uniform(3, 15)), now
        try:
            with connect() as connection:
                connection.sendall(letter)
                while time.monotonic() < until:
                    moved = len(connection.recv(262_144)) if letter == b"s" else connection.send(bytes(65_536))
                    if not moved:
                        raise OSError("ended")
                    last = kind.moved(last, moved)
                if letter == b"u":
                    connection.shutdown(socket.SHUT_WR)
                    connection.recv(100)
            kind.count += 1
        except OSError:
            kind.failed += 1
            kind.moved(last, 0)


def objects(kind):
    """Short connections, as many as there is time for."""
    while time.monotonic() < END:
        begun = time.monotonic()
        try:
            with connect() as connection:
                connection.sendall(b"o")
                missing = OBJECT
                while missing and (data := connection.recv(missing)):
                    missing -= len(data)
                if missing:
                    raise OSError("ended")
            kind.count += 1
        except OSError:
            kind.failed += 1
        kind.moved(begun, OBJECT)
        time.sleep(0.02)


def call(kind):
    """50 packets of 160 bytes each second, there and back."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect((FAR, 5202))
    sock.settimeout(0.01)
    came, sent, last, start = set(), 0, time.monotonic(), time.monotonic()
    while (now := time.monotonic()) < END + 1:
        if now < END and now >= start + sent * 0.02:
            try:
                sock.send(struct.pack("!I", sent) + bytes(156))
            except OSError:
                pass
            sent += 1
        try:
            number = struct.unpack("!I", sock.recv(2_000)[:4])[0]
            if number not in came:
                came.add(number)
                last = kind.moved(last, 160)
        except OSError:
            pass
    kind.count, kind.failed = sent, sent - len(came)


def held(process):
    """Memory in MiB and descriptors."""
    status = open(f"/proc/{process}/status").read()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return round(int(resident.split()[1]) / 1024, 1), len(os.listdir(f"/proc/{process}/fd"))


def main():
    samples = {name: [held(process)] for name, process in PROCESSES.items()}
    work = [(transfer, KINDS["download"], b"s")] * 3 + [(transfer, KINDS["upload"], b"u")] * 2
    work += [(objects, KINDS["object"])] * 4 + [(call, KINDS["call"])]
    threads = [threading.Thread(target=target, args=arguments) for target, *arguments in work]
    [thread.start() for thread in threads]
    while time.monotonic() < END:
        time.sleep(min(5, max(0.1, END - time.monotonic())))
        for name, process in PROCESSES.items():
            samples[name].append(held(process))
    [thread.join() for thread in threads]
    time.sleep(5)
    after = {name: held(process) for name, process in PROCESSES.items()}
    print(json.dumps({"traffic": {name: kind.summary() for name, kind in KINDS.items()}, "samples": samples, "after": after}))


main()
