# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""One server for all tests; each test has a model of its own."""

import itertools

import pytest
import tensorhub

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server():
    with tensorhub.serve() as running:
        yield running.address


@pytest.fixture
def connect(server, request):
    """connect(group, ...): a client of this test's own model, which leaves at the test's end."""
    model = f"{request.node.name[:80].replace(' ', '_')}-{next(_numbers)}"
    clients = []

    def make(group, **options):
        client = tensorhub.connect(server, model, group, **options)
        clients.append(client)
        return client

    make.model = model
    yield make
    for client in reversed(clients):
        client.leave(drain_timeout=0)
