# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a laboratory is to look like, read from a file or made from a few numbers, and checked.

A specification is JSON:

    {"datacenters": [{"name": "dc1", "wan": "200mbit"}, …],       may be left out: no limit
     "hosts": [{"name": "h1", "location": "lab/dc1/rack1/h1", "rate": "500mbit"}, …],
     "links": [{"between": ["dc1", "dc2"], "delay": "50ms", "rate": "1gbit", …},
               {"from": "dc2", "to": "outside", "loss": "1%"}, …]}   may be left out: see links.py

A host's datacenter is the second part of its location; the fourth is its own name. A host without
a location stands outside all datacenters, at the wide-area exchange. No rate: no limit.
"""

import json
import re
from dataclasses import dataclass, field

from netlab_lib import links
from netlab_lib.errors import UsageError

REGION = "lab"
HUB = "hub"
HOSTS_MAX = 250
RATE_MIN_BIT = 100_000           # below, one packet takes longer than TCP's first time-out
RATE_MAX_BIT = 100_000_000_000
LINKED_MAX = 32  # datacenters, of a laboratory with links: each pair has two ways

_UNITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
# They become names of interfaces, which hold 15 bytes.
_NAME = re.compile(r"[a-z][a-z0-9]{0,11}")
_RESERVED = ("lo", "br0", "eth0", "wan", "up", links.OUTSIDE)


@dataclass
class Host:
    name: str
    location: str = ""
    rate_bit: int | None = None
    datacenter: str = ""

    def rack(self):
        return self.location.split("/")[2] if self.location else ""


@dataclass
class Datacenter:
    name: str
    wan_bit: int | None = None


@dataclass
class Spec:
    hosts: list[Host] = field(default_factory=list)
    datacenters: list[Datacenter] = field(default_factory=list)
    ways: list[links.Link] = field(default_factory=list)


def parse_rate(text, what):
    """Bits per second; None for "none"."""
    if text is None or text == "none":
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)", str(text).lower())
    if match is None or match.group(2) not in _UNITS:
        raise UsageError(f"{what}: \"{text}\" is no rate; give a number with kbit, mbit or gbit, "
                         "or none")
    rate = int(float(match.group(1)) * _UNITS[match.group(2)])
    if not RATE_MIN_BIT <= rate <= RATE_MAX_BIT:
        raise UsageError(f"{what}: {text} is out of range; give 100kbit to 100gbit, or none")
    return rate


def check_name(name, what):
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _RESERVED:
        raise UsageError(f"{what}: \"{name}\" cannot be a name; give up to 12 small letters and "
                         "digits, a letter first")


def of_counts(dcs, hosts_per_dc, rack_size, rate, wan, ways=()):
    """dc1 … with racks of `rack_size` hosts h1 …, and the host `hub`, without a limit, outside."""
    for what, count in (("hosts", hosts_per_dc), ("dcs", dcs), ("rack-size", rack_size)):
        if count < 1:
            raise UsageError(f"--{what}: {count} is too few; give at least 1")
    spec = Spec(datacenters=[Datacenter(f"dc{k + 1}", wan) for k in range(dcs)],
                ways=list(ways))
    for index in range(dcs * hosts_per_dc):
        datacenter, place = divmod(index, hosts_per_dc)
        name = f"h{index + 1}"
        location = f"{REGION}/dc{datacenter + 1}/rack{place // rack_size + 1}/{name}"
        spec.hosts.append(Host(name, location, rate))
    spec.hosts.append(Host(HUB))
    return checked(spec)


def of_file(path):
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except OSError as error:
        raise UsageError(f"--spec: {path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"--spec: {path}: not JSON: {error}") from error
    return of_document(document)


def _objects(document, key):
    entries = document.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(f"{key}: give a list of objects")
    return entries


def _entries(document, key, allowed):
    for entry in _objects(document, key):
        unknown = sorted(set(entry) - set(allowed))
        if unknown:
            raise UsageError(f"{key}: unknown key \"{unknown[0]}\"; known: {', '.join(allowed)}")
        yield entry


def of_document(document):
    if not isinstance(document, dict) or \
            set(document) - {"hosts", "datacenters", "links"}:
        raise UsageError("a specification is an object with \"hosts\" and, if need be, "
                         "\"datacenters\" and \"links\"")
    spec = Spec()
    for entry in _entries(document, "datacenters", ("name", "wan")):
        name = entry.get("name")
        spec.datacenters.append(Datacenter(name, parse_rate(entry.get("wan"), f"{name}: wan")))
    for entry in _objects(document, "links"):
        spec.ways += links.of_entry(entry)
    for entry in _entries(document, "hosts", ("name", "location", "rate")):
        name = entry.get("name")
        location = entry.get("location", "")
        if not isinstance(location, str):
            raise UsageError(f"host {name}: its location is no text")
        spec.hosts.append(Host(name, location, parse_rate(entry.get("rate"), f"{name}: rate")))
    return checked(spec)


def _check_location(host, regions):
    parts = host.location.split("/")
    if not 4 <= len(parts) <= 5 or not all(parts):
        raise UsageError(f"host {host.name}: its location \"{host.location}\" is not "
                         "region/datacenter/rack/host")
    region, datacenter, _, name = parts[:4]
    if name != host.name:
        raise UsageError(f"host {host.name}: its location says that it is {name}")
    known = regions.setdefault(datacenter, region)
    if known != region:
        raise UsageError(f"host {host.name}: its location puts {datacenter} into {region}, "
                         f"another host's into {known}")
    host.datacenter = datacenter


def _check_links(spec):
    ends = [entry.name for entry in spec.datacenters] + [links.OUTSIDE]
    if spec.ways and len(ends) > LINKED_MAX + 1:
        raise UsageError(f"links: {len(ends) - 1} datacenters are too many; {LINKED_MAX} is the "
                         "most")
    for way in spec.ways:
        check_ends(way, ends)
    spec.ways = links.merged(spec.ways)


def check_ends(way, ends):
    for end in (way.source, way.sink):
        if end not in ends:
            raise UsageError(f"link: there is no datacenter {end}; there is: {', '.join(ends)}")


def checked(spec):
    if not spec.hosts:
        raise UsageError("a laboratory needs hosts; give --hosts, --dcs or --spec")
    if len(spec.hosts) > HOSTS_MAX:
        raise UsageError(f"{len(spec.hosts)} hosts are too many; {HOSTS_MAX} is the most")
    regions = {}
    for host in spec.hosts:
        check_name(host.name, "host")
        if host.location:
            _check_location(host, regions)
    declared = {datacenter.name for datacenter in spec.datacenters}
    spec.datacenters += [Datacenter(name) for name in regions if name not in declared]
    for datacenter in spec.datacenters:
        check_name(datacenter.name, "datacenter")
        if datacenter.name not in regions:
            raise UsageError(f"datacenter {datacenter.name}: no host's location is in it")
    names = [host.name for host in spec.hosts] + [entry.name for entry in spec.datacenters]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"\"{name}\" is the name of two hosts or datacenters")
    _check_links(spec)
    return spec
