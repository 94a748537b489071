#!/usr/bin/env python3
"""Writes the seeds of the targets for what strangers say to applications: corpus/{relay,vr360,measure,gateway,wifi,fields}.

    fuzz/seeds.py

The first byte of each input chooses a reader; src/TARGET.rs says which, and what follows it. Seeds are small and made by hand: one for each
form of each message. What the fuzzer found lies next to them, and is left alone.
"""

import json
import struct
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"


def u16(number):
    return struct.pack(">H", number)


def u24(number):
    return struct.pack(">I", number)[1:]


def u32(number):
    return struct.pack(">I", number)


def short(data):
    """Bytes behind their length, as scripts have them."""
    return bytes([len(data)]) + data


def save(target, seeds):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in seeds.items():
        (folder / name).write_bytes(data)


# RTMP: values of AMF 0, and messages as chunks of one chunk stream.


def text(value):
    return b"\x02" + u16(len(value)) + value.encode()


def number(value):
    return b"\0" + struct.pack(">d", value)


def thing(properties):
    named = b"".join(u16(len(name)) + name.encode() + value for name, value in properties.items())
    return b"\x03" + named + b"\0\0\x09"


NULL = b"\x05"


def message(kind, payload, time=0, stream=3, of=0):
    chunk = bytes([stream]) + u24(min(time, 0xFFFFFF)) + u24(len(payload)) + bytes([kind]) + struct.pack("<I", of)
    extended = u32(time) if time >= 0xFFFFFF else b""
    pieces = [payload[at : at + 128] for at in range(0, len(payload), 128)] or [b""]
    return chunk + extended + (bytes([0xC0 | stream]) + extended).join(pieces)


def command(*values):
    return message(20, b"".join(values))


CONNECT = command(text("connect"), number(1), thing({"app": text("live"), "tcUrl": text("rtmp://h/live")}))
PUBLISH = command(text("publish"), number(5), NULL, text("key"), text("live"))
CREATE = command(text("createStream"), number(4), NULL)
HELLO = b"\x03" + bytes(range(256)) * 12
PICTURE = bytes.fromhex("1701000028 00000005 65010203 04".replace(" ", ""))
AVC = bytes.fromhex(
    "1700000000" "0164000dffe1001a6764000dacd941519e226c0440000003004000000c83c50a658001000468ef8fcbfdf8f800"
)


def part(kind, time, data):
    return bytes([kind]) + u24(len(data)) + u24(time) + bytes(4) + data + u32(len(data) + 11)


def status(code, level="status"):
    information = {"level": text(level), "code": text(code), "description": text("why")}
    return command(text("onStatus"), number(0), NULL, thing(information))


