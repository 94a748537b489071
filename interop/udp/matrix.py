"""The cases of quic-interop-runner between Hawser and stacks that others wrote, with real sockets.

Rows are pairs of client and server, columns are cases. The two run in network namespaces of their own, behind the
runner's link as `hawser emu run` makes it, which needs root; without root, and for IPv6, they meet on loopback.
"""

import argparse
import itertools
import json
import os
import shlex
import shutil
import socket
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import peers
import traces
from cases import CASES
from peer import at
from support import Certificates, Failed, Missing, Process, expect, run, sha256, tail, wait_for

HERE = Path(__file__).resolve().parent

# The server's address behind emulated links.
EMULATED = ("10.99.0.1", 4433)
# The client's addresses: on the first of the links, and on the second, if there is one.
EMULATED_CLIENT = "10.77.1.2"
EMULATED_SECOND = "10.77.2.2"
# One more on the first, for a NAT.
EMULATED_REBOUND = "10.77.1.3"
# Another address of the server, on the first link.
EMULATED_PREFERRED = "10.77.1.1"
# The client's link has its address no more, but another one.
READDRESS = (
    f"ip address del {EMULATED_CLIENT}/24 dev eth0",
    f"ip address add {EMULATED_REBOUND}/24 dev eth0",
    "ip route replace default via 10.77.1.1 dev eth0",
)
# So many names that the server cannot send its certificate before the client's address is validated.
LARGE_NAMES = 250


@dataclass
class Cell:
    """What came of a case between two stacks."""

    client: str
    server: str
    case: str
    #: passed, failed, unsupported or missing
    result: str
    reason: str = ""
    seconds: float = 0.0


