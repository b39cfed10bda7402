// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/host_copies.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker_agent/runtime/log.h"
#include "worker_agent/runtime/thread.h"

namespace tensorhub::agent {
namespace {

using Clock = std::chrono::steady_clock;

// What readers of a copy have that nobody wants any more.
constexpr TimeMs kReleaseMs = 10'000;
// The worker itself is connected; and its Leave waits for a copy that is connecting.
constexpr TimeMs kConnectMs = 5'000;
// A few gigabytes take that long to make and to lock.
constexpr std::chrono::seconds kSpareWait{1};

TimeMs MsUntil(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return std::max<TimeMs>(left.count(), 1);
}

// A group of its own; a name with no room for more is cut, and told from others' by its hash.
std::string NameOfCopy(std::string group, VersionNumber version) {
  constexpr size_t kRoom = sizeof(".copy.18446744073709551615");
  if (group.size() + kRoom > kNameBytesMax) {
    const std::string hash = ToHex(FingerprintOf(group));
    group = absl::StrCat(group.substr(0, kNameBytesMax - kRoom - hash.size()), hash);
  }
  return absl::StrCat(group, ".copy.", version);
}

AgentOptions OfTheCopy(AgentOptions options, VersionNumber version, TimeMs within_ms) {
  options.copy_of = options.key.group;
  options.key.group = NameOfCopy(options.key.group, version);
  options.connect_timeout_ms = std::min({options.connect_timeout_ms, within_ms, kConnectMs});
  options.host_copy_bytes = 0;
  return options;
}

// The same tensors, one behind the other from `data` on: in canonical order, so that they are one
// piece of memory for whoever reads them.
std::vector<TensorBuffer> MovedTo(std::byte* data, std::vector<TensorBuffer> tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorBuffer& a, const TensorBuffer& b) { return a.name < b.name; });
  for (TensorBuffer& tensor : tensors) {
    tensor.data = data;
    tensor.cuda = false;  // copies are in host memory
    data += tensor.bytes;
  }
  return tensors;
}

}  // namespace

HostCopies::HostCopies(const AgentOptions& options, OnFailed on_failed)
    : options_(options), on_failed_(std::move(on_failed)) {}

HostCopies::~HostCopies() { Stop(/*drain_ms=*/0); }

void HostCopies::SetShard(const std::vector<TensorBuffer>& tensors) {
  MutexLock lock(mutex_);
  if (std::exchange(has_shard_, true)) return;
  shard_ = tensors;
  for (const TensorBuffer& tensor : tensors) shard_bytes_ += tensor.bytes;
}

void HostCopies::Make(VersionNumber version, TimeMs within_ms) {
  const absl::Status status = AskToMake(version, within_ms);
  if (!status.ok()) on_failed_(version, status);
}

absl::Status HostCopies::AskToMake(VersionNumber version, TimeMs within_ms) {
  MutexLock lock(mutex_);
  if (absl::Status status = Wake(); !status.ok()) return status;
  to_make_[version] = Clock::now() + std::chrono::milliseconds(within_ms);
  return absl::OkStatus();
}

void HostCopies::Release(VersionNumber version) {
  MutexLock lock(mutex_);
  to_release_.insert(version);
  Wake().IgnoreError();  // what is there to be released, those threads have made
}

absl::Status HostCopies::Wake() {
  changed_.NotifyAll();
  if (stopping_ || (making_.joinable() && releasing_.joinable())) return absl::OkStatus();
  absl::StatusOr<std::thread> started;
  if (!releasing_.joinable()) {
    started = StartWithoutSignals("releasing copies", [this] { RunReleasing(); });
    if (!started.ok()) return started.status();
    releasing_ = *std::move(started);
  }
  started = StartWithoutSignals("making copies", [this] { RunMaking(); });
  if (!started.ok()) return started.status();
  making_ = *std::move(started);
  return absl::OkStatus();
}

void HostCopies::RunMaking() {
  while (true) {
    VersionNumber version = 0;
    Deadline deadline;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && to_make_.empty()) changed_.Wait(mutex_);
      if (stopping_) return;
      std::tie(version, deadline) = *to_make_.begin();
      to_make_.erase(to_make_.begin());
    }
    const absl::Status status = Add(version, deadline);
    if (status.ok() || absl::IsCancelled(status) || IsAskedFor(version)) continue;
    Log().warn("{}: no copy of version {}: {}", ToString(options_.key), version,
               std::string(status.message()));
    on_failed_(version, status);
  }
}

