// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_signals.h"

#include <ucs/debug/debug.h>

#include <csignal>
#include <cstdlib>

namespace tensorhub::agent {
namespace {

// True, so that it is a variable's value: that is what runs it at load.
bool GiveBack() {
  if (std::getenv("UCX_DEBUG_SIGNO") == nullptr) ucs_debug_disable_signal(SIGHUP);
  return true;
}

const bool kGivenBack = GiveBack();

}  // namespace

void GiveSignalsBack() { static_cast<void>(kGivenBack); }

}  // namespace tensorhub::agent
