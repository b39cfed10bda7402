// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// UCX takes a signal while it is loaded (SIGHUP, for its debugger; UCX_DEBUG_SIGNO names another),
// and swallows what the program sets for it later: a program that links UCX outlives its terminal,
// and its own handler is never called.

#ifndef TENSORHUB_WORKER_AGENT_UCX_UCX_SIGNALS_H_
#define TENSORHUB_WORKER_AGENT_UCX_UCX_SIGNALS_H_

namespace tensorhub::agent {

// Signals are as they were before UCX was loaded, unless the environment names one for UCX. That
// happens before main (or while a module is loaded), so that what the program sets for itself
// stays; the call sees to it that it is linked.
void GiveSignalsBack();

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_UCX_SIGNALS_H_