@dataclass
class Bench:
    """Files, certificates, and where everybody is during a case."""

    work: Path
    hawser: Path
    is_emulated: bool
    count: int = 0
    sizes: dict = field(default_factory=dict)
    #: Folder of Hawser's traces of the case that runs, if they are wanted.
    traces: Path | None = None
    #: How long all may take.
    seconds: int = 0
    #: Where the server listens, and where it would rather have its clients.
    listen: tuple = ()
    preferred: tuple = ()
    #: Where clients go: the server, or the middlebox in front of it.
    target: tuple = ()
    #: The client's address, and what a second path of it goes from, and to if that is another address of the server.
    local: str = ""
    second: str = ""

    def __post_init__(self):
        self.small = Certificates(self.work / "certificates")
        self.large = Certificates(self.work / "large", names=LARGE_NAMES)
        self.certificates = self.small
        self.site = self.work / "site"
        self.site.mkdir()

    def identity(self):
        """The certificate, in the words of most programs."""
        return ["--cert", self.certificates.chain, "--key", self.certificates.key]

    def names(self, case):
        """Files of these lengths, made once."""
        names = []
        for number, length in enumerate(case.files):
            name = f"{length}-{number}.bin"
            if name not in self.sizes:
                content = os.urandom(length)
                (self.site / name).write_bytes(content)
                self.sizes[name] = sha256(content)
            names.append(name)
        return names

    def folder(self, name):
        """A new empty folder."""
        self.count += 1
        path = self.work / f"{self.count}-{name}"
        path.mkdir()
        return path

    def place(self, case, folder, is_emulated):
        """Decides who is where."""
        self.traces = folder / "traces" if case.traced else None
        self.certificates = self.large if case.large_certificate else self.small
        self.second = EMULATED_SECOND
        if is_emulated:
            self.listen, self.preferred, self.local = EMULATED, (EMULATED_PREFERRED, EMULATED[1]), EMULATED_CLIENT
        else:
            self.local = loopback(case)
            self.listen = (self.local, free_port(case))
            self.preferred = ("127.0.0.2", self.listen[1])
            self.second = f"127.0.0.1@127.0.0.1:{self.listen[1]}"
        self.target = self.listen
        if case.middlebox:
            self.local = loopback(case)
            self.target = (self.local, free_port(case))

    def run(self, case, client, server, features):
        """Runs a case; raises if it fails."""
        folder = self.folder(f"{client.name}-{server.name}-{case.name}")
        is_emulated = self.is_emulated and case.families == "4"
        names = self.names(case)
        self.place(case, folder, is_emulated)
        self.seconds = case.seconds + client.extra_seconds
        urls = [f"https://{at(self.target)}/{name}" for name in names]
        serve = server.server(self, features[1])
        fetches = []
        for number in range(case.connections):
            into = folder / f"{number}"
            into.mkdir()
            commands = client.clients(self, urls, features[0], into)
            fetches += [(command, into) for command in commands]
        if is_emulated:
            links = self.emulated(case, serve, fetches, folder, "watches" in features[0])
        else:
            links = self.on_loopback(case, serve, fetches, folder)
        folders = list(dict.fromkeys(into for _, into in fetches))
        for into in folders:
            found = client.digests(self, names, into, (into / "output").read_bytes())
            wrong = [name for name in names if found.get(name) != self.sizes[name]]
            expect("files that are missing or wrong", wrong, [])
        if case.traced:
            case.traced(traces.read(self.traces))
        if case.observed:
            report = folder / "middlebox.json"
            case.observed(json.loads(report.read_text()) if case.middlebox else None, links)
        for into in [*folders, *filter(None, [self.traces])]:
            shutil.rmtree(into, ignore_errors=True)

    def emulated(self, case, serve, fetches, folder, readdress):
        """Behind the links; how many bytes each has carried to the client."""
        lines = [f"{words(command)} > {shlex.quote(str(into / 'output'))}" for command, into in fetches]
        script = " && ".join(lines)
        if case.middlebox:
            report = folder / "middlebox.json"
            ready = f"until [ -e {shlex.quote(str(report))} ]; do sleep 0.02; done\n{script}"
            script = f"ip address add {EMULATED_REBOUND}/24 dev eth0\n{beside(self.middlebox(case, report), ready)}"
        if readdress:
            script = f"(sleep 0.7; {' && '.join(READDRESS)}) &\n{script}"
        if case.beside_client:
            script = beside(program(case.beside_client), script)
        overrides = [word for setting in case.link for word in ("--set", setting)]
        served = f"exec {words(serve)} > {shlex.quote(str(folder / 'server.log'))} 2>&1"
        if case.beside_server:
            served = f"{words(program(case.beside_server))} & {served}"
        command = [self.hawser, "emu", "run", "-q", "--json", case.scenario, *overrides, "--server", served]
        try:
            # The emulator passes on the exit code of the command.
            report = json.loads(run([*command, "--", "sh", "-c", script], timeout=self.seconds))
        except Failed as failure:
            log = folder / "server.log"
            raise Failed(f"{failure}\nserver: {tail(log.read_bytes() if log.exists() else b'')}") from None
        return [link["delivered_bytes"] for link in report["stats"]["links"] if link["direction"] == "down"]

    def on_loopback(self, case, serve, fetches, folder):
        """Without links."""
        server = Process(serve, folder / "server.log")
        try:
            wait_for("the server to listen", lambda: is_listening(self.listen[1]))
            for command, into in fetches:
                (into / "output").write_bytes(run(command, timeout=self.seconds))
        finally:
            server.stop()
        return []

    def middlebox(self, case, report):
        listen, to = at(self.target), at(self.listen)
        command = program(("middlebox.py", "--listen", listen, "--to", to, "--local", EMULATED_CLIENT))
        return [*command, *case.middlebox, "--report", report]


def program(words_):
    """A script of this folder."""
    return [sys.executable, HERE / words_[0], *words_[1:]]


def beside(command, script):
    """Runs a program as long as the script runs; the exit code is the script's."""
    return f"{words(command)} & beside=$!\n({script})\ncode=$?\nkill $beside; wait $beside\nexit $code"


def words(command):
    return shlex.join(str(word) for word in command)


def loopback(case):
    return "::1" if "6" in case.families else "127.0.0.1"


def free_port(case):
    family = socket.AF_INET6 if "6" in case.families else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.bind((loopback(case), 0))
        return probe.getsockname()[1]


def is_listening(port):
    """Whether a UDP socket has this port."""
    tables = [Path(table).read_text() for table in ("/proc/net/udp", "/proc/net/udp6") if Path(table).exists()]
    sockets = [line.split()[1] for table in tables for line in table.splitlines()[1:]]
    return any(local.endswith(f":{port:04X}") for local in sockets)


def agree(case, client, server):
    """What both ends are asked to be able to do, or why they cannot."""
    attempts = []
    for (of_client, of_server), application in itertools.product(case.ways, case.applications):
        features = of_client | {application}, of_server | {application}
        lacking = [*client.lacks(features[0], True), *server.lacks(features[1], False)]
        if not lacking:
            return features, ""
        attempts.append(lacking)
    # What comes nearest says it best.
    fewest = min(map(len, attempts))
    return None, "; ".join(dict.fromkeys(reason for lacking in attempts if len(lacking) == fewest for reason in lacking))


