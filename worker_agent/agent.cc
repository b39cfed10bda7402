// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/agent.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/descriptors.h"
#include "common/location.h"
#include "common/random.h"
#include "common/text.h"
#include "common/thread.h"
#include "worker_agent/host_copies.h"
#include "worker_agent/hub/channel.h"
#include "worker_agent/memory/mappings.h"
#include "worker_agent/runtime/log.h"
#include "worker_agent/runtime/thread.h"
#include "worker_agent/ucx/ucx_gets.h"
#include "worker_agent/ucx/ucx_settings.h"
#include "worker_agent/ucx/ucx_signals.h"
#include "worker_agent/ways/host_ways.h"
#include "worker_agent/ways/this_host.h"

namespace tensorhub::agent {
namespace {

constexpr std::chrono::milliseconds kTick(50);

absl::Status Stopped() {
  return absl::FailedPreconditionError("this client has left; connect a new one");
}

absl::Status CancelledByCaller() {
  return absl::CancelledError("the call was cancelled by its caller");
}

ProgressLoop::Options LoopOptions(const AgentOptions& options,
                                  std::shared_ptr<HubChannel> channel) {
  Random random(RandomSeed());
  ProgressLoop::Options loop;
  loop.server = options.server;
  loop.channel = std::move(channel);
  loop.facts = {.self = {options.key, random.NextNonZero()},
                .world_size = options.world_size,
                .location = PlacedOnThisHost(options.location),
                .spot = options.spot,
                .endpoint = "",
                .offers_copies = options.host_copy_bytes > 0,
                .copy_of = options.copy_of,
                .read_key = {RandomSecret()}};
  loop.on_copy_released = options.on_copy_released;
  loop.attachment = options.attachment;
  loop.connect_timeout_ms = options.connect_timeout_ms;
  loop.one_sided = options.one_sided;
  loop.digests = options.digests;
  loop.seed = random.Next();
  loop.make_messages =
      [data_address = options.data_address](
          MessageTransport::Sink* sink) -> absl::StatusOr<std::unique_ptr<MessageTransport>> {
    const absl::StatusOr<Ways::Host> host = WaysOfThisHost(data_address);
    if (!host.ok()) return host.status();
    return Ways::Create(sink, *host);
  };
  loop.make_gets = [](GetTransport::Sink* sink) { return UcxGets::Create(sink); };
  loop.make_device_gets = [](GetTransport::Sink* sink) {
    return UcxGets::Create(sink, UcxGets::Kind::kDevice);
  };
  loop.make_local_gets = [cuda = options.cuda](int device) {
    return [cuda, device](GetTransport::Sink* sink) { return MakeLocalGets(cuda, device, sink); };
  };
  loop.through_host = options.through_host;
  loop.device_copies = options.device_copies;
  loop.local_device = options.local_device;
  loop.observed = options.observed;
  return loop;
}

// gRPC has one word for whatever TLS refuses.
absl::Status WhyNotConnected(const absl::Status& status, const std::string& server,
                             const HubChannel& channel) {
  if (!absl::IsUnavailable(status)) return status;
  const std::string why = channel.WhyNot();
  if (why.empty()) return status;
  return absl::UnavailableError(
      absl::StrCat("no connection with the server at ", server, ": ", why));
}

// A client takes about a dozen, and UCX ends the process when it finds none.
absl::Status CheckDescriptors() {
  constexpr size_t kWanted = 32;
  std::vector<int> taken;
  while (taken.size() < kWanted) {
    const int fd = eventfd(0, EFD_CLOEXEC);
    if (fd < 0) break;
    taken.push_back(fd);
  }
  for (const int fd : taken) close(fd);
  if (taken.size() == kWanted) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("this process can open ", taken.size(),
                                                   " files more, and a client needs ", kWanted,
                                                   "; raise its limit (ulimit -n)"));
}

// gRPC starts its own with the first channel, and UCX one with each context.
absl::Status CheckThreads() {
  return CheckRoomForThreads("a client",
                             8 + std::clamp(std::thread::hardware_concurrency(), 1u, 16u));
}

}  // namespace

