// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Asks the other servers of a hub who leads, while a session is up: the one that leads may stand
// still, or be cut off from the store and not know that another has taken over.
//
// Thread contract: every method, and `heard`, on the progress thread.

#ifndef TENSORHUB_WORKER_AGENT_HUB_WITNESS_H_
#define TENSORHUB_WORKER_AGENT_HUB_WITNESS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/time.h"
#include "tensorhub/v1/admin.grpc.pb.h"
#include "worker_agent/hub/channel.h"
#include "worker_agent/runtime/inbox.h"

namespace tensorhub::agent {

class HubWitness {
 public:
  struct Testimony {
    std::string store_id;
    uint64_t epoch = 0;
    std::string leader;
  };
  using Heard = std::function<void(const Testimony&)>;

  // Posts to `inbox` until that is closed; close it before this object goes.
  HubWitness(std::shared_ptr<HubChannel> channel, std::shared_ptr<Inbox> inbox, Heard heard)
      : channel_(std::move(channel)), inbox_(std::move(inbox)), heard_(std::move(heard)) {}
  ~HubWitness();

  // One of the others, in turn, if there is any; `heard` follows, or nothing. The question before
  // is given up.
  void Ask(TimeMs patience_ms);

 private:
  struct Question;

  const std::shared_ptr<HubChannel> channel_;
  const std::shared_ptr<Inbox> inbox_;
  const Heard heard_;
  size_t turn_ = 0;
  std::map<std::string, std::shared_ptr<grpc::Channel>> ways_;
  std::shared_ptr<Question> question_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_HUB_WITNESS_H_
