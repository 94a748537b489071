"""near.py FAR KIND SECONDS ROW...: what a host sees of its links; a JSON line {"row", "value", ...} for each row.

KIND is tcp or mptcp. Rows: down-N and up-N, so many connections, with pings next to N = 4; call; page; pages; silent-down and silent-up: the longest stretch without
a byte while the scenario silences a link; unread: what 64 downloads that nobody reads leave to another."""

import json
import os
import socket
import struct
import sys
import threading
import time

FAR, KIND, SECONDS = sys.argv[1], sys.argv[2], float(sys.argv[3])
MPTCP = 262
UNREAD = 64
# Seconds for which the scenario silences a link.
SILENCE = 10
OBJECTS = 50


def say(row, value, **more):
    print(json.dumps({"row": row, "value": value, **more}), flush=True)


def connect():
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP if KIND == "mptcp" else 0)
    made.settimeout(15)
    made.connect((FAR, 5201))
    return made


def percentile(values, share):
    return values[min(len(values) - 1, int(len(values) * share))] if values else None


def delays(sock, count, make, number_of):
    """Sends so many packets, 20 ms apart. Returns the round trips in milliseconds in the order of sending; None where one was lost."""
    sent, took, start = {}, {}, time.monotonic()
    sock.settimeout(0.2)

    def receive():
        while time.monotonic() < start + count * 0.02 + 3 and len(took) < count:
            try:
                number = number_of(sock.recv(2_000))
            except OSError:
                continue
            if number in sent and number not in took:
                took[number] = (time.monotonic() - sent[number]) * 1_000

    thread = threading.Thread(target=receive)
    thread.start()
    for number in range(count):
        time.sleep(max(0, start + number * 0.02 - time.monotonic()))
        sent[number] = time.monotonic()
        try:
            sock.send(make(number))
        except OSError:
            pass
    thread.join()
    return [took.get(number) for number in range(count)]


def ping(count):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
    sock.connect((FAR, 0))
    header = lambda number: struct.pack("!BBHHH", 8, 0, 0, 0, number) + bytes(48)
    return delays(sock, count, header, lambda data: struct.unpack("!H", data[6:8])[0])


