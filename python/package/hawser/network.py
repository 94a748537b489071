"""The transport itself, for asyncio: connections over all links of this machine, on real sockets.

>>> async def echo(connection):                                                  # doctest: +SKIP
...     async for reader, writer in connection.streams():
...         writer.write(await reader.read())
...         writer.close()
>>> server = await hawser.serve(echo, "localhost", 4433)                         # doctest: +SKIP
>>> connection = await hawser.connect("localhost", 4433, pin=server.pin)         # doctest: +SKIP
"""

from __future__ import annotations

import asyncio
import atexit
import os
import socket
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, NamedTuple, TypeVar

from hawser import _native
from hawser._native import ConnectionClosed
from hawser.scenario import _choose, _Own
from hawser.streams import StreamTransport, opened

Pathlike = str | os.PathLike[str]
T = TypeVar("T")


class PathEvent(NamedTuple):
    """What happened: ``established``, ``suspect``, ``recovered``, ``closed`` (``subject``: id of the path), ``multipath_ready``,
    ``link_up`` (name of the link), ``link_down`` (its number), ``missed`` (how many events)."""

    kind: str
    subject: str


@dataclass(frozen=True)
class NetworkPath:
    """A path at one moment. Round-trip times in seconds, the rest in bytes and packets; counters are of its whole life."""

    id: int
    local: str
    remote: str
    #: ``validating``, ``active``, or ``suspect``: silent although something is outstanding.
    state: str
    backup: bool
    bytes_sent: int
    bytes_received: int
    packets_sent: int
    packets_lost: int
    smoothed_rtt: float
    min_rtt: float
    congestion_window: int
    bytes_in_flight: int
    mtu: int


@dataclass(frozen=True)
class _Common:
    alpn: list[str]
    chosen: list[tuple[str, str]]
    own: _Own
    idle_timeout: float
    keep_alive: float | None
    qlog: Pathlike | None


@dataclass(frozen=True)
class _Client:
    pins: list[str]
    authorities: Pathlike | None
    links: list[tuple[str, bool]] | None
    handshake_timeout: float


@dataclass(frozen=True)
class _Identity:
    files: tuple[Pathlike, Pathlike] | None
    folder: Pathlike | None
    names: list[str]


class _Next(Generic[T]):
    """The next of something, for which one may stop waiting without losing it."""

    def __init__(self, start: Callable[[], Awaitable[T]]):
        self._start = start
        self._pending: asyncio.Future[T] | None = None
        self._turn = asyncio.Lock()

    async def get(self) -> T:
        async with self._turn:
            if self._pending is None:
                self._pending = asyncio.ensure_future(self._start())
            # Not only awaited: who gives up leaves it to the one who asks next.
            await asyncio.wait([self._pending])
            done, self._pending = self._pending, None
            return done.result()


