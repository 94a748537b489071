"""An HTTP/3 client with aioquic: all requests at once, on one connection.

Prints one JSON object: what came for every URL, and what the connection was.
"""

import argparse
import asyncio
import hashlib
import json
from pathlib import Path
from urllib.parse import urlsplit

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, StreamReset
from aioquic.quic.packet import QuicProtocolVersion
from aioquic.tls import CipherSuite, Epoch

BLOCK = 1 << 18
# Keys and connection id are changed each time this much has come.
CHANGE_EVERY = 1 << 20


class Response:
    """What has come on one stream."""

    def __init__(self):
        self.fields = {}
        self.digest = hashlib.sha256()
        self.length = 0
        self.done = asyncio.get_running_loop().create_future()

    def fail(self, reason):
        if not self.done.done():
            self.done.set_exception(ConnectionError(reason))


class Client(QuicConnectionProtocol):
    """One connection."""

    trailers = update_keys = change_ids = early_data = False

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._http = H3Connection(self._quic)
        self._responses = {}
        self._received = 0
        self._keys_and_id = None
        self.changes = -1

    async def request(self, method, url, wanted, body):
        parts = urlsplit(url)
        fields = [(":method", method), (":scheme", "https"), (":authority", parts.netloc), (":path", parts.path)]
        fields += [("range", wanted)] if wanted else []
        fields += [("te", "trailers")] if self.trailers else []
        fields += [("content-length", str(len(body)))] if body is not None else []
        stream = self._quic.get_next_available_stream_id()
        response = self._responses[stream] = Response()
        self._http.send_headers(stream, [(name.encode(), value.encode()) for name, value in fields], not body)
        for start in range(0, len(body or b""), BLOCK):
            self._http.send_data(stream, body[start : start + BLOCK], start + BLOCK >= len(body))
        self.transmit()
        await response.done
        return {
            "url": url,
            "status": int(response.fields[":status"]),
            "length": response.length,
            "sha256": response.digest.hexdigest(),
            "content_range": response.fields.get("content-range", ""),
            "repr_digest": response.fields.get("repr-digest", ""),
        }

    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted):
            self.early_data = event.early_data_accepted
        if isinstance(event, StreamReset) and event.stream_id in self._responses:
            self._responses[event.stream_id].fail(f"the stream was reset, error {event.error_code:#x}")
        elif isinstance(event, ConnectionTerminated):
            for response in self._responses.values():
                response.fail(f"the connection ended, error {event.error_code:#x} {event.reason_phrase}")
        for event in self._http.handle_event(event):
            response = self._responses.get(event.stream_id)
            if response is None:
                continue
            if isinstance(event, HeadersReceived):
                response.fields.update({name.decode(): value.decode() for name, value in event.headers})
            elif isinstance(event, DataReceived):
                response.length += len(event.data)
                response.digest.update(event.data)
                self.count(len(event.data))
            if event.stream_ended and not response.done.done():
                response.done.set_result(None)

    def count(self, length):
        # What is in use, not what was asked for.
        keys_and_id = self._quic._cryptos[Epoch.ONE_RTT].recv.key_phase, self._quic._peer_cid.cid
        self.changes += keys_and_id != self._keys_and_id
        self._keys_and_id = keys_and_id
        before, self._received = self._received, self._received + length
        if before // CHANGE_EVERY == self._received // CHANGE_EVERY:
            return
        if self.update_keys:
            self._quic.request_key_update()
        if self.change_ids:
            self._quic.change_connection_id()


def configuration_for(arguments):
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, idle_timeout=20)
    configuration.load_verify_locations(arguments.ca)
    configuration.supported_versions = [QuicProtocolVersion.VERSION_1]
    if arguments.prefer_v2:
        configuration.supported_versions = [QuicProtocolVersion.VERSION_2, QuicProtocolVersion.VERSION_1]
    if arguments.accept_v2:
        configuration.supported_versions = [QuicProtocolVersion.VERSION_1, QuicProtocolVersion.VERSION_2]
    if arguments.chacha20:
        configuration.cipher_suites = [CipherSuite.CHACHA20_POLY1305_SHA256]
    return configuration


async def main(arguments):
    Client.trailers = arguments.trailers
    Client.update_keys, Client.change_ids = arguments.update_keys, arguments.change_ids
    configuration = configuration_for(arguments)
    if arguments.early:
        # The first connection is for the ticket.
        tickets = asyncio.Queue()
        async with connect_to(arguments, configuration, session_ticket_handler=tickets.put_nowait):
            configuration.session_ticket = await asyncio.wait_for(tickets.get(), 5)
    body = Path(arguments.body).read_bytes() if arguments.body else None
    async with connect_to(arguments, configuration, wait_connected=not arguments.early) as client:
        requests = [client.request(arguments.method, url, arguments.range, body) for url in arguments.urls]
        responses = await asyncio.gather(*requests)
        version = "v2" if client._quic._version == QuicProtocolVersion.VERSION_2 else "v1"
        answer = {"connections": 1, "version": version, "changes": client.changes, "responses": responses}
        print(json.dumps({**answer, "early_data": client.early_data}))


def connect_to(arguments, configuration, **options):
    address = urlsplit(arguments.urls[0])
    return connect(address.hostname, address.port, configuration=configuration, create_protocol=Client, **options)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ca", required=True, help="certificate authority (PEM)")
    parser.add_argument("--method", default="GET", help="request method")
    parser.add_argument("--range", help="Range field")
    parser.add_argument("--body", help="file to send")
    parser.add_argument("--prefer-v2", action="store_true", help="begin with QUIC v2, go back to v1 if told so")
    parser.add_argument("--accept-v2", action="store_true", help="begin with QUIC v1, go on in v2 if the server does")
    parser.add_argument("--chacha20", action="store_true", help="offer only ChaCha20-Poly1305")
    parser.add_argument("--early", action="store_true", help="come twice, the second time with 0-RTT")
    parser.add_argument("--trailers", action="store_true", help="ask for trailers")
    parser.add_argument("--update-keys", action="store_true", help="update the keys with every MiB received")
    parser.add_argument("--change-ids", action="store_true", help="change the connection id with every MiB received")
    parser.add_argument("urls", nargs="+")
    asyncio.run(main(parser.parse_args()))
