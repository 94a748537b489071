"""The stacks of the matrix: how to start their servers and clients, and which features they have a switch for."""

import json
import shutil
from pathlib import Path

from support import Failed, Missing, sha256

HERE = Path(__file__).resolve().parent
SETUP = "run scripts/setup-interop"


class Peer:
    """A stack. `client_features` and `server_features` map what a case may need to the words that ask for it."""

    name = ""
    client_features = {}
    server_features = {}

    def __init__(self, programs):
        self.programs = programs

    def require(self):
        """Raises when it is not there."""
        missing = [str(program) for program in self.programs if not shutil.which(program)]
        if missing:
            raise Missing(f"{', '.join(missing)}: not installed, {SETUP}")

    def lacks(self, features, is_client):
        """Why a case cannot be run in this role, or nothing."""
        known = self.client_features if is_client else self.server_features
        missing = sorted(feature for feature in features if feature not in known)
        role = "client" if is_client else "server"
        return f"{self.name} has no switch for it as a {role} ({', '.join(missing)})" if missing else None

    def server(self, bench, listen, features):
        """The words that serve the site at (address, port)."""
        raise NotImplementedError

    def client(self, bench, urls, features, folder, local):
        """The words that fetch all URLs on one connection, from this local address."""
        raise NotImplementedError

    def clients(self, bench, urls, features, folder, local):
        """The commands that together fetch all URLs, one after the other: more than one where a later connection goes on from
        an earlier one, and the client ends with its connection."""
        return [self.client(bench, urls, features, folder, local)]

    def digests(self, names, folder, output):
        """SHA-256 of each file that came; `output` is what the last client wrote to standard output."""
        found = {name: folder / name for name in names}
        return {name: sha256(path) for name, path in found.items() if path.exists()}

    def words(self, features, is_client):
        known = self.client_features if is_client else self.server_features
        return [word for feature in sorted(features) for word in known[feature]]


class Returning(Peer):
    """A client program that keeps its sessions in a file. What it fetches first is for the ticket."""

    def clients(self, bench, urls, features, folder, local):
        batches = [urls[:1], urls[1:]] if features & {"resumption", "zerortt"} else [urls]
        return [self.client(bench, batch, features, folder, local) for batch in batches]


class Hawser(Returning):
    """Ours. `hawser get` asks for one file after the other, so that it does not show multiplexing."""

    name = "hawser"
    client_features = {
        "chacha20": ["--cipher", "chacha20"],
        "keyupdate": ["--key-update-after", "200"],
        "ipv6": [],
        "resumption": [],
        "zerortt": ["--early-data"],
        "v2": ["--quic-version", "2"],
    }
    server_features = {
        "ipv6": [],
        "retry": ["--retry"],
        "resumption": [],
        "zerortt": ["--early-data"],
        "v2": ["--quic-version", "2,1"],
    }

    def server(self, bench, listen, features):
        command = [self.programs[0], "serve", bench.site, "--listen", at(listen), "--json"]
        return [*command, *bench.identity, *self.words(features, False), *self.traces(bench, features)]

    def client(self, bench, urls, features, folder, local):
        command = [self.programs[0], "get", "-q", "--ca", bench.certificates.authority, "-O", "--output-dir", folder]
        command += self.traces(bench, features)
        command += ["--session-file", folder / "sessions"] if features & {"resumption", "zerortt"} else []
        return [*command, *self.words(features, True), *urls]

    def traces(self, bench, features):
        return ["--qlog", bench.traces] if features & {"resumption", "zerortt", "v2"} else []


class Reporting(Peer):
    """A client that prints JSON with the digest of each response."""

    def digests(self, names, folder, output):
        answer = json.loads(output)
        if answer["connections"] != 1:
            raise Failed(f"{answer['connections']} connections instead of one")
        responses = zip(names, answer["responses"], strict=True)
        return {name: response["sha256"] for name, response in responses if response["status"] == 200}


class QuicGo(Reporting):
    name = "quic-go"
    client_features = {
        "migration": ["--migrate"],
        "ipv6": [],
        "multiplexing": [],
        # It comes twice by itself. Without a ticket that allows 0-RTT it resumes.
        "resumption": ["--early"],
        "zerortt": ["--early"],
        "v2": ["--prefer-v2"],
    }
    server_features = {"retry": ["--retry"], "ipv6": [], "resumption": [], "zerortt": ["--early"], "v2": []}

    def server(self, bench, listen, features):
        words = self.words(features, False)
        return [self.programs[0], *bench.identity, "--listen", at(listen), *words, bench.site]

    def client(self, bench, urls, features, folder, local):
        command = [self.programs[1], "--ca", bench.certificates.authority, "--local", local]
        return [*command, *self.words(features, True), *urls]


class Aioquic(Reporting):
    name = "aioquic"
    client_features = {
        "chacha20": ["--chacha20"],
        "keyupdate": ["--update-keys"],
        "ipv6": [],
        "multiplexing": [],
        # It comes twice by itself. Without a ticket that allows 0-RTT it resumes.
        "resumption": ["--early"],
        "zerortt": ["--early"],
        "v2": ["--prefer-v2"],
    }
    server_features = {"retry": ["--retry"], "ipv6": [], "resumption": [], "zerortt": [], "v2": []}

    def server(self, bench, listen, features):
        words = self.words(features, False)
        script = HERE / "aioquic/server.py"
        return [self.programs[0], script, *bench.identity, "--listen", at(listen), *words, bench.site]

    def client(self, bench, urls, features, folder, local):
        command = [self.programs[0], HERE / "aioquic/client.py", "--ca", bench.certificates.authority]
        return [*command, *self.words(features, True), *urls]


class Ngtcp2(Returning):
    """Debian's examples of ngtcp2, with GnuTLS; they verify no certificate. Their version 2 is that of a draft."""

    name = "ngtcp2"
    client_features = {
        "chacha20": ["--ciphers=NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+CHACHA20-POLY1305"],
        "keyupdate": ["--key-update=300ms"],
        "migration": ["--change-local-addr=500ms"],
        "rebinding": ["--change-local-addr=500ms", "--nat-rebinding"],
        "ipv6": [],
        "multiplexing": [],
        "resumption": ["--disable-early-data"],
        "zerortt": [],
    }
    server_features = {"retry": ["--validate-addr"], "ipv6": [], "resumption": [], "zerortt": []}

    def server(self, bench, listen, features):
        address, port = listen
        options = ["--quiet", "--no-quic-dump", "--no-http-dump", "--htdocs", bench.site]
        identity = [bench.certificates.key, bench.certificates.chain]
        return [self.programs[0], *options, *self.words(features, False), address, port, *identity]

    def client(self, bench, urls, features, folder, local):
        address, port = bench.listen_address, bench.listen_port
        options = ["--quiet", "--no-quic-dump", "--no-http-dump", "--exit-on-all-streams-close", "--timeout=60s"]
        options += ["--handshake-timeout=60s", "--download", folder]
        if features & {"resumption", "zerortt"}:
            options += [f"--session-file={folder / 'session'}", f"--tp-file={folder / 'parameters'}"]
        return [self.programs[1], *options, *self.words(features, True), address, port, *urls]


def at(listen):
    """ADDRESS:PORT as the programs want it."""
    address, port = listen
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def everybody(hawser, built):
    """Hawser, and all others."""
    go = built / "quic-go"
    others = [
        QuicGo([go / "server", go / "client"]),
        Aioquic([built / "venv/bin/python"]),
        Ngtcp2(["gtlsserver", "gtlsclient"]),
    ]
    return Hawser([hawser]), others
