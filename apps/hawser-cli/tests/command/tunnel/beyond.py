"""A host beyond the gateway. TCP, port 5201: the first byte says what is wanted. UDP, port 5202: an echo, or who asks."""

import socket
import struct
import threading


def serve(connection, peer):
    try:
        what = connection.recv(1)
        if what == b"d":  # a number of bytes
            line = connection.makefile("rb").readline()
            connection.sendall(bytes(int(line)))
        elif what == b"s":  # as many as fit
            while True:
                connection.sendall(bytes(262144))
        elif what == b"u":  # how many come, up to the end
            count = 0
            while data := connection.recv(262144):
                count += len(data)
            connection.sendall(b"%d" % count)
        elif what == b"a":  # who asks
            connection.sendall(peer[0].encode())
        elif what == b"r":  # a reset
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass
    connection.close()


def accept():
    listener = socket.create_server(("198.51.100.2", 5201), backlog=256)
    while True:
        connection, peer = listener.accept()
        threading.Thread(target=serve, args=(connection, peer), daemon=True).start()


threading.Thread(target=accept, daemon=True).start()
echo = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
echo.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
echo.bind(("198.51.100.2", 5202))
while True:
    data, control, _, peer = echo.recvmsg(65536, 100)
    # Service and congestion bits are those of the question.
    bits = [(level, kind, value[:1]) for level, kind, value in control if kind == socket.IP_TOS]
    try:
        echo.sendmsg([peer[0].encode() if data == b"who" else data], bits, 0, peer)
    except OSError:  # no route to who asks
        pass
