#!/usr/bin/env python3
"""HTTP/3 between Hawser and stacks that others wrote, over UDP on loopback.

One line per case; the exit code is 0 when all of them passed. `make interop` builds everything and calls this.
"""

import argparse
import html
import json
import os
import re
import shutil
import struct
import sys
import tempfile
import zlib
from functools import partial
from pathlib import Path

from support import Certificates, Failed, Missing, Process, Results, browser, browser_options
from support import expect, run, server, sha256, wait_for

HERE = Path(__file__).resolve().parent
MIB = 1 << 20
LARGE = 24 * MIB
PARALLEL = 24

# Exit codes of `hawser`.
NOT_FOUND, REFUSED, WRONG_KEY, BAD_CERTIFICATE, INTERRUPTED = 44, 43, 90, 60, 130


class Peer:
    """A foreign stack: how to start its server and its client."""

    def __init__(self, name, server, client, needs, install):
        self.name, self.server, self.client, self.needs, self.install = name, server, client, needs, install

    def require(self):
        """Raises when it is not there."""
        if not all(shutil.which(needed) for needed in map(str, self.needs)):
            raise Missing(f"{self.name} is not installed: {self.install}")


class Bench:
    """What all cases share: Hawser, certificates, and the folder that every server serves."""

    def __init__(self, hawser, work):
        self.hawser, self.work = hawser, work
        self.certificates = Certificates(work / "certificates")
        self.identity = ["--cert", self.certificates.chain, "--key", self.certificates.key]
        self.site = work / "site"
        shutil.copytree(HERE / "page", self.site)
        (self.site / "small.txt").write_text("A hawser is a thick rope for mooring a ship.\n")
        (self.site / "empty.bin").write_bytes(b"")
        (self.site / "large.bin").write_bytes(os.urandom(LARGE))
        (self.site / "image.png").write_bytes(png(64, 48))
        for i in range(PARALLEL):
            (self.site / f"part-{i}.bin").write_bytes(os.urandom(256 << 10))
        self.count = 0

    def new_path(self, name):
        """A path where nothing is yet."""
        self.count += 1
        return self.work / f"{self.count}-{name}"

    def foreign_server(self, peer, *options):
        peer.require()
        command = [*peer.server, *self.identity, *options, self.site]
        return server(command, self.new_path(f"{peer.name}-server.log"))

    def hawser_server(self, *options, log=None, identity=None):
        command = [self.hawser, "serve", self.site, "--listen", "127.0.0.1:0", "--json"]
        return server([*command, *(identity or self.identity), *options], log or self.new_path("hawser-serve.log"))

    def ask(self, peer, port, *options, names):
        """The peer's client asks for all names at once."""
        urls = [url(port, name) for name in names]
        answer = json.loads(run([*peer.client, "--ca", self.certificates.authority, *options, *urls]))
        expect("connections", answer["connections"], 1)
        expect("responses", len(answer["responses"]), len(names))
        return answer

    def get(self, target, source, *options, code=0, trust=None):
        """`hawser get`; its result."""
        trust = trust or ["--ca", self.certificates.authority]
        command = [self.hawser, "get", "--json", "-q", *trust, "-o", target, *options, source]
        output = run(command, code=code)
        return json.loads(output) if code == 0 else None


def url(port, name):
    return f"https://127.0.0.1:{port}/{name}"


