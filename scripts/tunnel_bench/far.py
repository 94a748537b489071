"""far.py [ADDRESS]: the host at the far end, at 198.51.100.2 unless it is another one.

TCP and MPTCP, port 5201: the first byte says what is wanted. UDP, port 5202: an echo, which begins with the time of this host's
clock (eight bytes) if the packet begins with a T. A line on standard output when it listens."""

import socket
import struct
import sys
import threading
import time

ADDRESS = sys.argv[1] if len(sys.argv) > 1 else "198.51.100.2"
MPTCP = 262
OBJECT = bytes(20_000)


class Uploads:
    """Bytes that all uploads have brought, and the longest time without one since somebody asked last."""

    def __init__(self):
        self.lock, self.bytes, self.last, self.longest = threading.Lock(), 0, time.monotonic(), 0.0

    def count(self, more):
        with self.lock:
            now = time.monotonic()
            self.bytes, self.last, self.longest = self.bytes + more, now, max(self.longest, now - self.last)

    def ask(self):
        with self.lock:
            longest, self.longest = max(self.longest, time.monotonic() - self.last), 0.0
            return b"%d %f\n" % (self.bytes, longest)


uploads = Uploads()


def serve(connection):
    try:
        match connection.recv(1):
            case b"s":  # as much as fits
                while True:
                    connection.sendall(bytes(262_144))
            case b"u":  # how many come, up to the end
                count = 0
                while data := connection.recv(262_144):
                    count += len(data)
                    uploads.count(len(data))
                connection.sendall(b"%d" % count)
            case b"a":  # for each byte: what uploads have brought
                while connection.recv(1):
                    connection.sendall(uploads.ask())
            case b"o":  # an object for each byte
                connection.sendall(OBJECT)
                while connection.recv(1):
                    connection.sendall(OBJECT)
    except OSError:
        pass
    connection.close()


def listener():
    try:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP)
    except OSError:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((ADDRESS, 5201))
    made.listen(256)
    return made


def accept(made):
    while True:
        threading.Thread(target=serve, args=(made.accept()[0],), daemon=True).start()


threading.Thread(target=accept, args=(listener(),), daemon=True).start()
echo = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
echo.bind((ADDRESS, 5202))
print("listening", flush=True)
while True:
    data, peer = echo.recvfrom(65_536)
    if data[:1] == b"T":
        data = struct.pack("!d", time.monotonic()) + data[8:]
    echo.sendto(data, peer)
