"""resolved.py BUS TOLD UPSTREAM [refuse]: as much of systemd-resolved as a tunnel meets.

It is org.freedesktop.resolve1 on the bus at the socket BUS, and writes what it is told to the file TOLD, a line each. Programs ask it for
names at 127.0.0.53: names that it was told a resolver for are asked for there, over the device; others, and all when that device is gone,
at UPSTREAM.
"""

import os
import socket
import struct
import sys
import threading

BUS, TOLD, UPSTREAM = sys.argv[1:4]
REFUSES = sys.argv[4:] == ["refuse"]
UNICAST_IF = 50  # IP_UNICAST_IF, ip(7)
CALL, REPLY, ERROR = 1, 2, 3
link = {"index": 0, "servers": [], "domains": []}


def pad(data, unit):
    return data + bytes(-len(data) % unit)


def text(data, value):
    return pad(data, 4) + struct.pack("<I", len(value)) + value.encode() + b"\0"


class Reader:
    """A message's body, or its header fields, from the D-Bus specification."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        self.at += -self.at % 4
        self.at += 4
        return struct.unpack_from("<i", self.data, self.at - 4)[0]

    def bytes(self):
        length = self.number()
        self.at += length
        return self.data[self.at - length : self.at]

    def text(self):
        value = self.bytes().decode()
        self.at += 1
        return value

    def array(self, one):
        end = self.number()
        self.at += -self.at % 8
        end += self.at
        values = []
        while self.at < end:
            self.at += -self.at % 8
            values.append(one())
        return values

    def field(self):
        code, length = self.data[self.at], self.data[self.at + 1]
        kind = self.data[self.at + 2 : self.at + 2 + length]
        self.at += length + 3
        if kind == b"g":
            length = self.data[self.at]
            self.at += length + 2
            return code, self.data[self.at - length - 1 : self.at - 1].decode()
        return code, self.number() if kind == b"u" else self.text()


class Bus:
    def __init__(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(BUS)
        self.file, self.serial = self.sock.makefile("rb"), 0
        self.sock.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        assert self.file.readline().startswith(b"OK ")
        self.sock.sendall(b"BEGIN\r\n")
        self.ask("Hello", "", b"")
        self.ask("RequestName", "su", pad(text(b"", "org.freedesktop.resolve1"), 4) + struct.pack("<I", 4))

    def send(self, kind, fields, signature, body):
        packed = b""
        for code, form, value in [*fields, (8, "g", signature)][: None if signature else -1]:
            packed = pad(packed, 8) + bytes([code, 1]) + form.encode() + b"\0"
            if form == "g":
                packed += bytes([len(value)]) + value.encode() + b"\0"
            elif form == "u":
                packed = pad(packed, 4) + struct.pack("<I", value)
            else:
                packed = text(packed, value)
        self.serial += 1
        head = struct.pack("<cBBBIII", b"l", kind, 0, 1, len(body), self.serial, len(packed))
        self.sock.sendall(pad(head + packed, 8) + body)

    def ask(self, member, signature, body):
        name = "org.freedesktop.DBus"
        self.send(CALL, [(1, "o", "/org/freedesktop/DBus"), (2, "s", name), (3, "s", member), (6, "s", name)], signature, body)
        while self.receive()[0] != REPLY:
            pass

    def receive(self):
        head = self.file.read(16)
        if len(head) < 16:
            sys.exit("the bus is gone")
        _, kind, _, _, length, serial, fields = struct.unpack("<cBBBIII", head)
        packed = self.file.read(fields + -fields % 8)[:fields]
        reader = Reader(struct.pack("<I", fields) + bytes(4) + packed)
        return kind, serial, dict(reader.array(reader.field)), Reader(self.file.read(length))

    def serve(self):
        while True:
            kind, serial, fields, body = self.receive()
            if kind != CALL:
                continue
            to = [(5, "u", serial), (6, "s", fields[7])]
            if fields[3] == "Get":
                server = struct.pack("<iiI", 2, socket.AF_INET, 4) + socket.inet_aton(UPSTREAM)
                self.send(REPLY, to, "v", pad(b"\x07a(iiay)\0", 4) + struct.pack("<I", len(server)) + server)
            elif REFUSES:
                refusal = [*to, (4, "s", "org.freedesktop.resolve1.LinkBusy")]
                self.send(ERROR, refusal, "s", text(b"", "Link hawser0 is managed."))
            else:
                take(fields[3], body)
                self.send(REPLY, to, "", b"")


def take(member, body):
    index = body.number()
    what = ""
    if member == "SetLinkDNS":
        servers = body.array(lambda: (body.number(), body.bytes()))
        link.update(index=index, servers=[socket.inet_ntop(family, address) for family, address in servers])
        what = " ".join(link["servers"])
    elif member == "SetLinkDomains":
        link["domains"] = [name for name, _ in body.array(lambda: (body.text(), body.number()))]
        what = " ".join(link["domains"])
    elif member == "SetLinkDefaultRoute":
        what = str(bool(body.number()))
    elif member == "SetLinkDNSOverTLS":
        what = body.text()
    elif member == "RevertLink":
        link.update(index=0, servers=[], domains=[])
    with open(TOLD, "a") as told:
        told.write(f"{member} {what}".rstrip() + "\n")


def chosen(name):
    """Where a name is asked for, and over which device."""
    try:
        socket.if_indextoname(link["index"])
    except OSError:
        return UPSTREAM, 0
    is_told = any(domain == "." or name == domain or name.endswith("." + domain) for domain in link["domains"])
    return (link["servers"][0], link["index"]) if is_told and link["servers"] else (UPSTREAM, 0)


def answer(stub, question, peer):
    labels, at = [], 12
    while question[at]:
        labels.append(question[at + 1 : at + 1 + question[at]].decode().lower())
        at += question[at] + 1
    server, index = chosen(".".join(labels))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(3)
        sock.setsockopt(socket.IPPROTO_IP, UNICAST_IF, struct.pack("!I", index))
        try:
            sock.connect((server, 53))
            sock.send(question)
            stub.sendto(sock.recv(4096), peer)
        except OSError:
            pass


def listen(stub):
    while True:
        question, peer = stub.recvfrom(4096)
        threading.Thread(target=answer, args=(stub, question, peer), daemon=True).start()


stub = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
stub.bind(("127.0.0.53", 53))
threading.Thread(target=listen, args=(stub,), daemon=True).start()
bus = Bus()
print("ready", flush=True)
bus.serve()
