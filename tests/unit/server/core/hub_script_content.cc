// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the workers of a script say of their bytes (R1). They follow up by themselves, as agents do:
// who has published says what its bytes give, and who is to compare publishes again.

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/unit/server/core/hub_script.h"

namespace tensorhub::hub {

ContentDigest HubScript::DigestOf(const Agent& agent, const std::string& content) const {
  return FingerprintOf(absl::StrCat(content, "/", agent.hello.worker.key.rank));
}

// As its first publisher has it; empty: it makes no digests.
std::string HubScript::ContentOf(const PublicationId& publication) const {
  const auto found = contents_.find(publication);
  return found == contents_.end() ? "" : found->second;
}

void HubScript::LearnContent(Agent& agent, const PublishOp& op, const PublishReply& reply) {
  const std::string name = NameOf(agent.hello.worker.key);
  if (reply.compare) {
    agent.compares = reply.publication;
    if (!agent.hashes_later) {
      follow_ups_.push_back(agent.said_publish);
    }
    return;
  }
  contents_.try_emplace(reply.publication, agent.hashes ? agent.content : "");
  const bool says = op.hashes && !op.digest && !agent.hashes_later;
  if (says) follow_ups_.push_back(absl::StrCat("hashed ", name));
}

void HubScript::SayHashed(const Arguments& words) {
  Agent& agent = AgentOf(words);
  if (!agent.holding) return;
  const ContentDigest digest = DigestOf(agent, words.Text("content").value_or(agent.content));
  agent.holding->digest = digest;
  agent.holding->hashing = false;
  if (agent.session == 0) return;
  Send(ContentHashed{{agent.holding->publication, agent.holding->generation, digest},
                     agent.session});
}

void HubScript::FollowUp() {
  while (!follow_ups_.empty()) {
    const std::string command = follow_ups_.front();
    follow_ups_.erase(follow_ups_.begin());
    const Arguments words(command);
    (this->*Handlers().at(words.Command()))(words);
  }
}

}  // namespace tensorhub::hub
