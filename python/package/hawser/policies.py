"""The policies that come with Hawser, and how to choose one."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hawser import _native


@dataclass(frozen=True)
class Parameter:
    """What can be set of a policy."""

    name: str
    #: ``number``, ``integer``, ``duration``, ``rate``, ``flag``, ``choice`` or ``file``.
    kind: str
    #: Durations and rates are texts with their units: ``"20ms"``, ``"10Mbit"``.
    default: float | int | bool | str | None
    #: The range in words: ``0.1 to 0.95``.
    allowed: str
    unit: str = ""
    meaning: str = ""
    source: str = ""


@dataclass(frozen=True)
class Policy:
    """A policy, and the values of its parameters that differ from their defaults.

    Called with keyword arguments it returns one with these values: ``hawser.policies()["cubic"](beta=0.8)``. Its text,
    ``str(policy)``, is what scenarios and the command take.
    """

    #: ``scheduler``, ``congestion``, ``acks``, ``paths``, ``protection`` or ``policy`` (a set).
    kind: str
    name: str
    summary: str = ""
    source: str = ""
    aliases: tuple[str, ...] = ()
    #: Whether it is used where nobody chooses.
    default: bool = False
    parameters: tuple[Parameter, ...] = ()
    values: tuple[tuple[str, Any], ...] = field(default=())

    def __call__(self, **values: Any) -> Policy:
        """The same with these values. Raises ``ValueError`` with the allowed range."""
        merged = dict(self.values) | values
        policy = Policy(
            self.kind, self.name, self.summary, self.source, self.aliases, self.default, self.parameters, tuple(merged.items())
        )
        _native.check_policy(self.kind, str(policy))
        return policy

    def __str__(self) -> str:
        written = (f"{name.replace('_', '-')}={_text(value)}" for name, value in self.values)
        return ",".join([self.name, *written])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{p.name}</td><td>{p.default}</td><td>{p.allowed}</td><td>{p.meaning}</td></tr>" for p in self.parameters
        )
        head = "<tr><th>parameter</th><th>default</th><th>allowed</th><th>meaning</th></tr>"
        return f"<p><b>{self}</b> ({self.kind}): {self.summary}</p>" + (f"<table>{head}{rows}</table>" if rows else "")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@cache
def _all() -> tuple[Policy, ...]:
    def policy(row: dict[str, Any]) -> Policy:
        parameters = tuple(Parameter(**parameter) for parameter in row.pop("parameters"))
        return Policy(**{**row, "aliases": tuple(row["aliases"])}, parameters=parameters)

    return tuple(policy(row) for row in _native.policies())


def policies(kind: str | None = None) -> dict[str, Policy]:
    """The policies of a kind by name; without a kind all: where kinds share a name the first of ``policy``, ``scheduler``, ``congestion``.

    Raises ``ValueError`` for a kind that does not exist.
    """
    kinds = list(dict.fromkeys(policy.kind for policy in _all()))
    if kind is not None and kind not in kinds:
        raise ValueError(f"no kind of policy {kind!r}: there are {', '.join(kinds)}")
    found: dict[str, Policy] = {}
    for policy in _all():
        if kind in (None, policy.kind):
            found.setdefault(policy.name, policy)
    return found
