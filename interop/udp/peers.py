"""The stacks of the matrix: how to start their servers and clients, and which features they have a switch for."""

import base64
import html
import json
import re
import shutil
import socket
from pathlib import Path

from peer import Peer, Reporting, Returning, at
from support import Failed, browser, browser_options, sha256

HERE = Path(__file__).resolve().parent
LOOPBACK = ("127.0.0.1", "::1")
NO_MULTIPATH = "it has no multipath"


def resolves_to_both(name):
    """Whether a name has both addresses of the loopback interface."""
    try:
        found = {address[0] for *_, address in socket.getaddrinfo(name, 1, type=socket.SOCK_DGRAM)}
    except socket.gaierror:
        return False
    return found >= set(LOOPBACK)


class Hawser(Returning):
    """Hawser."""

    name = "hawser"
    client_features = {
        "h3": [],
        "hq": ["--hq"],
        "chacha20": ["--cipher", "chacha20"],
        "ecn": [],
        "families": [],
        "follows": [],
        "ipv6": [],
        "keyupdate": ["--key-update-after", "200"],
        "multipath": [],
        "multiplexing": ["--parallel-files", "64"],
        "resumption": [],
        "v2": ["--quic-version", "2"],
        # A link that has another address.
        "watches": [],
        "zerortt": ["--early-data"],
    }
    server_features = {
        "h3": [],
        "hq": ["--hq"],
        "amplification": [],
        "chacha20": ["--cipher", "chacha20"],
        "ecn": [],
        "families": [],
        "ipv6": [],
        "multipath": [],
        "preferred": [],
        "resumption": [],
        "retry": ["--retry"],
        "v2": ["--quic-version", "2,1"],
        "zerortt": ["--early-data"],
    }

    def lacks(self, features, is_client):
        if is_client and "families" in features and not resolves_to_both("localhost"):
            return ["hawser as a client: localhost is not both 127.0.0.1 and ::1 in /etc/hosts"]
        return super().lacks(features, is_client)

    def server(self, bench, features):
        listen = ("::", bench.listen[1]) if "families" in features else bench.listen
        command = [self.programs[0], "serve", bench.site, "--listen", at(listen), "--json"]
        command += ["--preferred-address", at(bench.preferred)] if "preferred" in features else []
        return [*command, *bench.identity(), *self.words(features, False), *self.traces(bench)]

    def client(self, bench, urls, features, folder):
        command = [self.programs[0], "get", "-q", "--ca", bench.certificates.authority, "-O", "--output-dir", folder]
        command += ["--connect-timeout", "30", *self.traces(bench)]
        links = LOOPBACK if "families" in features else ("lo",)
        command += [word for link in links for word in ("--path", link)] if bench.local in LOOPBACK else []
        # Both addresses of the server come with its name.
        urls = [url.replace(at(bench.target), f"localhost:{bench.target[1]}") for url in urls] if "families" in features else urls
        command += ["--session-file", folder / "sessions"] if features & {"resumption", "zerortt"} else []
        return [*command, *self.words(features, True), *urls]

    def traces(self, bench):
        return ["--qlog", bench.traces] if bench.traces else []


class QuicGo(Reporting):
    name = "quic-go"
    client_features = {
        "h3": [],
        "ecn": [],
        "ipv6": [],
        # It updates the keys after a hundred packets, and then seldom.
        "keyupdate": [],
        "migration": ["--migrate"],
        "multiplexing": [],
        # It comes twice by itself. Without a ticket that allows 0-RTT it resumes.
        "resumption": ["--early"],
        "v2": ["--prefer-v2"],
        "zerortt": ["--early"],
    }
    server_features = {
        "h3": [],
        "hq": ["--hq"],
        "ecn": [],
        "ipv6": [],
        "resumption": [],
        "retry": ["--retry"],
        "v2": [],
        "zerortt": ["--early"],
    }
    why = {
        "amplification": "it sends while it is below the limit, and so exceeds it by a part of a datagram",
        "chacha20": "Go lets nobody choose the cipher of TLS 1.3",
        "hq": "its client here speaks HTTP/3 only",
        "families": NO_MULTIPATH,
        "multipath": NO_MULTIPATH,
        "preferred": "it offers no preferred address",
    }

    def server(self, bench, features):
        words = self.words(features, False)
        return [self.programs[0], *bench.identity(), "--listen", at(bench.listen), *words, bench.site]

    def client(self, bench, urls, features, folder):
        command = [self.programs[1], "--ca", bench.certificates.authority, "--local", bench.local]
        return [*command, *self.words(features, True), *urls]