Agent::Agent(const AgentOptions& options, const std::shared_ptr<HubChannel>& channel)
    : cuda_(options.cuda),
      inbox_(std::make_shared<Inbox>()),
      queries_(channel, options.server, options.key.model),
      copies_(std::make_unique<HostCopies>(
          options,
          [this](VersionNumber version, const absl::Status& status) {
            inbox_->Post([this, version, status] { loop_->TellCopyFailed(version, status); });
          })),
      planner_([this](const Fingerprint& layout) { return queries_.GetLayout(layout); },
               [this](const ReadPlanned& planned) {
                 inbox_->Post([this, planned] { loop_->TellPlanned(planned); });
               }),
      ended_(Stopped()) {}

Agent::~Agent() { Stop(); }

absl::StatusOr<std::unique_ptr<Agent>> Agent::Start(const AgentOptions& options) {
  if (absl::Status status = Location::Parse(options.location).status(); !status.ok()) return status;
  OccupyStandardStreams();  // before anything of ours is opened
  GiveSignalsBack();
  if (absl::Status status = CheckDescriptors(); !status.ok()) return status;
  if (absl::Status status = CheckThreads(); !status.ok()) return status;
  PrepareProcessForUcx();  // changes the environment, so before there are threads of ours
  std::unique_ptr<Agent> agent;
  std::shared_ptr<HubChannel> channel;
  auto connected = std::make_shared<Answer<absl::Status>>();
  {
    const WithoutSignals blocked;  // gRPC starts its threads with the first channel
    channel = std::make_shared<HubChannel>(options.server, options.security);
    agent.reset(new Agent(options, channel));
    MutexLock lock(agent->stop_mutex_);
    absl::StatusOr<std::thread> thread =
        StartWithoutSignals("a client", [self = agent.get(), loop = LoopOptions(options, channel),
                                         connected] { self->RunLoop(loop, connected); });
    if (!thread.ok()) return thread.status();
    agent->thread_ = *std::move(thread);
  }
  const std::stop_callback on_cancel(options.cancel, [self = agent.get()] {
    self->inbox_->Post([self] { self->loop_->Stop(); });
  });
  const absl::Status status = connected->Wait();
  if (options.cancel.stop_requested()) return CancelledByCaller();
  if (!status.ok()) return WhyNotConnected(status, options.server, *channel);
  return agent;
}

void Agent::RunLoop(ProgressLoop::Options options,
                    const std::shared_ptr<Answer<absl::Status>>& connected) {
  progress_thread_ = std::this_thread::get_id();
  Answer<absl::Status>::Giver giver(connected, Stopped());
  options.on_copy_wanted = [this](VersionNumber version, TimeMs within_ms) {
    copies_->Make(version, within_ms);
  };
  options.on_plan_wanted = [this](const MakeReadPlan& wanted, const Layout& own) {
    planner_.Plan(wanted, std::make_shared<const Layout>(own));
  };
  options.on_memory_lost = [this](const absl::Status& status) {
    MutexLock lock(verb_mutex_);
    ended_ = status;
  };
  options.on_connected = [&giver](const absl::Status& status) { giver.Give(status); };
  loop_ = std::make_unique<ProgressLoop>(std::move(options), inbox_);
  const absl::Status status = loop_->Start();
  if (!status.ok()) return giver.Give(status);
  loop_->Run();
}

// A verb that is asked for by the callback of another would wait for itself.
absl::Status Agent::CheckCaller() const {
  if (progress_thread_.load() != std::this_thread::get_id()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "called from a callback of this client; let another thread do it");
}

template <class T>
T Agent::OnLoop(std::function<T(ProgressLoop&)> task) {
  if (absl::Status status = CheckCaller(); !status.ok()) return status;
  auto answer = std::make_shared<Answer<T>>();
  auto giver = std::make_shared<typename Answer<T>::Giver>(answer, Ended());
  inbox_->Post([this, giver, task = std::move(task)] { giver->Give(task(*loop_)); });
  giver.reset();
  return answer->Wait();
}

absl::Status Agent::Ended() {
  MutexLock lock(verb_mutex_);
  return ended_;
}

std::shared_ptr<Medium> Agent::medium() {
  MutexLock lock(verb_mutex_);
  return medium_;
}

