# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The command line of netlab."""

import argparse
import json
import os
import sys

from netlab_lib import guardian
from netlab_lib import lab as labs
from netlab_lib import kernel, links, relay, spec, stream
from netlab_lib.errors import NetlabError, UsageError

_EPILOG = """\
examples:
  netlab up --hosts 4 --rate 500mbit              four hosts h1 … h4 on one switch, and `hub`
  netlab up --name far --dcs 3 --hosts-per-dc 4 --rate 1gbit --wan 200mbit
  netlab run lab h2 -- iperf3 -s
  netlab measure lab h1 h2                        what a plain TCP stream reaches
  netlab cut far dc2; netlab heal far dc2         silently, as a broken cable far away
  netlab status lab -o json                       addresses, locations, bytes carried so far
  netlab down --all
  netlab with --hosts 2 --rate 100mbit -- sh -c 'netlab status $NETLAB_LAB'
  netlab up --dcs 2 --hosts-per-dc 1 --link 'dc1 dc2 delay=50ms rate=1gbit queue=100ms'
  netlab link lab dc1 dc2 delay=50ms rate=1gbit sick=25% sick_of=busiest     from now on
  netlab link lab dc2 dc1 --one-way delay=50ms loss=1%

{links}
Rates are what a link carries each way, headers included: a TCP stream gets 95.6 % of it.
Exit codes: 0, 1 (failed), 2 (usage, specification), 77 (not on this machine, or not by this user);
run and with end as their command does.
"""


def _add_spec_flags(parser):
    parser.add_argument("--spec", metavar="FILE", help="JSON; see netlab_lib/spec.py")
    parser.add_argument("--hosts", type=int, metavar="N", help="one datacenter of N hosts")
    parser.add_argument("--dcs", type=int, metavar="N", help="datacenters")
    parser.add_argument("--hosts-per-dc", type=int, metavar="N", help="hosts in each of --dcs")
    parser.add_argument("--rack-size", type=int, metavar="N", help="hosts per rack (default 4)")
    parser.add_argument("--rate", help="of each host's link, e.g. 500mbit (default: no limit)")
    parser.add_argument("--wan", help="of each datacenter's wide-area link (default: no limit)")
    parser.add_argument("--link", metavar="'DC DC KEY=VALUE…'", action="append",
                        help="between two datacenters, both ways; may be repeated")


def _spec_of(arguments):
    given = [name for name in ("hosts", "dcs", "hosts_per_dc", "rack_size", "rate", "wan", "link")
             if getattr(arguments, name) is not None]
    if arguments.spec is not None:
        if given:
            raise UsageError(f"--spec says it all: leave out --{given[0].replace('_', '-')}")
        return spec.of_file(arguments.spec)
    if arguments.hosts is not None and (arguments.dcs or arguments.hosts_per_dc):
        raise UsageError("--hosts means one datacenter: leave out --dcs and --hosts-per-dc")
    if arguments.hosts is None and (arguments.dcs is None or arguments.hosts_per_dc is None):
        raise UsageError("give --hosts N, or --dcs N --hosts-per-dc N, or --spec FILE")
    dcs, hosts = (1, arguments.hosts) if arguments.hosts is not None else \
        (arguments.dcs, arguments.hosts_per_dc)
    rack_size = 4 if arguments.rack_size is None else arguments.rack_size
    ways = [way for text in arguments.link or [] for way in links.of_text(text)]
    return spec.of_counts(dcs, hosts, rack_size, spec.parse_rate(arguments.rate, "--rate"),
                          spec.parse_rate(arguments.wan, "--wan"), ways)


def _check_machine(wanted):
    kernel.check_machine()
    if wanted.ways:
        relay.program()


def _environment(lab):
    return {**os.environ, "NETLAB": os.path.realpath(sys.argv[0]), "NETLAB_LAB": lab.name,
            "NETLAB_HOSTS": " ".join(host["name"] for host in lab.hosts)}


def _command(arguments):
    command = arguments.command
    if command and command[0] == "--":
        command = command[1:]
    if not command:
        raise UsageError(f"{arguments.verb}: give a command after --")
    return command


def up(arguments):
    wanted = _spec_of(arguments)
    _check_machine(wanted)
    labs.claim(arguments.name)
    lab = labs.build(arguments.name, wanted)
    print(f"{lab.name}: {len(lab.hosts)} hosts, {len(lab.datacenters)} datacenters")
    return 0


def run(arguments):
    lab = labs.load(arguments.lab)
    host = lab.host(arguments.host)
    command = _command(arguments)
    environment = {**_environment(lab), "NETLAB_HOST": host["name"],
                   "NETLAB_ADDRESS": host["address"], "NETLAB_LOCATION": host["location"]}
    try:
        os.execvpe("ip", ["ip", "netns", "exec", host["namespace"], *command], environment)
    except OSError as error:
        raise NetlabError(f"ip: {error.strerror}") from error


def with_lab(arguments):
    wanted = _spec_of(arguments)
    command = _command(arguments)
    labs.check_lab_name(arguments.name)
    _check_machine(wanted)
    keeper = guardian.Guardian(arguments.name)
    try:
        keeper.claim(arguments.name)
        lab = labs.build(arguments.name, wanted)
        return guardian.run_command(command, _environment(lab))
    except FileNotFoundError:
        raise NetlabError(f"{command[0]}: command not found") from None
    finally:
        keeper.release()