class Aioquic(Reporting):
    name = "aioquic"
    client_features = {
        "h3": [],
        "chacha20": ["--chacha20"],
        "ipv6": [],
        "keyupdate": ["--update-keys"],
        "multiplexing": [],
        # It comes twice by itself. Without a ticket that allows 0-RTT it resumes.
        "resumption": ["--early"],
        "v2": ["--prefer-v2"],
        "zerortt": ["--early"],
    }
    server_features = {
        "h3": [],
        "hq": ["--hq"],
        "amplification": [],
        "ipv6": [],
        "resumption": [],
        "retry": ["--retry"],
        "v2": [],
        "zerortt": [],
    }
    why = {
        "ecn": "it neither marks packets nor counts marks",
        "follows": "it does not go to preferred addresses",
        "hq": "its client here speaks HTTP/3 only",
        "migration": "its client keeps its socket",
        "watches": "its client keeps its socket",
        "families": NO_MULTIPATH,
        "multipath": NO_MULTIPATH,
        "preferred": "it offers no preferred address",
    }

    def server(self, bench, features):
        words = self.words(features, False)
        script = HERE / "aioquic/server.py"
        return [self.programs[0], script, *bench.identity(), "--listen", at(bench.listen), *words, bench.site]

    def client(self, bench, urls, features, folder):
        command = [self.programs[0], HERE / "aioquic/client.py", "--ca", bench.certificates.authority]
        return [*command, *self.words(features, True), *urls]


class Ngtcp2(Returning):
    """Debian's examples of ngtcp2, with GnuTLS; they verify no certificate."""

    name = "ngtcp2"
    client_features = {
        "h3": [],
        "chacha20": ["--ciphers=NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+CHACHA20-POLY1305"],
        "ecn": [],
        "follows": [],
        "ipv6": [],
        "keyupdate": ["--key-update=300ms"],
        "migration": ["--change-local-addr=500ms"],
        "multiplexing": [],
        "resumption": ["--disable-early-data"],
        "zerortt": [],
    }
    server_features = {
        "h3": [],
        "amplification": [],
        "ecn": [],
        "ipv6": [],
        "preferred": [],
        "resumption": [],
        "retry": ["--validate-addr"],
        "zerortt": [],
    }
    why = {
        "hq": "Debian packages its examples for HTTP/3 only",
        "families": NO_MULTIPATH,
        "multipath": NO_MULTIPATH,
        "v2": "its version 2 is that of a draft",
    }

    def server(self, bench, features):
        address, port = bench.listen
        options = ["--quiet", "--no-quic-dump", "--no-http-dump", "--htdocs", bench.site]
        options += [f"--preferred-ipv4-addr={at(bench.preferred)}"] if "preferred" in features else []
        identity = [bench.certificates.key, bench.certificates.chain]
        return [self.programs[0], *options, *self.words(features, False), address, port, *identity]

    def client(self, bench, urls, features, folder):
        address, port = bench.target
        options = ["--quiet", "--no-quic-dump", "--no-http-dump", "--exit-on-all-streams-close", "--timeout=60s"]
        options += ["--handshake-timeout=60s", "--download", folder]
        if features & {"resumption", "zerortt"}:
            options += [f"--session-file={folder / 'session'}", f"--tp-file={folder / 'parameters'}"]
        return [self.programs[1], *options, *self.words(features, True), address, port, *urls]


def without(features, name):
    return {feature: words for feature, words in features.items() if feature != name}


