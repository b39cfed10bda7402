# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a link between two datacenters may be like, as people write it, and as netlab-link has it.

A link is named by its two ends: two datacenters, or one and `outside`, where the hosts without a
location are. All that is not said of it is nothing: no delay, no limit, no loss.

    delay=50ms              one way: a round trip takes twice as long
    rate=1gbit              of all that passes, each way
    queue=100ms             what waits for a rate, in time or bytes (64kb); more is dropped
    loss=0.1%               by chance
    duplicate=0.3%          arrive twice, the second time later by
    duplicate_delay=3s
    flow_rate=100mbit       of each flow, beside the rate of all; its queue is as long
    sick=25%                a share of the paths that flows are dealt out to, by a hash of their
                            ports, falls ill: all is lost there, or
    sick_loss=5%            so much, or
    sick_rate=1mbit         each flow has so little
    sick_of=busiest         the flow that carries most by then is on such a path (or: any)
    sick_after=2s
    reset_after=3s          TCP connections of that age are reset as soon as they say something
    connections=20          more TCP connections than so many are not let through: their first
                            segments are lost, until one of the others ends or is silent for 60 s
    connection_rate=10      how many may begin in a second
    dead_after=10s          nothing passes, from then on,
    dead_for=5s             for so long

"after" counts from when the link got its settings. Neighbours are always found at once, as by a
router at the near end.
"""

import re
from dataclasses import dataclass, field

from netlab_lib.errors import UsageError

OUTSIDE = "outside"
_RATE_UNITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_TIME_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60}
_SIZE_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "kib": 1 << 10, "mib": 1 << 20}
_SECONDS_MAX = 3600


@dataclass
class Link:
    """One direction."""
    source: str
    sink: str
    settings: dict[str, str] = field(default_factory=dict)

    def document(self):
        return {"from": self.source, "to": self.sink, **self.settings}


def _number(text, units, what, example):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z%]+)", str(text).lower())
    if match is None or match.group(2) not in units:
        raise UsageError(f"{what}: \"{text}\" is none; give a number with "
                         f"{', '.join(units)}, as in {example}")
    return float(match.group(1)) * units[match.group(2)]


def _seconds(text, what):
    seconds = _number(text, _TIME_UNITS, what, "50ms")
    if seconds > _SECONDS_MAX:
        raise UsageError(f"{what}: {text} is too long; an hour is the most")
    return seconds


def _share(text, what):
    share = _number(text, {"%": 0.01}, what, "0.1%")
    if share > 1:
        raise UsageError(f"{what}: {text} is more than all; 100% is the most")
    return share


def _rate(text, what):
    rate = _number(text, _RATE_UNITS, what, "100mbit")
    if not 1000 <= rate <= 10**11:
        raise UsageError(f"{what}: {text} is out of range; give 1kbit to 100gbit")
    return rate


def _count(text, what):
    if not re.fullmatch(r"[1-9]\d{0,6}", str(text)):
        raise UsageError(f"{what}: \"{text}\" is none; give a whole number from 1")
    return int(text)


def _queue(text, what):
    units = {**_TIME_UNITS, **_SIZE_UNITS}
    amount = _number(text, units, what, "100ms or 64kb")
    timed = re.search(r"[a-z]+$", str(text).lower()).group() in _TIME_UNITS
    return ("queue_s" if timed else "queue_bytes"), amount


def _sick_of(text, what):
    if text not in ("busiest", "any"):
        raise UsageError(f"{what}: \"{text}\" is none; give busiest or any")
    return 1 if text == "busiest" else 0


_PARSERS = {
    "delay": ("delay_s", _seconds), "rate": ("rate_bit", _rate), "queue": (None, _queue),
    "loss": ("loss", _share), "duplicate": ("duplicate", _share),
    "duplicate_delay": ("duplicate_delay_s", _seconds), "flow_rate": ("flow_rate_bit", _rate),
    "sick": ("sick", _share), "sick_loss": ("sick_loss", _share),
    "sick_rate": ("sick_rate_bit", _rate), "sick_of": ("sick_busiest", _sick_of),
    "sick_after": ("sick_after_s", _seconds), "reset_after": ("reset_after_s", _seconds),
    "connections": ("connections", _count), "connection_rate": ("connection_rate", _count),
    "dead_after": ("dead_after_s", _seconds), "dead_for": ("dead_for_s", _seconds),
}
# What says nothing without another.
_NEEDS = {"duplicate_delay": "duplicate", "sick_loss": "sick", "sick_rate": "sick",
          "sick_of": "sick", "sick_after": "sick", "dead_after": "dead_for"}


def numbers(settings, what):
    """{name: number} as netlab-link has them; UsageError names what is wrong."""
    found = {}
    for key, text in settings.items():
        if key not in _PARSERS:
            raise UsageError(f"{what}: unknown key \"{key}\"; known: {', '.join(_PARSERS)}")
        if key in _NEEDS and _NEEDS[key] not in settings:
            raise UsageError(f"{what}: {key} means nothing without {_NEEDS[key]}")
        name, parse = _PARSERS[key]
        value = parse(text, f"{what}: {key}")
        found.update([value if name is None else (name, value)])
    if "sick" in settings and "sick_loss" not in settings and "sick_rate" not in settings:
        found["sick_loss"] = 1
    return found


def of_words(ends, words, one_way):
    """The ways between these two ends, from KEY=VALUE words; checked but for the ends' names."""
    settings = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals:
            raise UsageError(f"link: \"{word}\" is no KEY=VALUE")
        settings[key] = text
    return of_settings(ends, settings, one_way)


def of_settings(ends, settings, one_way):
    source, sink = ends
    if source == sink:
        raise UsageError(f"link: give two different ends, not {source} twice")
    numbers(settings, f"link {source} {sink}")
    ways = [Link(source, sink, dict(settings))]
    return ways if one_way else [*ways, Link(sink, source, dict(settings))]


def of_text(text):
    """--link 'dc1 dc2 delay=50ms …'."""
    words = text.split()
    if len(words) < 2 or "=" in words[0] + words[1]:
        raise UsageError(f"--link: \"{text}\" does not begin with two datacenters")
    return of_words(words[:2], words[2:], one_way=False)


def of_entry(entry):
    """One object of a specification's "links"."""
    settings = dict(entry)
    if "between" in settings:
        ends, one_way = settings.pop("between"), False
    else:
        ends, one_way = [settings.pop("from", None), settings.pop("to", None)], True
    if not isinstance(ends, list) or len(ends) != 2 or \
            not all(isinstance(end, str) for end in ends):
        raise UsageError("links: give \"between\": [ONE, OTHER], or \"from\" and \"to\"")
    return of_settings(ends, settings, one_way)


def merged(ways):
    """One entry for each way: a later one has the last word."""
    latest = {}
    for way in ways:
        latest[way.source, way.sink] = way
    return list(latest.values())
