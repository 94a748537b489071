"""What Hawser's traces (qlog) show of connections, whichever end it was: the newest connection is the last."""

import json

from support import Failed

# A server's first flight of TLS without certificates: EncryptedExtensions and Finished.
RESUMED = 500
VERSION_2 = "6b3343cf"


class Trace:
    """One connection."""

    def __init__(self, path):
        self.is_server = path.name.endswith("_server.sqlog")
        self.text = path.read_text()
        header, *records = self.text.split("\x1e")[1:]
        #: When it began, in ISO 8601.
        self.began = json.loads(header)["trace"]["common_fields"]["reference_time"]["wall_clock_time"]
        # The last one may be cut off, at a server that was killed.
        self.records = [json.loads(record) for record in records if record.endswith("\n")]

    def packets(self, by_server, kind):
        """Headers and frames of the packets of an end."""
        event = "quic:packet_sent" if by_server == self.is_server else "quic:packet_received"
        packets = [record["data"] for record in self.records if record["name"] == event]
        return [packet for packet in packets if packet["header"]["packet_type"] == kind]

    def frames(self, by_server, kind, name):
        packets = self.packets(by_server, kind)
        return [frame for packet in packets for frame in packet.get("frames", []) if frame["frame_type"] == name]

    def server_flight(self):
        """Bytes of TLS that the server sent in Handshake packets."""
        ends = [frame["offset"] + frame["raw"]["payload_length"] for frame in self.frames(True, "handshake", "crypto")]
        return max(ends, default=0)

    def requested(self, kind):
        """Bytes of streams that the client sent in packets of one kind."""
        return sum(frame["raw"]["payload_length"] for frame in self.frames(False, kind, "stream"))


def read(folder):
    """The traces in a folder, in the order in which their connections began."""
    return sorted((Trace(path) for path in folder.glob("*.sqlog")), key=lambda trace: trace.began)


def resumed(traces):
    """The first connection has a certificate, the second none (RFC 8446 section 2.2)."""
    flights = [trace.server_flight() for trace in traces]
    if len(flights) != 2 or not flights[1] < RESUMED < flights[0]:
        raise Failed(f"server flights of {flights} bytes: expected one with a certificate, then one without")


def early(traces):
    """The second connection begins with 0-RTT."""
    if len(traces) != 2 or not traces[1].requested("0RTT"):
        raise Failed(f"{len(traces)} connections, the last without 0-RTT: expected two, the second with")
    resumed(traces)


def version_2(traces):
    if not traces or f'"chosen_version":"{VERSION_2}"' not in traces[-1].text:
        raise Failed("the connection is not of version 2")


def keys_updated(traces):
    """One end has updated the keys, and it went on."""
    if not traces or not any(f'"trigger":"{end}_update"' in traces[-1].text for end in ("local", "remote")):
        raise Failed("nobody has updated the keys")


def marked(traces):
    """Both ends have sent packets with ECT(0), and said so in acknowledgements (RFC 9000 section 13.4)."""
    for by_server in (True, False):
        counts = [frame.get("ect0", 0) for trace in traces for frame in trace.frames(by_server, "1RTT", "ack")]
        if not max(counts, default=0):
            raise Failed(f"no acknowledgement of the {'server' if by_server else 'client'} counts ECT(0)")


def moved(traces):
    """The connection has gone on between other addresses."""
    records = [record["data"] for record in traces[-1].records if record["name"] == "quic:tuple_assigned"]
    tuples = {json.dumps([data["tuple_local"], data["tuple_remote"]]) for data in records if "tuple_remote" in data}
    if len(tuples) < 2:
        raise Failed(f"between these addresses only: {sorted(tuples)}")


def both_families(traces):
    """Two paths, one over IPv6 and one over IPv4, have both carried what the server sent."""
    records = [record for record in traces[-1].records if record["name"] == "quic:tuple_assigned"]
    families = {name for record in records for name in record["data"].get("tuple_remote", {}) if name.startswith("ip_")}
    packets = traces[-1].packets(True, "1RTT")
    carried = {
        packet["header"].get("path_id") for packet in packets for frame in packet["frames"] if frame["frame_type"] == "stream"
    }
    if len(families) < 2 or len(carried) < 2:
        raise Failed(f"addresses of the client: {sorted(families)}; paths with data: {sorted(carried)}")
