"""What programs on a host do."""

import socket
import struct
import subprocess
import sys
import time

FAR = "198.51.100.2"


def check(is_so, what):
    if not is_so:
        sys.exit("failed: " + what)


def ping(host, count):
    """How many of so many echo requests are answered within a second."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
    answered = 0
    for number in range(count):
        try:
            sock.settimeout(1)
            sock.sendto(struct.pack("!BBHHH", 8, 0, 0, 0, number) + bytes(48), (host, 0))
            answered += sock.recv(1000)[0] == 0
        except OSError:
            pass
    return answered


def connect():
    return socket.create_connection((FAR, 5201), 10)


def ask_tcp(what):
    with connect() as connection:
        connection.sendall(what)
        return connection.recv(100).decode()


def udp():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(3)
    return sock


def ask_udp():
    with udp() as sock:
        sock.sendto(b"who", (FAR, 5202))
        return sock.recv(100).decode()


def udp_echo(length):
    with udp() as sock:
        sock.sendto(bytes(length), (FAR, 5202))
        return len(sock.recv(65536)) == length


def udp_from(address):
    """The answer to a packet from this address; None if the machine refuses it or nothing comes."""
    with udp() as sock:
        sock.bind((address, 0))
        sock.connect((FAR, 5202))
        try:
            sock.send(b"who")
            return sock.recv(100)
        except OSError:
            return None


def fails_with(address, error):
    began = time.monotonic()
    try:
        socket.create_connection(address, 10).close()
    except error:
        return time.monotonic() - began < 5
    return False


def half_close():
    with connect() as connection:
        connection.sendall(b"u" + bytes(100_000))
        connection.shutdown(socket.SHUT_WR)
        return connection.recv(100) == b"100000"


def far_reset():
    with connect() as connection:
        connection.sendall(b"r")
        try:
            connection.recv(1)
        except ConnectionResetError:
            return True
    return False


def download(length, midway=lambda: None):
    """How many bytes come; half-way something happens."""
    count, was_midway = 0, False
    with connect() as connection:
        connection.sendall(b"d%d\n" % length)
        while count < length and (data := connection.recv(262144)):
            count += len(data)
            if not was_midway and count > length // 2:
                was_midway = True
                midway()
    return count


def received(device):
    """Bytes that a device has received."""
    with open("/proc/net/dev") as table:
        line = next(line for line in table if line.strip().startswith(device + ":"))
    return int(line.split(":")[1].split()[0])


def down(device):
    subprocess.run(["ip", "link", "set", device, "down"], check=True)
