// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What operators order, and R7 in scripts: what the hub asks for.

#include "absl/strings/str_cat.h"
#include "tests/unit/server/core/hub_script.h"

namespace tensorhub::hub {

void HubScript::Retain(const Arguments& words) {
  const CallId call = ++last_call_;
  calls_[call] = {"m", "retain", false};
  Send(RetainOp{call, "m", static_cast<uint32_t>(std::stoul(words.At(1)))});
}

void HubScript::Pin(const Arguments& words) {
  const CallId call = ++last_call_;
  calls_[call] = {words.At(1), "pin", false};
  const VersionNumber version = std::stoull(words.At(2).substr(1));
  Send(PinOp{call, "m", words.At(1), version, static_cast<TimeMs>(words.Number("ttl", 0))});
}

void HubScript::Unpin(const Arguments& words) {
  const CallId call = ++last_call_;
  calls_[call] = {words.At(1), "unpin", false};
  Send(UnpinOp{call, "m", words.At(1)});
}

void HubScript::Supersede(const Arguments& words) {
  const CallId call = ++last_call_;
  calls_[call] = {words.At(1), "supersede", false};
  Send(SupersedeOp{call, "m", std::stoull(words.At(1).substr(1))});
}

void HubScript::Drain(const Arguments& words) {
  const CallId call = ++last_call_;
  calls_[call] = {words.At(1), words.Has("undo") ? "drain undo" : "drain", false};
  Send(DrainOp{call, AgentOf(words).hello.worker.key, words.Has("undo")});
}

void HubScript::Adopt(const Arguments& words) {
  const CallId call = ++last_call_;
  calls_[call] = {words.At(1), "adopt", false};
  Send(AdoptOp{call, {options_.store.hi, std::stoull(words.At(1))}});
}

void HubScript::SayCopyFailed(const Arguments& words) {
  const Agent& agent = AgentOf(words);
  const VersionNumber version = std::stoull(words.At(2).substr(1));
  Send(
      CopyFailed{{version, absl::ResourceExhaustedError(words.Text("error").value_or("no memory"))},
                 agent.session});
}

std::string HubScript::Describe(Agent&, const MakeCopy& body) {
  return absl::StrCat("make a copy of v", body.version, " ", NameOf(body.publication, "P"),
                      " within ", body.within_ms);
}

std::string HubScript::Describe(Agent&, const ReleaseCopy& body) {
  return absl::StrCat("release the copy, gen=", body.generation);
}

}  // namespace tensorhub::hub