def rtmp():
    agreed = {
        "tags": message(18, b"\x02\0\x0d@setDataFrame\x02\0\x0aonMetaData", stream=4) + message(9, AVC, 0, 6) + message(9, PICTURE, 40, 6),
        "headers_that_leave_out_what_is_known": message(8, b"\xaf\x01\x21", 20, 4) + b"\x84\0\0\x17\xaf\x01\x22\xc4\xaf\x01\x23",
        "times_of_32_bits": message(9, PICTURE * 20, 0x01000005, 6),
        "chunks_of_another_size": message(1, u32(64), stream=2) + message(9, bytes(64), 0, 6),
        "aggregate": message(22, part(9, 10, PICTURE) + part(8, 20, b"\xaf\x01\x21") + part(15, 20, b"x"), 5000),
        "abort_and_ping": message(2, u32(6), stream=2) + message(4, u16(6) + u32(7), stream=2),
        "many_chunk_streams": b"".join(message(9, b"", 0, stream) for stream in range(3, 20)) + b"\0\0" + b"\x01\0\0",
        "commands_that_nobody_needs": command(text("play"), number(0), NULL, text("x")) + command(b"\x0a", u32(3), NULL * 3) + command(b"\x11\0"),
        "end": command(text("FCUnpublish"), number(6), NULL, text("key")) + command(text("deleteStream"), number(7), NULL, number(1)),
        "publishes_again": PUBLISH,
        "a_message_that_is_too_large": b"\x06\0\0\0\xff\xff\xff\x09\x01\0\0\0",
        "chunks_of_no_size": message(1, u32(0), stream=2),
    }
    seeds = {f"encoder_{name}": b"\0\x01" + data for name, data in agreed.items()}
    seeds["encoder_from_the_beginning"] = b"\0\0" + HELLO + CONNECT + CREATE + PUBLISH + message(9, AVC, 0, 6)
    seeds["encoder_that_is_none"] = b"\0\0GET / HTTP/1.1\r\n\r\n"
    result = command(text("_result"), number(1), NULL, NULL)
    stream = command(text("_result"), number(4), NULL, number(1))
    seeds["service_that_accepts"] = b"\x01\x02" + result + stream + status("NetStream.Publish.Start")
    seeds["service_that_refuses"] = b"\x01\x02" + result + command(text("_error"), number(4), NULL, thing({"code": text("x")}))
    seeds["service_that_ends"] = b"\x01\x01" + message(4, u16(6) + u32(7), stream=2) + status("NetStream.Publish.Failed", "error")
    seeds["service_from_the_beginning"] = b"\x01\0" + HELLO + result
    tags = [(1, 0, AVC), (1, 40, PICTURE), (0, 0x01234567, b"\xaf\x01\x21" * 60), (2, 0, text("onMetaData")), (1, 5, b"")]
    seeds["honest"] = b"\x02\x40" + b"".join(bytes([kind]) + u32(time) + short(data) for kind, time, data in tags)
    return seeds


def flv():
    def tag(kind, time, data, size=None):
        return part(kind, time, data)[: len(data) + 11] + u32(len(data) + 11 if size is None else size)

    head = b"FLV\x01\x05\0\0\0\x09\0\0\0\0"
    whole = head + tag(18, 0, text("onMetaData")) + tag(9, 0, AVC) + tag(9, 0, PICTURE) + tag(8, 20, b"\xaf\x01\x21")
    enhanced = [b"\x90hvc1\x01", b"\x93hvc1\0\0\0\x02\x26\x01", b"\xa1av01\x12\0", b"\x96\x10av01\x01..", b"\xa7\x02\0\0\x01\x01hvc1\0\0\0."]
    sound = [b"\x90OpusOpusHead\x01\x02", b"\x91Opus\xfc", b"\x95\x01Opus\0x", b"\x2f\xff"]
    return {
        "flv": b"\x03" + whole,
        "flv_enhanced": b"\x03" + head + b"".join(tag(9, 0, data) for data in enhanced) + b"".join(tag(8, 0, data) for data in sound),
        "flv_cut_short": b"\x03" + whole[:-9],
        "flv_size_that_lies": b"\x03" + head + tag(9, 0, PICTURE, 7),
        "flv_size_left_empty": b"\x03" + head + tag(9, 0, PICTURE, 0) + tag(9, 40, PICTURE, 0),
        "flv_unknown_tag": b"\x03" + head + tag(15, 0, b"x"),
        "flv_too_large": b"\x03" + head + b"\x09\xff\xff\xff" + bytes(7),
    }


