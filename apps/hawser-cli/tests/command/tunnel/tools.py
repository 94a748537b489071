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


def call(count):
    """Round trips of so many packets of 160 bytes, 20 ms apart, in milliseconds and in order; None where one was lost."""
    sent, took = {}, {}
    with udp() as sock:
        sock.connect((FAR, 5202))
        sock.setblocking(False)
        start = time.monotonic()
        while (now := time.monotonic()) < start + count * 0.02 + 1.5 and len(took) < count:
            number = len(sent)
            if number < count and now >= start + number * 0.02:
                sent[number] = now
                try:
                    sock.send(struct.pack("!I", number) + bytes(156))
                except OSError:
                    pass
            try:
                number = struct.unpack("!I", sock.recv(2000)[:4])[0]
                took.setdefault(number, (time.monotonic() - sent[number]) * 1000)
            except BlockingIOError:
                time.sleep(0.001)
    return [took.get(number) for number in range(count)]


def lost(delays):
    return sum(delay is None for delay in delays)


def percentile(delays, share):
    came = sorted(delay for delay in delays if delay is not None)
    return came[min(len(came) - 1, int(len(came) * share))] if came else float("inf")


def rate(seconds, settle=1.0):
    """Mbit/s of one download, after it has settled."""
    with connect() as connection:
        connection.sendall(b"s")
        count, begun = 0, None
        start = time.monotonic()
        while (now := time.monotonic()) < start + settle + seconds:
            data = connection.recv(262144)
            if now >= start + settle:
                begun = begun or now
                count += len(data)
        return count * 8e-6 / (now - begun)


def beside_a_download(what):
    """What it returns, during a download."""
    import threading

    going = threading.Event()
    going.set()

    def carry():
        with connect() as connection:
            connection.sendall(b"s")
            while going.is_set() and connection.recv(262144):
                pass

    thread = threading.Thread(target=carry)
    thread.start()
    time.sleep(1)
    result = what()
    going.clear()
    thread.join()
    return result


def classes(bits, count, at_once=1, gap=0.005):
    """The service and congestion bits of the answers to so many packets that have these, and how many there were of each."""
    came = {}
    with udp() as sock:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, bits)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        sock.connect((FAR, 5202))
        sock.settimeout(gap)
        end = None
        while count or time.monotonic() < end:
            if count:
                for _ in range(min(at_once, count)):
                    sock.send(bytes(1000))
                count -= min(at_once, count)
                end = time.monotonic() + 1
            try:
                for _ in range(at_once):
                    _, control, _, _ = sock.recvmsg(2000, 100)
                    value = next(value[0] for _, kind, value in control if kind == socket.IP_TOS)
                    came[value] = came.get(value, 0) + 1
            except TimeoutError:
                pass
    return came


def outer_codepoints(device, what):
    """The codepoints of UDP packets that leave over a device meanwhile, and of those that come."""
    came = {True: set(), False: set()}
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3)) as sock:
        sock.bind((device, 3))
        sock.settimeout(0.2)
        what()
        try:
            while True:
                data, place = sock.recvfrom(100)
                if data[0] >> 4 == 4 and data[9] == 17:
                    came[place[2] == socket.PACKET_OUTGOING].add(data[1] >> 2)
        except TimeoutError:
            pass
    return came[True], came[False]


def look_up(name, resolver, over_tcp=False):
    """The addresses that a resolver has for a name."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    question = struct.pack("!HHHHHH", 4711, 0x100, 1, 0, 0, 0) + labels + b"\0\0\1\0\1"
    if over_tcp:
        with socket.create_connection((resolver, 53), 5) as sock:
            sock.sendall(struct.pack("!H", len(question)) + question)
            answer = sock.makefile("rb").read()[2:]
    else:
        with udp() as sock:
            sock.settimeout(5)
            sock.sendto(question, (resolver, 53))
            answer = sock.recv(2000)
    check(answer[:2] == question[:2], "the answer is to the question")
    # dns.py names each question again, and then as many addresses as it says.
    records = answer[len(question) :]
    return [socket.inet_ntoa(records[at + 12 : at + 16]) for at in range(0, 16 * struct.unpack("!H", answer[6:8])[0], 16)]


def reaches_far():
    """Whether UDP to the far host is answered within a second: only the tunnel leads there and back."""
    with udp() as sock:
        sock.settimeout(1)
        try:
            sock.sendto(b"who", (FAR, 5202))
            return sock.recv(100) == b"198.51.100.1"
        except OSError:
            return False
