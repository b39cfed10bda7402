// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which host this is, for a worker that is not told where it is: its neighbours are found by it.

#ifndef TENSORHUB_WORKER_AGENT_WAYS_THIS_HOST_H_
#define TENSORHUB_WORKER_AGENT_WAYS_THIS_HOST_H_

#include <string>

namespace tensorhub::agent {

// "boot-" and twelve hexadecimal digits of the kernel's boot id: the same for all processes and
// containers of a running kernel, whatever their names, users and namespaces. Empty: it cannot be
// read.
std::string ThisHost();

// The location as it was said, with this host where it says none.
std::string PlacedOnThisHost(const std::string& location);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_WAYS_THIS_HOST_H_