def ts():
    """Operations of src/relay/ts.rs."""
    scripts = {
        "honest": b"\0\0\x0f\0\x10\x0f\0\x20\x0f",
        "a_packet_is_missing": b"\0\0\x06\0\x08\x0f",
        "a_packet_twice": b"\0\0\x06\0\x06\x0f",
        "noise_between_packets": b"\0\0\x03\x07\x04\x47\x01\x02\x03\0\x04\x0f",
        "a_broken_packet": b"\0\0\x05\x02\x03\xff\0\x06\x0f",
        "no_sync": b"\x07" + short(b"x" * 200) + b"\0\0\x03",
        "a_table_of_the_script": b"\x04\x04" + short(bytes.fromhex("0000b00d0001c100000001f0002ab104b2")),
        "sound_of_the_script": b"\0\0\x02\x04\x07" + short(bytes.fromhex("000001c000168480052100010001") + bytes.fromhex("fff15080017ffc") * 2),
        "a_picture_of_the_script": b"\0\0\x02\x04\x06" + short(bytes.fromhex("000001e0000084c00a3100010001110001000100000001 09f0 00000001 6501".replace(" ", ""))),
    }
    seeds = {f"ts_{name}": b"\x04" + script for name, script in scripts.items()}
    return seeds | {"ts_datagrams": b"\x05" + scripts["honest"], "ts_datagrams_of_noise": b"\x05" + scripts["noise_between_packets"]}


def units():
    """Operations of src/relay/units.rs."""
    picture = b"\0\x01\0" + short(PICTURE)
    return {
        "units": b"\x06\0\x04" + picture + b"\x04\x02\x02\0" + short(b"\xaf\x01\x21") + b"\x04\x03\x03\0" + short(text("onMetaData")),
        "units_with_a_gap": b"\x06\0\x03\0\x01\x04" + short(b"\x27" + PICTURE[1:]) + b"\x04" + picture,
        "units_with_a_gap_where_none_may_be": b"\x06\0\x07\x01\0",
        "units_with_a_gap_over_two": b"\x06\0\x03\0\x01\x04" + short(b"\x27" + PICTURE[1:]) + b"\x07\x00\x40\x04" + picture,
        "units_of_the_script": b"\x06\0\x01" + short(u32(1) + b"\x01" + u32(7) + bytes(8) + b"\x09" + bytes(16) + b"\0\x05" + b"\x17\x01\0\0\0ab"),
        "units_of_another_version": b"\x06\x01" + short(b"HWLV\x01" + bytes(8)),
    }


def life():
    """Operations of src/relay/life.rs."""
    begin = b"\0\0\0\x03"
    return {
        "life": b"\x07\x02" + begin + b"\x01\0\x40\x28\x01\x40\x40\x28\x01\x03\x10\x05\x05\x60\x17\x07\x01",
        "life_of_many_small_tags": b"\x07\0" + begin + b"\x01\0\x40\x28" + b"\x01\x43\x01\x01\x05\xff\0" * 4 + b"\x07\x01",
        "life_with_a_lag": b"\x07\x03" + begin + b"\x01\0\xff\x28\x01\x40\xff\x28\x05\xff\x01\x06\x10\0\x05\x40\x05\x07\x03\x01\0\xff\x28",
        "life_of_sound_alone": b"\x07\x02\0\x03\x01\x03\x10\x17\x05\xff\x17\x07\x01",
        "life_of_sound_behind_a_picture_that_does_not_come": b"\x07\x02" + begin + b"\x01\x03\x10\x17\x05\xff\x17\x05\xff\x17\x05\xff\x17",
        "life_of_two_encoders": b"\x07\x02" + begin + b"\x01\0\x40\x28\x07\0\0\x01\0\x04\x01\x01\x40\x28\x01\x04\x10\x17",
        "life_of_other_codecs": b"\x07\x02\0\x02\0\x04\x01\x02\x40\x28\x01\x42\x40\x28\x01\x04\x10\x17\0\x05",
        "life_of_any_tags": b"\x07\x02" + begin + b"\x04\x01" + u32(40) + short(PICTURE) + b"\x04\x01" + u32(0xFFFFFFF0) + short(b"\x96\x10hvc1\x01..") + b"\x05\x20\x07",
        "life_of_headers_that_repeat": b"\x07\x02" + begin + b"\x05\xff\0\0\x05\x05\xff\0\x07\x01",
    }


