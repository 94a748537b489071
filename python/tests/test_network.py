"""The transport on real sockets, over loopback."""

import asyncio
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hawser

TWO_LINKS = ["127.0.0.1", "127.0.0.2"]


def run(body, handler, *, client=(), server=()):
    """A server with this handler, a client connected to it over two addresses of loopback, and what `body(connection, server)` does."""

    async def both():
        async with await hawser.serve(handler, "127.0.0.1", 0, **dict(server)) as serving:
            options = {"pin": serving.pin, "links": TWO_LINKS, "server_name": "localhost"} | dict(client)
            async with await hawser.connect(*serving.addresses[0], **options) as connection:
                return await body(connection, serving)

    return asyncio.run(asyncio.wait_for(both(), 60))


async def echo(connection):
    async for reader, writer in connection.streams():
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()


async def nothing(connection):
    await connection.wait_closed()


def test_streams_carry_megabytes_both_ways_over_two_paths() -> None:
    sent = os.urandom(8_000_000)

    async def body(connection, server):
        reader, writer = await connection.open_stream()

        async def send():
            for start in range(0, len(sent), 50_000):
                writer.write(sent[start : start + 50_000])
                await writer.drain()
            writer.write_eof()

        _, received = await asyncio.gather(send(), reader.read())
        return hashlib.sha256(received).digest(), connection.paths, connection.stats

    digest, paths, stats = run(body, echo)
    assert digest == hashlib.sha256(sent).digest()
    assert len(paths) == 2 and all(path.bytes_sent > 100_000 and path.state == "active" for path in paths), paths
    assert {path.local.rsplit(":", 1)[0] for path in paths} == set(TWO_LINKS)
    assert stats["stream_bytes_received"] == len(sent)


def test_many_streams_at_a_time_keep_their_bytes_apart() -> None:
    async def one(connection, number):
        reader, writer = await connection.open_stream()
        writer.write(f"stream {number}\n".encode() * 1_000)
        writer.write_eof()
        lines = (await reader.read()).decode().splitlines()
        assert lines == [f"stream {number}"] * 1_000
        writer.close()
        await writer.wait_closed()

    async def body(connection, server):
        await asyncio.gather(*(one(connection, number) for number in range(200)))

    async def echo_each(connection):
        async def answer(reader, writer):
            writer.write(await reader.read())
            writer.close()

        tasks = [asyncio.ensure_future(answer(*stream)) async for stream in connection.streams()]
        await asyncio.gather(*tasks)

    run(body, echo_each)


def test_a_reader_that_does_not_read_stops_the_writer() -> None:
    async def body(connection, server):
        _, writer = await connection.open_stream()
        written = 0

        async def flood():
            nonlocal written
            while True:
                writer.write(bytes(100_000))
                written += 100_000
                await writer.drain()

        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(flood(), 2)
        writer.transport.abort()
        return written

    async def deaf(connection):
        reader, _ = await connection.accept_stream()
        await connection.wait_closed()
        del reader

    written = run(body, deaf)
    assert 1_000_000 < written < 100_000_000, written


def test_datagrams_arrive_and_their_limits_are_said() -> None:
    async def body(connection, server):
        for number in range(50):
            connection.send_datagram(b"%d" % number)
        got = [await asyncio.wait_for(connection.receive_datagram(), 5) for _ in range(50)]
        assert sorted(map(int, got)) == list(range(50))
        assert connection.max_datagram_size > 1_000
        with pytest.raises(ValueError, match="longer than the"):
            connection.send_datagram(bytes(70_000))
        with pytest.raises(TypeError):
            connection.send_datagram("text")
        # Who gives up waiting takes nothing from the one who waits next.
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(connection.receive_datagram(), 0.1)
        connection.send_datagram(b"later")
        assert await asyncio.wait_for(connection.receive_datagram(), 5) == b"later"

    async def mirror(connection):
        while True:
            connection.send_datagram(await connection.receive_datagram())

    run(body, mirror)


def test_streams_in_one_direction() -> None:
    async def body(connection, server):
        writer = await connection.open_unidirectional()
        writer.write(b"question")
        writer.close()
        await writer.wait_closed()
        reader = await connection.accept_unidirectional()
        return await reader.read()

    async def answer(connection):
        reader = await connection.accept_unidirectional()
        asked = await reader.read()
        writer = await connection.open_unidirectional()
        writer.write(asked + b" and answer")
        writer.close()

    assert run(body, answer) == b"question and answer"


def test_path_events_tell_of_both_paths() -> None:
    async def body(connection, server):
        seen = set()
        async for event in connection.path_events():
            if event.kind == "established":
                seen.add(event.subject)
            if len(seen) == 2:
                return seen

    assert len(run(body, nothing)) == 2


def test_what_a_peer_closed_with_is_told() -> None:
    async def body(connection, server):
        reader, writer = await connection.open_stream()
        writer.write(b"x")
        with pytest.raises(hawser.ConnectionClosed, match="code 42: no more"):
            await reader.read()
        with pytest.raises(ConnectionError):
            await connection.open_stream()
        assert connection.close_reason == ("closed by the peer: code 42: no more", 42)
        assert "closed" in repr(connection)
        with pytest.raises(hawser.ConnectionClosed):
            connection.send_datagram(b"x")

    async def closes(connection):
        await connection.accept_stream()
        connection.close(42, "no more")

    run(body, closes)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_handler_that_raises_is_reported_and_closes_with_1() -> None:
    async def body(connection, server):
        told = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, about: told.append(about))
        await connection.open_stream()
        (await connection.open_unidirectional()).write(b"x")
        await connection.wait_closed()
        assert connection.close_reason[1] == 1
        assert any(isinstance(about.get("exception"), ZeroDivisionError) for about in told)

    async def fails(connection):
        await connection.accept_unidirectional()
        1 / 0

    run(body, fails)