def cut(arguments):
    labs.set_cut(labs.load(arguments.lab), arguments.part, cut=True)
    return 0


def heal(arguments):
    labs.set_cut(labs.load(arguments.lab), arguments.part, cut=False)
    return 0


def rate(arguments):
    labs.set_rate(labs.load(arguments.lab), arguments.part,
                  spec.parse_rate(arguments.rate, "RATE"))
    return 0


def link(arguments):
    lab = labs.load(arguments.lab)
    ways = links.of_words((arguments.one, arguments.other), arguments.words, arguments.one_way)
    labs.set_links(lab, ways)
    return 0


def measure(arguments):
    lab = labs.load(arguments.lab)
    source, sink = lab.host(arguments.source), lab.host(arguments.sink)
    if source is sink:
        raise UsageError("measure: give two hosts")
    print(f"{stream.measure(source, sink, arguments.seconds) / 1e6:.1f} Mbit/s")
    return 0


def _shown_rate(rate_bit):
    return "-" if rate_bit is None else f"{rate_bit / 1e6:g}mbit"


def _print_table(document):
    rows = [("HOST", "ADDRESS", "LOCATION", "RATE", "SENT", "RECEIVED", "")]
    for entry in document["hosts"]:
        rows.append((entry["name"], entry["address"], entry["location"] or "-",
                     _shown_rate(entry["rate_bit"]), str(entry["sent_bytes"]),
                     str(entry["received_bytes"]), "cut" if entry["cut"] else ""))
    for entry in document["datacenters"]:
        rows.append((entry["name"], "-", "-", _shown_rate(entry["wan_bit"]),
                     str(entry["sent_bytes"]), str(entry["received_bytes"]),
                     "cut" if entry["cut"] else ""))
    print(f"laboratory {document['name']}")
    _print_rows(rows)
    if document["links"]:
        _print_links(document["links"])


def _print_rows(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def _print_links(entries):
    counted = ("frames", "bytes", "lost", "overflowed", "dead", "duplicated", "reset", "refused",
               "flows")
    rows = [("LINK", *(name.upper() for name in counted), "")]
    for entry in entries:
        settings = " ".join(f"{key}={value}" for key, value in entry.items()
                            if key not in ("from", "to", "carried"))
        rows.append((f"{entry['from']} to {entry['to']}",
                     *(str(entry["carried"].get(name, 0)) for name in counted), settings))
    _print_rows(rows)


def status(arguments):
    names = [arguments.lab] if arguments.lab else labs.existing()
    documents = [labs.status(labs.load(name)) for name in names]
    if arguments.output == "json":
        print(json.dumps(documents[0] if arguments.lab else documents))
    else:
        for document in documents:
            _print_table(document)
    return 0


def down(arguments):
    if arguments.all == bool(arguments.lab):
        raise UsageError("down: give a laboratory's name, or --all")
    if not arguments.all and arguments.lab not in labs.existing():
        labs.load(arguments.lab)  # says what there is
    for name in labs.existing() if arguments.all else [arguments.lab]:
        labs.down(name)
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="netlab", description="Hosts, racks and datacenters in network namespaces.",
        epilog=_EPILOG.replace("{links}", links.__doc__.partition("\n\n")[2]),
        formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name, action, summary, *operands):
        added = verbs.add_parser(name, help=summary, description=summary)
        added.set_defaults(action=action)
        for operand in operands:
            added.add_argument(operand, metavar=operand.upper())
        return added

    added = verb("up", up, "builds a laboratory that stays until it is taken down")
    added.add_argument("--name", default="lab", help="default: lab")
    _add_spec_flags(added)
    added = verb("with", with_lab, "a laboratory for the length of one command, whatever happens")
    added.add_argument("--name", default=f"with{os.getpid()}", help="default: with and a number")
    _add_spec_flags(added)
    added.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD…")
    added = verb("run", run, "runs a command on a host", "lab", "host")
    added.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD…")
    verb("cut", cut, "drops all that passes a host's or datacenter's link", "lab", "part")
    verb("heal", heal, "undoes cut", "lab", "part")
    verb("rate", rate, "changes the rate of a host's or datacenter's link", "lab", "part", "rate")
    added = verb("link", link, "from now on, a link between two datacenters is like this", "lab",
                 "one", "other")
    added.add_argument("words", nargs="+", metavar="KEY=VALUE")
    added.add_argument("--one-way", action="store_true", help="from ONE to OTHER only")
    added = verb("measure", measure, "what a plain TCP stream reaches", "lab", "source", "sink")
    added.add_argument("--seconds", type=float, default=2)
    added = verb("status", status, "hosts, addresses, locations, bytes per link")
    added.add_argument("lab", nargs="?", metavar="LAB")
    added.add_argument("-o", "--output", choices=("table", "json"), default="table")
    added = verb("down", down, "takes a laboratory down and kills what runs in it")
    added.add_argument("lab", nargs="?", metavar="LAB")
    added.add_argument("--all", action="store_true", help="all there are")
    return parser


def main(words):
    arguments = _parser().parse_args(words)
    try:
        return arguments.action(arguments)
    except NetlabError as error:
        print(f"netlab: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
