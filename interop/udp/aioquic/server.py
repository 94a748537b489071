"""A folder over HTTP/3 with aioquic: GET with ranges, and PUT; or over HTTP/0.9.

Prints {"port": N} when it listens; runs until it is killed.
"""

import argparse
import asyncio
import hashlib
import json
import re
import sys
from pathlib import Path

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, StreamDataReceived

BLOCK = 1 << 18
HQ_ALPN = ["hq-interop"]


class Site(QuicConnectionProtocol):
    """One connection."""

    folder = Path()

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._http = None
        self._requests = {}
        self._uploads = {}

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self._http = H3Connection(self._quic) if event.alpn_protocol in H3_ALPN else None
        elif isinstance(event, StreamDataReceived) and self._http is None:
            return self.file_event_received(event)
        for event in self._http.handle_event(event) if self._http else []:
            if isinstance(event, HeadersReceived):
                # A second HEADERS frame has trailers: they replace nothing.
                self._requests.setdefault(event.stream_id, dict(event.headers))
            elif isinstance(event, DataReceived):
                self._uploads.setdefault(event.stream_id, bytearray()).extend(event.data)
            else:
                continue
            if event.stream_ended:
                self.answer(event.stream_id)

    def file_event_received(self, event):
        """HTTP/0.9: a stream asks for a file."""
        request = self._requests.setdefault(event.stream_id, bytearray())
        request.extend(event.data)
        if not event.end_stream:
            return
        text = bytes(self._requests.pop(event.stream_id)).decode().strip()
        print(text, file=sys.stderr, flush=True)
        file = self.folder / Path(text.removeprefix("GET ")).name
        if file.is_file():
            self._quic.send_stream_data(event.stream_id, file.read_bytes(), end_stream=True)
        else:
            self._quic.reset_stream(event.stream_id, 1)
        self.transmit()

    def answer(self, stream):
        request = self._requests.pop(stream)
        upload = self._uploads.pop(stream, b"")
        method, path = request[b":method"].decode(), request[b":path"].decode()
        wanted = request.get(b"range", b"").decode()
        print(method, path, wanted, file=sys.stderr, flush=True)
        # Only names directly in the folder: nothing else is asked for.
        file = self.folder / Path(path).name
        if method == "PUT":
            file.write_bytes(upload)
            return self.reply(stream, 201, [])
        if method not in ("GET", "HEAD"):
            return self.reply(stream, 405, [])
        if not file.is_file():
            return self.reply(stream, 404, [])
        content = file.read_bytes()
        tag = '"' + hashlib.sha256(content).hexdigest()[:16] + '"'
        fields = [("etag", tag), ("accept-ranges", "bytes")]
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted)
        if part is None or request.get(b"if-range", tag.encode()).decode() != tag:
            return self.reply(stream, 200, fields, content, method == "HEAD")
        first, last = int(part[1]), min(int(part[2] or len(content)), len(content) - 1)
        if first > last:
            return self.reply(stream, 416, [("content-range", f"bytes */{len(content)}")])
        fields.append(("content-range", f"bytes {first}-{last}/{len(content)}"))
        self.reply(stream, 206, fields, content[first : last + 1], method == "HEAD")

    def reply(self, stream, status, fields, content=b"", headers_only=False):
        fields = [(":status", str(status)), ("content-length", str(len(content))), *fields]
        empty = headers_only or not content
        self._http.send_headers(stream, [(name.encode(), value.encode()) for name, value in fields], empty)
        for start in range(0, 0 if empty else len(content), BLOCK):
            end = start + BLOCK
            self._http.send_data(stream, content[start:end], end >= len(content))
        self.transmit()


async def main(arguments):
    Site.folder = Path(arguments.folder)
    configuration = QuicConfiguration(is_client=False, alpn_protocols=HQ_ALPN if arguments.hq else H3_ALPN)
    configuration.load_cert_chain(arguments.cert, arguments.key)
    address, _, port = arguments.listen.rpartition(":")
    tickets = {}

    def keep(ticket):
        tickets[ticket.ticket] = ticket

    def listen():
        # A ticket is good once.
        return QuicServer(
            configuration=configuration,
            create_protocol=Site,
            retry=arguments.retry,
            session_ticket_handler=keep,
            session_ticket_fetcher=lambda label: tickets.pop(label, None),
        )

    # What aioquic.asyncio.serve() does, but that keeps the socket, and with it the port, to itself.
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        listen,
        local_addr=(address.strip("[]"), int(port)),
    )
    print(json.dumps({"port": transport.get_extra_info("sockname")[1]}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cert", required=True, help="certificate chain (PEM)")
    parser.add_argument("--key", required=True, help="private key (PEM)")
    parser.add_argument("--retry", action="store_true", help="validate every address with Retry")
    parser.add_argument("--hq", action="store_true", help="HTTP/0.9 (hq-interop) in place of HTTP/3")
    parser.add_argument("--listen", default="127.0.0.1:0", help="ADDRESS:PORT to listen on")
    parser.add_argument("folder")
    asyncio.run(main(parser.parse_args()))
