"""Figures of what the machine printed: a line for each moment (docs/wifi.md has the table)."""

import collections
import datetime
import json
import math
import re

ADDRESS = re.compile(r"\[([^]]+)\] (Deleted )?\d+: \S+\s+inet ([0-9.]+)")
# What each stage has to print: each of these keys, and values that match as a whole.
WANTED = {
    "roam": {"same": "yes", "roamed": "yes", "dead_one_tried": "no"},
    "eap": {"PEAP": "yes", "TLS": "yes"},
    "lease": {
        "resolved": r"10\.9\.9\.9", "portal.test": r"10\.9\.9\.80", "mtu": "1400", "route": r"10\.1\.0\.2", "default": r"10\.1\.0\.1",
        "public_route": "refused", "resolved_after": "", "mtu_after": "1500", "routes_after": "0", "file": r"10\.9\.9\.9",
        "file_after": r"192\.0\.2\.1", "random_mac": "yes", "server_knows": "yes", "ipv6": "fd00:1:.+",
    },
    "unit": {
        "attached": "yes", "state": "active", "user": "hawser-wifi", "name_server": r"10\.9\.9\.9", "after_kill": "yes",
        "stopped": "inactive", "address_after": "", "name_server_after": "",
    },
    "manager": {"nmcli": "yes", "file": "yes", "state": "10unmanaged", "addresses": "1", "unit": "active"},
}


def fields(words):
    """Returns the `key=value` words of a line."""
    return dict(word.split("=", 1) for word in words if "=" in word)


def quantile(values, share):
    """Returns the value that this share of the values does not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]


class Results:
    """What came so far."""

    def __init__(self):
        self.visits, self.authentications, self.addresses = [], [], []
        self.attempts, self.lines, self.failures, self.is_over = {}, [], [], False

    def add(self, line):
        """Takes a line."""
        word, _, rest = line.partition(" ")
        words = rest.split()
        match word:
            case "mark" if "begin" in words:
                self.visits.append({**fields(words), "begin": float(fields(words)["at"]), "end": math.inf})
            case "mark" if self.visits:
                self.visits[-1]["end"] = float(fields(words)["at"])
            case "wpa" if "authenticate" in words:
                self.authentications.append(float(fields(words)["at"]))
            case "address":
                if found := ADDRESS.search(rest):
                    at = datetime.datetime.fromisoformat(found[1]).replace(tzinfo=datetime.timezone.utc).timestamp()
                    self.addresses.append((at, found[2] is not None))
            case "attempt":
                kind, _, record = rest.partition(" ")
                self.attempts.setdefault(kind, []).append(json.loads(record))
            case "failed":
                self.failures.append(rest)
            case "over":
                self.is_over = True
            case "booted" | "roam" | "eap" | "lease" | "unit" | "manager" | "stage":
                self.lines.append(line)

    def times(self, visit):
        """Returns the time of a visit up to its address, and that since the authentication which led to it; None without an address."""
        is_gone = visit["visit"] == "first"
        for at, is_deletion in self.addresses:
            if not visit["begin"] <= at <= visit["end"]:
                continue
            if is_deletion:
                is_gone = True
            elif is_gone:
                before = [start for start in self.authentications if visit["begin"] <= start <= at]
                return at - visit["begin"], at - before[-1] if before else math.nan
        return None

    def table(self):
        """Returns the lines of the table of attachments."""
        rows = {}
        for visit in self.visits:
            rows.setdefault((visit["visit"], visit["server"], visit["client"]), []).append(self.times(visit))
        lines = ["| visit | DHCP server | client | attached | to an address, s: p50 | p90 | since authentication, s: p50 | p90 |",
                 "|---|---|---|---|---|---|---|---|"]
        for (visit, server, client), all_times in rows.items():
            times = [one for one in all_times if one is not None]
            cells = [visit, server, client, f"{len(times)} of {len(all_times)}"]
            for part in range(2):
                values = [one[part] for one in times]
                cells += [f"{quantile(values, share):.2f}" if values else "-" for share in (0.5, 0.9)]
            lines.append("| " + " | ".join(cells) + " |")
        return lines if rows else []

    def phases(self):
        """Returns the lines of the table of phases, by Hawser's own records."""
        names = ("scan", "authenticate", "associate", "eap", "handshake", "dhcp")
        lines = ["| `hawser wifi attach`, ms | attached | failed in | " + " | ".join(f"{name}: p50, p90" for name in names) + " |",
                 "|---|---|---|" + "---|" * len(names)]
        for kind, attempts in self.attempts.items():
            successful = [attempt["phases_ms"] for attempt in attempts if not attempt.get("failed_in")]
            failed = collections.Counter(attempt["failed_in"] for attempt in attempts if attempt.get("failed_in"))
            cells = [kind, str(len(successful)), ", ".join(f"{phase}: {count}" for phase, count in failed.items()) or "-"]
            for name in names:
                values = [phases[name] for phases in successful if phases.get(name) is not None]
                cells.append(", ".join(f"{quantile(values, share):.0f}" for share in (0.5, 0.9)) if values else "-")
            lines.append("| " + " | ".join(cells) + " |")
        return lines if self.attempts else []

    def text(self):
        """Returns everything for a reader."""
        return "\n".join([*self.lines, *self.table(), *self.phases(), *(f"FAILED: {text}" for text in self.failures)])

    def problems(self, asked):
        """Returns what did not hold."""
        problems = list(self.failures)
        if not self.is_over:
            problems.append("the machine stopped before its end")
        for stage in asked.stages:
            problems += self.missing(stage)
        if any(self.times(visit) is None for visit in self.visits):
            problems.append("a visit without an address")
        return problems

    def missing(self, stage):
        """Returns what a stage did not print, or printed with another value."""
        found = [fields(line.split()) for line in self.lines if line.startswith(f"{stage} ")]
        problems = []
        for key, wanted in WANTED.get(stage, {}).items():
            values = [line[key] for line in found if key in line]
            if not values or any(re.fullmatch(wanted, value) is None for value in values):
                problems.append(f"{stage}: {key} is {' and '.join(values) or 'absent or empty'}, expected {wanted or 'nothing'}")
        return problems