// Again, meanwhile: what became of an earlier attempt says nothing of that one.
bool HostCopies::IsAskedFor(VersionNumber version) {
  MutexLock lock(mutex_);
  return to_make_.contains(version);
}

void HostCopies::RunReleasing() {
  while (true) {
    VersionNumber version = 0;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && to_release_.empty()) changed_.Wait(mutex_);
      if (stopping_) return;
      version = *to_release_.begin();
      to_release_.erase(version);
      releasing_now_ = true;
      if (const auto copy = copies_.find(version); copy != copies_.end()) {
        copy->second.released = true;
      }
    }
    if (GivesUp(version)) Drop(version, kReleaseMs);
    MutexLock lock(mutex_);
    releasing_now_ = false;
    changed_.NotifyAll();
  }
}

// R7: by now it may be wanted again. That is for the hub to say, as to everybody who wants to give
// his buffers up.
bool HostCopies::GivesUp(VersionNumber version) {
  const std::shared_ptr<Agent> agent = AgentOf(version);
  if (agent == nullptr) return false;
  const absl::Status status = agent->RunVerb(UnpublishVerb{kReleaseMs}).status;
  if (!absl::IsResourceExhausted(status)) return true;
  MutexLock lock(mutex_);
  const auto found = copies_.find(version);
  if (found != copies_.end() && found->second.agent == agent) found->second.released = false;
  return false;
}

// R6: one that is there takes part in the fetch as well, since another rank's may have been lost.
absl::Status HostCopies::Add(VersionNumber version, Deadline deadline) {
  std::shared_ptr<Agent> agent = HolderOf(version);
  if (agent == nullptr) {
    absl::StatusOr<std::shared_ptr<Agent>> begun = Begin(version, deadline);
    if (!begun.ok()) return begun.status();
    agent = *std::move(begun);
  }
  // Where this one cannot, the hub asks another keeper.
  const Verb fetch = FetchVerb{.selector = {VersionSelector::Kind::kExact, version},
                               .timeout_ms = MsUntil(deadline),
                               .waits_out_outages = false,
                               .partial = true};  // as the shard is that it is a copy of
  const absl::Status status = agent->RunVerb(fetch).status;
  if (!status.ok() && HolderOf(version) == nullptr) Drop(version, /*drain_ms=*/0);
  return status;
}

absl::StatusOr<std::shared_ptr<Agent>> HostCopies::Begin(VersionNumber version, Deadline deadline) {
  Drop(version, /*drain_ms=*/0);  // what is left of one that has ended
  absl::StatusOr<HostMemory> memory = TakeMemory(deadline);
  if (!memory.ok()) return memory.status();
  Pin(*memory);
  absl::StatusOr<std::shared_ptr<Agent>> agent =
      StartAgent(version, memory->data(), MsUntil(deadline));
  if (!agent.ok()) return agent.status();
  if (absl::Status status = Keep(version, {*std::move(memory), *agent}); !status.ok()) {
    return status;
  }
  return agent;
}

std::shared_ptr<Agent> HostCopies::HolderOf(VersionNumber version) {
  std::shared_ptr<Agent> agent;
  {
    MutexLock lock(mutex_);
    const auto copy = copies_.find(version);
    if (copy == copies_.end() || copy->second.released) return nullptr;
    agent = copy->second.agent;
  }
  // One that the hub has refused holds it for nobody.
  const absl::Status health = agent->Health();
  const bool holds = agent->Held() == version && (health.ok() || absl::IsUnavailable(health));
  return holds ? agent : nullptr;
}

std::shared_ptr<Agent> HostCopies::AgentOf(VersionNumber version) {
  MutexLock lock(mutex_);
  const auto found = copies_.find(version);
  return found == copies_.end() ? nullptr : found->second.agent;
}

bool HostCopies::HasRoom() const {
  return shard_bytes_ * (copies_.size() + 1) <= options_.host_copy_bytes;
}