class Alternating(hawser.Scheduler):
    turns = 0

    def schedule(self, view):
        ready = view.ready()
        self.turns += 1
        return ready[self.turns % len(ready)] if ready else None


def test_a_scheduler_in_python_decides_on_sockets() -> None:
    async def body(connection, server):
        reader, writer = await connection.open_stream()
        writer.write(bytes(2_000_000))
        writer.write_eof()
        assert len(await reader.read()) == 2_000_000
        return [path.bytes_sent for path in connection.paths]

    sent = run(body, echo, client={"scheduler": Alternating, "congestion": "cubic"})
    assert min(sent) > 300_000, sent


def test_what_a_policy_raises_on_sockets_reaches_its_program() -> None:
    class Broken(Alternating):
        def schedule(self, view):
            if view.queue.total > 100_000:
                return view.paths[0].colour
            return super().schedule(view)

    async def body(connection, server):
        reader, writer = await connection.open_stream()
        writer.write(bytes(2_000_000))
        with pytest.raises(AttributeError, match="colour"):
            await reader.read()

    run(body, echo, client={"scheduler": Broken})


def test_a_server_keeps_its_key_in_a_folder(tmp_path: Path) -> None:
    async def body(connection, server):
        return server.pin

    first, second = (run(body, nothing, server={"folder": tmp_path}) for _ in range(2))
    assert first == second
    files = {"certificate": (tmp_path / "certificate.pem", tmp_path / "key.pem")}
    assert run(body, nothing, server=files) == first


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"pin": "nonsense"}, ValueError, "pin"),
        ({"authorities": "/no/such/file"}, FileNotFoundError, "no/such/file"),
        ({"links": "wlan0"}, TypeError, "links: expected a list"),
        ({"links": []}, ValueError, "links: expected one or more"),
        ({"alpn": []}, ValueError, "alpn: expected 1 to 64"),
        ({"idle_timeout": -1}, ValueError, "idle_timeout: expected 0.001 to 86400 seconds, found -1"),
        ({"idle_timeout": "soon"}, TypeError, "idle_timeout"),
        ({"scheduler": "fastest"}, ValueError, "fastest"),
        ({"scheduler": "ecf,beta=high"}, ValueError, "beta"),
        ({"schedular": "ecf"}, TypeError, "schedular"),
        ({"server_name": "not a name"}, ValueError, "not a server name"),
        ({"port": 70_000}, ValueError, "port: expected 0 to 65535"),
        ({"host": "no-such-host.invalid"}, OSError, "."),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_would(options: dict, error: type[Exception], says: str) -> None:
    async def body():
        arguments = {"host": "127.0.0.1", "port": 1} | options
        await hawser.connect(arguments.pop("host"), arguments.pop("port"), **arguments)

    with pytest.raises(error, match=says):
        asyncio.run(body())


def test_a_server_that_is_not_there_or_not_believed() -> None:
    async def refused():
        await hawser.connect("127.0.0.1", 9, links=["127.0.0.1"], handshake_timeout=2)

    with pytest.raises((ConnectionRefusedError, TimeoutError)):
        asyncio.run(refused())

    async def stranger():
        async with await hawser.serve(nothing, "127.0.0.1", 0) as server, await hawser.serve(nothing, "127.0.0.1", 0) as other:
            await hawser.connect(*server.addresses[0], pin=other.pin, server_name="localhost", links=TWO_LINKS)

    with pytest.raises(ConnectionError, match="pin"):
        asyncio.run(stranger())


def test_mistakes_of_a_server() -> None:
    async def serve(**options):
        async with await hawser.serve(nothing, "127.0.0.1", 0, **options) as first:
            await hawser.serve(nothing, *first.addresses[0])

    with pytest.raises(OSError, match="another program uses this port"):
        asyncio.run(serve())
    with pytest.raises(FileNotFoundError, match="missing.pem"):
        asyncio.run(serve(certificate=("missing.pem", "missing.key")))
    with pytest.raises(TypeError, match="handler"):
        asyncio.run(hawser.serve(None, "127.0.0.1", 0))


PROGRAM = """
import asyncio, os, sys, hawser

class Mine(hawser.Scheduler):
    def schedule(self, view):
        ready = view.ready()
        return ready[0] if ready else None

async def handler(connection):
    async for reader, writer in connection.streams():
        writer.write(await reader.read(100))

async def main():
    server = await hawser.serve(handler, "127.0.0.1", 0, scheduler=Mine)
    connection = await hawser.connect(*server.addresses[0], pin=server.pin, server_name="localhost", links=["127.0.0.1"], scheduler=Mine)
    reader, writer = await connection.open_stream()
    writer.write(b"hello")
    print(await reader.read(100))
    child = os.fork()
    if child == 0:
        try:
            await hawser.connect(*server.addresses[0])
        except RuntimeError as error:
            print(error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)

asyncio.run(main())
"""


def test_a_program_that_leaves_everything_open_ends_and_a_forked_child_is_told() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "b'hello'" in done.stdout and "spawn" in done.stdout