def call(count):
    """Round trips as of `delays`, and how long those that came had been on the way from the far host, in milliseconds: both ends have
    one clock."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect((FAR, 5202))
    one_way = []

    def number_of(data):
        sent, number = struct.unpack("!dI", data[:12])
        one_way.append((time.monotonic() - sent) * 1_000)
        return number

    return delays(sock, count, lambda number: b"T" + bytes(7) + struct.pack("!I", number) + bytes(148), number_of), sorted(one_way)


def jitter(values):
    """The estimate of RFC 3550 section 6.4.1, in milliseconds."""
    estimate = 0
    for before, after in zip(values, values[1:]):
        estimate += (abs(after - before) - estimate) / 16
    return estimate


def report(row, values, one_way=None):
    came = [value for value in values if value is not None]
    ordered = sorted(came)
    lost = len(values) - len(came)
    say(row, percentile(ordered, 0.99), p50=percentile(ordered, 0.5), lost=lost, jitter=jitter(came), unit="ms")
    if one_way:
        say(f"{row}, one way from there", percentile(one_way, 0.99), p50=percentile(one_way, 0.5), lost=lost, jitter=jitter(came), unit="ms")


class Flows:
    """Connections that carry as much as they can until they are stopped."""

    def __init__(self, count, is_down):
        self.arrived, self.is_down, self.running = [0] * count, is_down, True
        self.threads = [threading.Thread(target=self.carry, args=(index,)) for index in range(count)]
        for thread in self.threads:
            thread.start()

    def carry(self, index):
        with connect() as connection:
            connection.sendall(b"s" if self.is_down else b"u")
            connection.settimeout(0.1)
            while self.running:
                try:
                    if self.is_down:
                        self.arrived[index] += len(connection.recv(262_144))
                    else:
                        connection.send(bytes(262_144))
                except TimeoutError:
                    pass
            if not self.is_down:  # what has come, not what was written
                connection.settimeout(30)
                connection.shutdown(socket.SHUT_WR)
                self.arrived[index] = int(connection.recv(100))

    def stop(self):
        self.running = False
        for thread in self.threads:
            thread.join()


class Arrived:
    """What the far host has of uploads."""

    def __init__(self):
        self.connection = connect()
        self.connection.sendall(b"a")
        self.lines = self.connection.makefile("rb")

    def ask(self):
        """Bytes of all uploads, and the longest time without one since the last question, in seconds."""
        self.connection.sendall(b"?")
        count, longest = self.lines.readline().split()
        return int(count), float(longest)


def bulk(row):
    direction, count = row.split("-")
    is_down, far = direction == "down", Arrived()
    flows = Flows(int(count), is_down)
    arrived = lambda: sum(flows.arrived) if is_down else far.ask()[0]
    time.sleep(2)
    before, began = arrived(), time.monotonic()
    if count == "4":
        report(f"ping beside {row}", ping(int(SECONDS / 0.02)))
    else:
        time.sleep(SECONDS)
    say(row, (arrived() - before) * 8e-6 / (time.monotonic() - began), unit="Mbit/s")
    flows.stop()
    time.sleep(1)


def beside_a_download(row):
    flows = Flows(1, True)
    time.sleep(2)
    report(row, *call(int(SECONDS / 0.02)))
    flows.stop()


def pages():
    """Five in a row: over links that were measured by the first."""
    begun = time.monotonic()
    for _ in range(5):
        load_page()
    say("five pages in a row", time.monotonic() - begun, unit="s")


def page():
    say("page", load_page(), unit="s")


def load_page():
    """Objects over six connections, as browsers do it. Returns the seconds that it took."""
    begun, left, lock = time.monotonic(), [OBJECTS], threading.Lock()

    def fetch():
        with connect() as connection:
            while True:
                with lock:
                    if left[0] == 0:
                        return
                    left[0] -= 1
                connection.sendall(b"o")
                missing = 20_000
                while missing:
                    missing -= len(connection.recv(missing))

    threads = [threading.Thread(target=fetch) for _ in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    return time.monotonic() - begun


def silent_up():
    """An upload over 26 s, and the longest time in which nothing of it arrived. The last of the questions comes over a link, too."""
    far, flows, start, longest = Arrived(), Flows(1, False), time.monotonic(), 0.0
    while time.monotonic() < start + 26:
        time.sleep(0.5)
        gap = far.ask()[1]
        if time.monotonic() > start + 2:
            longest = max(longest, gap)
    flows.stop()
    say("longest stretch without a byte, up", longest, unit="s")


def silent_down():
    """A download over 26 s; the scenario silences a link from 8 s after the start of the emulator on, for 10 s."""
    flows = Flows(1, True)
    longest, last, seen, start = 0.0, time.monotonic(), 0, time.monotonic()
    bins, moved, begins, silent_from = [0] * 2_600, start, received("a0"), None
    while (now := time.monotonic()) < start + 26:
        if flows.arrived[0] != seen:
            if now > start + 1:
                longest = max(longest, now - last)
            bins[int((now - start) * 100)] += flows.arrived[0] - seen
            last, seen = now, flows.arrived[0]
        if (count := received("a0")) != begins:
            moved, begins = now, count
        elif silent_from is None and now > moved + 2:
            silent_from = moved
        time.sleep(0.002)
    flows.stop()
    say("longest stretch without a byte, down", longest, unit="s")
    say("from the return of the link to 90 % of the rate before", returned(bins, silent_from and silent_from - start), unit="s")


def returned(bins, silent_from):
    """When half a second after the link is back carries 90 % of what it did before, in seconds; None if it never does. Bins are of 10 ms."""
    if silent_from is None:
        return None
    first = int(silent_from * 100)
    before = bins[max(0, first - 300) : first]
    rate, back = sum(before) / max(1, len(before)), first + int(SILENCE * 100)
    for at in range(back, len(bins) - 50):
        if sum(bins[at : at + 50]) >= 0.9 * 50 * rate:
            return (at - back) / 100
    return None


def received(*links):
    """Bytes that have come over these links, or over all."""
    names = [link + ":" for link in links or ("a0", "b0")]
    lines = open("/proc/net/dev").read().splitlines()
    return sum(int(line.split(":")[1].split()[0]) for line in lines if line.strip()[:3] in names)


def unread():
    """Downloads that nobody reads, once they have filled the buffers on their way."""
    held, begun = [], time.monotonic()
    for _ in range(UNREAD):
        connection = connect()
        connection.sendall(b"s")
        held.append(connection)
    rate = None
    while time.monotonic() < begun + 60 and (rate is None or rate > 1e6):
        before = received()
        time.sleep(1)
        rate = (received() - before) * 8
    say(f"{UNREAD} unread downloads have filled their buffers", time.monotonic() - begun, unit="s")
    begun = time.monotonic()
    with connect():
        say(f"another connection opens, {UNREAD} downloads unread", time.monotonic() - begun, unit="s")
    flows = Flows(1, True)
    time.sleep(2)
    before, began = flows.arrived[0], time.monotonic()
    time.sleep(SECONDS)
    say(f"down-1, {UNREAD} downloads unread", (flows.arrived[0] - before) * 8e-6 / (time.monotonic() - began), unit="Mbit/s")
    flows.stop()
    [connection.close() for connection in held]


# The same moment of what is recorded, however long it took to come here.
time.sleep(max(0.0, float(os.environ.get("BEGIN", "0")) - time.time()))
for name in sys.argv[4:]:
    match name:
        case "idle":
            report("ping, idle", ping(100))
        case "call-idle":
            report("call, idle", *call(100))
        case "call" | "call-dying":
            beside_a_download("call beside a download" + (", a link dies" if name == "call-dying" else ""))
        case "page":
            page()
        case "pages":
            pages()
        case "silent-down":
            silent_down()
        case "silent-up":
            silent_up()
        case "unread":
            unread()
        case _:
            bulk(name)
