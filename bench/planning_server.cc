// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/planning_server.h"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "bench/clock.h"
#include "common/check.h"
#include "common/mutex.h"

namespace tensorhub::bench {
namespace {

constexpr char kModel[] = "bench/planned";
constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
constexpr TimeMs kTimeoutMs = 600'000;
// Between two of the other calls.
constexpr std::chrono::microseconds kPause{500};

rpc::HubLoop::Options LoopOptions() {
  rpc::HubLoop::Options options;
  options.hub.lease_ms = kTimeoutMs;  // nobody here sends heartbeats
  return options;
}

}  // namespace

// What the server says to workers of its own accord.
class PlanningServer::Deaf : public rpc::SessionSink {
 public:
  void Deliver(const hub::Directive&) override {}
  void ReadNext() override {}
  void Close(const absl::Status&) override {}
};

class PlanningServer::Answer {
 public:
  void Take(const absl::Status& status) {
    MutexLock lock(mutex_);
    status_ = status;
    here_.NotifyAll();
  }
  bool IsHere() {
    MutexLock lock(mutex_);
    return status_.has_value();
  }
  absl::Status Await() {
    MutexLock lock(mutex_);
    while (!status_) here_.Wait(mutex_);
    return *status_;
  }

 private:
  Mutex mutex_;
  CondVar here_;
  std::optional<absl::Status> status_ ABSL_GUARDED_BY(mutex_);
};

PlanningServer::PlanningServer() : sink_(std::make_shared<Deaf>()), loop_(LoopOptions()) {
  auto layout = Layout::Make({TensorSpec{"w", DType::kU8, {1}, {}}});
  TH_CHECK(layout.ok());
  small_ = std::make_shared<const Layout>(*std::move(layout));
}

template <typename Op>
std::shared_ptr<PlanningServer::Answer> PlanningServer::Start(Op op) {
  auto answer = std::make_shared<Answer>();
  const hub::CallId call = op.call = loop_.NewCall();
  loop_.StartCall(call, std::move(op),
                  [answer](const hub::Reply& reply) { answer->Take(reply.status); });
  return answer;
}

WorkerIdentity PlanningServer::Open(const std::string& group, Rank rank, size_t ranks) {
  hub::SessionOpened hello;
  hello.session = loop_.NewSession();
  hello.worker = {{kModel, group, rank}, hello.session};
  hello.number = 1;
  hello.world_size = static_cast<uint32_t>(ranks);
  hello.location = Location::Parse("us/dc0").value();
  hello.knows_streams = hello.knows_resharding = true;
  const WorkerIdentity worker = hello.worker;
  loop_.OpenSession(std::move(hello), sink_);
  return worker;
}

absl::Status PlanningServer::PutLayouts(const Layouts& ranks) {
  for (const std::shared_ptr<const Layout>& layout : ranks) {
    if (absl::Status put = Start(hub::PutLayoutOp{0, layout})->Await(); !put.ok()) return put;
  }
  return Start(hub::PutLayoutOp{0, small_})->Await();
}

absl::Status PlanningServer::Publish(const Layouts& ranks) {
  if (absl::Status put = PutLayouts(ranks); !put.ok()) return put;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    hub::PublishOp op;
    op.worker = Open("trainer", static_cast<Rank>(rank), ranks.size());
    op.op = ++last_op_;
    op.version = 1;
    op.layout = ranks[rank]->fingerprint();
    op.chunk_bytes = kChunkBytes;
    op.generation = 1;
    if (absl::Status published = Start(op)->Await(); !published.ok()) return published;
  }
  return absl::OkStatus();
}

absl::StatusOr<PlanningServer::Meanwhile> PlanningServer::Join(const std::string& group,
                                                               const Layouts& ranks) {
  if (absl::Status put = PutLayouts(ranks); !put.ok()) return put;
  std::vector<hub::JoinFetchOp> joins(ranks.size());
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    joins[rank].worker = Open(group, static_cast<Rank>(rank), ranks.size());
    joins[rank].op = ++last_op_;
    joins[rank].layout = ranks[rank]->fingerprint();
    joins[rank].timeout_ms = kTimeoutMs;
  }
  Meanwhile meanwhile;
  const Clock::time_point start = Clock::now();
  std::shared_ptr<Answer> decided;
  for (hub::JoinFetchOp& join : joins) decided = Start(std::move(join));
  while (!decided->IsHere()) {
    const Clock::time_point asked = Clock::now();
    if (absl::Status put = Start(hub::PutLayoutOp{0, small_})->Await(); !put.ok()) return put;
    meanwhile.waits.push_back(SecondsSince(asked));
    std::this_thread::sleep_for(kPause);
  }
  meanwhile.seconds = SecondsSince(start);
  if (absl::Status status = decided->Await(); !status.ok()) return status;
  return meanwhile;
}

}  // namespace tensorhub::bench
