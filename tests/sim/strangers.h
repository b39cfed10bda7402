// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R9: workers that come to read where nobody has sent them, each under its own name, with all that
// a worker can know but the source's key.

#ifndef TENSORHUB_TESTS_SIM_STRANGERS_H_
#define TENSORHUB_TESTS_SIM_STRANGERS_H_

#include <string>

#include "tests/sim/process.h"
#include "tests/sim/scene.h"

namespace tensorhub::fault {

// `stranger` opens a read at `source` beside what its core does, by no capability or by one that
// was not signed for that, and asks for all there is.
void TryToRead(Scene& scene, Process& stranger, const Process& source);
// A message of such a read.
bool IsStrangers(const std::string& header);

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_STRANGERS_H_