def srt():
    """Operations of src/relay/srt.rs: induction, conclusion, data, time."""
    connect = b"\x01\0\x02\0\0"
    return {
        "srt_an_encoder_calls": b"\x08\0" + connect + b"\x04\0\0\0" + short(b"\x47" + bytes(187)) + b"\x07\0\x20\x04\0\0\x01" + short(b"\x47\x01") + b"\x07\0\xff" * 3,
        "srt_packets_are_missing": b"\x08\0" + connect + b"\x04\0\0\x05" + short(b"x") + b"\x04\0\x0f\xff" + short(b"x") + b"\x07\0\x10\x04\0\0\x02" + short(b"x") + b"\x07\0\x40",
        "srt_jump_beyond_the_buffer": b"\x08\0" + connect + b"\x04\0\xff\xff" + short(b"x") + b"\x04\0\0\x02" + short(b"x"),
        "srt_two_encoders": b"\x08\0" + connect + b"\x01\x01\x02\x01\0\x04\x01\0\0" + short(b"x") + b"\x04\0\0\0" + short(b"x"),
        "srt_another_key": b"\x08\0\x01\0\x02\0\x01",
        "srt_no_cookie": b"\x08\0\x02\0\0\x01\0\x02\0\x80",
        "srt_without_the_passphrase": b"\x08\x01" + connect,
        "srt_extensions_of_the_script": b"\x08\0\x01\0\x03\0" + short(u16(1) + u16(3) + u32(0x10500) + u32(0xBF) + u32(0x780078) + u16(5) + u16(1) + b"\0yek"),
        "srt_acks_naks_and_an_end": b"\x08\0" + connect + b"".join(b"\x06\0" + short(u16(0x8000 | kind) + bytes(2) + u32(1) + bytes(8) + u32(1000) + u32(1002)) for kind in (1, 2, 3, 6, 7, 5)),
        "srt_key_material": b"\x08\x01\x01\0\x03\0" + short(u16(1) + u16(3) + u32(0x10500) + u32(0xBF) + u32(0x780078) + u16(3) + u16(18) + bytes.fromhex("122029010000000002000200000000040412") + bytes(54)),
        "srt_a_call": b"\x09\0\x01\x02\x04\0\0" + short(b"\x47" + bytes(187)) + b"\x07\x20\x06" + short(u16(0x8005) + bytes(14)),
        "srt_a_call_that_is_refused": b"\x09\0\x01\x03" + short(b"") + b"\x06" + short(bytes(12)),
        "srt_a_call_that_nobody_answers": b"\x09\0" + b"\x07\xff" * 4,
        "srt_a_call_with_a_passphrase": b"\x09\x01\x01\x02\x0a",
    }


def words():
    return {
        "words_request": b"\x0a\0" + b'{"publish":"a-key"}',
        "words_answer": b"\x0a\x01" + b'{"refused":"no such key"}',
        "words_stream_id": b"\x0a\x02#!::m=publish,r=live/a-key",
        "words_playlist": b"\x0a\x03_HLS_msn=7&_HLS_part=2",
        "words_name": b"\x0a\x04a-key.ts",
        "words_hook": b"\x0a\x05HTTP/1.1 204 No Content\r\n\r\n",
    }


