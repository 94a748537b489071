"""Streams of a connection as asyncio has them: a ``StreamReader`` and a ``StreamWriter``."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from hawser._native import ConnectionClosed, ReceiveStream, SendStream

if TYPE_CHECKING:
    from hawser.network import Connection

#: Bytes taken from the transport at a time.
CHUNK = 64 * 1024
#: Bytes that wait here before ``drain()`` waits, and those at which it goes on.
HIGH_WATER, LOW_WATER = 256 * 1024, 64 * 1024
#: Bytes that a reader keeps before the peer has to wait; it may hold twice as many.
READER_LIMIT = 128 * 1024


class StreamTransport(asyncio.Transport):
    """Moves bytes between a stream and asyncio's protocol for readers and writers. One of the directions may be missing."""

    def __init__(
        self,
        connection: Connection,
        send: SendStream | None,
        receive: ReceiveStream | None,
        reader: asyncio.StreamReader,
        protocol: asyncio.StreamReaderProtocol,
    ) -> None:
        stream = send or receive
        super().__init__({"connection": connection, "peername": connection.remote_address, "stream_id": stream.id if stream else None})
        self._send, self._receive, self._reader, self._protocol = send, receive, reader, protocol
        self._connection = connection
        self._waiting: deque[bytes] = deque()
        self._buffered = 0
        self._limits = (LOW_WATER, HIGH_WATER)
        self._is_full = self._is_closing = self._is_lost = False
        # A direction that is missing is at its end.
        self._ends, self._read_all = send is None, receive is None
        self._news, self._may_read = asyncio.Event(), asyncio.Event()
        self._may_read.set()
        #: The writer of a stream that only receives.
        self.kept: asyncio.StreamWriter | None = None
        protocol.connection_made(self)
        self._tasks = [asyncio.ensure_future(self._sends()), asyncio.ensure_future(self._receives())]
        #: Done when nothing goes on any more.
        self.over = asyncio.ensure_future(self._watches())

    # What asyncio asks of a transport that writes.

    def write(self, data: Any) -> None:
        if self._ends:
            raise RuntimeError("this stream takes nothing more: its end was marked, or it only receives")
        if data and not self._is_lost:
            self._waiting.append(bytes(data))
            self._buffered += len(self._waiting[-1])
            self._news.set()
            if self._buffered > self._limits[1] and not self._is_full:
                self._is_full = True
                self._protocol.pause_writing()

    def write_eof(self) -> None:
        self._ends = True
        self._news.set()

    def can_write_eof(self) -> bool:
        return True

    def get_write_buffer_size(self) -> int:
        return self._buffered

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._limits

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        high = (4 * low if low is not None else HIGH_WATER) if high is None else high
        low = high // 4 if low is None else low
        if not 0 <= low <= high:
            raise ValueError(f"expected 0 <= low <= high, found low={low}, high={high}")
        self._limits = (low, high)

    # What it asks of one that reads.

    def pause_reading(self) -> None:
        self._may_read.clear()

    def resume_reading(self) -> None:
        self._may_read.set()

    def is_reading(self) -> bool:
        return self._may_read.is_set() and not self._read_all

    # And of both.

    def close(self) -> None:
        """Delivers what was written; what the peer still sends is not wanted any more."""
        self._is_closing = True
        self.write_eof()
        if not self._read_all:
            self._read_all = True
            self._tasks[1].cancel()
            if self._receive is not None:
                self._receive.stop(0)

    def is_closing(self) -> bool:
        return self._is_closing

    def abort(self) -> None:
        """Gives up what was not delivered."""
        self._is_closing = True
        self._tasks[0].cancel()
        self._tasks[1].cancel()
        if self._send is not None:
            self._send.reset(0)
        if self._receive is not None and not self._read_all:
            self._receive.stop(0)
        self._read_all = True

    async def _sends(self) -> None:
        while self._send is not None:
            while self._waiting:
                data = self._waiting.popleft()
                await self._send.write(data)
                self._buffered -= len(data)
                if self._is_full and self._buffered <= self._limits[0]:
                    self._is_full = False
                    self._protocol.resume_writing()
            if self._ends:
                await self._send.finish()
                code = await self._send.delivered()
                if code is not None and not self._is_closing:
                    raise BrokenPipeError(f"the peer stopped reading the stream: code {code}")
                return
            await self._news.wait()
            self._news.clear()

    async def _receives(self) -> None:
        try:
            while self._receive is not None:
                await self._may_read.wait()
                data = await self._receive.read(CHUNK)
                if data is None:
                    self._read_all = True
                    self._protocol.eof_received()
                    return
                self._protocol.data_received(data)
        except (ConnectionError, TimeoutError) as error:
            # The peer gave up what it sends. What we send goes on, unless the connection is over.
            self._read_all = True
            self._reader.set_exception(self._connection._reason(error))

    async def _watches(self) -> None:
        sending, receiving = self._tasks
        closed = asyncio.ensure_future(self._connection._native.closed())
        both = asyncio.ensure_future(asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION))
        await asyncio.wait([closed, both], return_when=asyncio.FIRST_COMPLETED)
        trouble: Exception | None = None
        if not both.done():
            # What arrived before the end can still be read.
            self._may_read.set()
            sending.cancel()
            await both
            if not self._connection.is_closed_well:
                trouble = ConnectionClosed(self._connection._why())
        else:
            closed.cancel()
            receiving.cancel()
            found = None if sending.cancelled() else sending.exception()
            # A peer that said goodbye before its last acknowledgement came is no failure.
            if isinstance(found, Exception) and not (self._ends and self._connection.is_closed_well):
                trouble = found
        self._is_lost = True
        self._waiting.clear()
        self._buffered = 0
        self.kept = None
        self._protocol.connection_lost(None if trouble is None else self._connection._reason(trouble))


def opened(
    connection: Connection, send: SendStream | None, receive: ReceiveStream | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, StreamTransport]:
    """A stream as what reads and what writes."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=READER_LIMIT, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport = StreamTransport(connection, send, receive, reader, protocol)
    writer = asyncio.StreamWriter(transport, protocol, reader, loop)
    if send is None:
        # Nobody else has it, and a writer that is dropped closes its stream.
        transport.kept = writer
    return reader, writer, transport
