"""What the stacks of the matrix have in common: how servers and clients are started, and how a case learns what it can ask for."""

import json
import shutil

from support import Failed, Missing, sha256

SETUP = "run scripts/setup-interop"


class Peer:
    """A stack. `client_features` and `server_features` map what a case may need to the words that ask for it; `why` says why
    something else cannot be asked for."""

    name = ""
    client_features = {}
    server_features = {}
    why = {}
    #: Whether it can be a server.
    serves = True
    #: What its client takes besides, whatever the network does.
    extra_seconds = 0

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


class Reporting(Peer):
    """A client that prints JSON with the digest of each response."""

    def digests(self, bench, names, folder, output):
        answer = json.loads(output)
        if answer["connections"] != 1:
            raise Failed(f"{answer['connections']} connections instead of one")
        responses = zip(names, answer["responses"], strict=True)
        # HTTP/0.9 has no status.
        return {name: response["sha256"] for name, response in responses if response.get("status", 200) == 200}


def at(listen):
    """ADDRESS:PORT as the programs want it."""
    address, port = listen
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