def vr360():
    wish = json.dumps({"chunk": 3, "left_ms": 700, "view": [1, 2, 3], "margin": [4, 5]}, separators=(",", ":")).encode()
    film = b'{"film":{"columns":12,"rows":6,"width":960,"height":480,"rate":2.5,"chunks":20}}'
    carried = b'{"carried":{"chunk":0,"tile":1,"paths":[[0,400],[2,600]]}}'
    jpeg = bytes.fromhex("ffd8fffe0004ffd9ffda00030155ff00ffd012ffd9")
    return {
        "wishes": b"\0" + wish + b"\n\n" + wish.replace(b"3", b"4", 1) + b"\n",
        "wish_for_one_tile_again_and_again": b"\0" + wish.replace(b"1,2,3", b",".join([b"7"] * 300)) + b"\n",
        "wish_without_an_end": b"\0" + wish,
        "empty_lines": b"\0" + b"\n" * 70,
        "no_wish": b"\0" + b'{"chunk":1}\n',
        "script": b"\x01\x10\0" + b"\0\x01\x02\xbc\0\x20\0\x20\x10\0" + b"\x02\xff\x03\x05\x10" + b"\0\x01\x01\0\x10\x10\0\0\0\0" + b"\x02\xff",
        "script_of_large_pictures": b"\x01\xff\xff" + b"\0\x01\xff\xff\0\x3f\0\0\x3f\x40" * 4 + b"\x02\x01\x03\x40\xff\x02\xff",
        "script_of_many_chunks": b"\x01\0\x08" + b"".join(bytes([0, chunk]) + b"\xff\xff\0\x3f\x40\x40\x3f\0" for chunk in range(48)) + b"\x02\xff\x03\xff\xff",
        "said_film": b"\x02" + film,
        "said_carried": b"\x02" + carried,
        "player": b"\x03\0\x03\x40\0" + short(carried + b"\n") + b"\x02" + short(u32(0) + u16(1) + u32(3) + b"abc") + b"\x07\xff" * 20,
        "player_of_another_film": b"\x03\x01\0" + short(film + b"\n") + b"\x03\x40\x03\x40\x02" + short(u32(1) + u16(30) + u32(2) + b"ab") + b"\x07\xff",
        "player_who_is_told_of_two_films": b"\x03\0\0" + short(film + b"\n"),
        "head": b"\x04" + u32(70000) + u16(71) + u32(12345),
        "pictures": b"\x05" + jpeg * 2,
        "pictures_that_are_none": b"\x05" + jpeg + b"GIF89a",
    }


def measure():
    run = "0000000000000006"
    ids = {"id": f"0000000001-{run}", "run": run}
    configuration = {"controller": "cubic", "direction": "up", "flows": 2}
    samples = {"interval_ms": 100, "bytes": [1000] * 20, "packets_sent": [1] * 20, "packets_lost": [0] * 19 + [-1], "rtt_ms": [20.5, None]}
    measured = {"received_bytes": 20000, "packets_sent": 20, "packets_lost": 1, "min_rtt_ms": 19.25, "samples": samples}
    position = {"fixes": 2, "latitude": 44.5, "longitude": 11.25, "distance_m": 12.5, "speed_mps": 3.5, "bounds": [44.5, 11.25, 44.6, 11.3]}
    session = {
        "kind": "session", **ids, "interface": "wlan0", "address": "192.0.2.7", "association": 0, "attempt": 0, "unix": 1.7e9, "run_ms": 0.0,
        "configuration": configuration, "server": "198.51.100.1:5202", "first_packet_ms": 3.0, "last_packet_ms": 9999.0,
        "address_down_ms": 10000.0, "stopped_ms": 10001.0, "ok": True, "end": "address_gone",
        "flows": [{"index": 0, "began_ms": 1.0, "connected_ms": 30.5, **measured}],
        "radio": {"point": "02:00:5e:00:00:01", "channel": 6, "first_dbm": -60.0, "count": 3}, "position": position,
    }
    flow = {"kind": "server_flow", "id": f"0000000002-{run}", "session": ids["id"], "index": 0, "configuration": configuration, "unix": 1.7e9, "length_ms": 9e3, "client": "192.0.2.7:1", **measured}
    track = {"kind": "track", "id": f"0000000003-{run}", "run": run, "fixes": [[0.0, 44.5, 11.25, None], [1e3, 44.6, 11.3, 50.5]], "distance_m": 12.5}
    pool = {"controllers": ["cubic", "bbr"], "directions": ["up", "down"], "flows": [1, 16]}
    ran = {"kind": "run", "id": f"0000000004-{run}", "run": run, "unix": 1.7e9, "length_ms": 6e5, "ended": True, "version": "0.1.0", "pool": pool, "seed": 7, "interfaces": ["wlan0"]}
    request = {"flow": {"session": ids["id"], "index": 1, "configuration": configuration}}

    def line(value):
        return json.dumps(value, separators=(",", ":")).encode()

    records = {"session": session, "server_flow": flow, "track": track, "run": ran}
    most = json.loads(json.dumps(session).replace("20000", str(2**64 - 1)).replace("1000,", f"{2**64 - 1},"))
    seeds = {f"record_{name}": b"\x02" + line(record) for name, record in records.items()}
    return seeds | {
        "flow": b"\0" + line(request) + b"\nbytes that mean nothing",
        "flow_that_cannot_be": b"\0" + line(request).replace(b'"index":1', b'"index":2') + b"\n",
        "upload": b'\0"upload"\n' + line(track) + b"\n{}\n" + line(track) + b"\n",
        "upload_of_short_lines": b'\0"upload"\n' + b"\n" * 80,
        "answer": b"\x01" + b'"ready"',
        "refusal": b"\x01" + b'{"refused":"in words"}',
        "receipt": b"\x01" + b'{"stored":"0000000001-0000000000000006"}',
        "report": b"\x03" + b"\n".join(line(record) for record in records.values()) + b"\nno record\n",
        "report_of_two_interfaces": b"\x03" + line(session) + b"\n" + line({**session, "id": f"0000000009-{run}", "interface": "<i>", "run_ms": 2e4}),
        "report_of_forged_counters": b"\x03" + line(most),
        "pool": b"\x04\x07\x02" + line(pool),
        "id": b"\x05" + ids["id"].encode(),
        "gps": b"\x06" + b"".join(short(line({"class": "TPV", "mode": 3, "lat": 44.5 + at, "lon": 11.25, "altHAE": 50.1})) for at in range(3)) + short(b'{"class":"SKY"}'),
    }


