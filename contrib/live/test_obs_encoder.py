#!/usr/bin/env python3
"""obs-encoder against a stand-in for OBS that speaks its WebSocket, version 5, with a password.

    test_obs_encoder.py
"""

import base64
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import unittest
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "obs-encoder"
loader = importlib.machinery.SourceFileLoader("obs_encoder", str(PROGRAM))
obs_encoder = importlib.util.module_from_spec(importlib.util.spec_from_loader("obs_encoder", loader))
sys.dont_write_bytecode = True
loader.exec_module(obs_encoder)

PASSWORD = "secret-of-obs"
SALT, CHALLENGE = "c2FsdA==", "Y2hhbGxlbmdl"


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


class StandIn:
    """OBS as far as obs-encoder sees it: written from protocol.md of obs-websocket 5."""

    def __init__(self, mode="Simple", streaming=True, pings=False):
        self.mode, self.streaming, self.pings = mode, streaming, pings
        self.profile, self.applied, self.requests = {"VBitrate": "2500"}, [], []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        stream, _ = self.listener.accept()
        with stream:
            self.talk(stream, stream.makefile("rb"))

    def talk(self, stream, reader):
        fields = {}
        for line in iter(reader.readline, b"\r\n"):
            name, _, value = line.decode().partition(":")
            fields[name.strip().lower()] = value.strip()
        assert fields["sec-websocket-protocol"] == "obswebsocket.json"
        accept = base64.b64encode(hashlib.sha1(fields["sec-websocket-key"].encode() + obs_encoder.ACCEPT).digest()).decode()
        stream.sendall(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode())
        hello = {"obsWebSocketVersion": "5.5.2", "rpcVersion": 1, "authentication": {"challenge": CHALLENGE, "salt": SALT}}
        self.send(stream, {"op": 0, "d": hello})
        identify = self.receive(reader)
        if identify is None:
            return None
        assert identify["op"] == 1 and identify["d"]["rpcVersion"] == 1
        if identify["d"].get("authentication") != digest(digest(PASSWORD + SALT) + CHALLENGE):
            return self.frame(stream, 0x88, struct.pack("!H", 4009) + b"Authentication failed.")
        self.send(stream, {"op": 2, "d": {"negotiatedRpcVersion": 1}})
        while True:
            message = self.receive(reader)
            if message is None:
                return None
            if self.pings:
                self.frame(stream, 0x89, b"are you there")
                # An event that nobody asked for, in two frames.
                event = json.dumps({"op": 5, "d": {"eventType": "ExitStarted", "eventIntent": 1}}).encode()
                self.frame(stream, 0x01, event[:9])
                self.frame(stream, 0x80, event[9:])
            self.answer(stream, message["d"])

    def answer(self, stream, asked):
        kind, data = asked["requestType"], asked.get("requestData") or {}
        self.requests.append(kind)
        result, found = True, None
        if kind == "GetProfileParameter":
            value = self.mode if data["parameterName"] == "Mode" else self.profile.get(data["parameterName"])
            default = {"ABitrate": "160"}.get(data["parameterName"])
            found = {"parameterValue": value, "defaultParameterValue": default}
        elif kind == "SetProfileParameter":
            assert data["parameterCategory"] == "SimpleOutput" and isinstance(data["parameterValue"], str)
            self.profile[data["parameterName"]] = data["parameterValue"]
        elif kind == "GetStreamStatus":
            found = {"outputActive": self.streaming}
        elif kind == "StopStream":
            result, self.streaming = self.streaming, False
        elif kind == "StartStream":
            result, self.streaming = not self.streaming, True
            # OBS reads it here, and only here.
            self.applied.append(int(self.profile["VBitrate"]))
        status = {"result": result, "code": 100 if result else 501}
        response = {"requestType": kind, "requestId": asked["requestId"], "requestStatus": status}
        if found is not None:
            response["responseData"] = found
        self.send(stream, {"op": 7, "d": response})

    def frame(self, stream, first, payload):
        length = bytes([len(payload)]) if len(payload) < 126 else b"\x7e" + struct.pack("!H", len(payload))
        stream.sendall(bytes([first]) + length + payload)

    def send(self, stream, message):
        self.frame(stream, 0x81, json.dumps(message).encode())

    def receive(self, reader):
        while True:
            head = reader.read(2)
            if len(head) < 2:
                return None
            assert head[1] & 0x80, "a client masks"
            length = head[1] & 0x7F
            if length == 126:
                (length,) = struct.unpack("!H", reader.read(2))
            mask, payload = reader.read(4), reader.read(length)
            payload = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
            if head[0] & 0x0F == 0xA:
                assert payload == b"are you there"
                continue
            return json.loads(payload)