def png(width, height):
    """An image of one colour."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = (b"\0" + b"\x20\x60\xa0" * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


# `hawser get` and `hawser put` at a foreign server.


def get_file(bench, peer, name, *server_options, options=()):
    target = bench.new_path(name)
    with bench.foreign_server(peer, *server_options) as there:
        result = bench.get(target, url(there["port"], name), *options)
    expect("status", result["status"], 200)
    expect("SHA-256 of the file", sha256(target), sha256(bench.site / name))
    expect("SHA-256 in the result", result["sha256"], sha256(target))
    return f"{target.stat().st_size} bytes"


def get_early(bench, peer):
    sessions = ["--session-file", bench.new_path("sessions"), "--early-data"]
    with bench.foreign_server(peer) as there:
        for expected in ("none", "accepted", "accepted"):
            target = bench.new_path("small.txt")
            result = bench.get(target, url(there["port"], "small.txt"), *sessions)
            expect("SHA-256 of the file", sha256(target), sha256(bench.site / "small.txt"))
            expect("0-RTT", result["early_data"], expected)
    return "by tickets of the process before"


def get_missing(bench, peer):
    target = bench.new_path("missing")
    with bench.foreign_server(peer) as there:
        bench.get(target, url(there["port"], "nothing-here"), code=NOT_FOUND)
    expect("a file is there", target.exists(), False)
    return f"exit code {NOT_FOUND}"


def get_resumed(bench, peer):
    target = bench.new_path("resumed.bin")
    part = target.with_name(target.name + ".part")
    with bench.foreign_server(peer) as there:
        source = url(there["port"], "large.bin")
        trust = ["--ca", bench.certificates.authority]
        first = Process(
            [bench.hawser, "get", "-q", *trust, "--limit-rate", "8M", "-o", target, source], bench.new_path("get.log")
        )
        try:
            wait_for("the first 4 MiB", lambda: part.exists() and part.stat().st_size >= 4 * MIB)
            expect("exit code after Ctrl-C", first.interrupt(), INTERRUPTED)
        finally:
            first.stop()
        have = part.stat().st_size
        expect("the file is incomplete", have < LARGE and not target.exists(), True)
        result = bench.get(target, source, "-C", "-")
    expect("resumed from", result["resumed_from"], have)
    expect("status", result["status"], 206)
    expect("SHA-256", sha256(target), sha256(bench.site / "large.bin"))
    return f"resumed from byte {have}"


def get_trust(bench, peer):
    target = bench.new_path("trust.txt")
    with bench.foreign_server(peer) as there:
        source = url(there["port"], "small.txt")
        bench.get(target, source, trust=["--pin", bench.certificates.pin])
        other_pin = "A" * 43 + "="
        bench.get(bench.new_path("wrong-pin"), source, trust=["--pin", other_pin], code=WRONG_KEY)
        command = [bench.hawser, "get", "-q", "-o", bench.new_path("no-trust"), source]
        run(command, code=BAD_CERTIFICATE)
    expect("SHA-256", sha256(target), sha256(bench.site / "small.txt"))
    return "pin; wrong pin and unknown authority refused"


def put_file(bench, peer):
    name = f"put-to-{peer.name}.bin"
    source = bench.site / "large.bin"
    with bench.foreign_server(peer) as there:
        trust = ["--ca", bench.certificates.authority]
        output = run([bench.hawser, "put", "--json", "-q", *trust, source, url(there["port"], name)])
    expect("status", json.loads(output)["status"], 201)
    expect("SHA-256", sha256(bench.site / name), sha256(source))
    return f"{LARGE} bytes"


# A foreign client at `hawser serve`.


def fetch(bench, peer, names, *options, check=lambda answer: None, serve=(), version="v1"):
    log = bench.new_path("hawser-serve.log")
    with bench.hawser_server(*serve, log=log) as here:
        answer = bench.ask(peer, here["port"], *options, names=names)
    for name, response in zip(names, answer["responses"], strict=True):
        content = (bench.site / name).read_bytes()
        expect(f"status of {name}", response["status"], 200)
        expect(f"SHA-256 of {name}", response["sha256"], sha256(content))
    expect("QUIC version", answer["version"], version)
    told = check(answer)
    expect("requests that the server saw", len(requests_in(log)), len(names))
    return told or f"{sum(response['length'] for response in answer['responses'])} bytes"


def requests_in(log):
    """(client, method, path, status) of every request in the server's log."""
    return re.findall(r"^(\S+:\d+) (GET|HEAD|PUT) (\S+) (\d{3}) ", log.read_text(), re.MULTILINE)


def digest_came(answer):
    came = answer["responses"][0]["repr_digest"]
    expect("Repr-Digest in header or trailer", came.startswith("sha-256=:"), True)


def many_together(answer):
    return f"{len(answer['responses'])} requests, {answer['connections']} connection"


def moved(answer):
    expect("sockets of the client", len(answer["local_ports"]), 2)
    return "from UDP port {} to {}".format(*answer["local_ports"])


def changed(answer):
    expect("changes of keys or ids, at least 10", answer["changes"] >= 10, True)
    return f"{answer['changes']} changes"


