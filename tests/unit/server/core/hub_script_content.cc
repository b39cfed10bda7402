// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the workers of a script say of their bytes (R1), and what is known of how they are cut. They
// follow up by themselves, as agents do:
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

// A box has the same at all that hold it, unless the script says otherwise.
void HubScript::SayBoxes(const Arguments& words) {
  Agent& agent = AgentOf(words);
  const std::string box = words.Text("box").value_or(agent.box);
  BoxesHashed said{{agent.asked.generation, agent.asked.question, {}}, agent.session};
  for (const HashBoxes::Range& range : agent.asked.boxes) {
    const std::string own = range.bytes == 8 ? box : "";
    said.digests.push_back(FingerprintOf(absl::StrCat(range.bytes, own)).lo);
  }
  Send(said);
}

std::string HubScript::Describe(Agent& agent, const HashBoxes& body) {
  agent.asked = body;
  if (!agent.boxes_later) {
    follow_ups_.push_back(absl::StrCat("boxes ", NameOf(agent.hello.worker.key)));
  }
  return absl::StrCat("hash boxes: ", body.boxes.size());
}

void HubScript::AnswerPlan(const Arguments& words) {
  TH_CHECK(!plans_.empty());
  const PlanWanted wanted = plans_.front();
  plans_.erase(plans_.begin());
  const auto layouts = [&](const std::vector<Fingerprint>& by_rank) {
    LayoutsByRank found;
    for (const Fingerprint& layout : by_rank) {
      found.push_back(words.Has("lost") ? nullptr : layouts_.at(LayoutName(layout)));
    }
    return found;
  };
  Send(MakePlan(wanted.plan, layouts(wanted.from), layouts(wanted.to)));
}

void HubScript::PutNote(const Arguments& words) {
  notes_[words.At(1)] = std::make_shared<const std::string>(words.At(1));
  const CallId call = ++last_call_;
  calls_[call] = {words.At(1), "note", false};
  Send(PutAttachmentOp{call, FingerprintOf(words.At(1)), notes_[words.At(1)]});
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
