# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Namespaces, links and queues, by way of ip(8) and tc(8).

Nothing here touches the namespace that the program runs in: links are made inside the namespaces
they belong to.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time

from netlab_lib.errors import NetlabError, Unsupported

# One packet handed down by TCP (generic segmentation offload), with the headers of its segments.
_LARGEST_PACKET = 72 * 1024
# Tokens must last while a busy machine lets the queue's timer wait.
_BURST_SECONDS = 0.004
# What a switch holds back before it drops.
_QUEUE_SECONDS = 0.010


def check_machine():
    """Unsupported, with one line that says why."""
    if os.geteuid() != 0:
        raise Unsupported("needs root: network namespaces cannot be made")
    for tool in ("ip", "tc", "bridge"):
        if shutil.which(tool) is None:
            raise Unsupported(f"needs {tool} (Debian: iproute2)")
    name = f"nl-probe-{os.getpid()}"
    try:
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "add", "probe", "type", "veth", "peer", "name", "probed")
        run("tc", "-n", name, "qdisc", "add", "dev", "probe", "root", "tbf", "rate", "1mbit",
            "burst", "80k", "limit", "80k")
    except NetlabError as error:
        raise Unsupported(f"this kernel has no laboratory: {error}") from error
    finally:
        delete_namespace(name)


def run(*command, text_input=None):
    """The command's standard output."""
    done = subprocess.run(command, input=text_input, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise NetlabError(f"{' '.join(command)}: {said}")
    return done.stdout


def ip_batch(namespace, commands):
    run("ip", "-n", namespace, "-batch", "-", text_input="\n".join(commands) + "\n")


def namespaces():
    listed = run("ip", "netns", "list")
    return [line.split()[0] for line in listed.splitlines() if line.strip()]


def processes_in(namespace):
    done = subprocess.run(("ip", "netns", "pids", namespace), capture_output=True, text=True,
                          check=False)
    return [int(word) for word in done.stdout.split()]


def delete_namespace(namespace):
    """And what runs in it. No error if it does not exist."""
    for _ in range(100):
        pids = processes_in(namespace)
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not pids:
            break
        time.sleep(0.01)
    subprocess.run(("ip", "netns", "del", namespace), capture_output=True, check=False)


def make_namespace(namespace):
    run("ip", "netns", "add", namespace)
    if os.path.exists("/proc/sys/net/ipv6"):  # its chatter would be counted
        run("ip", "netns", "exec", namespace, "sh", "-c",
            "for all in all default; do"
            " echo 1 > /proc/sys/net/ipv6/conf/$all/disable_ipv6; done")
    ip_batch(namespace, ["link set lo up"])


def make_switch(namespace):
    make_namespace(namespace)
    add_bridge(namespace, "br0")


def add_bridge(namespace, bridge):
    ip_batch(namespace, [f"link add {bridge} type bridge stp_state 0 mcast_snooping 0",
                         f"link set {bridge} up"])


def join(switch, port, namespace, device, address=None, bridge="br0"):
    """A cable from the switch's port to a device elsewhere: a host's, or another switch's port."""
    run("ip", "-n", switch, "link", "add", port, "type", "veth", "peer", "name", device, "netns",
        namespace)
    ip_batch(switch, [f"link set {port} master {bridge} up"])
    far = f"addr add {address} dev {device}" if address else f"link set {device} master br0"
    ip_batch(namespace, [far, f"link set {device} up"])


def shape(namespace, device, rate_bit):
    """Limits what leaves through the device; None: no limit."""
    if rate_bit is None:
        subprocess.run(("tc", "-n", namespace, "qdisc", "del", "dev", device, "root"),
                       capture_output=True, check=False)
        return
    burst = max(_LARGEST_PACKET, int(rate_bit / 8 * _BURST_SECONDS))
    limit = burst + max(2 * _LARGEST_PACKET, int(rate_bit / 8 * _QUEUE_SECONDS))
    run("tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", "tbf", "rate",
        f"{rate_bit}bit", "burst", str(burst), "limit", str(limit))


def set_forwarding(switch, port, forwards):
    """A port that does not forward drops everything, both ways, and nobody is told."""
    run("bridge", "-n", switch, "link", "set", "dev", port, "state", "3" if forwards else "0")


def counters(namespace):
    """{device: (bytes received, bytes sent)}; a packet of several segments counts one header."""
    listed = json.loads(run("ip", "-n", namespace, "-s", "-j", "link", "show"))
    return {entry["ifname"]: (entry["stats64"]["rx"]["bytes"], entry["stats64"]["tx"]["bytes"])
            for entry in listed}


def wire_counters(namespace):
    """{device: bytes sent through its shaped queue}, the headers of all segments included."""
    sent = {}
    device = None
    for line in run("tc", "-n", namespace, "-s", "qdisc", "show").splitlines():
        if match := re.match(r"qdisc (\S+) .*?dev (\S+) root", line):
            device = match.group(2) if match.group(1) == "tbf" else None
        elif device and (match := re.match(r"\s*Sent (\d+) bytes", line)):
            sent[device] = int(match.group(1))
    return sent