def told(lines):
    """A publisher that says these lines and ends."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        stream, _ = listener.accept()
        with stream:
            for line in lines:
                stream.sendall(json.dumps({"bit_rate": line}).encode() + b"\n")
                # Of several at once only the newest counts; what is tested comes out the same then.
                threading.Event().wait(0.3)

    threading.Thread(target=serve, daemon=True).start()
    return f"127.0.0.1:{listener.getsockname()[1]}"


def run(stand_in, lines, *more, password=PASSWORD):
    environment = {name: value for name, value in os.environ.items() if name != "OBS_WEBSOCKET_PASSWORD"}
    if password is not None:
        environment["OBS_WEBSOCKET_PASSWORD"] = password
    command = [sys.executable, str(PROGRAM), "--obs", f"127.0.0.1:{stand_in.port}", *more, told(lines)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


class Test(unittest.TestCase):
    def test_bit_rate_is_set_and_stream_restarted(self):
        stand_in = StandIn()
        ended = run(stand_in, [2_000_000])
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertEqual(stand_in.applied, [1720])
        self.assertIn("1720 kbit/s: the stream was started again", ended.stdout)
        self.assertTrue(stand_in.streaming)

    def test_small_changes_interrupt_nothing(self):
        stand_in = StandIn(pings=True)
        ended = run(stand_in, [3_000_000, 3_100_000, 2_000_000])
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertEqual(stand_in.applied, [1720])

    def test_without_restart_the_next_start_has_it(self):
        for streaming, more in ((True, ["--no-restart"]), (False, [])):
            stand_in = StandIn(streaming=streaming)
            ended = run(stand_in, [2_000_000], *more)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertEqual((stand_in.applied, stand_in.profile["VBitrate"]), ([], "1720"))
            self.assertNotIn("StopStream", stand_in.requests)

    def test_passwords(self):
        for password, words in (("wrong-one", "does not accept the password"), (None, "wants a password")):
            ended = run(StandIn(), [2_000_000], password=password)
            self.assertEqual(ended.returncode, 1)
            self.assertIn(words, ended.stderr)
            self.assertNotIn("wrong-one", ended.stderr + ended.stdout)

    def test_advanced_mode_is_said(self):
        ended = run(StandIn(mode="Advanced"), [2_000_000])
        self.assertEqual(ended.returncode, 1)
        self.assertIn("advanced output mode", ended.stderr)

    def test_what_is_no_obs_is_said(self):
        listener = socket.create_server(("127.0.0.1", 0))

        def serve():
            stream, _ = listener.accept()
            with stream:
                stream.sendall(b"HTTP/1.1 404 Not Found\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()

        class Other:
            port = listener.getsockname()[1]

        ended = run(Other, [2_000_000])
        self.assertEqual(ended.returncode, 1)
        self.assertIn("404", ended.stderr)

    def test_when_a_change_is_worth_it(self):
        plan = obs_encoder.Plan()
        self.assertEqual(plan.look(3000, 0.0), 3000)
        # Down at once, but not twice in five seconds.
        self.assertEqual(plan.look(2400, 6.0), 2400)
        self.assertIsNone(plan.look(1000, 8.0))
        self.assertEqual(plan.look(1000, 11.0), 1000)
        # Up when it has fitted for twenty seconds.
        self.assertIsNone(plan.look(1400, 20.0))
        self.assertIsNone(plan.look(1400, 39.0))
        self.assertIsNone(plan.look(1200, 39.5))
        self.assertIsNone(plan.look(1400, 40.0))
        self.assertEqual(plan.look(1500, 60.0), 1500)

    def test_answer_is_that_of_the_protocol(self):
        asked = {"salt": "lM1GncleQOaCu9lT1yeUZhFYnqhsLLP1G5lAGo3ixaI=", "challenge": "+IxH4CnCiqpX1rM9scsNynZzbOe4KhDeYcTNS3PDaeY="}
        self.assertEqual(obs_encoder.answer("supersecretpassword", asked), "1Ct943GAT+6YQUUX47Ia/ncufilbe6+oD6lY+5kaCu4=")


if __name__ == "__main__":
    # Stand-ins end with the process.
    unittest.main(warnings="ignore")