class Connection:
    """A connection over all links, from :func:`connect` or for a handler of :func:`serve`. ``async with`` closes it at the end."""

    def __init__(self, native: _native.Connection, endpoint: _native.Endpoint):
        self._native, self._endpoint = native, endpoint
        self._transports: set[StreamTransport] = set()
        self._both = _Next(lambda: native.accept(True))
        self._one = _Next(lambda: native.accept(False))
        self._datagrams = _Next(native.receive_datagram)

    async def open_stream(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A new stream in both directions. Waits while the peer allows no more.

        ``writer.write_eof()`` ends what is sent; ``writer.close()`` also what is received, and ``await writer.wait_closed()`` then waits
        until the peer has everything. Raises :class:`hawser.ConnectionClosed`, ``TimeoutError``.
        """
        send, receive = await self._told(self._native.open(True))
        reader, writer = self._stream(send, receive)
        return reader, writer

    async def open_unidirectional(self) -> asyncio.StreamWriter:
        """A new stream that only sends."""
        send, _ = await self._told(self._native.open(False))
        return self._stream(send, None)[1]

    async def accept_stream(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The peer's next stream in both directions. Raises :class:`hawser.ConnectionClosed`, ``TimeoutError``."""
        send, receive = await self._told(self._both.get())
        return self._stream(send, receive)

    async def accept_unidirectional(self) -> asyncio.StreamReader:
        """The peer's next stream that only it sends on."""
        _, receive = await self._told(self._one.get())
        return self._stream(None, receive)[0]

    async def streams(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """The peer's streams in both directions, until the connection is closed."""
        while True:
            try:
                stream = await self.accept_stream()
            except ConnectionClosed:
                return
            yield stream

    def _stream(
        self, send: _native.SendStream | None, receive: _native.ReceiveStream | None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer, transport = opened(self, send, receive)
        self._transports.add(transport)
        transport.over.add_done_callback(lambda _: self._transports.discard(transport))
        return reader, writer

    def send_datagram(self, data: bytes) -> None:
        """Sends bytes that may get lost, at most :attr:`max_datagram_size`.

        Raises ``ValueError`` for more, ``BlockingIOError`` when too many wait, :class:`hawser.ConnectionClosed`.
        """
        self._native.send_datagram(bytes(data))

    async def receive_datagram(self) -> bytes:
        """The next datagram. Raises :class:`hawser.ConnectionClosed`, ``TimeoutError``."""
        return await self._told(self._datagrams.get())

    @property
    def max_datagram_size(self) -> int | None:
        """Bytes; ``None`` if the peer takes no datagrams."""
        return self._native.max_datagram_size

    @property
    def paths(self) -> list[NetworkPath]:
        """The paths that exist."""
        return [NetworkPath(**path) for path in self._native.paths]

    async def path_events(self) -> AsyncIterator[PathEvent]:
        """What happens to paths and links, first those that are open, until the connection is closed."""
        async for kind, subject in self._native.events():
            yield PathEvent(kind, subject)

    @property
    def stats(self) -> dict[str, int]:
        """Bytes of UDP and of streams: sent, sent again, copied, acknowledged, received."""
        return self._native.stats

    @property
    def is_multipath(self) -> bool:
        """Whether both ends speak multipath."""
        return self._native.is_multipath

    @property
    def alpn(self) -> str | None:
        """The protocol that both ends agreed on."""
        return self._native.alpn

    @property
    def remote_address(self) -> tuple[str, int]:
        """Of the first path."""
        return self._native.remote_address

    @property
    def close_reason(self) -> tuple[str, int | None] | None:
        """Why it is over, and the code of the peer's application if that closed it; ``None`` while it is open."""
        return self._native.close_reason

    @property
    def is_closed_well(self) -> bool:
        """Whether the peer's application closed it with code 0."""
        reason = self._native.close_reason
        return reason is not None and reason[1] == 0

    def close(self, code: int = 0, reason: str = "") -> None:
        """Ends it at once: what was not delivered is given up. ``code`` is below 2**62."""
        self._native.close(code, reason)

    async def wait_closed(self) -> None:
        """Waits until it is over, and all its streams know it."""
        await self._native.closed()
        if self._transports:
            await asyncio.wait([transport.over for transport in self._transports])

    async def _flush(self) -> None:
        """Waits until what streams that were closed had to say has arrived."""
        while closing := [transport.over for transport in self._transports if transport.is_closing()]:
            await asyncio.wait(closing)

    def _why(self) -> str:
        reason = self.close_reason
        return reason[0] if reason else "the connection is open"

    def _reason(self, error: Exception) -> Exception:
        """What a policy in Python raised, if that is why."""
        try:
            self._native.check()
        except Exception as raised:
            return raised
        return error

    async def _told(self, waiting: Awaitable[T]) -> T:
        try:
            return await waiting
        except ConnectionClosed as error:
            reason = self._reason(error)
            if reason is error:
                raise
            raise reason from None

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            await self._flush()
        self.close()
        await self.wait_closed()
        await self._endpoint.wait_idle()

    def __repr__(self) -> str:
        reason = self.close_reason
        about = f"closed: {reason[0]}" if reason else f"{len(self.paths)} paths"
        return f"<hawser.Connection with {':'.join(map(str, self.remote_address))}, {about}>"


Handler = Callable[[Connection], Awaitable[None]]


class Server:
    """What :func:`serve` gives: accepts connections until it is closed. ``async with`` closes it at the end."""

    def __init__(self, endpoint: _native.Endpoint, handler: Handler):
        self._endpoint, self._handler = endpoint, handler
        self._handlers: set[asyncio.Future[None]] = set()
        self._accepting = asyncio.ensure_future(self._accepts())

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Where it accepts, with real ports."""
        return self._endpoint.addresses

    @property
    def pin(self) -> str:
        """By which clients know its key (:func:`connect`, ``pin=``)."""
        return str(self._endpoint.pin)

    async def _accepts(self) -> None:
        while (native := await self._endpoint.accept()) is not None:
            task = asyncio.ensure_future(self._handles(Connection(native, self._endpoint)))
            self._handlers.add(task)
            task.add_done_callback(self._handlers.discard)

    async def _handles(self, connection: Connection) -> None:
        code = 0
        try:
            await self._handler(connection)
            await connection._flush()
        except (ConnectionClosed, TimeoutError):
            if connection.close_reason is None:
                raise
        except Exception as error:
            code = 1
            about = {"message": f"the handler of a {connection!r} failed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(about)
        finally:
            connection.close(code)

    async def serve_forever(self) -> None:
        """Waits until it is closed; when this is cancelled, it closes."""
        try:
            await asyncio.shield(self._accepting)
        finally:
            self.close()

    def close(self) -> None:
        """Closes all its connections, and takes no new ones."""
        self._endpoint.close(0, "")

    async def wait_closed(self) -> None:
        """Waits until all handlers have ended, and the peers know."""
        await asyncio.wait([self._accepting, *self._handlers])
        await self._endpoint.wait_idle()

    async def __aenter__(self) -> Server:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
        await self.wait_closed()


async def connect(
    host: str,
    port: int,
    *,
    alpn: Iterable[str] = ("hawser",),
    pin: str | Iterable[str] = (),
    authorities: Pathlike | None = None,
    server_name: str | None = None,
    links: Iterable[str] | None = None,
    backup_links: Iterable[str] = (),
    handshake_timeout: float = 10,
    idle_timeout: float = 30,
    keep_alive: float | None = None,
    qlog: Pathlike | None = None,
    **policies: Any,
) -> Connection:
    """Connects to a server over all links of this machine.

    The server is believed if it holds the key of a ``pin``, or an authority of the file ``authorities`` (default: those of this machine)
    signed its certificate for ``server_name`` (default: ``host``). ``alpn`` are the protocols offered, best first. ``links`` are
    interfaces (``"wlan0"``) or local addresses; ``backup_links`` are used when no other works. Times are seconds. ``qlog`` is a folder for
    traces, in which names such as 192.0.2.1 stand for addresses. Policies are chosen as by :meth:`hawser.Scenario.run`, also with classes of your own.

    Raises ``ConnectionError``, ``TimeoutError``, ``OSError`` (no such host or file), ``ValueError`` for what makes no sense.
    """
    _check_process()
    pins = [pin] if isinstance(pin, str) else list(pin)
    if pins and authorities is not None:
        raise ValueError("pin and authorities: expected one of them")
    wanted = None if links is None and not backup_links else [(name, False) for name in _names("links", links or ())]
    if wanted is not None:
        wanted += [(name, True) for name in _names("backup_links", backup_links)]
    client = _Client(pins, authorities, wanted, handshake_timeout)
    endpoint = _native.Endpoint.client(_common(alpn, policies, idle_timeout, keep_alive, qlog), client)
    _endpoints.add(endpoint)
    native = await endpoint.connect(await _resolve(host, port), server_name or host)
    return Connection(native, endpoint)


async def serve(
    handler: Handler,
    host: str,
    port: int,
    *,
    alpn: Iterable[str] = ("hawser",),
    certificate: tuple[Pathlike, Pathlike] | None = None,
    folder: Pathlike | None = None,
    names: Iterable[str] = ("localhost",),
    idle_timeout: float = 30,
    keep_alive: float | None = None,
    qlog: Pathlike | None = None,
    **policies: Any,
) -> Server:
    """Serves at an address (``"::"`` is every one, port 0 a free one): ``await handler(connection)`` for each client.

    When the handler returns, what closed streams had to say is delivered, and the connection is closed. One that raises closes it with
    code 1 and is reported to the event loop's exception handler. The identity is ``certificate`` (chain and key, PEM files), or kept in
    ``folder`` and made there the first time, or fresh: clients then need :attr:`Server.pin`. The rest is as for :func:`connect`.

    Raises ``OSError`` if the address is taken or a file is missing, ``ValueError`` for what makes no sense.
    """
    _check_process()
    if not callable(handler):
        raise TypeError(f"handler: expected an async function of a connection, found {handler!r}")
    if certificate is not None and folder is not None:
        raise ValueError("certificate and folder: expected one of them")
    identity = _Identity(certificate, folder, _names("names", names))
    address = (await _resolve(host, port))[0]
    endpoint = _native.Endpoint.server(_common(alpn, policies, idle_timeout, keep_alive, qlog), identity, address)
    _endpoints.add(endpoint)
    return Server(endpoint, handler)


def _names(argument: str, values: Iterable[str]) -> list[str]:
    if isinstance(values, str):
        raise TypeError(f"{argument}: expected a list of texts, found the text {values!r}")
    return [str(value) for value in values]


def _common(
    alpn: Iterable[str], policies: dict[str, Any], idle_timeout: float, keep_alive: float | None, qlog: Pathlike | None
) -> _Common:
    chosen, own = _choose(policies)
    return _Common(_names("alpn", alpn), chosen, own, idle_timeout, keep_alive, qlog)


async def _resolve(host: str, port: int) -> list[str]:
    """Addresses as texts, in the resolver's order."""
    if not 0 <= port <= 65_535:
        raise ValueError(f"port: expected 0 to 65535, found {port}")
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    addresses = [f"[{address[0]}]:{port}" if family == socket.AF_INET6 else f"{address[0]}:{port}" for family, *_, address in found]
    return list(dict.fromkeys(addresses))


#: The process whose threads drive the sockets: they are not there after a fork.
_process: int | None = None
_endpoints: weakref.WeakSet[_native.Endpoint] = weakref.WeakSet()


def _check_process() -> None:
    global _process
    if _process not in (None, os.getpid()):
        raise RuntimeError("this process was forked from one that used the network: start it with multiprocessing's method 'spawn'")
    _process = os.getpid()


@atexit.register
def _leave() -> None:
    """Policies in Python are not asked while the interpreter goes down."""
    for endpoint in _endpoints:
        endpoint.stop.set()
