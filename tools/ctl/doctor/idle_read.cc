// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/doctor/idle_read.h"

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/child/child.h"
#include "tools/ctl/doctor/idle_memory.h"
#include "tools/ctl/units.h"
#include "worker_agent/ucx/ucx_gets.h"
#include "worker_agent/ucx/ucx_log.h"

namespace tensorhub::ctl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kSourceTimeout{20};
// A read of a few megabytes takes milliseconds.
constexpr std::chrono::seconds kReadTimeout{3};

// Differs from one eight bytes to the next.
std::vector<unsigned char> Content(uint64_t bytes) {
  std::vector<unsigned char> content(bytes);
  for (uint64_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t value = (at + 1) * 0x9e3779b97f4a7c15u;
    std::memcpy(content.data() + at, &value, std::min<uint64_t>(sizeof(value), bytes - at));
  }
  return content;
}

// What the sleeping process said of its memory.
struct Offer {
  std::string address;
  std::string key;
  uint64_t base = 0;
};

absl::StatusOr<Offer> ReadOffer(bench::Child& source) {
  const absl::StatusOr<bench::Fields> fields = source.Answer(kSourceTimeout);
  if (!fields.ok()) return fields.status();
  const absl::StatusOr<std::string> address = fields->Text("address");
  if (!address.ok()) return address.status();
  const absl::StatusOr<std::string> key = fields->Text("key");
  if (!key.ok()) return key.status();
  const absl::StatusOr<std::string> base = fields->Text("base");
  if (!base.ok()) return base.status();
  Offer offer{absl::HexStringToBytes(*address), absl::HexStringToBytes(*key), 0};
  if (!absl::SimpleAtoi(*base, &offer.base)) {
    return absl::InternalError(absl::StrCat("base=", *base, " is no number"));
  }
  return offer;
}

// One get at a time.
class IdleReader : private agent::GetTransport::Sink {
 public:
  absl::Status Open(const Offer& offer, uint64_t bytes, agent::UcxGets::Kind kind) {
    absl::StatusOr<std::unique_ptr<agent::UcxGets>> gets = agent::UcxGets::Create(this, kind);
    if (!gets.ok()) return gets.status();
    gets_ = *std::move(gets);
    const absl::StatusOr<agent::PeerId> peer = gets_->Connect(offer.address);
    if (!peer.ok()) return peer.status();
    peer_ = *peer;
    const auto region = gets_->ImportRegion(peer_, offer.key, offer.base, bytes);
    if (!region.ok()) return region.status();
    region_ = *region;
    return absl::OkStatus();
  }