absl::Status Agent::Register(const std::vector<TensorBuffer>& tensors) {
  if (absl::Status status = CheckCaller(); !status.ok()) return status;
  const std::shared_ptr<Turn> turn = TakeTurn();
  return TakeMemory(tensors);
}

absl::Status Agent::TakeMemory(const std::vector<TensorBuffer>& tensors) {
  absl::StatusOr<Memory> memory = Memory::Make(tensors);
  if (!memory.ok()) return memory.status();
  absl::StatusOr<std::string> read_only = FirstReadOnly(tensors);
  if (!read_only.ok()) return read_only.status();
  const absl::StatusOr<std::vector<std::string>> warnings =
      UseRightMedium(cuda_, tensors, cuda_.network_cards.value_or(HasRdmaDevices()), *memory);
  if (!warnings.ok()) return warnings.status();
  for (const std::string& warning : *warnings) Log().warn("{}", warning);
  auto shared = std::make_shared<Memory>(*std::move(memory));
  const std::shared_ptr<Medium> medium = shared->shared_medium();
  const absl::Status status = OnLoop<absl::Status>(
      [shared](ProgressLoop& loop) { return loop.Register(std::move(*shared)); });
  if (!status.ok()) return status;
  copies_->SetShard(tensors);
  MutexLock lock(verb_mutex_);
  medium_ = medium;
  read_only_ = *std::move(read_only);
  return absl::OkStatus();
}

absl::StatusOr<TimeMs> Agent::Await(const DeviceWork& work, TimeMs timeout_ms) {
  if (absl::Status status = CheckCaller(); !status.ok()) return status;
  const std::shared_ptr<Medium> where = medium();
  if (!work.any() || where == nullptr) return timeout_ms;
  const auto began = std::chrono::steady_clock::now();
  if (absl::Status status = where->Await(work, timeout_ms); !status.ok()) return status;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - began);
  return std::max<TimeMs>(timeout_ms - took.count(), 1);
}

absl::Status Agent::ShowTo(const DeviceWork& work) {
  const std::shared_ptr<Medium> where = medium();
  if (!work.any() || where == nullptr) return absl::OkStatus();
  return where->ShowTo(work);
}

// What makes the memory's bytes count: it must be the memory that was registered.
absl::Status Agent::CheckMemory(const Verb& verb) {
  const bool counts =
      std::holds_alternative<PublishVerb>(verb) || std::holds_alternative<FetchVerb>(verb);
  const std::shared_ptr<Medium> where = counts ? medium() : nullptr;
  if (where == nullptr) return absl::OkStatus();
  if (std::holds_alternative<FetchVerb>(verb)) {
    MutexLock lock(verb_mutex_);
    if (!read_only_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", Shown(read_only_),
                                                     " is in memory that cannot be written; it can "
                                                     "be published, but not fetched into"));
    }
  }
  return where->CheckThere();
}

std::shared_ptr<Agent::Turn> Agent::TakeTurn(const std::stop_token& cancel, const Tick& tick) {
  const std::stop_callback wake(cancel, [this] {
    MutexLock lock(verb_mutex_);  // whoever is about to wait has looked, or will
    verb_ended_.NotifyAll();
  });
  while (!cancel.stop_requested()) {
    if (const uint64_t number = WaitForTurn(kTick, cancel)) {
      return std::make_shared<Turn>(*this, number);
    }
    if (tick) tick();
  }
  return nullptr;
}

uint64_t Agent::WaitForTurn(std::chrono::milliseconds time, const std::stop_token& cancel) {
  const auto until = std::chrono::steady_clock::now() + time;
  MutexLock lock(verb_mutex_);
  while (turn_ != 0 && !cancel.stop_requested() && verb_ended_.WaitUntil(verb_mutex_, until)) {
  }
  if (turn_ != 0 || cancel.stop_requested()) return 0;
  return turn_ = ++turns_;
}

void Agent::EndTurn(uint64_t number) {
  MutexLock lock(verb_mutex_);
  if (turn_ != number) return;
  turn_ = 0;
  verb_ended_.NotifyAll();
}

