// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/host_copies.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "worker_agent/log.h"
#include "worker_agent/thread.h"

namespace tensorhub::agent {
namespace {

// A copy that takes longer has been given up by the worker that waits for it.
constexpr TimeMs kFetchMs = 60'000;

AgentOptions OfTheCopy(AgentOptions options, Version version) {
  options.copy_of = options.key.group;
  absl::StrAppend(&options.key.group, ".copy.", version);
  options.host_copy_bytes = 0;
  return options;
}

// The same tensors, one behind the other from `data` on.
std::vector<TensorBuffer> MovedTo(std::byte* data, std::vector<TensorBuffer> tensors) {
  for (TensorBuffer& tensor : tensors) {
    tensor.data = data;
    tensor.cuda = false;  // copies are in host memory
    data += tensor.bytes;
  }
  return tensors;
}

}  // namespace

HostCopies::HostCopies(const AgentOptions& options) : options_(options) {}

HostCopies::~HostCopies() { Stop(/*drain_ms=*/0); }

void HostCopies::SetShard(const std::vector<TensorBuffer>& tensors) {
  MutexLock lock(mutex_);
  if (!shard_.empty()) return;
  shard_ = tensors;
  for (const TensorBuffer& tensor : tensors) shard_bytes_ += tensor.bytes;
}

void HostCopies::Make(Version version) {
  MutexLock lock(mutex_);
  to_make_.insert(version);
  Wake();
}

void HostCopies::Release(Version version) {
  MutexLock lock(mutex_);
  to_release_.insert(version);
  Wake();
}

void HostCopies::Wake() {
  if (!stopping_ && !thread_.joinable()) {
    thread_ = StartWithoutSignals([this] { Run(); });
  }
  asked_.NotifyAll();
}

// Released before made: the memory serves again.
void HostCopies::Run() {
  while (true) {
    std::set<Version> make;
    std::set<Version> release;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && to_make_.empty() && to_release_.empty()) asked_.Wait(mutex_);
      if (stopping_) return;
      std::swap(make, to_make_);
      std::swap(release, to_release_);
    }
    for (const Version version : release) Drop(version, /*drain_ms=*/10'000);
    for (const Version version : make) {
      const absl::Status status = Add(version);
      if (status.ok() || absl::IsCancelled(status)) continue;
      Log().warn("{}: no copy of version {}: {}", ToString(options_.key), version,
                 std::string(status.message()));
    }
  }
}

absl::Status HostCopies::Add(Version version) {
  {
    MutexLock lock(mutex_);
    if (copies_.contains(version)) return absl::OkStatus();
  }
  absl::StatusOr<HostMemory> memory = TakeMemory();
  if (!memory.ok()) return memory.status();
  Pin(*memory);
  absl::StatusOr<std::shared_ptr<Agent>> agent = StartAgent(version, memory->data());
  if (!agent.ok()) return agent.status();
  if (absl::Status status = Keep(version, {*std::move(memory), *agent}); !status.ok()) {
    return status;
  }
  const Verb fetch = FetchVerb{{Selector::Kind::kExact, version}, kFetchMs};
  const absl::Status status = (*agent)->RunVerb(fetch).status;
  if (!status.ok()) Drop(version, /*drain_ms=*/0);
  return status;
}

absl::StatusOr<HostMemory> HostCopies::TakeMemory() {
  MutexLock lock(mutex_);
  const uint64_t used = shard_bytes_ * copies_.size();
  if (used + shard_bytes_ > options_.host_copy_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("it needs ", shard_bytes_, " bytes besides the ", used,
                     " of other copies; host_copy_bytes allows ", options_.host_copy_bytes));
  }
  if (spare_.data() != nullptr) return std::exchange(spare_, HostMemory());
  return HostMemory::Make(shard_bytes_);
}

std::optional<int> HostCopies::Device() {
  MutexLock lock(mutex_);
  for (const TensorBuffer& tensor : shard_) {
    if (tensor.cuda && tensor.bytes > 0) return tensor.cuda_device;
  }
  return std::nullopt;
}

// A shard on a device is copied at the bus's speed only into page-locked memory.
void HostCopies::Pin(HostMemory& memory) {
  const std::optional<int> device = Device();
  if (!device || memory.pinned()) return;
  absl::StatusOr<std::shared_ptr<void>> pin =
      PinHostMemory(options_.cuda, *device, memory.data(), memory.bytes());
  if (pin.ok()) return memory.Pin(*std::move(pin));
  Log().warn("{}: copies will be slow, since their memory cannot be page-locked: {}",
             ToString(options_.key), std::string(pin.status().message()));
}

absl::StatusOr<std::shared_ptr<Agent>> HostCopies::StartAgent(Version version, std::byte* data) {
  std::vector<TensorBuffer> tensors;
  {
    MutexLock lock(mutex_);
    tensors = shard_;
  }
  AgentOptions options = OfTheCopy(options_, version);
  options.local_device = Device();
  options.on_copy_released = [this, version] { Release(version); };
  absl::StatusOr<std::unique_ptr<Agent>> agent = Agent::Start(options);
  if (!agent.ok()) return agent.status();
  const absl::Status status = (*agent)->Register(MovedTo(data, std::move(tensors)));
  if (!status.ok()) return status;
  return std::shared_ptr<Agent>(*std::move(agent));
}

// From here on Stop knows of it.
absl::Status HostCopies::Keep(Version version, Copy copy) {
  MutexLock lock(mutex_);
  if (stopping_) return absl::CancelledError("the worker leaves");
  copies_[version] = std::move(copy);
  return absl::OkStatus();
}

void HostCopies::Drop(Version version, TimeMs drain_ms) {
  std::shared_ptr<Agent> agent;
  {
    MutexLock lock(mutex_);
    const auto found = copies_.find(version);
    if (found == copies_.end()) return;
    agent = found->second.agent;
  }
  static_cast<void>(agent->Leave(drain_ms));
  agent->Stop();
  MutexLock lock(mutex_);
  const auto found = copies_.find(version);
  if (found == copies_.end()) return;
  spare_ = std::move(found->second.memory);
  copies_.erase(found);
}

// Leaving ends what the thread waits for.
void HostCopies::Stop(TimeMs drain_ms, std::optional<Version> held) {
  MutexLock one_at_a_time(stop_mutex_);
  std::set<Version> versions;
  std::thread thread;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    asked_.NotifyAll();
    for (const auto& [version, copy] : copies_) versions.insert(version);
    thread = std::move(thread_);
  }
  for (const Version version : versions) Drop(version, version == held ? 0 : drain_ms);
  if (thread.joinable()) thread.join();
}

}  // namespace tensorhub::agent
