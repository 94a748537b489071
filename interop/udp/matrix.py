"""The cases of quic-interop-runner between Hawser and stacks that others wrote, with real sockets.

Rows are pairs of client and server, columns are cases. The two run in network namespaces of their own, behind the
runner's link as `hawser emu run` makes it, which needs root; without root, and for IPv6, they meet on loopback.
"""

import argparse
import json
import os
import shlex
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import peers
import traces
from support import Certificates, Failed, Missing, Process, expect, run, sha256, tail, wait_for

HERE = Path(__file__).resolve().parent
LINK = HERE.parent / "links/simple-p2p.toml"
KIB, MIB = 1 << 10, 1 << 20

# The server's address behind emulated links.
EMULATED = ("10.99.0.1", 4433)
# The client's, on the first of them.
EMULATED_CLIENT = "10.77.1.2"


@dataclass(frozen=True)
class Case:
    """What is fetched, over which link, and what the ends must be able to do."""

    name: str
    short: str
    files: tuple
    #: What of the link is other than in LINK.
    link: tuple = ()
    client: frozenset = frozenset()
    server: frozenset = frozenset()
    #: Connections one after the other, each with all files.
    connections: int = 1
    is_ipv6: bool = False
    seconds: int = 60
    #: What Hawser's traces must show, if anything.
    traced: Callable | None = None
    #: Why nobody can run it here, if so.
    elsewhere: str = ""


def both(name, value):
    return (f"link.eth0.{name}={value}",)


def both_ends(feature):
    return {"client": frozenset({feature}), "server": frozenset({feature})}


def outage():
    return both("outage", "[{ from = '5 s', to = '7 s' }]")


