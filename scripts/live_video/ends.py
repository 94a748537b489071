#!/usr/bin/env python3
"""The ends of a stream inside the namespaces.

    ends.py receive FILE               what comes on standard input
    ends.py receive-mptcp FILE PORT    what the first MPTCP connection to this port brings
    ends.py send-mptcp ADDRESS PORT [CONTROLLER]    standard input over one MPTCP connection; cubic by default

A receiver writes the bytes to FILE, and to FILE.times when each read returned (ns since 1970) and how many bytes there were by then.
The sender over MPTCP says at the end how many subflows there were.
"""

import json
import os
import socket
import sys
import time

MPTCP = 262
SOL_MPTCP, MPTCP_INFO = 284, 1
TCP_CONGESTION = 13
BLOCK = 65536


def receive(read, path):
    """Until the end of the stream."""
    total = 0
    with open(path, "wb", buffering=0) as file, open(f"{path}.times", "w", buffering=1) as times:
        while block := read(BLOCK):
            now = time.time_ns()
            total += len(block)
            file.write(block)
            times.write(f"{now} {total}\n")


def mptcp_socket(controller="cubic"):
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP)
    made.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, controller.encode())
    return made


def subflows(connection):
    """Subflows, the first one included; none after a fall-back to TCP."""
    try:
        # The first byte of `struct mptcp_info` is the number of additional subflows.
        return connection.getsockopt(SOL_MPTCP, MPTCP_INFO, 1)[0] + 1
    except OSError:
        return 0


def receive_mptcp(path, port):
    listener = mptcp_socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", port))
    listener.listen(1)
    connection, _ = listener.accept()
    receive(connection.recv, path)


def send_mptcp(address, port, *controller):
    connection = mptcp_socket(*controller)
    connection.connect((address, port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    count = 0
    while block := os.read(0, BLOCK):
        connection.sendall(block)
        count = max(count, subflows(connection))
    connection.shutdown(socket.SHUT_WR)
    print(json.dumps({"subflows": count}))


def main():
    match sys.argv[1:]:
        case ["receive", path]:
            receive(lambda size: os.read(0, size), path)
        case ["receive-mptcp", path, port]:
            receive_mptcp(path, int(port))
        case ["send-mptcp", address, port, *controller] if len(controller) < 2:
            send_mptcp(address, int(port), *controller)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