def judge(bench, case, client, server):
    """The cell of a case."""
    cell = Cell(client.name, server.name, case.name, "passed")
    features, reason = agree(case, client, server)
    if not reason and (case.needs_link() or "watches" in features[0]) and not bench.is_emulated:
        reason = "the link needs network namespaces: run it as root"
    if reason:
        return Cell(client.name, server.name, case.name, "unsupported", reason)
    started = time.monotonic()
    try:
        client.require()
        server.require()
        bench.run(case, client, server, features)
    except Missing as missing:
        cell.result, cell.reason = "missing", str(missing)
    except Exception as failure:  # A case that breaks must not hide the others.
        cell.result, cell.reason = "failed", str(failure) if isinstance(failure, Failed) else repr(failure)
    cell.seconds = round(time.monotonic() - started, 2)
    return cell


SIGNS = {"passed": "ok", "failed": "FAILED", "unsupported": "-", "missing": "?"}


def table(cells, cases):
    """The matrix as text, and below it why a cell is not `ok`."""
    pairs = list(dict.fromkeys((cell.client, cell.server) for cell in cells))
    by_place = {(cell.client, cell.server, cell.case): cell for cell in cells}
    widths = [max(len(case.short), 6) for case in cases]
    first = max(len(f"{client} -> {server}") for client, server in pairs)
    lines = [" " * first + "  " + " ".join(f"{case.short:>{width}}" for case, width in zip(cases, widths))]
    for client, server in pairs:
        row = [SIGNS[by_place[client, server, case.name].result] for case in cases]
        shown = " ".join(f"{sign:>{width}}" for sign, width in zip(row, widths))
        lines.append(f"{client + ' -> ' + server:<{first}}  {shown}")
    lines.append("")
    lines.append("  ".join(f"{case.short}: {case.name}" for case in cases))
    reasons = dict.fromkeys((cell.case, cell.reason) for cell in cells if cell.result == "unsupported")
    lines += [f"- {case}: {reason}" for case, reason in reasons]
    lines += [f"? {reason}" for reason in dict.fromkeys(cell.reason for cell in cells if cell.result == "missing")]
    failed = [cell for cell in cells if cell.result == "failed"]
    lines += [f"FAILED {cell.client} -> {cell.server} {cell.case}: {cell.reason}" for cell in failed]
    return "\n".join(lines)


def parse():
    parser = argparse.ArgumentParser(prog="interop/run", description=__doc__)
    parser.add_argument("--hawser", type=Path, required=True, help="the command")
    parser.add_argument("--built", type=Path, required=True, help="folder that scripts/setup-interop has made")
    parser.add_argument("--case", action="append", help="only this case; repeat it for more")
    parser.add_argument("--peer", action="append", help="only this stack besides Hawser; repeat it for more")
    parser.add_argument("--json", action="store_true", help="print the cells as JSON instead of the table")
    parser.add_argument("--allow-missing", action="store_true", help="go on without stacks that are not installed")
    parser.add_argument("--keep", action="store_true", help="keep the folder with files and logs, and say where it is")
    return parser, parser.parse_args()


def chosen(parser, wanted, known, what):
    """Those that were asked for, or all."""
    for name in wanted or ():
        if name not in {one.name for one in known}:
            parser.error(f"there is no {what} {name}: choose from {', '.join(one.name for one in known)}")
    return [one for one in known if not wanted or one.name in wanted]


def main():
    parser, arguments = parse()
    ours, others = peers.everybody(arguments.hawser.resolve(), arguments.built.resolve())
    cases = chosen(parser, arguments.case, CASES, "case")
    others = chosen(parser, arguments.peer, others, "peer")
    work = Path(tempfile.mkdtemp(prefix="hawser-matrix-"))
    cells = []
    try:
        bench = Bench(work, arguments.hawser.resolve(), os.geteuid() == 0 and Path("/dev/net/tun").exists())
        for pair in [(ours, other) for other in others if other.serves] + [(other, ours) for other in others]:
            for case in cases:
                cell = judge(bench, case, *pair)
                cells.append(cell)
                told = f"{SIGNS[cell.result]:<6} {cell.seconds:6.1f} s  {cell.client} -> {cell.server} {cell.case}"
                print(told, file=sys.stderr, flush=True)
    finally:
        if arguments.keep:
            print(f"files and logs: {work}", file=sys.stderr)
        else:
            shutil.rmtree(work, ignore_errors=True)
    print(json.dumps([vars(cell) for cell in cells], indent=1) if arguments.json else table(cells, cases))
    is_bad = {"failed"} if arguments.allow_missing else {"failed", "missing"}
    return 1 if any(cell.result in is_bad for cell in cells) else 0