VIRTUAL = "in virtual time only (crates/hawser-sim/tests/runner): "
CASES = (
    Case("handshake", "H", (KIB,)),
    Case("transfer", "DC", (2 * MIB, 3 * MIB, 5 * MIB)),
    Case("longrtt", "LR", (KIB,), link=both("delay", "750 ms")),
    Case("chacha20", "C20", (3 * MIB,), client=frozenset({"chacha20"})),
    Case("multiplexing", "M", (32,) * 1999, client=frozenset({"multiplexing"})),
    Case("retry", "S", (10 * KIB,), server=frozenset({"retry"})),
    Case("resumption", "R", (5 * KIB, 10 * KIB), traced=traces.resumed, **both_ends("resumption")),
    Case("zerortt", "Z", (32,) * 40, traced=traces.early, **both_ends("zerortt")),
    Case("http3", "3", (5 * KIB, 10 * KIB, 500 * KIB)),
    Case("blackhole", "B", (10 * MIB,), link=outage()),
    Case("keyupdate", "U", (3 * MIB,), client=frozenset({"keyupdate"})),
    Case("handshakeloss", "L1", (KIB,), link=both("loss", "30 %"), connections=10, seconds=300),
    Case("transferloss", "L2", (2 * MIB,), link=both("loss", "2 %")),
    Case("ipv6", "6", (5 * KIB, 10 * KIB), client=frozenset({"ipv6"}), server=frozenset({"ipv6"}), is_ipv6=True),
    Case("v2", "V2", (KIB,), traced=traces.version_2, **both_ends("v2")),
    Case("rebind-port", "BP", (10 * MIB,), client=frozenset({"rebinding"})),
    Case("connectionmigration", "CM", (2 * MIB,), client=frozenset({"migration"})),
    Case("goodput", "G", (10 * MIB,)),
    Case("ecn", "E", (), elsewhere=VIRTUAL + "the marks are not recorded here"),
    Case("amplificationlimit", "A", (), elsewhere=VIRTUAL + "scenarios cannot drop the n-th packet"),
    Case("handshakecorruption", "C1", (), elsewhere=VIRTUAL + "the kernel drops damaged datagrams"),
    Case("transfercorruption", "C2", (), elsewhere=VIRTUAL + "the kernel drops damaged datagrams"),
    Case("rebind-addr", "BA", (), elsewhere=VIRTUAL + "the emulator has no NAT"),
    Case("crosstraffic", "C", (), elsewhere=VIRTUAL + "no TCP source is part of this"),
)


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
    """Files, certificates, and where the server listens."""

    work: Path
    hawser: Path
    is_emulated: bool
    count: int = 0
    sizes: dict = field(default_factory=dict)
    #: Folder of Hawser's traces of the case that runs.
    traces: Path = Path()
    listen_address: str = ""
    listen_port: int = 0

    def __post_init__(self):
        self.certificates = Certificates(self.work / "certificates")
        self.identity = ["--cert", self.certificates.chain, "--key", self.certificates.key]
        self.site = self.work / "site"
        self.site.mkdir()

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

    def run(self, case, client, server):
        """Runs a case; raises if it fails."""
        folder = self.folder(f"{client.name}-{server.name}-{case.name}")
        is_emulated = self.is_emulated and not case.is_ipv6
        names = self.names(case)
        self.traces = folder / "traces"
        self.listen_address, self.listen_port = EMULATED if is_emulated else (loopback(case), free_port(case))
        listen = (self.listen_address, self.listen_port)
        urls = [f"https://{peers.at(listen)}/{name}" for name in names]
        local = EMULATED_CLIENT if is_emulated else loopback(case)
        serve = server.server(self, listen, case.server)
        fetches = []
        for number in range(case.connections):
            into = folder / f"{number}"
            into.mkdir()
            commands = client.clients(self, urls, case.client, into, local)
            fetches += [(command, into) for command in commands]
        runner = self.emulated if is_emulated else self.on_loopback
        runner(case, serve, fetches, folder)
        folders = list(dict.fromkeys(into for _, into in fetches))
        for into in folders:
            found = client.digests(names, into, (into / "output").read_bytes())
            wrong = [name for name in names if found.get(name) != self.sizes[name]]
            expect("files that are missing or wrong", wrong, [])
        if case.traced:
            case.traced(traces.read(self.traces))
        for into in [*folders, self.traces]:
            shutil.rmtree(into, ignore_errors=True)

    def emulated(self, case, serve, fetches, folder):
        lines = [f"{words(command)} > {shlex.quote(str(into / 'output'))}" for command, into in fetches]
        # The emulator passes on the exit code of the command.
        script = " && ".join(lines)
        overrides = [word for setting in case.link for word in ("--set", setting)]
        served = f"exec {words(serve)} > {shlex.quote(str(folder / 'server.log'))} 2>&1"
        command = [self.hawser, "emu", "run", "-q", LINK, *overrides, "--server", served, "--", "sh", "-c", script]
        try:
            run(command, timeout=case.seconds)
        except Failed as failure:
            raise Failed(f"{failure}\nserver: {tail((folder / 'server.log').read_bytes())}") from None

    def on_loopback(self, case, serve, fetches, folder):
        server = Process(serve, folder / "server.log")
        try:
            wait_for("the server to listen", lambda: is_listening(self.listen_port))
            for command, into in fetches:
                (into / "output").write_bytes(run(command, timeout=case.seconds))
        finally:
            server.stop()


def words(command):
    return shlex.join(str(word) for word in command)


def loopback(case):
    return "::1" if case.is_ipv6 else "127.0.0.1"


def free_port(case):
    family = socket.AF_INET6 if case.is_ipv6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.bind((loopback(case), 0))
        return probe.getsockname()[1]


def is_listening(port):
    """Whether a UDP socket has this port."""
    tables = [Path(table).read_text() for table in ("/proc/net/udp", "/proc/net/udp6") if Path(table).exists()]
    sockets = [line.split()[1] for table in tables for line in table.splitlines()[1:]]
    return any(local.endswith(f":{port:04X}") for local in sockets)


def judge(bench, case, client, server):
    """The cell of a case."""
    cell = Cell(client.name, server.name, case.name, "passed")
    reason = case.elsewhere or client.lacks(case.client, True) or server.lacks(case.server, False)
    if not reason and case.link and not bench.is_emulated:
        reason = "the link needs network namespaces: run it as root"
    if reason:
        return Cell(client.name, server.name, case.name, "unsupported", reason)
    started = time.monotonic()
    try:
        client.require()
        server.require()
        bench.run(case, client, server)
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
    parser.add_argument("--peer", action="append", help="only this stack beside Hawser; repeat it for more")
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
        for pair in [(ours, other) for other in others] + [(other, ours) for other in others]:
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