def gateway():
    def field(which, value):
        return bytes([which]) + short(value)

    def request(how, uri, *fields):
        return b"\x03" + bytes([how]) + short(uri) + b"".join(fields)

    key = field(0, b"Bearer abcdefghijklmnop")
    question = bytes.fromhex("1234 0100 0001 0000 0000 0000".replace(" ", "")) + b"\x03www\x07example\x03org\0" + bytes.fromhex("00010001")
    answer = question[:2] + bytes.fromhex("8180000100020000 0000".replace(" ", "")) + question[12:]
    answer += bytes.fromhex("c00c00010001 0000003c 0004 c6336402".replace(" ", "")) + bytes.fromhex("c00c001c0001 0000003c 0010".replace(" ", "")) + bytes(15) + b"\x01"
    well_known = b"https://gateway/.well-known/hawser-gateway"
    return {
        "connect": b"\0CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\nfirst bytes",
        "connect_with_bare_lines": b"\0CONNECT [2001:db8::1]:80 HTTP/1.1\nX: y\n\nfirst bytes",
        "get": b"\0GET http://a/ HTTP/1.1\r\n\r\n",
        "socks_address": b"\x01\x05\x01\0\x05\x01\0\x01\x01\x02\x03\x04\0\x50rest",
        "socks_name": b"\x01\x05\x02\0\x02\x05\x01\0\x03\x0bexample.org\x01\xbb",
        "socks_udp": b"\x01\x05\x01\0\x05\x03\0\x01\0\0\0\0\x12\x34",
        "socks_with_a_password": b"\x01\x05\x01\x02",
        "socks_version_4": b"\x01\x04\x01\0\x50\x01\x02\x03\x04\0",
        "socks_datagram": b"\x02\0\0\0\x03\x01a\0\x35payload",
        "socks_datagram_of_ipv6": b"\x02\0\0\0\x04" + bytes(15) + b"\x01\0\x35payload",
        "request_for_tcp": request(0, b"example.org:443", key),
        "request_for_udp": request(0x10, b"https://gateway/.well-known/masque/udp/192.0.2.1/53/", key, field(2, b"?1")),
        "request_for_ip": request(0x20, b"https://gateway/.well-known/masque/ip/*/*/", key),
        "request_for_ip_elsewhere": request(0x30, b"https://gateway/", field(1, b"Basic abc")),
        "request_to_listen": request(1, well_known + b"/listen/udp/2001:db8::1/9000", key),
        "request_to_fetch": request(1, well_known + b"/fetch/" + b"0f" * 16, key),
        "request_to_fetch_udp": request(0x10 + 3, well_known + b"/fetch/" + b"0f" * 16, key),
        "request_of_nothing": request(0, b"a", key),
        "arrival": b"\x04" + bytes(range(16)) + b"[2001:db8::1%5]:65535",
        "hello": b"\x05" + b'{"gateway":"hawser/0.1.0","user":"a","tunnels":64,"protocols":["tcp","udp","ip"],"dns":["192.0.2.53"]}',
        "dns_question": b"\x06" + question,
        "dns_answer": b"\x06" + answer,
        "dns_name_that_refers_to_itself": b"\x06" + question[:12] + b"\xc0\x0c" + bytes.fromhex("00010001"),
    }


