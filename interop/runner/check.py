#!/usr/bin/env python3
"""Runs run_endpoint.sh for both roles over loopback, in folders of its own: what the runner does, without containers.

    interop/runner/check.py --hawser target/release/hawser
"""

import argparse
import filecmp
import os
import pathlib
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "udp"))

import traces as traced  # noqa: E402
from support import Failed  # noqa: E402

SCRIPT = pathlib.Path(__file__).resolve().parent / "run_endpoint.sh"
# What both roles support; files of these sizes are got.
CASES = {
    "handshake": [1024],
    "transfer": [2_000_000, 3_000_000],
    "multiplexing": [32] * 300,
    "retry": [1024],
    "resumption": [5_000, 10_000],
    "zerortt": [32] * 40,
    "http3": [500_000, 1024],
    "v2": [1024],
    "chacha20": [500_000],
    # Updates are three probe timeouts apart at least.
    "keyupdate": [60_000_000],
    "multiconnect": [1024] * 5,
    "connectionmigration": [2_000_000],
}
PATIENCE = 60


def free_port():
    """A UDP port that is free, and the next one, too."""
    while True:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one, socket.socket(
            socket.AF_INET6, socket.SOCK_DGRAM
        ) as two:
            one.bind(("::", 0))
            port = one.getsockname()[1]
            try:
                two.bind(("::", port + 1))
            except OSError:
                continue
            return port


def certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", folder / "priv.key", "-out", folder / "cert.pem", "-subj", "/CN=server",
         "-addext", "subjectAltName=DNS:server,DNS:localhost"],
        check=True, capture_output=True,
    )  # fmt: skip


def run_case(hawser, folder, case, sizes):
    """Returns what went wrong, or None."""
    port = free_port()
    www, downloads, logs = (folder / name for name in ("www", "downloads", "logs"))
    for path in (www, downloads, logs):
        path.mkdir()
    names = [f"{secrets.token_hex(8)}" for _ in sizes]
    for name, size in zip(names, sizes, strict=True):
        (www / name).write_bytes(secrets.token_bytes(size))
    common = os.environ | {
        "HAWSER": hawser,
        "TESTCASE": case,
        "CERTS": str(folder.parent / "certs"),
        "WWW": str(www),
        "DOWNLOADS": str(downloads),
        "PORT": str(port),
        "PREFERRED": f"127.0.0.1:{port + 1}",
        "QLOGDIR": str(logs),
        "SSLKEYLOGFILE": str(logs / "keys.log"),
    }
    # Server first; it is there when it says so.
    server = subprocess.Popen(
        [SCRIPT], env=common | {"ROLE": "server"}, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        line = server.stderr.readline()
        if "serving" not in line:
            return f"the server says: {line.strip()}"
        requests = " ".join(f"https://127.0.0.1:{port}/{name}" for name in names)
        client = subprocess.run(
            [SCRIPT], env=common | {"ROLE": "client", "REQUESTS": requests, "CLIENT_PARAMS": "--path lo"},
            capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
    if client.returncode != 0:
        return f"the client ended with {client.returncode}: {client.stderr.strip()}"
    wrong = [name for name in names if not filecmp.cmp(www / name, downloads / name, shallow=False)]
    if wrong:
        return f"{len(wrong)} files differ"
    return check_traces(case, logs, len(names))


def check_traces(case, logs, files):
    """What the traces of the client say about the case."""
    connections = [trace for trace in traced.read(logs) if not trace.is_server]
    traces = [trace.text for trace in connections]
    if not (logs / "keys.log").exists():
        return "no keys were logged"
    if case == "multiconnect" and len(traces) != files:
        return f"{len(traces)} connections, expected {files}"
    try:
        if case == "resumption":
            traced.resumed(connections)
        if case == "zerortt":
            traced.early(connections)
    except Failed as failure:
        return str(failure)
    if case == "zerortt":
        late, early = connections[1].requested("1RTT"), connections[1].requested("0RTT")
        # As the runner has it: at most half of the requests may come later.
        if late > early:
            return f"{early} bytes of requests came with 0-RTT, {late} later"
    if case == "v2" and not any('"chosen_version":"6b3343cf"' in trace for trace in traces):
        return "the connection is not of version 2"
    if case == "retry" and not any('"packet_type":"retry"' in trace for trace in traces):
        return "no Retry arrived"
    if case == "keyupdate" and not any('"trigger":"local_update"' in trace for trace in traces):
        return "the client did not update its keys"
    return None


def unsupported(hawser, role):
    environment = os.environ | {"HAWSER": hawser, "ROLE": role, "TESTCASE": "no-such-case", "REQUESTS": "https://x/"}
    return subprocess.run([SCRIPT], env=environment, capture_output=True, timeout=PATIENCE).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hawser", required=True, help="the command to test")
    parser.add_argument("cases", nargs="*", choices=[[], *CASES], help="only these cases")
    arguments = parser.parse_args()
    hawser = str(pathlib.Path(arguments.hawser).resolve())
    failed = 0
    with tempfile.TemporaryDirectory() as root:
        root = pathlib.Path(root)
        (root / "certs").mkdir()
        certificate(root / "certs")
        for case in arguments.cases or CASES:
            folder = root / case
            folder.mkdir()
            started = time.monotonic()
            problem = run_case(hawser, folder, case, CASES[case])
            print(f"{case:22} {'ok' if problem is None else problem}  ({time.monotonic() - started:.1f} s)", flush=True)
            failed += problem is not None
    for role in ("client", "server"):
        code = unsupported(hawser, role)
        print(f"{'unsupported ' + role:22} {'ok' if code == 127 else f'ended with {code}, expected 127'}")
        failed += code != 127
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