// Copies on their way out make room, and their memory is quicker to have than new one.
absl::StatusOr<HostMemory> HostCopies::TakeMemory(Deadline deadline) {
  MutexLock lock(mutex_);
  const Deadline now = Clock::now();
  AwaitSpare(now + std::min<Clock::duration>(kSpareWait, (deadline - now) / 4));
  absl::StatusOr<HostMemory> memory = TakeSpareOrMake();
  if (!absl::IsResourceExhausted(memory.status())) return memory;
  AwaitSpare(deadline);
  return TakeSpareOrMake();
}

void HostCopies::AwaitSpare(Deadline until) {
  while (!stopping_ && spare_.data() == nullptr && (releasing_now_ || !to_release_.empty())) {
    if (!changed_.WaitUntil(mutex_, until)) return;
  }
}

absl::StatusOr<HostMemory> HostCopies::TakeSpareOrMake() {
  if (stopping_) return absl::CancelledError("the worker leaves");
  if (!has_shard_) return absl::FailedPreconditionError("no tensors are registered");
  if (!HasRoom()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "it needs ", shard_bytes_, " bytes besides the ", shard_bytes_ * copies_.size(),
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
  memory.Populate();
  absl::StatusOr<std::shared_ptr<void>> pin =
      PinHostMemory(options_.cuda, *device, memory.data(), memory.bytes());
  if (pin.ok()) return memory.Pin(*std::move(pin));
  Log().warn("{}: copies will be slow, since their memory cannot be page-locked: {}",
             ToString(options_.key), std::string(pin.status().message()));
}

absl::StatusOr<std::shared_ptr<Agent>> HostCopies::StartAgent(VersionNumber version,
                                                              std::byte* data, TimeMs within_ms) {
  std::vector<TensorBuffer> tensors;
  {
    MutexLock lock(mutex_);
    tensors = shard_;
  }
  AgentOptions options = OfTheCopy(options_, version, within_ms);
  options.local_device = Device();
  options.on_copy_released = [this, version] { Release(version); };
  absl::StatusOr<std::unique_ptr<Agent>> agent = Agent::Start(options);
  if (!agent.ok()) return agent.status();
  const absl::Status status = (*agent)->Register(MovedTo(data, std::move(tensors)));
  if (!status.ok()) return status;
  return std::shared_ptr<Agent>(*std::move(agent));
}

// From here on Stop knows of it.
absl::Status HostCopies::Keep(VersionNumber version, Copy copy) {
  MutexLock lock(mutex_);
  if (stopping_) return absl::CancelledError("the worker leaves");
  copies_[version] = std::move(copy);
  return absl::OkStatus();
}

void HostCopies::Drop(VersionNumber version, std::optional<TimeMs> drain_ms) {
  const std::shared_ptr<Agent> agent = AgentOf(version);
  if (agent == nullptr) return;
  if (drain_ms) static_cast<void>(agent->Leave(*drain_ms));
  agent->Stop();
  Copy copy;  // with the spare from before, in the end: to give memory back takes a while
  MutexLock lock(mutex_);
  const auto found = copies_.find(version);
  if (found == copies_.end() || found->second.agent != agent) return;
  copy = std::move(found->second);
  copies_.erase(found);
  std::swap(spare_, copy.memory);
}

// Leaving ends what the threads wait for.
void HostCopies::Stop(TimeMs drain_ms) {
  MutexLock one_at_a_time(stop_mutex_);
  std::vector<std::thread> threads;
  std::vector<std::pair<VersionNumber, std::optional<TimeMs>>> alone;  // no thread is left for them
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
    for (const auto& [version, copy] : copies_) {
      const std::optional<TimeMs> drain = copy.released ? std::nullopt : std::optional(drain_ms);
      absl::StatusOr<std::thread> thread =
          StartWithoutSignals("leaving", [this, v = version, drain] { Drop(v, drain); });
      if (thread.ok()) {
        threads.push_back(*std::move(thread));
      } else {
        alone.emplace_back(version, drain);
      }
    }
    threads.push_back(std::move(making_));
    threads.push_back(std::move(releasing_));
  }
  for (const auto& [version, drain] : alone) Drop(version, drain);
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace tensorhub::agent