class Rust(Reporting):
    """One of the stacks of interop/udp/rust, over HTTP/0.9."""

    client_features = {
        "hq": [],
        "chacha20": ["--chacha20"],
        "ecn": [],
        "ipv6": [],
        "multiplexing": [],
        # It comes twice by itself. Without a ticket that allows 0-RTT it resumes.
        "resumption": ["--early"],
    }
    server_features = {"hq": [], "amplification": [], "ecn": [], "ipv6": [], "resumption": [], "retry": ["--retry"]}
    why = {
        "h3": "it speaks HTTP/0.9 here",
        "families": NO_MULTIPATH,
        "multipath": NO_MULTIPATH,
        "preferred": "it offers no preferred address",
        "v2": "it does not speak version 2",
    }

    def server(self, bench, features):
        # A preferred address is another one of the same socket.
        listen = ("0.0.0.0", bench.listen[1]) if features & {"multipath", "preferred"} else bench.listen
        listen = ("::", bench.listen[1]) if "families" in features else listen
        options = ["--listen", at(listen), *bench.identity(), *self.words(features, False)]
        options += ["--preferred-address", at(bench.preferred)] if "preferred" in features else []
        return [self.programs[0], self.name, "serve", *options, bench.site]

    def client(self, bench, urls, features, folder):
        options = ["--ca", bench.certificates.authority, "--local", bench.local, *self.words(features, True)]
        options += ["--path", bench.second] if features & {"families", "multipath"} else []
        return [self.programs[0], self.name, "get", *options, *urls]


class Quinn(Rust):
    name = "quinn"
    client_features = Rust.client_features | {
        "keyupdate": ["--update-keys"],
        "migration": ["--migrate"],
        "zerortt": ["--early"],
    }
    server_features = Rust.server_features | {"preferred": [], "zerortt": ["--early"]}


class Noq(Quinn):
    name = "noq"
    client_features = Quinn.client_features | {"families": [], "multipath": []}
    server_features = Rust.server_features | {"families": ["--multipath"], "multipath": ["--multipath"], "zerortt": ["--early"]}
    why = Rust.why | {"preferred": "it drops what comes to another address than that of the handshake"}


class S2nQuic(Rust):
    name = "s2n-quic"
    client_features = without(Rust.client_features, "resumption")
    server_features = without(Rust.server_features, "resumption")
    why = Rust.why | {
        "follows": "it ignores preferred addresses",
        "keyupdate": "it updates the keys only when they wear out",
        "migration": "its client keeps its socket",
        "watches": "its client keeps its socket",
        "resumption": "tickets are an unstable feature of it",
        "zerortt": "it has no 0-RTT",
    }


class Chromium(Peer):
    """A browser; the files come in its page (page/fetch.html)."""

    name = "chromium"
    client_features = {"h3": [], "ipv6": []}
    serves = False
    # It prints its page at leisure.
    extra_seconds = 60
    why = {
        "chacha20": "no switch for the cipher",
        "ecn": "it does not mark what it sends",
        "follows": "no switch that makes it migrate",
        "hq": "a browser speaks HTTP/3",
        "keyupdate": "no switch for updates of the keys",
        "migration": "no switch that makes it migrate",
        "watches": "no switch that makes it migrate",
        "families": NO_MULTIPATH,
        "multipath": NO_MULTIPATH,
        "multiplexing": "its page asks for one file after the other",
        "resumption": "each run is a new browser, which keeps no tickets",
        "v2": "it begins with version 1",
        "zerortt": "each run is a new browser, which keeps no tickets",
    }

    def client(self, bench, urls, features, folder):
        shutil.copy(HERE / "page/fetch.html", bench.site)
        names = ",".join(url.rpartition("/")[2] for url in urls)
        address, port = bench.target
        address = f"[{address}]" if ":" in address else address
        options = browser_options(folder / "profile", address, port, bench.certificates.pin)
        return [self.programs[0], *options, f"https://localhost:{port}/fetch.html?{names}"]

    def digests(self, bench, names, folder, output):
        page = re.search(r'<pre id="result">(.*?)</pre>', output.decode(), re.DOTALL)
        result = json.loads(html.unescape(page[1])) if page else {}
        if result.get("protocols") != ["h3"]:
            raise Failed(f"not all over HTTP/3: {result.get('protocols')}, {str(result.get('files'))[:200]}")
        files = {name: file for name, file in result["files"].items() if file["status"] == 200}
        return {name: sha256(base64.b64decode(file["content"])) for name, file in files.items()}


def everybody(hawser, built):
    """Hawser, and all others."""
    go, rust = built / "quic-go", [built / "rust/udp-peer"]
    others = [
        QuicGo([go / "server", go / "client"]),
        Aioquic([built / "venv/bin/python"]),
        Ngtcp2(["gtlsserver", "gtlsclient"]),
        Quinn(rust),
        Noq(rust),
        S2nQuic(rust),
        Chromium([browser()]),
    ]
    return Hawser([hawser]), others
