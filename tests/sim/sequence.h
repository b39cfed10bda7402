// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Stories of a few workers in which nothing goes wrong but what the story is about, acted by the
// real hub and agents: the page docs/protocol/sequences.md is made of what they say.

#ifndef TENSORHUB_TESTS_SIM_SEQUENCE_H_
#define TENSORHUB_TESTS_SIM_SEQUENCE_H_

#include <string>

namespace tensorhub::fault {

// The whole page. Aborts if a story does not come to its end, or breaks a rule.
std::string SequencesPage();

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_SEQUENCE_H_