def wifi():
    mac = bytes([2, 0, 0, 0, 0, 7])

    def dhcp(kind, options, request=False):
        head = bytes([1 if request else 2, 1, 6, 0]) + u32(7) + bytes(4) + bytes(4) + bytes([10, 0, 0, 9]) + bytes(8) + mac + bytes(202)
        return head + bytes([99, 130, 83, 99, 53, 1, kind]) + options + b"\xff"

    times = bytes([51, 4]) + u32(3600) + bytes([58, 4]) + u32(1800) + bytes([54, 4, 10, 0, 0, 1])
    network = bytes([1, 4, 255, 255, 255, 0, 3, 4, 10, 0, 0, 1, 6, 8, 10, 0, 0, 1, 8, 8, 8, 8, 26, 2, 5, 120])
    routes = bytes([121, 14, 8, 10, 10, 0, 0, 1, 0, 10, 0, 0, 1, 32, 8, 8]) + bytes([121, 6, 8, 8, 10, 0, 0, 1])
    offer = dhcp(2, times + network + routes)
    segment = u16(67) + u16(68) + u16(8 + len(offer)) + u16(0) + offer
    frame = mac * 2 + b"\x08\0" + b"\x45\0" + u16(20 + len(segment)) + bytes(4) + b"\x40\x11\0\0\x0a\0\0\x01" + b"\xff" * 4 + segment

    def attribute(kind, value):
        return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)

    def netlink(kind, payload):
        return struct.pack("=IHHII", 16 + len(payload), kind, 0, 1, 0) + payload

    done = netlink(2, bytes(4) + bytes(16))
    station = attribute(6, mac) + attribute(21, attribute(7, b"\xc4") + attribute(8, attribute(5, struct.pack("=I", 866))))
    told = [netlink(16, bytes([1, 1, 0, 0]) + attribute(1, struct.pack("=H", 28))), done]
    told += [netlink(28, bytes([7, 1, 0, 0]) + attribute(38, struct.pack("=I", 2437))), done]
    told += [netlink(28, bytes([19, 1, 0, 0]) + station), netlink(3, bytes(4))]
    line = "02:00:5e:00:00:01\t2437\t-63\t[WPA2-EAP-CCMP][ESS]\tcaf\\xc3\\xa9 \\\"1\\\"\n"
    lease = {
        "net": {
            "lease": {"address": "10.0.0.9", "prefix": 24, "router": "10.0.0.1", "name_servers": ["10.0.0.1"], "mtu": 1400, "routes": [{"network": "10.1.0.0", "prefix": 16, "router": "10.0.0.1"}], "server": "10.0.0.1", "mac": [2, 0, 0, 0, 0, 7], "seconds": 3600, "renew_seconds": 1800},
            "since": 1700000000,
        }
    }
    ack = b"\x02\x09\x0e\x10"
    return {
        "offer": b"\0" + offer,
        "offer_in_a_frame": b"\0" + frame,
        "options_in_other_fields": b"\0" + dhcp(2, bytes([52, 1, 3]) + times),
        "discover": b"\0" + dhcp(1, b"", True),
        "client": b"\x01\0" + ack + ack + b"\x03\xff\xff",
        "client_that_is_refused": b"\x01\x01" + ack + b"\x82\x09\0\x3c" * 5,
        "client_and_options_of_the_script": b"\x01\0\0\x09" + short(times + network + routes) + b"\x04\x09" + short(times + network + routes),
        "client_and_a_network_of_half_the_internet": b"\x01\0\0\x09" + short(times + bytes([1, 4, 128, 0, 0, 0])) + ack,
        "client_that_nobody_answers": b"\x01\0" + b"\x03\x04\0" * 6,
        "kernel": b"\x02" + b"".join(bytes([0]) + short(message) for message in told) + bytes([12]) + short(b""),
        "kernel_that_refuses": b"\x02\0" + short(netlink(2, struct.pack("=i", -2) + bytes(16))),
        "scan": b"\x03" + ("bssid / frequency / signal level / flags / ssid\n" + line * 2).encode(),
        "configured": b"\x03" + b"network id / ssid / bssid / flags\n0\tnet\tany\t[CURRENT]\n",
        "status": b"\x03" + b"bssid=02:00:5e:00:00:01\nssid=net\nwpa_state=COMPLETED\naddress=02:00:00:00:00:07\n",
        "event": b"\x04<3>CTRL-EVENT-CONNECTED - Connection to 02:00:5e:00:00:01 completed [id=0 id_str=]",
        "event_of_a_name": b"\x04<3>SME: Trying to authenticate with 02:00:5e:00:00:01 (SSID='\\x1b[2J' freq=2437 MHz)",
        "leases": b"\x05" + json.dumps(lease).encode(),
    }


