"""TCP next to QUIC, with CUBIC: a server that sends, and a client that takes, until it is killed."""

import socket
import sys
import time
from pathlib import Path

PORT = 5001
BLOCK = bytes(1 << 16)


def new_socket():
    own = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    own.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    return own


def serve(address):
    # The emulator takes the first socket for that of the server: Hawser's comes after it.
    while len(Path("/proc/net/udp").read_text().splitlines()) < 2:
        time.sleep(0.05)
    with new_socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, PORT))
        listener.listen()
        while True:
            connection, _ = listener.accept()
            try:
                while True:
                    connection.sendall(BLOCK)
            except ConnectionError:
                connection.close()


def fetch(address):
    while True:
        with new_socket() as own:
            try:
                own.connect((address, PORT))
                while own.recv(len(BLOCK)):
                    pass
            except ConnectionError:
                time.sleep(0.1)


if __name__ == "__main__":
    {"serve": serve, "fetch": fetch}[sys.argv[1]](sys.argv[2])