def came_early(answer):
    expect("0-RTT accepted", answer["early_data"], True)
    return "asked before the handshake was complete"


def version_of(answer):
    return f"ended with {answer['version']}"


def fetch_missing(bench, peer):
    with bench.hawser_server() as here:
        answer = bench.ask(peer, here["port"], names=["nothing-here"])
    expect("status", answer["responses"][0]["status"], 404)
    return "status 404"


def fetch_range(bench, peer):
    first, last = 5 * MIB + 7, 6 * MIB + 100
    with bench.hawser_server() as here:
        def part(wanted):
            return bench.ask(peer, here["port"], "--range", wanted, names=["large.bin"])["responses"][0]

        response, beyond = part(f"bytes={first}-{last}"), part(f"bytes={LARGE}-")
    expect("status", response["status"], 206)
    expect("Content-Range", response["content_range"], f"bytes {first}-{last}/{LARGE}")
    expect("SHA-256", response["sha256"], sha256((bench.site / "large.bin").read_bytes()[first : last + 1]))
    expect("status beyond the end", beyond["status"], 416)
    expect("Content-Range beyond the end", beyond["content_range"], f"bytes */{LARGE}")
    return response["content_range"]


def upload(bench, peer):
    name = f"put-by-{peer.name}.bin"
    options = ["--method", "PUT", "--body", bench.site / "large.bin"]
    with bench.hawser_server("--allow-put") as here:
        statuses = [bench.ask(peer, here["port"], *options, names=[name])["responses"][0]["status"] for _ in range(2)]
    # New, then replaced (RFC 9110 section 9.3.4).
    expect("statuses", statuses, [201, 204])
    expect("SHA-256", sha256(bench.site / name), sha256(bench.site / "large.bin"))
    return f"{LARGE} bytes, statuses {statuses}"


def upload_refused(bench, peer):
    name = f"refused-{peer.name}.txt"
    options = ["--method", "PUT", "--body", bench.site / "small.txt"]
    with bench.hawser_server() as here:
        answer = bench.ask(peer, here["port"], *options, names=[name])
    expect("status", answer["responses"][0]["status"], 405)
    expect("a file is there", (bench.site / name).exists(), False)
    return "status 405"


# A browser at `hawser serve`.


def browse(bench, chromium, own_certificate):
    chromium.require()
    stored, log = bench.site / "stored.bin", bench.new_path("hawser-serve.log")
    stored.unlink(missing_ok=True)
    identity = ["--state", bench.new_path("state")] if own_certificate else None
    with bench.hawser_server("--allow-put", log=log, identity=identity) as here:
        port, pin = here["port"], here["pin"]
        options = browser_options(bench.new_path("chromium"), "127.0.0.1", port, pin)
        page = run([*chromium.client, *options, f"https://localhost:{port}/"]).decode()
    result = re.search(r'<pre id="result">(.*?)</pre>', page, re.DOTALL)
    if result is None:
        raise Failed(f"not our page: {page[:400]}")
    result = json.loads(html.unescape(result[1]))
    paths = ["/", "/script.js", "/image.png", "/large.bin", "/stored.bin", "/nothing-here"]
    wanted = {
        "large": 200, "stored": 201, "missing": 404, "image": [64, 48], "protocols": dict.fromkeys(paths, "h3"),
    }
    result.get("protocols", {}).pop("/favicon.ico", None)
    expect("what the script found", result, wanted)
    expect("SHA-256 of what was got and sent back", sha256(stored), sha256(bench.site / "large.bin"))
    # `hawser serve` speaks nothing but HTTP/3: what it logged came over it.
    seen = requests_in(log)
    expect("paths that the server saw", set(paths) <= {path for _, _, path, _ in seen}, True)
    connections = {client for client, _, _, _ in seen}
    return f"{len(seen)} requests over h3, {len(connections)} connection"


