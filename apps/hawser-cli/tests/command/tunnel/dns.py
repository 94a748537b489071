"""dns.py LISTEN ANSWER [NAME]: a resolver that has one address for every name, or for NAME and what is below it and none for others."""

import socket
import struct
import sys
import threading

LISTEN, ANSWER = sys.argv[1], socket.inet_aton(sys.argv[2])
ONLY = sys.argv[3] if len(sys.argv) > 3 else None


def answer(question):
    end = question.index(b"\0", 12) + 5
    labels, at = [], 12
    while question[at]:
        labels.append(question[at + 1 : at + 1 + question[at]].decode())
        at += question[at] + 1
    name = ".".join(labels).lower()
    is_known = ONLY is None or name == ONLY or name.endswith("." + ONLY)
    # A only: of AAAA there are none.
    has = is_known and question[end - 4 : end - 2] == b"\0\1"
    header = question[:2] + struct.pack("!HHHHH", 0x8180 | (0 if is_known else 3), 1, int(has), 0, 0)
    record = struct.pack("!HHHIH", 0xC00C, 1, 1, 60, 4) + ANSWER
    return header + question[12:end] + (record if has else b"")


def serve_tcp():
    listener = socket.create_server((LISTEN, 53))
    while True:
        connection, _ = listener.accept()
        try:
            length = struct.unpack("!H", connection.recv(2))[0]
            reply = answer(connection.recv(length))
            connection.sendall(struct.pack("!H", len(reply)) + reply)
        except (OSError, struct.error, ValueError, IndexError):
            pass
        connection.close()


threading.Thread(target=serve_tcp, daemon=True).start()
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind((LISTEN, 53))
while True:
    question, peer = sock.recvfrom(2000)
    try:
        sock.sendto(answer(question), peer)
    except (OSError, ValueError, IndexError):
        pass
