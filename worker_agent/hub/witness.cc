// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/hub/witness.h"

#include <chrono>
#include <optional>

namespace tensorhub::agent {

// gRPC's until it is answered.
struct HubWitness::Question {
  std::unique_ptr<v1::Admin::Stub> stub;
  grpc::ClientContext context;
  v1::GetStatusRequest request;
  v1::GetStatusResponse response;
};

HubWitness::~HubWitness() {
  if (question_) question_->context.TryCancel();
}

void HubWitness::Ask(TimeMs patience_ms) {
  const std::optional<std::string> server = channel_->Other(turn_++);
  if (!server) return;
  std::shared_ptr<grpc::Channel>& way = ways_[*server];
  if (way == nullptr) way = channel_->Beside(*server);
  if (question_) question_->context.TryCancel();
  const auto question = std::make_shared<Question>();
  question_ = question;
  question->stub = v1::Admin::NewStub(way);
  question->context.set_deadline(std::chrono::system_clock::now() +
                                 std::chrono::milliseconds(patience_ms));
  question->stub->async()->GetStatus(
      &question->context, &question->request, &question->response,
      [this, inbox = inbox_, question, server = *server](const grpc::Status& status) {
        if (!status.ok()) return;
        const v1::GetStatusResponse& said = question->response;
        const bool itself = said.role() == "leader" && said.leader().empty();
        Testimony testimony{said.store_id(), said.epoch(), itself ? server : said.leader()};
        inbox->Post([this, testimony = std::move(testimony)] { heard_(testimony); });
      });
}

}  // namespace tensorhub::agent