  // Seconds. After an error nothing is written to `to` any more.
  absl::StatusOr<double> Read(void* to, uint64_t bytes) {
    outcome_.reset();
    const auto start = Clock::now();
    gets_->Get(peer_, region_, 0, to, bytes, ++token_);
    if (!ProgressUntil(start + kReadTimeout)) {
      gets_->Close(peer_);
      static_cast<void>(ProgressUntil(Clock::now() + kReadTimeout));
      return absl::DeadlineExceededError(
          "the read waits for the process that it reads from: UCX emulates it");
    }
    if (!outcome_->ok()) return *outcome_;
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  std::string Describe() const { return gets_->Describe(peer_); }

 private:
  bool ProgressUntil(Clock::time_point deadline) {
    while (!outcome_ && Clock::now() < deadline) {
      if (!gets_->Progress()) sched_yield();
    }
    return outcome_.has_value();
  }
  void OnGetDone(uint64_t token, const absl::Status& status) override {
    if (token == token_) outcome_ = status;
  }
  void OnGetPeerFailed(agent::PeerId, const absl::Status&) override {}  // the get tells

  std::unique_ptr<agent::UcxGets> gets_;
  agent::PeerId peer_ = 0;
  agent::GetTransport::RegionId region_ = 0;
  uint64_t token_ = 0;
  std::optional<absl::Status> outcome_;
};

struct IgnoringSink : agent::GetTransport::Sink {
  void OnGetDone(uint64_t, const absl::Status&) override {}
  void OnGetPeerFailed(agent::PeerId, const absl::Status&) override {}
};

void AnswerWithOffer(const agent::UcxGets& gets, const agent::SharedRegion& region) {
  bench::AnswerOk(absl::StrCat("address=", absl::BytesToHexString(gets.Address()),
                               " key=", absl::BytesToHexString(region.packed_key),
                               " base=", reinterpret_cast<uint64_t>(region.base)));
}

absl::Status OfferHostMemory(agent::UcxGets& gets, uint64_t bytes) {
  const absl::StatusOr<agent::SharedRegion> region = gets.Allocate(bytes);
  if (!region.ok()) return region.status();
  const std::vector<unsigned char> content = Content(bytes);
  std::memcpy(region->base, content.data(), bytes);
  AnswerWithOffer(gets, *region);
  return absl::OkStatus();
}

absl::Status OfferMemory(agent::UcxGets& gets, IdleMemory& memory, uint64_t bytes) {
  if (absl::Status status = memory.Write(Content(bytes)); !status.ok()) return status;
  const absl::StatusOr<agent::SharedRegion> region = gets.Register(memory.data(), bytes);
  if (!region.ok()) return region.status();
  AnswerWithOffer(gets, *region);
  return absl::OkStatus();
}

// Until there is a command.
void HelpToConnect(agent::UcxGets& gets) {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  while (poll(&input, 1, 0) == 0) {
    if (!gets.Progress()) sched_yield();
  }
}

void Sleep() {
  std::string line;
  while (bench::ReadCommand(line)) bench::AnswerOk("");
}

absl::Status PlayHostSource(uint64_t bytes) {
  IgnoringSink sink;
  const auto gets = agent::UcxGets::Create(&sink);
  if (!gets.ok()) return gets.status();
  if (absl::Status status = OfferHostMemory(**gets, bytes); !status.ok()) return status;
  Sleep();
  return absl::OkStatus();
}

absl::Status PlayDeviceSource(int device, uint64_t bytes) {
  const absl::StatusOr<agent::CudaDriver*> driver = agent::OpenCudaDriver();
  if (!driver.ok()) return driver.status();
  const auto memory = DeviceMemoryForRead(*driver, device, bytes);
  if (!memory.ok()) return memory.status();
  IgnoringSink sink;
  const auto gets = agent::UcxGets::Create(&sink, agent::UcxGets::Kind::kDevice);
  if (!gets.ok()) return gets.status();
  if (absl::Status status = OfferMemory(**gets, **memory, bytes); !status.ok()) return status;
  HelpToConnect(**gets);
  Sleep();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<bench::Child>> StartSource(uint64_t bytes, int device) {
  return bench::Child::Start(
      {.name = "the process that is read from",
       .binary = bench::OwnBinary(),
       .args = {"@idle-source", absl::StrCat("bytes=", bytes, " device=", device)}});
}

absl::Status ReadOnce(IdleReader& reader, IdleMemory& to,
                      const std::vector<unsigned char>& expected, double& seconds) {
  const uint64_t bytes = expected.size();
  absl::Status status = to.Write(std::vector<unsigned char>(bytes));
  if (!status.ok()) return status;
  const absl::StatusOr<double> took = reader.Read(to.data(), bytes);
  if (!took.ok()) return took.status();
  const absl::StatusOr<std::vector<unsigned char>> got = to.Read();
  if (!got.ok()) return got.status();
  if (*got != expected) return absl::DataLossError("other bytes came than lie there");
  seconds = *took;
  return absl::OkStatus();
}

// `to` outlives the reader: a get may write to it until that goes.
absl::StatusOr<IdleRead> ReadFrom(bench::Child& source, IdleMemory& to, uint64_t bytes,
                                  agent::UcxGets::Kind kind) {
  const absl::StatusOr<Offer> offer = ReadOffer(source);
  if (!offer.ok()) return offer.status();
  IdleReader reader;
  if (absl::Status status = reader.Open(*offer, bytes, kind); !status.ok()) return status;
  const std::vector<unsigned char> expected = Content(bytes);
  IdleRead read{.lanes = "", .bytes = bytes};
  if (absl::Status status = ReadOnce(reader, to, expected, read.seconds); !status.ok()) {
    return status;
  }
  const absl::StatusOr<bench::Fields> asleep = source.Ask("sleep");
  if (!asleep.ok()) return asleep.status();
  if (absl::Status status = ReadOnce(reader, to, expected, read.seconds); !status.ok()) {
    return status;
  }
  read.lanes = reader.Describe();
  return read;
}

}  // namespace

absl::StatusOr<IdleRead> ReadHostMemoryOfIdleProcess(uint64_t bytes) {
  const auto source = StartSource(bytes, /*device=*/-1);
  if (!source.ok()) return source.status();
  const std::unique_ptr<IdleMemory> to = HostMemoryForRead(bytes);
  return ReadFrom(**source, *to, bytes, agent::UcxGets::Kind::kSharedMemory);
}

absl::StatusOr<IdleRead> ReadDeviceMemoryOfIdleProcess(agent::CudaDriver* driver, int device,
                                                       uint64_t bytes) {
  const auto source = StartSource(bytes, device);
  if (!source.ok()) return source.status();
  const auto to = DeviceMemoryForRead(driver, device, bytes);
  if (!to.ok()) return to.status();
  return ReadFrom(**source, **to, bytes, agent::UcxGets::Kind::kDevice);
}

namespace {

Finding JudgeRead(const char* check, const absl::StatusOr<IdleRead>& read, const char* remedy) {
  Finding finding{check, Verdict::kOk, ""};
  if (read.ok()) {
    finding.detail =
        absl::StrCat("read ", HumanBytes(read->bytes), " over ", read->lanes,
                     " from a sleeping process at ", HumanRate(read->bytes, read->seconds));
    return finding;
  }
  finding.verdict = Verdict::kFailed;
  finding.detail = std::string(read.status().message());
  finding.remedy = remedy;
  return finding;
}

}  // namespace

Finding JudgeHostRead(const absl::StatusOr<IdleRead>& read) {
  return JudgeRead(
      "one-sided, host", read,
      "let UCX use shared memory (UCX_TLS unset, or with posix or sysv; containers of one host: "
      "one IPC and one PID namespace); reads on this host are served until then");
}

Finding JudgeDeviceRead(const absl::StatusOr<IdleRead>& read) {
  return JudgeRead("one-sided, gpu", read,
                   "let UCX use cuda_ipc (a UCX >= 1.19 with CUDA, UCX_TLS unset or with cuda; "
                   "containers of one "
                   "host: one IPC and one PID namespace, and the same GPUs); docs/gpu.md");
}

int PlayIdleSource(const std::string& arguments) {
  const absl::StatusOr<bench::Fields> fields = bench::Fields::Parse(arguments);
  const auto number = [&](const char* key) {
    return fields.ok() ? fields->Number(key) : absl::StatusOr<double>(fields.status());
  };
  const absl::StatusOr<double> bytes = number("bytes");
  const absl::StatusOr<double> device = number("device");
  if (!bytes.ok() || !device.ok() || *bytes < 1) return 2;
  agent::SilenceUcx();
  const auto size = static_cast<uint64_t>(*bytes);
  const absl::Status status =
      *device < 0 ? PlayHostSource(size) : PlayDeviceSource(static_cast<int>(*device), size);
  if (status.ok()) return 0;
  bench::AnswerError(status);
  return 1;
}

}  // namespace tensorhub::ctl
