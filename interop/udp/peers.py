"""The stacks of the matrix: how to start their servers and clients, and which features they have a switch for."""

import base64
import html
import json
import re
import shutil
from pathlib import Path

from support import Failed, Missing, browser, browser_options, sha256

HERE = Path(__file__).resolve().parent
SETUP = "run scripts/setup-interop"
LOOPBACK = ("127.0.0.1", "::1")
NO_MULTIPATH = "it has no multipath"


class Peer:
    """A stack. `client_features` and `server_features` map what a case may need to the words that ask for it; `why` says why
    something else cannot be asked for."""

    name = ""
    client_features = {}
    server_features = {}
    why = {}
    #: Whether it can be a server.
    serves = True

    def __init__(self, programs):
        self.programs = programs

    def require(self):
        """Raises when it is not there."""
        missing = [str(program) for program in self.programs if not shutil.which(program)]
        if missing:
            raise Missing(f"{', '.join(missing)}: not installed, {SETUP}")

    def lacks(self, features, is_client):
        """Why a case cannot be run in this role: a reason for each feature that it lacks."""
        known, role = (self.client_features, "client") if is_client else (self.server_features, "server")
        missing = sorted(feature for feature in features if feature not in known)
        return [f"{self.name} as a {role}: {self.why.get(feature, f'no switch for {feature}')}" for feature in missing]

    def server(self, bench, features):
        """The words that serve the site."""
        raise NotImplementedError

    def client(self, bench, urls, features, folder):
        """The words that fetch all URLs on one connection."""
        raise NotImplementedError

    def clients(self, bench, urls, features, folder):
        """The commands that together fetch all URLs, one after the other: more than one where a later connection goes on from
        an earlier one, and the client ends with its connection."""
        return [self.client(bench, urls, features, folder)]

    def digests(self, bench, names, folder, output):
        """SHA-256 of each file that came; `output` is what the last client wrote to standard output."""
        found = {name: folder / name for name in names}
        return {name: sha256(path) for name, path in found.items() if path.exists()}

    def words(self, features, is_client):
        known = self.client_features if is_client else self.server_features
        return [word for feature in sorted(features) for word in known[feature]]


class Returning(Peer):
    """A client program that keeps its sessions in a file. What it fetches first is for the ticket."""

    def clients(self, bench, urls, features, folder):
        batches = [urls[:1], urls[1:]] if features & {"resumption", "zerortt"} else [urls]
        return [self.client(bench, batch, features, folder) for batch in batches]


class Hawser(Returning):
    """Ours."""

    name = "hawser"
    client_features = {
        "h3": [],
        "hq": ["--hq"],
        "chacha20": ["--cipher", "chacha20"],
        "ecn": [],
        "follows": [],
        "ipv6": [],
        "keyupdate": ["--key-update-after", "200"],
        "multipath": [],
        "multiplexing": [],
        "resumption": [],
        "v2": ["--quic-version", "2"],
        "zerortt": ["--early-data"],
    }
    server_features = {
        "h3": [],
        "hq": ["--hq"],
        "amplification": [],
        "chacha20": ["--cipher", "chacha20"],
        "ecn": [],
        "ipv6": [],
        "multipath": [],
        "preferred": [],
        "resumption": [],
        "retry": ["--retry"],
        "v2": ["--quic-version", "2,1"],
        "zerortt": ["--early-data"],
    }
    why = {"migration": "it changes its address only when a link goes, or for a preferred one"}

    def lacks(self, features, is_client):
        if is_client and features >= {"h3", "multiplexing"}:
            return ["hawser as a client: it asks for one file after the other over HTTP/3"]
        return super().lacks(features, is_client)

    def server(self, bench, features):
        command = [self.programs[0], "serve", bench.site, "--listen", at(bench.listen), "--json"]
        command += ["--preferred-address", at(bench.preferred)] if "preferred" in features else []
        return [*command, *bench.identity(), *self.words(features, False), *self.traces(bench)]

    def client(self, bench, urls, features, folder):
        command = [self.programs[0], "get", "-q", "--ca", bench.certificates.authority, "-O", "--output-dir", folder]
        command += ["--connect-timeout", "30", *self.traces(bench)]
        command += ["--path", "lo"] if bench.local in LOOPBACK else []
        command += ["--session-file", folder / "sessions"] if features & {"resumption", "zerortt"} else []
        return [*command, *self.words(features, True), *urls]

    def traces(self, bench):
        return ["--qlog", bench.traces] if bench.traces else []


class Reporting(Peer):
    """A client that prints JSON with the digest of each response."""

    def digests(self, bench, names, folder, output):
        answer = json.loads(output)
        if answer["connections"] != 1:
            raise Failed(f"{answer['connections']} connections instead of one")
        responses = zip(names, answer["responses"], strict=True)
        # HTTP/0.9 has no status.
        return {name: response["sha256"] for name, response in responses if response.get("status", 200) == 200}


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
        "multipath": NO_MULTIPATH,
        "preferred": "it offers no preferred address",
        "v2": "it does not speak version 2",
    }

    def server(self, bench, features):
        # A preferred address is another one of the same socket.
        listen = ("0.0.0.0", bench.listen[1]) if features & {"multipath", "preferred"} else bench.listen
        options = ["--listen", at(listen), *bench.identity(), *self.words(features, False)]
        options += ["--preferred-address", at(bench.preferred)] if "preferred" in features else []
        return [self.programs[0], self.name, "serve", *options, bench.site]

    def client(self, bench, urls, features, folder):
        options = ["--ca", bench.certificates.authority, "--local", bench.local, *self.words(features, True)]
        options += ["--path", bench.second] if "multipath" in features else []
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
    client_features = Quinn.client_features | {"multipath": []}
    server_features = Rust.server_features | {"multipath": ["--multipath"], "zerortt": ["--early"]}
    why = Rust.why | {"preferred": "it drops what comes to another address than that of the handshake"}


class S2nQuic(Rust):
    name = "s2n-quic"
    client_features = without(Rust.client_features, "resumption")
    server_features = without(Rust.server_features, "resumption")
    why = Rust.why | {
        "follows": "it ignores preferred addresses",
        "keyupdate": "it updates the keys only when they wear out",
        "migration": "its client keeps its socket",
        "resumption": "tickets are an unstable feature of it",
        "zerortt": "it has no 0-RTT",
    }


class Chromium(Peer):
    """A browser; the files come in its page (page/fetch.html)."""

    name = "chromium"
    client_features = {"h3": [], "ipv6": []}
    serves = False
    why = {
        "chacha20": "no switch for the cipher",
        "ecn": "it does not mark what it sends",
        "follows": "no switch that makes it migrate",
        "hq": "a browser speaks HTTP/3",
        "keyupdate": "no switch for updates of the keys",
        "migration": "no switch that makes it migrate",
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


def at(listen):
    """ADDRESS:PORT as the programs want it."""
    address, port = listen
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


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
