# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A laboratory that stands, or is being built or taken down.

Its description lies in /run/netlab/NAME/lab.json; the folder is the claim on the name, and is
written before anything else exists. Namespaces: nl-NAME-HOST, nl-NAME-DATACENTER (a switch each),
nl-NAME-up (where the datacenters' wide-area links meet). In a laboratory with links each datacenter
has a bridge of its own there, and netlab-link is what connects them.
"""

import json
import os
import re
import shutil
import time

from netlab_lib import kernel, links, relay
from netlab_lib import spec as specs
from netlab_lib.errors import NetlabError, UsageError

ROOT = "/run/netlab"
EXCHANGE = "up"
UPLINK = "wan"  # a datacenter's port towards the exchange


def check_lab_name(name):
    if not re.fullmatch(r"[A-Za-z0-9_]{1,32}", name):
        raise UsageError(f"\"{name}\" cannot be a laboratory's name; give letters and digits")


def existing():
    try:
        return sorted(os.listdir(ROOT))
    except FileNotFoundError:
        return []


class Lab:
    def __init__(self, document):
        self.document = document

    @property
    def name(self):
        return self.document["name"]

    @property
    def hosts(self):
        return self.document["hosts"]

    @property
    def datacenters(self):
        return self.document["datacenters"]

    def namespace(self, part):
        return f"nl-{self.name}-{part}"

    def host(self, name):
        for host in self.hosts:
            if host["name"] == name:
                return host
        raise NetlabError(f"{self.name} has no host {name}; it has "
                          + ", ".join(host["name"] for host in self.hosts))

    @property
    def folder(self):
        return os.path.join(ROOT, self.name)

    @property
    def link_ends(self):
        return [entry["name"] for entry in self.datacenters] + [links.OUTSIDE]

    def save(self):
        path = os.path.join(self.folder, "lab.json")
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.document, file, indent=1)
        os.replace(path + ".new", path)

    def switch_of(self, host):
        return self.namespace(host["datacenter"] or EXCHANGE)

    def ends(self, name):
        """The two ends of a host's or a datacenter's link: [(namespace, device)], the near end
        (whose egress is what the host or datacenter sends) first."""
        if any(entry["name"] == name for entry in self.datacenters):
            return [(self.namespace(name), UPLINK), (self.namespace(EXCHANGE), name)]
        try:
            host = self.host(name)
        except NetlabError as error:
            raise NetlabError(f"{error}, and the datacenters "
                              + ", ".join(entry["name"] for entry in self.datacenters)) from error
        return [(host["namespace"], "eth0"), (self.switch_of(host), name)]


def load(name):
    check_lab_name(name)
    try:
        with open(os.path.join(ROOT, name, "lab.json"), encoding="utf-8") as file:
            return Lab(json.load(file))
    except FileNotFoundError:
        known = ", ".join(existing()) or "none"
        raise NetlabError(f"there is no laboratory {name}; there is: {known}") from None


def _describe(name, spec):
    order = [entry.name for entry in spec.datacenters]
    hosts = []
    places = {}
    for host in spec.hosts:
        subnet = order.index(host.datacenter) + 1 if host.datacenter else 0
        places[subnet] = places.get(subnet, 0) + 1
        hosts.append({"name": host.name, "namespace": f"nl-{name}-{host.name}",
                      "address": f"10.77.{subnet}.{places[subnet]}", "location": host.location,
                      "datacenter": host.datacenter, "rack": host.rack(),
                      "rate_bit": host.rate_bit, "cut": False})
    return {"name": name, "hosts": hosts,
            "datacenters": [{"name": entry.name, "wan_bit": entry.wan_bit, "cut": False}
                            for entry in spec.datacenters],
            "links": [way.document() for way in spec.ways]}


def claim(name):
    check_lab_name(name)
    os.makedirs(ROOT, exist_ok=True)
    try:
        os.mkdir(os.path.join(ROOT, name))
    except FileExistsError:
        raise NetlabError(f"there is a laboratory {name} already; give another --name, or take it "
                          f"down with netlab down {name}") from None


def _build_datacenters(lab):
    exchange = lab.namespace(EXCHANGE)
    linked = bool(lab.document["links"])
    for name in (entry["name"] for entry in lab.datacenters):
        bridge = relay.bridge_of(name) if linked else "br0"
        if linked:
            kernel.add_bridge(exchange, bridge)
        kernel.make_switch(lab.namespace(name))
        kernel.join(exchange, name, lab.namespace(name), UPLINK, bridge=bridge)


def _build_links(lab, ways):
    if ways:
        relay.start(lab.namespace(EXCHANGE), lab.folder, lab.link_ends)
    for way in ways:
        relay.set_way(lab.folder, way)


def _build(lab, ways):
    kernel.make_switch(lab.namespace(EXCHANGE))
    _build_datacenters(lab)
    for host in lab.hosts:
        kernel.make_namespace(host["namespace"])
        kernel.join(lab.switch_of(host), host["name"], host["namespace"], "eth0",
                    host["address"] + "/16")
    _build_links(lab, ways)
    for name, rate in ([(entry["name"], entry["wan_bit"]) for entry in lab.datacenters]
                       + [(host["name"], host["rate_bit"]) for host in lab.hosts]):
        if rate is not None:
            set_rate(lab, name, rate)


def build(name, spec):
    """What has been claimed; a failure ends the claim."""
    try:
        lab = Lab(_describe(name, spec))
        lab.save()
        _build(lab, spec.ways)
    except BaseException:
        down(name)
        raise
    return lab


def down(name):
    """Whatever there is of it. Namespaces are found by their names: one that a killed process'
    last child was still making appears late, so it is looked for twice."""
    for _ in range(2):
        left = [entry for entry in kernel.namespaces() if entry.startswith(f"nl-{name}-")]
        for namespace in left:
            kernel.delete_namespace(namespace)
        time.sleep(0.05)
    shutil.rmtree(os.path.join(ROOT, name), ignore_errors=True)


def set_rate(lab, name, rate_bit):
    """Of a host or datacenter, both ways, also while bytes flow."""
    for namespace, device in lab.ends(name):
        kernel.shape(namespace, device, rate_bit)
    for entry in lab.hosts + lab.datacenters:
        if entry["name"] == name:
            entry["rate_bit" if "rate_bit" in entry else "wan_bit"] = rate_bit
    lab.save()


def set_links(lab, ways):
    """From now on; what is not said of a way is nothing."""
    if not lab.document["links"]:
        raise NetlabError(f"{lab.name} was built without links; give one to up or with: "
                          "--link 'dc1 dc2'")
    for way in ways:
        specs.check_ends(way, lab.link_ends)
    for way in ways:
        relay.set_way(lab.folder, way)
        others = [entry for entry in lab.document["links"]
                  if (entry["from"], entry["to"]) != (way.source, way.sink)]
        lab.document["links"] = [*others, way.document()]
    lab.save()


def _link_status(lab):
    """All ways that were described or that carried anything."""
    if not lab.document["links"]:
        return []
    seen = relay.counters(lab.folder)
    described = {(entry["from"], entry["to"]): entry for entry in lab.document["links"]}
    return [{**described.get(ends, {"from": ends[0], "to": ends[1]}),
             "carried": seen.get(ends, {})} for ends in sorted(described.keys() | seen.keys())]


def set_cut(lab, name, cut):
    namespace, device = lab.ends(name)[1]
    kernel.set_forwarding(namespace, device, forwards=not cut)
    for entry in lab.hosts + lab.datacenters:
        if entry["name"] == name:
            entry["cut"] = cut
    lab.save()


def status(lab):
    """The description with what each link has carried so far, seen from the host or datacenter."""
    switches = [EXCHANGE] + [entry["name"] for entry in lab.datacenters]
    seen = {lab.namespace(name): kernel.counters(lab.namespace(name)) for name in switches}
    document = json.loads(json.dumps(lab.document))
    for entry in document["hosts"] + document["datacenters"]:
        near, far = lab.ends(entry["name"])
        from_it, to_it = seen[far[0]][far[1]]
        entry["sent_bytes"], entry["received_bytes"] = from_it, to_it
        if "wan_bit" in entry and entry["wan_bit"] is not None:
            entry["sent_wire_bytes"] = kernel.wire_counters(near[0]).get(near[1], 0)
            entry["received_wire_bytes"] = kernel.wire_counters(far[0]).get(far[1], 0)
    document["links"] = _link_status(lab)
    return document
