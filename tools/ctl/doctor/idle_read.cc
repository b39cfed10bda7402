// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/doctor/idle_read.h"

#include <sched.h>

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
#include "tools/bench/child.h"
#include "tools/ctl/units.h"
#include "worker_agent/ucx/ucx_facts.h"
#include "worker_agent/ucx/ucx_gets.h"

namespace tensorhub::ctl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kSourceTimeout{20};
// A read of a few megabytes takes milliseconds.
constexpr std::chrono::seconds kReadTimeout{3};

// Differs from one eight bytes to the next.
void Fill(void* memory, uint64_t bytes) {
  auto* const to = static_cast<unsigned char*>(memory);
  for (uint64_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t value = (at + 1) * 0x9e3779b97f4a7c15u;
    std::memcpy(to + at, &value, std::min<uint64_t>(sizeof(value), bytes - at));
  }
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
  absl::Status Open(const Offer& offer, uint64_t bytes) {
    absl::StatusOr<std::unique_ptr<agent::UcxGets>> gets = agent::UcxGets::Create(this);
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

absl::Status OfferMemory(agent::UcxGets& gets, uint64_t bytes) {
  const absl::StatusOr<agent::SharedRegion> region = gets.Allocate(bytes);
  if (!region.ok()) return region.status();
  Fill(region->base, bytes);
  bench::AnswerOk(absl::StrCat("address=", absl::BytesToHexString(gets.Address()),
                               " key=", absl::BytesToHexString(region->packed_key),
                               " base=", reinterpret_cast<uint64_t>(region->base)));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<IdleRead> ReadHostMemoryOfIdleProcess(uint64_t bytes) {
  const absl::StatusOr<std::unique_ptr<bench::Child>> source =
      bench::Child::Start({.name = "the process that is read from",
                           .binary = bench::OwnBinary(),
                           .args = {"@idle-source", absl::StrCat("bytes=", bytes)}});
  if (!source.ok()) return source.status();
  const absl::StatusOr<Offer> offer = ReadOffer(**source);
  if (!offer.ok()) return offer.status();
  std::vector<unsigned char> expected(bytes);
  Fill(expected.data(), bytes);
  std::vector<unsigned char> got(
      bytes);  // before the reader: a get may write to it until that goes
  IdleReader reader;
  if (absl::Status status = reader.Open(*offer, bytes); !status.ok()) return status;
  IdleRead read{.lanes = "", .bytes = bytes};
  for (int round = 0; round < 2; ++round) {
    std::memset(got.data(), 0, bytes);
    const absl::StatusOr<double> seconds = reader.Read(got.data(), bytes);
    if (!seconds.ok()) return seconds.status();
    if (got != expected) return absl::DataLossError("other bytes came than lie there");
    read.seconds = *seconds;
  }
  read.lanes = reader.Describe();
  return read;
}

Finding JudgeHostRead(const absl::StatusOr<IdleRead>& read) {
  Finding finding{"one-sided, host", Verdict::kOk, ""};
  if (read.ok()) {
    finding.detail =
        absl::StrCat("read ", HumanBytes(read->bytes), " over ", read->lanes,
                     " from a sleeping process at ", HumanRate(read->bytes, read->seconds));
    return finding;
  }
  finding.verdict = Verdict::kFailed;
  finding.detail = std::string(read.status().message());
  finding.remedy =
      "let UCX use shared memory (UCX_TLS unset, or with posix or sysv; containers of one host: "
      "one IPC and one PID namespace); reads on this host are served until then";
  return finding;
}

int PlayIdleSource(const std::string& arguments) {
  const absl::StatusOr<bench::Fields> fields = bench::Fields::Parse(arguments);
  const absl::StatusOr<double> bytes =
      fields.ok() ? fields->Number("bytes") : absl::StatusOr<double>(fields.status());
  if (!bytes.ok() || *bytes < 1) return 2;
  agent::SilenceUcx();
  IgnoringSink sink;
  absl::StatusOr<std::unique_ptr<agent::UcxGets>> gets = agent::UcxGets::Create(&sink);
  const absl::Status status =
      gets.ok() ? OfferMemory(**gets, static_cast<uint64_t>(*bytes)) : gets.status();
  if (!status.ok()) {
    bench::AnswerError(status);
    return 1;
  }
  std::string line;
  while (bench::ReadCommand(line)) {
  }
  return 0;
}

}  // namespace tensorhub::ctl