VerbDone Agent::RunVerb(const Verb& verb, OnProgress on_progress, const std::stop_token& cancel,
                        const Tick& tick) {
  absl::Status status = CheckCaller();
  if (status.ok()) status = CheckMemory(verb);
  if (!status.ok()) return {status, {}};
  std::shared_ptr<Turn> turn = TakeTurn(cancel, tick);
  if (turn == nullptr) return {CancelledByCaller(), {}};
  const uint64_t number = turn->number();
  auto answer = std::make_shared<Answer<VerbDone>>();
  auto giver = std::make_shared<Answer<VerbDone>::Giver>(answer, VerbDone{Ended(), {}});
  inbox_->Post([this, turn, giver, verb, on_progress = std::move(on_progress)] {
    running_ = turn->number();
    // The turn ends here and not in the thread that asked, whose tick may ask for another verb.
    const auto on_done = [turn, giver](const VerbDone& done) {
      turn->End();
      giver->Give(done);
    };
    loop_->AskVerb(verb, on_done, on_progress);
  });
  turn.reset();
  giver.reset();
  const std::stop_callback on_cancel(cancel, [this, number] {
    inbox_->Post([this, number] {
      if (running_ == number) loop_->AskToCancel();
    });
  });
  return tick ? answer->Wait(kTick, tick) : answer->Wait();
}

absl::Status Agent::Leave(TimeMs drain_ms) {
  queries_.Stop();
  // Together, so that they have the same time.
  absl::StatusOr<std::thread> copies =
      StartWithoutSignals("leaving", [this, drain_ms] { copies_->Stop(drain_ms); });
  inbox_->Post([this, drain_ms] { loop_->AskToLeave(drain_ms); });
  const absl::Status status = RunVerb(LeaveVerb{drain_ms}).status;
  copies.ok() ? copies->join() : copies_->Stop(/*drain_ms=*/0);
  return status;
}

absl::StatusOr<void*> Agent::Allocate(size_t bytes) {
  return OnLoop<absl::StatusOr<void*>>(
      [bytes](ProgressLoop& loop) { return loop.Allocate(bytes); });
}

std::optional<VersionNumber> Agent::Held() {
  using Answered = absl::StatusOr<std::optional<VersionNumber>>;
  return OnLoop<Answered>([](ProgressLoop& loop) { return loop.Held(); }).value_or(std::nullopt);
}

absl::Status Agent::Health() {
  return OnLoop<absl::Status>([](ProgressLoop& loop) { return loop.Health(); });
}

absl::StatusOr<VersionNumber> Agent::WaitForVersion(const VersionWait& wait) {
  if (absl::Status status = CheckCaller(); !status.ok()) return status;
  using Answered = absl::StatusOr<std::optional<TermNumber>>;
  if (!wait.stamped) return queries_.WaitForVersion(wait);
  VersionWait asked = wait;
  const auto held_in = [&](ProgressLoop& loop) { return loop.HeldIn(wait.newer_than); };
  asked.held_in = OnLoop<Answered>(held_in).value_or(std::nullopt);
  return queries_.WaitForVersion(asked);
}

absl::StatusOr<std::vector<ListedVersion>> Agent::List() {
  if (absl::Status status = CheckCaller(); !status.ok()) return status;
  return queries_.List();
}

// A task that runs has its loop, and one that does not is dropped with the inbox.
AskWorker Agent::Asker() {
  using Answered = Answer<std::optional<WorkerNow>>;
  const auto now = [this, inbox = inbox_] {
    auto answer = std::make_shared<Answered>();
    auto giver = std::make_shared<Answered::Giver>(answer, std::nullopt);
    inbox->Post([this, giver] { giver->Give(loop_->Now()); });
    return answer;
  };
  return {now, loop_->at_owners_call()};
}

void Agent::Stop() {
  queries_.Stop();
  planner_.Stop();
  copies_->Stop(/*drain_ms=*/0);
  inbox_->Post([this] { loop_->Stop(); });
  MutexLock lock(stop_mutex_);
  if (!thread_.joinable()) return;
  thread_.join();
  progress_thread_ = std::thread::id();  // the next thread of the program may be given the same
}

}  // namespace tensorhub::agent
