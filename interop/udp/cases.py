"""The cases of quic-interop-runner: what is fetched, over which link, what the ends must be able to do, what must be seen."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import traces
from support import Failed

LINKS = Path(__file__).resolve().parent.parent / "links"
KIB, MIB = 1 << 10, 1 << 20
NOTHING = frozenset()


@dataclass(frozen=True)
class Case:
    """One column."""

    name: str
    short: str
    files: tuple
    scenario: Path = LINKS / "simple-p2p.toml"
    #: What of the scenario is otherwise.
    link: tuple = ()
    #: What the middlebox at the client does, if there is one.
    middlebox: tuple = ()
    #: What the client and the server must be able to do. The first of these ways that both can go is taken.
    ways: tuple = ((NOTHING, NOTHING),)
    #: The protocols that it can be run over, best first.
    applications: tuple = ("h3", "hq")
    #: Connections one after the other, each with all files.
    connections: int = 1
    #: 4, 6 or 46. Emulated links have IPv4 addresses: anything else is run on loopback.
    families: str = "4"
    seconds: int = 60
    #: What Hawser's traces must show, if anything.
    traced: Callable | None = None
    #: What the middlebox must have done, and the emulator's links carried.
    observed: Callable | None = None
    #: Shell command next to the server's and next to the client's.
    beside_server: tuple = ()
    beside_client: tuple = ()
    large_certificate: bool = False

    def needs_link(self):
        """Whether it is of no use on loopback."""
        return bool(self.link or self.middlebox or self.beside_server)


def each(*names):
    """Ways for which one end needs a switch, or both: pairs of words."""
    return tuple((frozenset(client.split()), frozenset(server.split())) for client, server in names)


def both(name, value):
    return (f"link.eth0.{name}={value}",)


def outage():
    return both("outage", "[{ from = '5 s', to = '7 s' }]")


# As the runner has it: the first after a second, then every five.
REBINDING = ("--rebind", "1", "--rebind", "6")
MOVED_PACKETS = 20


def rebound(report, _):
    """The server has gone on at each address that the client had."""
    counts = report["from_server"]
    if len(counts) != 3 or min(counts) < MOVED_PACKETS:
        raise Failed(f"datagrams to the addresses that the client had one after the other: {counts}")


def damaged(report, _):
    if not report["damaged_to_client"] or not report["damaged_to_server"]:
        raise Failed(f"nothing was damaged: {report}")


def limited(report, _):
    """RFC 9000 section 8.1: three times what came, until the client's address is validated."""
    received, sent = report["unproven"]
    if not report["dropped"] or not received < sent <= 3 * received:
        raise Failed(f"{sent} bytes for {received} from an address that was not validated; {report['dropped']} dropped")


def shared(_, links):
    """Each of two links has carried a good part of the bytes to the client."""
    if min(links) < sum(links) / 8:
        raise Failed(f"bytes over the links: {links}")


def failed_over(_, links):
    """The link that dies has carried something, the other the most."""
    if not 100_000 < links[1] < links[0]:
        raise Failed(f"bytes over the links: {links}")


TWO = LINKS / "two-links.toml"
CASES = (
    Case("handshake", "H", (KIB,)),
    Case("transfer", "DC", (2 * MIB, 3 * MIB, 5 * MIB)),
    Case("longrtt", "LR", (KIB,), link=both("delay", "750 ms")),
    Case("chacha20", "C20", (3 * MIB,), ways=each(("chacha20", ""), ("", "chacha20"))),
    Case("multiplexing", "M", (32,) * 1999, ways=each(("multiplexing", ""))),
    Case("retry", "S", (10 * KIB,), ways=each(("", "retry"))),
    Case("resumption", "R", (5 * KIB, 10 * KIB), ways=each(("resumption", "resumption")), traced=traces.resumed),
    Case("zerortt", "Z", (32,) * 40, ways=each(("zerortt", "zerortt")), traced=traces.early),
    Case("http3", "3", (5 * KIB, 10 * KIB, 500 * KIB), applications=("h3",)),
    Case("blackhole", "B", (10 * MIB,), link=outage()),
    Case("keyupdate", "U", (3 * MIB,), ways=each(("keyupdate", "")), traced=traces.keys_updated),
    Case("ecn", "E", (100 * KIB,), ways=each(("ecn", "ecn")), traced=traces.marked),
    Case("amplificationlimit", "A", (5 * KIB,), middlebox=("--mute=6",), ways=each(("", "amplification")),
         observed=limited, large_certificate=True),
    Case("handshakeloss", "L1", (KIB,), link=both("loss", "30 %"), connections=10, seconds=300),
    Case("transferloss", "L2", (2 * MIB,), link=both("loss", "2 %")),
    Case("handshakecorruption", "C1", (KIB,), middlebox=("--damage=30",), observed=damaged, connections=10, seconds=300),
    Case("transfercorruption", "C2", (2 * MIB,), middlebox=("--damage=2",), observed=damaged),
    Case("ipv6", "6", (5 * KIB, 10 * KIB), ways=each(("ipv6", "ipv6")), families="6"),
    Case("v2", "V2", (KIB,), ways=each(("v2", "v2")), traced=traces.version_2),
    Case("rebind-port", "BP", (10 * MIB,), middlebox=REBINDING, observed=rebound),
    Case("rebind-addr", "BA", (10 * MIB,), middlebox=(*REBINDING, "--local", "10.77.1.3"), observed=rebound),
    Case("connectionmigration", "CM", (2 * MIB,), ways=each(("migration", ""), ("follows", "preferred"), ("watches", "")),
         traced=traces.moved),
    Case("goodput", "G", (10 * MIB,)),
    Case("crosstraffic", "C", (10 * MIB,), seconds=120, beside_server=("cross.py", "serve", "10.99.0.1"),
         beside_client=("cross.py", "fetch", "10.99.0.1")),
    Case("mp-aggregate", "MA", (8 * MIB,), scenario=TWO, ways=each(("multipath", "multipath")),
         observed=shared),
    Case("mp-failover", "MF", (6 * MIB,), scenario=TWO, link=("link.b0.outage=[{ from = '700 ms', to = '300 s' }]",),
         ways=each(("multipath", "multipath")), observed=failed_over),
    Case("mp-ipv4-ipv6", "M6", (8 * MIB,), families="46", ways=each(("families", "families")),
         traced=traces.both_families),
)  # fmt: skip