def server_cases(peer):
    yield "get: small file", partial(get_file, name="small.txt")
    yield "get: empty file", partial(get_file, name="empty.bin")
    yield "get: 24 MiB", partial(get_file, name="large.bin")
    yield "get: 24 MiB in 4 parallel parts", partial(get_file, name="large.bin", options=["--parallel", "4"])
    yield "get: QUIC v2", partial(get_file, name="large.bin", options=["--quic-version", "2"])
    yield "get: QUIC v2 preferred", partial(get_file, name="large.bin", options=["--quic-version", "2,1"])
    yield "get: after Retry", lambda bench, peer: get_file(bench, peer, "small.txt", "--retry")
    yield "get: 404", get_missing
    yield "get: interrupted and resumed", get_resumed
    yield "get: trust", get_trust
    yield "put: 24 MiB", put_file
    if peer.name == "aioquic":
        yield "get: 0-RTT", get_early


def client_cases(peer):
    def fetching(*options, names=("large.bin",), **more):
        return lambda bench, peer: fetch(bench, peer, names, *options, **more)

    yield "small file", fetching(names=["small.txt"], check=digest_came)
    yield "empty file", fetching(names=["empty.bin"])
    yield "24 MiB", fetching()
    yield "24 MiB and trailers", fetching("--trailers", check=digest_came)
    parts = [f"part-{i}.bin" for i in range(PARALLEL)]
    yield f"{PARALLEL} requests at once", fetching(names=parts, check=many_together)
    yield "404", fetch_missing
    yield "ranges", fetch_range
    yield "PUT 24 MiB, new and replaced", upload
    yield "PUT refused", upload_refused
    yield "QUIC v2 offered first", fetching("--prefer-v2", check=version_of, version="v2")
    only_v1 = ("--quic-version", "1")
    yield "QUIC v2 offered first, v1 only here", fetching("--prefer-v2", check=version_of, serve=only_v1)
    if peer.name == "quic-go":
        yield "migration to another port", fetching("--migrate", check=moved)
    if peer.name == "aioquic":
        prefers_v2 = ("--quic-version", "2,1")
        yield (
            "QUIC v1, moved to v2 in the handshake",
            fetching("--accept-v2", check=version_of, serve=prefers_v2, version="v2"),
        )
        yield "ChaCha20-Poly1305", fetching("--chacha20")
        yield "0-RTT", fetching("--early", names=["small.txt"], check=came_early, serve=["--early-data"])
        yield "key updates", fetching("--update-keys", check=changed)
        yield "connection ids changed", fetching("--change-ids", check=changed)


def peers(built):
    go = built / "quic-go"
    python, programs = built / "venv/bin/python", HERE / "aioquic"
    chromium = browser()
    setup = "run scripts/setup-interop"
    return (
        Peer("quic-go", [go / "server"], [go / "client"], [go / "server", go / "client"], setup),
        Peer("aioquic", [python, programs / "server.py"], [python, programs / "client.py"], [python], setup),
        Peer("chromium", None, [chromium], [chromium], setup),
    )


def require_first(test, peer):
    def checked(bench):
        peer.require()
        return test(bench, peer)

    return checked


def all_cases(built):
    quic_go, aioquic, chromium = peers(built)
    for peer in (quic_go, aioquic):
        for name, test in server_cases(peer):
            yield f"hawser -> {peer.name} {name}", require_first(test, peer)
    for peer in (quic_go, aioquic):
        for name, test in client_cases(peer):
            yield f"{peer.name} -> hawser {name}", require_first(test, peer)
    for name, own in (("page, certificate from a file", False), ("page, Hawser's own certificate", True)):
        yield f"chromium -> hawser {name}", lambda bench, own=own: browse(bench, chromium, own)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hawser", type=Path, required=True, help="the command")
    parser.add_argument("--built", type=Path, required=True, help="folder that scripts/setup-interop has made")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--allow-missing", action="store_true", help="skip cases whose peer is not installed")
    parser.add_argument("--keep", action="store_true", help="keep the folder with files and logs")
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="hawser-interop-"))
    results = Results(arguments.only, arguments.allow_missing)
    try:
        bench = Bench(arguments.hawser.resolve(), work)
        for name, test in all_cases(arguments.built.resolve()):
            results.case(name, partial(test, bench))
    finally:
        if arguments.keep:
            print(f"files and logs: {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)
    print(f"{results.passed} passed, {results.failed} failed, {results.skipped} skipped")
    # A run without cases has shown nothing.
    sys.exit(1 if results.failed or not results.passed + results.skipped else 0)


if __name__ == "__main__":
    main()