def fields():
    return {
        "request": b"\0GET /a?b=c HTTP/1.1\r\nHost: localhost:8080\r\nAccept: text/html\r\n\r\nmore",
        "request_of_two_hosts": b"\0GET / HTTP/1.1\r\nHost: [::1]\r\nhost: evil.example\r\n\r\n",
        "request_cut_short": b"\0GET / HTTP/1.1\r\nHost: loc",
        "request_of_another_version": b"\0GET / HTTP/2\r\n\r\n",
        "url": b"\x01https://example.org:8443/a/two words%21.txt?x=1#part",
        "url_of_ipv6": b"\x01https://[2001:db8::1]/%2e%2e",
        "redirect": b"\x02//h:4433/x?y#z",
        "redirect_below": b"\x02../c e",
        "redirect_elsewhere": b"\x02https://other:4433/y",
        "digest": b"\x03sha-512=:AAAA:, sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:;q=1",
        "lengths": b"\x0442\n42,42",
        "lengths_that_differ": b"\x0442\n43",
        "escapes": b"\x05a%20b%zz%C3%a9",
        "path": b"\x06/a/./b%20c/%ff",
        "path_that_leads_out": b"\x06/a/%2e%2e/b",
        "path_of_a_link": b"\x06/a/b\n../c",
        "range": b"\x07\x03\xe8bytes=0-499",
        "range_at_the_end": b"\x07\x03\xe8bytes=-300",
        "range_beyond_the_end": b"\x07\x03\xe8bytes=1000-99999999999999999999",
    }


save("relay", rtmp() | flv() | ts() | units() | life() | srt() | words())
save("vr360", vr360())
save("measure", measure())
save("gateway", gateway())
save("wifi", wifi())
save("fields", fields())
