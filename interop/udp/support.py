"""What the cases stand on: processes with a time limit, certificates, files, and the list of results."""

import base64
import contextlib
import hashlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import time

STEP_SECONDS = 120
START_SECONDS = 20


class Failed(Exception):
    """A case did not end as it must."""


class Missing(Exception):
    """The peer of a case is not installed."""


def expect(what, found, wanted):
    """Fails the case when `found` is not `wanted`."""
    if found != wanted:
        raise Failed(f"{what}: expected {wanted!r}, found {found!r}")


def sha256(content):
    """In hex, of bytes or of the file at a path."""
    return hashlib.sha256(content if isinstance(content, bytes) else content.read_bytes()).hexdigest()


def clean_environment():
    """Without the variables that would change what `hawser` does."""
    ours = {"SSLKEYLOGFILE", "QLOGDIR", "HAWSER_SCHEDULER", "HAWSER_CONGESTION", "HAWSER_CC"}
    return {name: value for name, value in os.environ.items() if name not in ours}


def run(command, timeout=STEP_SECONDS, code=0):
    """Runs a command to its end; what it wrote to standard output."""
    command = [str(word) for word in command]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(),
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        # A browser has children: its whole group ends.
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        raise Failed(f"no end after {timeout} s: {shown(command)}\n{tail(errors)}") from None
    if process.returncode != code:
        said = tail(errors)
        raise Failed(f"exit code {process.returncode} instead of {code}: {shown(command)}\n{said}")
    return output


def shown(command, most=600):
    """A command for people, who need not see all of thousands of names."""
    line = " ".join(command)
    return line if len(line) <= most else f"{line[:most]} ..."


def tail(text):
    """The last lines of what a program said."""
    return "\n".join((text or b"").decode(errors="replace").strip().splitlines()[-8:])


class Process:
    """A program in the background; its standard error goes to a file."""

    def __init__(self, command, log):
        self.log = log
        with open(log, "wb") as errors:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=clean_environment(),
            )

    def greeting(self):
        """The JSON line with which a server says that it listens, and where."""
        selector = selectors.DefaultSelector()
        selector.register(self.process.stdout, selectors.EVENT_READ)
        line = self.process.stdout.readline() if selector.select(START_SECONDS) else b""
        if not line:
            raise Failed(f"the server did not start\n{tail(self.log.read_bytes())}")
        return json.loads(line)

    def interrupt(self):
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"does not stop after SIGINT\n{tail(self.log.read_bytes())}") from None

    def stop(self):
        """Ends it, whatever it is doing."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def server(command, log):
    """A server for the length of a block; its greeting."""
    process = Process(command, log)
    try:
        yield process.greeting()
    finally:
        process.stop()


def wait_for(what, condition, seconds=START_SECONDS):
    """Waits until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Failed(f"waited {seconds} s in vain for {what}")
        time.sleep(0.02)


class Certificates:
    """An authority, and a server's certificate for localhost, for one run; with as many further names, to make it larger."""

    def __init__(self, folder, names=0):
        folder.mkdir()
        self.authority, self.chain, self.key = folder / "ca.pem", folder / "server.pem", folder / "server.key"
        authority_key, request, extensions = folder / "ca.key", folder / "server.csr", folder / "extensions"
        new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        more = "".join(f",DNS:name-{number}.interop.invalid" for number in range(names))
        extensions.write_text(
            f"subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1,IP:10.99.0.1{more}\nbasicConstraints=critical,CA:FALSE\n"
            "keyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\n"
            "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
        )
        run(
            ["openssl", "req", "-x509", *new_key, "-days", "2", "-subj", "/CN=Hawser interop authority"]
            + ["-addext", "keyUsage=critical,keyCertSign", "-keyout", authority_key, "-out", self.authority]
        )
        run(["openssl", "req", *new_key, "-subj", "/CN=localhost", "-keyout", self.key, "-out", request])
        run(
            ["openssl", "x509", "-req", "-in", request, "-days", "2", "-CA", self.authority, "-CAkey", authority_key]
            + ["-CAcreateserial", "-extfile", extensions, "-out", self.chain]
        )
        public = run(["openssl", "pkey", "-in", self.key, "-pubout", "-outform", "DER"])
        self.pin = base64.b64encode(hashlib.sha256(public).digest()).decode()


def browser():
    """The command of Chromium, under whichever name it is there."""
    return next(filter(shutil.which, ["chromium", "chromium-browser", "google-chrome"]), "chromium")


def browser_options(profile, address, port, pin):
    """For Chromium that speaks HTTP/3 to https://localhost:PORT/, which is at this address, believes this key, and prints the
    page. With a name, because it takes an IPv6 address for no origin."""
    return [
        "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions",
        "--no-default-browser-check", "--no-pings", "--disable-dev-shm-usage",
        # Nothing but this server exists for it.
        f"--host-resolver-rules=MAP localhost {address}, MAP * ~NOTFOUND",
        f"--user-data-dir={profile}",
        f"--origin-to-force-quic-on=localhost:{port}",
        f"--ignore-certificate-errors-spki-list={pin}",
        "--dump-dom",
    ]  # fmt: skip


class Results:
    """One line per case, and the sum of them."""

    def __init__(self, only, allow_missing):
        self.only, self.allow_missing = only, allow_missing
        self.passed, self.failed, self.skipped = 0, 0, 0

    def case(self, name, test):
        """Runs one case; what it returns is printed next to its name."""
        if self.only not in name:
            return
        started = time.monotonic()
        try:
            told = test() or ""
            verdict = "ok"
            self.passed += 1
        except Missing as missing:
            verdict, told = ("skip", missing) if self.allow_missing else ("MISSING", missing)
            self.skipped += self.allow_missing
            self.failed += not self.allow_missing
        except Exception as failure:  # A case that breaks must not hide the others.
            verdict, told = "FAILED", failure if isinstance(failure, Failed) else repr(failure)
            self.failed += 1
        print(f"{verdict:<7} {time.monotonic() - started:5.1f} s  {name:<58} {told}", flush=True)
