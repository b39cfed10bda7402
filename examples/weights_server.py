# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""An existing checkpoint to many readers: a Hugging Face directory, served from memory.

    python examples/weights_server.py serve DIRECTORY MODEL [VERSION] [--server HOST:PORT]
    python examples/weights_server.py fetch MODEL COPY --server HOST:PORT

`serve` starts a server unless one is named, and serves until interrupted. Readers feed each other,
so a hundred of them do not need a hundred times the publisher's link.
"""

import argparse
import contextlib

import tensorhub
import tensorhub.safetensors


def serve(options: argparse.Namespace) -> None:
    with contextlib.ExitStack() as stack:
        address = options.server
        if address is None:
            address = stack.enter_context(tensorhub.serve(listen=options.listen)).address
            print(f"server at {address}", flush=True)
        publication = stack.enter_context(
            tensorhub.safetensors.publish(
                address, options.model, options.version, options.directory
            )
        )
        print(publication.said, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            publication.wait()


def fetch(options: argparse.Namespace) -> None:
    tensorhub.safetensors.fetch(options.server, options.model, None, options.directory)
    print(f"{options.model} is in {options.directory}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(required=True)
    serving = verbs.add_parser("serve")
    serving.add_argument("directory")
    serving.add_argument("model")
    serving.add_argument("version", type=int, nargs="?", default=1)
    serving.add_argument("--server", help="HOST:PORT of a server that runs (default: start one)")
    serving.add_argument("--listen", default="0.0.0.0:7070", help="where the started one listens")
    serving.set_defaults(run=serve)
    fetching = verbs.add_parser("fetch")
    fetching.add_argument("model")
    fetching.add_argument("directory", help="is made, or empty")
    fetching.add_argument("--server", required=True)
    fetching.set_defaults(run=fetch)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
