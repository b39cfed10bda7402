// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What stands in a message, in a few words and without numbers that differ from run to run: the
// transcripts of tests/protocol show it.

#ifndef TENSORHUB_TESTS_SIM_DETAILS_H_
#define TENSORHUB_TESTS_SIM_DETAILS_H_

#include <string>

#include "server/core/effects.h"
#include "server/core/events.h"

namespace tensorhub::fault {

// Each is empty where nothing is worth saying.
std::string DetailOf(const hub::Event& event);
std::string DetailOf(const hub::Directive& directive);
std::string DetailOf(const hub::Reply& reply);
// Of a message between workers, by its header.
std::string DetailOfPeerMessage(const std::string& header);

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_DETAILS_H_
