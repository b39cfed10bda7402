// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/agent/subscription.h"

#include <algorithm>
#include <iostream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/thread.h"
#include "spdlog/spdlog.h"
#include "tools/ctl/fetch_plan.h"
#include "tools/ctl/units.h"
#include "worker_agent/hub/channel.h"

namespace tensorhub::keeper {
namespace {

using Clock = std::chrono::steady_clock;

constexpr TimeMs kLookMs = 10'000;
constexpr std::chrono::milliseconds kRest(500);
constexpr std::chrono::milliseconds kRestMax(4000);

uint64_t BytesOf(const std::vector<Layout>& layouts) {
  uint64_t bytes = 0;
  for (const Layout& layout : layouts) bytes += layout.total_bytes();
  return bytes;
}

bool Same(const std::vector<Layout>& some, const std::vector<Layout>& others) {
  return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                    [](const Layout& one, const Layout& other) {
                      return one.fingerprint() == other.fingerprint();
                    });
}

// The shard's tensors, in memory as in its byte space.
std::vector<tensorhub::Tensor> TensorsIn(std::byte* memory, const Layout& layout) {
  std::vector<tensorhub::Tensor> tensors;
  for (const Layout::Entry& entry : layout.entries()) {
    tensorhub::Tensor tensor;
    const TensorSpec spec = entry.spec();
    tensor.name = spec.name;
    tensor.data = entry.bytes == 0 ? nullptr : memory + entry.offset;
    tensor.bytes = entry.bytes;
    tensor.dtype = std::string(ToString(spec.dtype));
    tensor.shape = spec.shape;
    if (spec.slice) tensor.slice = tensorhub::Slice{spec.slice->global_shape, spec.slice->offset};
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// Another rank's failure says less than its own.
absl::Status Worst(const absl::Status& one, const absl::Status& other) {
  return one.ok() || (absl::IsAborted(one) && !other.ok()) ? other : one;
}

}  // namespace

Subscription::Subscription(Options options)
    : options_(std::move(options)),
      admin_(options_.server, options_.connect_timeout),
      queries_(std::make_shared<agent::HubChannel>(options_.server, tls::ClientSecurity(),
                                                   agent::Calls::kBlocking),
               options_.server, options_.model) {}

Subscription::~Subscription() { LeaveAll(); }

// Together, since they have to wait for the same readers.
void Subscription::LeaveAll() {
  std::vector<std::thread> leaving;
  for (Rank& rank : ranks_) {
    if (rank.client == nullptr) continue;
    leaving.push_back(StartThreadOrEnd("leaving", [&rank] {
      const absl::Status status = rank.client->Leave();
      if (!status.ok()) spdlog::warn("{}", std::string(status.message()));
    }));
  }
  for (std::thread& thread : leaving) thread.join();
}

void Subscription::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  queries_.Stop();
  stop_.request_stop();
}

bool Subscription::stopping() {
  MutexLock lock(mutex_);
  return stopping_;
}

absl::Status Subscription::Run() {
  while (!stopping()) {
    Recheck();
    if (!Reached()) continue;
    const std::optional<uint64_t> version = Await();
    if (!version) continue;
    const absl::Status status = Hold(*version);
    if (absl::IsFailedPrecondition(status)) return status;
    if (status.ok() || stopping()) continue;
    Rest(absl::StrCat("version ", *version, ": ", std::string(status.message())));
  }
  LeaveAll();
  return absl::OkStatus();
}

// A fetch that failed may have cost what was held before; a server may refuse a client for good,
// since it has lost its data, say.
void Subscription::Recheck() {
  for (const Rank& rank : ranks_) {
    if (rank.client->Held() != held_) held_.reset();
    const absl::Status health = rank.client->Health();
    const bool serves = absl::IsUnavailable(health) || absl::IsDataLoss(health);
    if (health.ok() || serves || absl::IsOutOfRange(health)) continue;
    spdlog::warn("{}: connecting anew: {}", options_.model, std::string(health.message()));
    held_.reset();
    LeaveAll();
    return ranks_.clear();
  }
}

// Waiting for a version does not tell a server that is away from one that has nothing new.
bool Subscription::Reached() {
  const absl::Status status = queries_.List(options_.connect_timeout.count()).status();
  const bool away = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  if (away) {
    // gRPC may put it otherwise each time.
    const std::string why = away_ ? why_ : std::string(status.message());
    Rest(why);
  } else if (away_) {
    why_.clear();
    spdlog::warn("{}: the server {} is back", options_.model, options_.server);
  }
  away_ = away;
  return !away;
}

std::optional<uint64_t> Subscription::Await() {
  const absl::StatusOr<uint64_t> version = held_ ? AwaitNext(*held_) : AwaitAny();
  if (version.ok()) return *version;
  if (!absl::IsDeadlineExceeded(version.status())) Rest(std::string(version.status().message()));
  return std::nullopt;
}

absl::StatusOr<uint64_t> Subscription::AwaitAny() {
  agent::VersionWait wait;
  wait.any = true;
  wait.timeout_ms = kLookMs;
  return queries_.WaitForVersion(wait);
}

// Asked as who holds it, who is also told of what supersedes it.
absl::StatusOr<uint64_t> Subscription::AwaitNext(uint64_t held) {
  const auto next = ranks_.front().client->WaitForVersion(tensorhub::NewerThan(held),
                                                          std::chrono::milliseconds(kLookMs),
                                                          {.cancel = stop_.get_token()});
  if (!next.ok()) return next.status();
  return next->version;
}

absl::StatusOr<std::vector<Layout>> Subscription::LayoutsOf(uint64_t version) {
  const absl::StatusOr<v1::VersionInfo> info = ctl::FindVersion(admin_, options_.model, version);
  if (!info.ok()) return info.status();
  attachments_.assign(info->attachments().begin(), info->attachments().end());
  std::vector<Layout> layouts;
  for (const std::string& fingerprint : info->layouts()) {
    absl::StatusOr<Layout> layout = ctl::FetchLayout(admin_, fingerprint);
    if (!layout.ok()) return layout.status();
    layouts.push_back(*std::move(layout));
  }
  return layouts;
}

// A holder may be asked what its version was attached, by a server that has restarted.
std::string Subscription::AttachmentOf(size_t rank) {
  const std::string fingerprint = rank < attachments_.size() ? attachments_[rank] : "";
  const std::optional<Id128> id = FromBytes(fingerprint);
  if (!id || !*id) return "";
  absl::StatusOr<std::string> content = admin_.GetAttachment(fingerprint);
  if (content.ok()) return *std::move(content);
  spdlog::warn("{}: without what is attached to it: {}", options_.model,
               std::string(content.status().message()));
  return "";
}

absl::Status Subscription::Hold(uint64_t version) {
  const absl::StatusOr<std::vector<Layout>> layouts = LayoutsOf(version);
  // The layout may have been replaced meanwhile, or not be known yet by a server that has just
  // started.
  if (!layouts.ok()) return absl::UnavailableError(layouts.status().message());
  if (ranks_.empty()) {
    layouts_ = *layouts;
    if (absl::Status status = Join(); !status.ok()) {
      ranks_.clear();
      return absl::UnavailableError(status.message());
    }
  }
  if (!Same(*layouts, layouts_)) {
    return absl::FailedPreconditionError(
        absl::StrCat(options_.model, ": version ", version,
                     " has other tensors than the ones before; start this agent again"));
  }
  const Clock::time_point start = Clock::now();
  if (absl::Status status = Fetch(version); !status.ok()) {
    return absl::UnavailableError(status.message());
  }
  held_ = version;
  why_.clear();
  const std::chrono::duration<double> took = Clock::now() - start;
  std::cout << "holding " << options_.model << " version " << version << " ("
            << ctl::HumanBytes(BytesOf(layouts_)) << " in " << ctl::HumanSeconds(took.count())
            << ")" << std::endl;
  return absl::OkStatus();
}

absl::Status Subscription::Join() {
  if (absl::Status status = ctl::CheckMemoryFor(BytesOf(layouts_)); !status.ok()) return status;
  ranks_.resize(layouts_.size());
  for (size_t i = 0; i < ranks_.size(); ++i) {
    tensorhub::ConnectOptions options;
    options.server = options_.server;
    options.model = options_.model;
    options.group = options_.group;
    options.rank = static_cast<uint32_t>(i);
    options.world_size = static_cast<uint32_t>(ranks_.size());
    options.location = options_.location;
    options.http = options_.http;
    options.trace = options_.trace;
    options.connect_timeout = options_.connect_timeout;
    options.attachment = AttachmentOf(i);
    auto client = tensorhub::Client::Connect(options);
    if (!client.ok()) return client.status();
    ranks_[i].client = *std::move(client);
    absl::StatusOr<ctl::ShardMemory> memory =
        ctl::AllocateShard(*ranks_[i].client, layouts_[i].total_bytes());
    if (!memory.ok()) return memory.status();
    ranks_[i].memory = *std::move(memory);
    const std::vector<tensorhub::Tensor> tensors = TensorsIn(ranks_[i].memory.get(), layouts_[i]);
    if (absl::Status status = ranks_[i].client->Register(tensors); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Subscription::Fetch(uint64_t version) {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mutex_);
    fetching_ = ranks_.size();
  }
  for (Rank& rank : ranks_) {
    threads.push_back(StartThreadOrEnd("a rank", [this, &rank, version] {
      // There may be a newer one, from somebody who is there.
      const tensorhub::FetchOptions options{
          .timeout = options_.fetch_timeout, .progress = {}, .waits_out_outages = false};
      rank.fetched = rank.client->Fetch(tensorhub::Version(version), options).status();
      MutexLock lock(mutex_);
      if (--fetching_ == 0) changed_.NotifyAll();
    }));
  }
  {
    MutexLock lock(mutex_);
    while (fetching_ > 0 && !stopping_) changed_.Wait(mutex_);
  }
  if (stopping()) LeaveAll();  // which ends the fetches
  for (std::thread& thread : threads) thread.join();
  absl::Status status;
  for (const Rank& rank : ranks_) status = Worst(status, rank.fetched);
  return status;
}

// What lasts, a version that nobody holds any more, say, is said once, and looked at less often.
void Subscription::Rest(const std::string& why) {
  const bool again = std::exchange(why_, why) == why;
  rest_ = again ? std::min(2 * rest_, kRestMax) : kRest;
  if (!again && !stopping()) spdlog::warn("{}: {}", options_.model, why);
  const Clock::time_point end = Clock::now() + rest_;
  MutexLock lock(mutex_);
  while (!stopping_ && changed_.WaitUntil(mutex_, end)) {
  }
}

}  // namespace tensorhub::keeper
