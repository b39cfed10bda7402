// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is said in a run, for those who draw it: messages when they arrive, and what happens to one
// alone. Names of messages are those of docs/protocol/messages.md.

#ifndef TENSORHUB_TESTS_SIM_HEARSAY_H_
#define TENSORHUB_TESTS_SIM_HEARSAY_H_

#include <string>

#include "server/core/effects.h"
#include "server/core/events.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"

namespace tensorhub::fault {

class Listener {
 public:
  virtual ~Listener() = default;
  // `detail`: what stands in it, as details.h says.
  virtual void OnMessage(const std::string& from, const std::string& to, const std::string& what,
                         const std::string& detail) = 0;
  virtual void OnNote(const std::string& who, const std::string& what) = 0;
};

inline constexpr char kServer[] = "server";
// Memory that is read without its owner.
inline constexpr char kGet[] = "(reads its memory)";

// Whether messages of this name repeat while bytes flow.
bool Flows(const std::string& what);

// Empty: nobody says it (a tick, the end of a stream).
std::string NameOf(const hub::Event& event);
std::string NameOf(const hub::Directive& directive);
// "OK", or the code.
std::string NameOf(const hub::Reply& reply);
// Of a message between workers, by its header.
std::string NameOfPeerMessage(const std::string& header);
std::string NameOf(const agent::Verb& verb);
// What makes a core do something, also where nobody says it: "time", "answer".
std::string CauseOf(const hub::Event& event);
std::string CauseOf(const agent::Event& event);

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_HEARSAY_H_
