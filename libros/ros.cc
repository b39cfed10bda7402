// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tensorhub/ros.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "libros/checks.h"
#include "worker_agent/agent.h"
#include "worker_agent/runtime/log.h"
#include "worker_agent/seen/trace_file.h"
#include "worker_agent/seen/worker_page.h"

#define TENSORHUB_TEXT_OF(number) #number
#define TENSORHUB_TEXT(number) TENSORHUB_TEXT_OF(number)

namespace tensorhub {
namespace {

static_assert(std::string_view(TENSORHUB_VERSION) ==
                  TENSORHUB_TEXT(TENSORHUB_VERSION_MAJOR) "." TENSORHUB_TEXT(
                      TENSORHUB_VERSION_MINOR) "." TENSORHUB_TEXT(TENSORHUB_VERSION_PATCH),
              "tensorhub/ros.h and CMakeLists.txt say different versions");

// For the destructor: nobody who destroys a client wants to wait for long.
constexpr std::chrono::milliseconds kLastDrain(5000);

agent::TensorBuffer ToBuffer(const Tensor& tensor) {
  agent::TensorBuffer buffer;
  buffer.name = tensor.name;
  buffer.dtype = tensor.dtype;
  buffer.shape = tensor.shape;
  if (tensor.slice) buffer.slice = {tensor.slice->global_shape, tensor.slice->offset};
  buffer.data = tensor.data;
  buffer.bytes = tensor.bytes;
  buffer.cuda = tensor.device == Device::kCuda;
  buffer.cuda_device = tensor.device_index;
  return buffer;
}

VersionSelector ToAgent(const Selector& selector) {
  switch (selector.kind) {
    case Selector::Kind::kExact:
      return {VersionSelector::Kind::kExact, selector.version};
    case Selector::Kind::kNewerThan:
      return {VersionSelector::Kind::kNewerThan, selector.version};
    case Selector::Kind::kAny:
      return {VersionSelector::Kind::kAny, 0};
    case Selector::Kind::kLatest:
      break;
  }
  return {VersionSelector::Kind::kLatest, 0};
}

// The hub knows "newer than"; version n or newer is newer than n - 1, and 0 or newer is any.
agent::VersionWait ToWait(const Selector& selector) {
  agent::VersionWait wait;
  wait.any = selector.kind == Selector::Kind::kLatest || selector.kind == Selector::Kind::kAny ||
             (selector.kind == Selector::Kind::kExact && selector.version == 0);
  if (wait.any) return wait;
  wait.stamped = selector.kind == Selector::Kind::kNewerThan;
  wait.newer_than =
      selector.kind == Selector::Kind::kExact ? selector.version - 1 : selector.version;
  return wait;
}

agent::DigestMode ToAgent(Digests digests) {
  if (digests == Digests::kOn) return agent::DigestMode::kOn;
  return digests == Digests::kOff ? agent::DigestMode::kOff : agent::DigestMode::kAuto;
}

agent::AgentOptions ToAgent(const ConnectOptions& options) {
  agent::AgentOptions out;
  out.server = options.server;
  out.security = libros::SecurityOf(options);
  out.key = {options.model, options.group, options.rank};
  out.world_size = options.world_size;
  out.location = libros::LocationOf(options);
  out.data_address = libros::DataAddressOf(options);
  out.spot = options.spot;
  out.connect_timeout_ms = libros::Milliseconds(options.connect_timeout);
  out.attachment = options.attachment;
  out.digests = ToAgent(libros::DigestsOf(options).value_or(options.digests));
  out.host_copy_bytes = options.host_copy_bytes;
  out.through_host = options.gpu_through_host;
  out.device_copies = libros::DeviceCopies().value_or(true);
  out.cancel = options.cancel;
  return out;
}

std::optional<ContentIdentity> IdentityFrom(const ContentDigest& digest) {
  if (!digest) return std::nullopt;
  ContentIdentity identity;
  const std::string bytes = ToBytes(digest);
  std::copy(bytes.begin(), bytes.end(), identity.begin());
  return identity;
}

VersionInfo ToInfo(const agent::ListedVersion& listed) {
  VersionInfo info{listed.version, listed.state, listed.bytes, {}, IdentityFrom(listed.identity),
                   listed.term};
  for (const agent::ListedReplica& replica : listed.replicas) {
    info.replicas.push_back({replica.group, replica.ranks_complete, replica.ranks, replica.state});
  }
  return info;
}

absl::Status OfTheParent(const std::string& what) {
  return absl::FailedPreconditionError(
      what +
      " in the process that this one was forked from; fork before the first connect, or "
      "start a new program");
}

// A child that used gRPC would do so on the parent's own descriptors, and disturb the parent.
absl::Status CheckNotForked() {
  static const pid_t process = getpid();  // of the first Connect
  return getpid() == process ? absl::OkStatus() : OfTheParent("a client was connected");
}

// Null: none is wanted, or the environment's cannot be written to.
absl::StatusOr<std::shared_ptr<agent::TraceFile>> TraceFileOf(const ConnectOptions& options) {
  const std::string folder = libros::TraceOf(options);
  if (folder.empty()) return nullptr;
  auto file = agent::TraceFile::In(folder);
  if (file.ok()) return file;
  const std::string why(file.status().message());
  if (!options.trace.empty()) return absl::FailedPreconditionError("trace: " + why);
  agent::Log().warn("TENSORHUB_TRACE: {}; without a trace", why);
  return nullptr;
}

// Null: none is wanted, or the environment's cannot be had: a page is not worth a job.
absl::StatusOr<std::shared_ptr<agent::WorkerPage>> PageOf(const ConnectOptions& options) {
  const std::string address = libros::HttpOf(options);
  if (address.empty()) return nullptr;
  auto page = agent::WorkerPage::At(address);
  if (page.ok()) {
    agent::Log().info("metrics of this process at http://{}/metrics",
                      (*page)->address().ToString());
    return page;
  }
  if (!options.http.empty()) {
    return absl::UnavailableError(absl::StrCat("http: ", std::string(page.status().message())));
  }
  agent::Log().warn("TENSORHUB_WORKER_HTTP: {}; without metrics",
                    std::string(page.status().message()));
  return nullptr;
}

}  // namespace

const char* Version() { return TENSORHUB_VERSION; }

// Hidden, since the exported names are `Client::…`.
class [[gnu::visibility("hidden")]] Client::Impl {
 public:
  Impl(std::unique_ptr<agent::Agent> agent, std::unique_ptr<agent::WorkerPage::Place> shown,
       std::shared_ptr<agent::TraceFile> trace)
      : agent_(std::move(agent)), shown_(std::move(shown)), trace_(std::move(trace)) {}

