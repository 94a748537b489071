"""Between a client and its server on the client's host: a NAT that forgets, or damage that links do not do.

Clients send to a port on loopback; the server sees another socket for each of them. Writes a JSON report when it ends.
"""

import argparse
import json
import random
import selectors
import signal
import socket
import struct
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

MOST_BYTES = 1 << 16
SOCKET_BUFFER = 4 << 20
# What socket.py has no name for: see ip(7).
IP_MTU_DISCOVER, IP_PMTUDISC_PROBE = 10, 3
HANDSHAKE = 2


@dataclass
class Report:
    """What was done, over all clients."""

    #: Datagrams that the server sent to each address that clients had, in the order of these.
    from_server: list = field(default_factory=list)
    #: Of the client's datagrams.
    dropped: int = 0
    damaged_to_client: int = 0
    damaged_to_server: int = 0
    #: Bytes that the server got, and sent, before a Handshake packet came to it. Most of all clients by their ratio.
    unproven: list = field(default_factory=lambda: [0, 0])


class Client:
    """A client's address, and the socket that stands for it."""

    def __init__(self, box, address):
        self.box, self.address = box, address
        self.began = time.monotonic()
        self.bindings = 0
        #: How many of its datagrams are still to be dropped; none before the server has answered.
        self.muted = 0
        self.received, self.sent, self.is_answered, self.is_proven = 0, 0, False, False
        self.rebind()

    def rebind(self):
        """Another port, and the next of the addresses. The socket before stays, as nobody's."""
        options = self.box.options
        local = options.local[self.bindings % len(options.local)]
        self.socket = bound((local, 0))
        self.number = len(self.box.report.from_server)
        self.box.report.from_server.append(0)
        self.bindings += 1
        self.box.selector.register(self.socket, selectors.EVENT_READ, (self.from_server, self.socket))

    def to_server(self, datagram):
        options, report = self.box.options, self.box.report
        moments = options.rebind
        if self.bindings <= len(moments) and time.monotonic() - self.began >= moments[self.bindings - 1]:
            self.rebind()
        if self.muted > 0:
            self.muted -= 1
            report.dropped += 1
            return
        if self.box.is_damaged(options.damage):
            report.damaged_to_server += 1
            datagram = self.box.damaged(datagram)
        self.prove(len(datagram), has_handshake(datagram))
        send(self.socket, datagram, options.to)

    def prove(self, length, is_handshake):
        if not self.is_proven:
            self.is_proven = is_handshake
            self.received += 0 if is_handshake else length

    def from_server(self, own):
        datagram = receive(own)
        if datagram is None or own is not self.socket:
            return
        report = self.box.report
        if not self.is_answered:
            self.is_answered, self.muted = True, self.box.options.mute
        report.from_server[self.number] += 1
        if not self.is_proven:
            self.sent += len(datagram[0])
            if self.sent * report.unproven[0] >= self.received * report.unproven[1]:
                report.unproven = [self.received, self.sent]
        content = datagram[0]
        if self.box.is_damaged(self.box.options.damage):
            report.damaged_to_client += 1
            content = self.box.damaged(content)
        send(self.box.listener, content, self.address)


class Middlebox:
    """The socket that clients know."""

    def __init__(self, options):
        self.options = options
        self.report = Report()
        self.random = random.Random(options.seed)
        self.selector = selectors.DefaultSelector()
        self.listener = bound(options.listen)
        self.clients = {}
        self.selector.register(self.listener, selectors.EVENT_READ, (self.from_client, self.listener))

    def run(self):
        while True:
            for key, _ in self.selector.select():
                handle, socket_ = key.data
                handle(socket_)

    def from_client(self, listener):
        received = receive(listener)
        if received is None:
            return
        datagram, address = received
        if address not in self.clients:
            self.clients[address] = Client(self, address)
        self.clients[address].to_server(datagram)

    def is_damaged(self, percent):
        return percent > 0 and self.random.random() * 100 < percent

    def damaged(self, datagram):
        """With one bit flipped."""
        content = bytearray(datagram)
        content[self.random.randrange(len(content))] ^= 1 << self.random.randrange(8)
        return bytes(content)


def bound(address):
    """A UDP socket that neither fragments nor lets anybody's idea of the path's MTU in."""
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    own.bind(address)
    own.setblocking(False)
    own.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BUFFER)
    return own


def receive(own):
    """A datagram and where it is from; nothing if none waits."""
    try:
        return own.recvfrom(MOST_BYTES)
    except (BlockingIOError, ConnectionError):
        return None


def send(own, datagram, address):
    """Larger than the link takes, or more than fits: it is lost."""
    try:
        own.sendto(datagram, address)
    except OSError:
        pass


def has_handshake(datagram):
    """Whether one of the coalesced packets is a Handshake packet (RFC 9000 section 17.2, of version 1)."""
    try:
        while datagram and datagram[0] & 0x80:
            kind = (datagram[0] & 0x30) >> 4
            if kind == HANDSHAKE:
                return True
            at = 6 + datagram[5]
            at += 1 + datagram[at]
            if kind == 0:
                token, at = integer(datagram, at)
                at += token
            length, at = integer(datagram, at)
            datagram = datagram[at + length :]
    except (IndexError, struct.error):
        pass
    return False


def integer(data, at):
    """A variable-length integer (RFC 9000 section 16), and where it ends."""
    size = 1 << (data[at] >> 6)
    value = int.from_bytes(data[at : at + size], "big") & ((1 << (8 * size - 2)) - 1)
    return value, at + size


def address_of(text):
    address, _, port = text.rpartition(":")
    return address, int(port)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", type=address_of, required=True, help="ADDRESS:PORT for clients")
    parser.add_argument("--to", type=address_of, required=True, help="ADDRESS:PORT of the server")
    parser.add_argument("--local", action="append", required=True, help="address towards the server; repeat it for more")
    parser.add_argument("--rebind", type=float, action="append", default=[], help="seconds after which a client has "
                        "another port and the next address; repeat it for more")  # fmt: skip
    parser.add_argument("--damage", type=float, default=0.0, help="percent of datagrams in which a bit is flipped")
    parser.add_argument("--mute", type=int, default=0, help="how many datagrams of a client are dropped once the server "
                        "has answered")  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, help="for what is random")
    parser.add_argument("--report", required=True, help="file for the report")
    options = parser.parse_args()
    box = Middlebox(options)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    # That it is there says that clients may come.
    Path(options.report).touch()
    try:
        box.run()
    finally:
        with open(options.report, "w") as file:
            json.dump(asdict(box.report), file)


if __name__ == "__main__":
    main()