  // Threads do not survive a fork: in a child there is nobody who would answer.
  absl::Status Usable() const {
    if (Forked()) return OfTheParent("this client was connected");
    if (left_) return absl::FailedPreconditionError("this client has left; connect a new one");
    return absl::OkStatus();
  }
  bool Forked() const { return getpid() != process_; }

  // Every caller that returns from here may free the memory: the first one's end is everybody's.
  absl::Status Leave(std::chrono::milliseconds drain) ABSL_LOCKS_EXCLUDED(leave_mutex_) {
    if (absl::Status status = agent_->CheckCaller(); !status.ok()) return status;
    MutexLock lock(leave_mutex_);
    if (left_.exchange(true)) return leave_status_;
    leave_status_ = agent_->Leave(libros::Milliseconds(drain));
    agent_->Stop();
    shown_.reset();
    if (trace_ != nullptr) trace_->Flush();
    return leave_status_;
  }

  agent::Agent& agent() { return *agent_; }
  // The client's threads are the parent's, so that it can be neither used nor destroyed.
  void Abandon() {
    static_cast<void>(agent_.release());
    static_cast<void>(shown_.release());
  }

 private:
  const pid_t process_ = getpid();
  std::atomic<bool> left_{false};
  Mutex leave_mutex_;
  absl::Status leave_status_ ABSL_GUARDED_BY(leave_mutex_);
  std::unique_ptr<agent::Agent> agent_;
  std::unique_ptr<agent::WorkerPage::Place> shown_;
  const std::shared_ptr<agent::TraceFile> trace_;  // the agent's, which outlives this in a fork
};

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const ConnectOptions& options) {
  absl::Status status = libros::Check(options);
  if (status.ok()) status = CheckNotForked();
  if (!status.ok()) return status;
  const absl::StatusOr<std::shared_ptr<agent::TraceFile>> trace = TraceFileOf(options);
  if (!trace.ok()) return trace.status();
  const absl::StatusOr<std::shared_ptr<agent::WorkerPage>> page = PageOf(options);
  if (!page.ok()) return page.status();
  agent::AgentOptions wanted = ToAgent(options);
  wanted.observed.trace = *trace;
  if (*page != nullptr) wanted.observed.tally = (*page)->TallyOf(options.model);
  absl::StatusOr<std::unique_ptr<agent::Agent>> started = agent::Agent::Start(wanted);
  if (!started.ok()) return started.status();
  std::unique_ptr<agent::WorkerPage::Place> shown;
  if (*page != nullptr) shown = (*page)->Show(options.model, (*started)->Asker());
  return std::unique_ptr<Client>(
      new Client(std::make_unique<Impl>(*std::move(started), std::move(shown), *trace)));
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Client::~Client() {
  if (impl_->Forked()) {
    impl_->Abandon();
  } else {
    static_cast<void>(impl_->Leave(kLastDrain));
  }
}

absl::Status Client::Register(const std::vector<Tensor>& tensors) {
  const absl::Status status = impl_->Usable();
  if (!status.ok()) return status;
  std::vector<agent::TensorBuffer> buffers;
  buffers.reserve(tensors.size());
  for (const Tensor& tensor : tensors) buffers.push_back(ToBuffer(tensor));
  return impl_->agent().Register(buffers);
}

absl::Status Client::Publish(uint64_t version, const PublishOptions& options) {
  absl::Status status = impl_->Usable();
  if (status.ok()) status = libros::Check(options);
  if (!status.ok()) return status;
  agent::PublishVerb verb;
  verb.version = version;
  verb.wait_for_group = options.wait_for_group;
  verb.supersede = options.supersede;
  const absl::StatusOr<int64_t> left =
      impl_->agent().Await({options.stream, options.event}, libros::Milliseconds(options.timeout));
  if (!left.ok()) return left.status();
  verb.timeout_ms = *left;
  // A callback that throws would leave the turn taken for ever: it ends the process instead.
  const auto wait = [&options]() noexcept { options.while_waiting(); };
  const std::function<void()> waiting = options.while_waiting ? wait : std::function<void()>();
  return impl_->agent().RunVerb(verb, nullptr, options.cancel, waiting).status;
}

absl::Status Client::Unpublish(const UnpublishOptions& options) {
  absl::Status status = impl_->Usable();
  if (status.ok()) status = libros::Check(options);
  if (!status.ok()) return status;
  return impl_->agent()
      .RunVerb(agent::UnpublishVerb{libros::Milliseconds(options.drain_timeout), options.force})
      .status;
}

absl::StatusOr<FetchResult> Client::Fetch(const Selector& selector, const FetchOptions& options) {
  absl::Status status = impl_->Usable();
  if (status.ok()) status = libros::Check(options);
  if (!status.ok()) return status;
  agent::Agent::OnProgress progress;
  if (options.progress) {
    progress = [report = options.progress](const agent::FetchAdvanced& advanced) {
      report({advanced.version, advanced.bytes_done, advanced.bytes_total, advanced.source});
    };
  }
  const agent::DeviceWork work{options.stream, nullptr};
  const absl::StatusOr<int64_t> left =
      impl_->agent().Await(work, libros::Milliseconds(options.timeout));
  if (!left.ok()) return left.status();
  agent::VerbDone result =
      impl_->agent().RunVerb(agent::FetchVerb{ToAgent(selector), *left, options.waits_out_outages,
                                              options.traceparent, options.partial},
                             std::move(progress), options.cancel);
  if (result.status.ok()) result.status = impl_->agent().ShowTo(work);
  if (!result.status.ok()) return result.status;
  return FetchResult{result.fetch.version,
                     result.fetch.bytes_read,
                     result.fetch.bytes_skipped,
                     std::move(result.fetch.way),
                     std::move(result.fetch.sources),
                     IdentityFrom(result.fetch.identity)};
}

std::optional<uint64_t> Client::Held() {
  return impl_->Usable().ok() ? impl_->agent().Held() : std::nullopt;
}

absl::Status Client::Health() {
  const absl::Status status = impl_->Usable();
  return status.ok() ? impl_->agent().Health() : status;
}

absl::StatusOr<WaitResult> Client::WaitForVersion(const Selector& selector,
                                                  std::chrono::milliseconds timeout,
                                                  const WaitOptions& options) {
  absl::Status status = impl_->Usable();
  if (status.ok()) status = libros::CheckTimeout("timeout", timeout);
  if (!status.ok()) return status;
  agent::VersionWait wait = ToWait(selector);
  wait.max_lag = options.max_lag;
  wait.timeout_ms = libros::Milliseconds(timeout);
  wait.cancel = options.cancel;
  const absl::StatusOr<uint64_t> version = impl_->agent().WaitForVersion(wait);
  if (!version.ok()) return version.status();
  return WaitResult{*version};
}

absl::StatusOr<std::vector<VersionInfo>> Client::List() {
  const absl::Status status = impl_->Usable();
  if (!status.ok()) return status;
  const absl::StatusOr<std::vector<agent::ListedVersion>> listed = impl_->agent().List();
  if (!listed.ok()) return listed.status();
  std::vector<VersionInfo> infos;
  infos.reserve(listed->size());
  for (const agent::ListedVersion& version : *listed) infos.push_back(ToInfo(version));
  return infos;
}

absl::Status Client::Leave(const LeaveOptions& options) {
  if (impl_->Forked()) return impl_->Usable();
  if (absl::Status status = libros::Check(options); !status.ok()) return status;
  return impl_->Leave(options.drain_timeout);
}

absl::StatusOr<void*> Client::Allocate(size_t bytes) {
  const absl::Status status = impl_->Usable();
  if (!status.ok()) return status;
  if (bytes == 0) return absl::InvalidArgumentError("bytes 0: must be positive");
  return impl_->agent().Allocate(bytes);
}

}  // namespace tensorhub
