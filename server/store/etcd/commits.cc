// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/etcd/commits.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tensorhub::store {
namespace {

// Of a piece of the journal.
constexpr size_t kPieceBytesMax = size_t{512} << 10;

absl::Status Replaced() {
  return absl::AbortedError(
      "this server does not lead any more: another one does, or its lease has ended; start it "
      "anew, "
      "and it stands by");
}

}  // namespace

absl::Status DamagedKey(const std::string& key) {
  return absl::DataLossError(absl::StrCat("--store: etcd's ", key,
                                          " is not what a server wrote: restore etcd from a "
                                          "snapshot, or name another prefix"));
}

etcd::RequestOp PutOp(const std::string& key, const std::string& value) {
  etcd::RequestOp op;
  op.mutable_request_put()->set_key(key);
  op.mutable_request_put()->set_value(value);
  return op;
}

etcd::RequestOp DeleteOp(const std::string& key) { return DeleteRangeOp(key, ""); }

etcd::RequestOp DeleteRangeOp(const std::string& first, const std::string& end) {
  etcd::RequestOp op;
  op.mutable_request_delete_range()->set_key(first);
  op.mutable_request_delete_range()->set_range_end(end);
  return op;
}

etcd::Compare MadeAt(const std::string& key, int64_t revision) {
  etcd::Compare compare;
  compare.set_target(etcd::Compare::CREATE);
  compare.set_key(key);
  compare.set_create_revision(revision);
  return compare;
}

etcd::Compare ChangedAt(const std::string& key, int64_t revision) {
  etcd::Compare compare;
  compare.set_target(etcd::Compare::MOD);
  compare.set_key(key);
  compare.set_mod_revision(revision);
  return compare;
}

etcd::RequestOp ReadOp(const std::string& key) {
  etcd::RequestOp op;
  op.mutable_request_range()->set_key(key);
  return op;
}

std::vector<EtcdOps> Bounded(const EtcdOps& ops) {
  std::vector<EtcdOps> pieces;
  size_t bytes = 0;
  for (const etcd::RequestOp& op : ops) {
    const size_t more = op.ByteSizeLong();
    const bool full =
        pieces.empty() || pieces.back().size() >= kTxnOpsMax || bytes + more > kTxnBytesMax;
    if (full) {
      pieces.emplace_back();
      bytes = 0;
    }
    pieces.back().push_back(op);
    bytes += more;
  }
  return pieces;
}

absl::Status EtcdCommits::KeepOnce(const etcd::TxnRequest& request) {
  const absl::StatusOr<etcd::TxnResponse> response = client_.Txn(request);
  if (!response.ok()) return response.status();
  if (!response->succeeded()) return WasKept(*response);
  turn_ = response->header().revision();
  return absl::OkStatus();
}

// By an earlier try, if this server leads still.
absl::Status EtcdCommits::WasKept(const etcd::TxnResponse& response) {
  if (response.responses_size() != 2) return Replaced();
  const etcd::RangeResponse& leader = response.responses(0).response_range();
  const etcd::RangeResponse& turn = response.responses(1).response_range();
  if (leader.kvs_size() != 1 || leader.kvs(0).create_revision() != leader_made_at_) {
    return Replaced();
  }
  if (turn.kvs_size() != 1) return DamagedKey(keys_.Turn());
  turn_ = turn.kvs(0).mod_revision();
  return absl::OkStatus();
}

absl::Status EtcdCommits::TakeTurn() {
  etcd::RangeRequest request;
  request.set_key(keys_.Turn());
  const absl::StatusOr<etcd::RangeResponse> response = Read(request);
  if (!response.ok()) return response.status();
  turn_ = response->kvs_size() == 0 ? 0 : response->kvs(0).mod_revision();
  return absl::OkStatus();
}

absl::Status EtcdCommits::KeepFenced(const EtcdOps& ops) {
  etcd::TxnRequest request;
  *request.add_compare() = MadeAt(keys_.Leader(), leader_made_at_);
  *request.add_compare() = ChangedAt(keys_.Turn(), turn_);
  for (const etcd::RequestOp& op : ops) *request.add_success() = op;
  *request.add_success() = PutOp(keys_.Turn(), "");
  *request.add_failure() = ReadOp(keys_.Leader());
  *request.add_failure() = ReadOp(keys_.Turn());
  return client_.Repeat("a commit waits for etcd", [&] { return KeepOnce(request); });
}

absl::Status EtcdCommits::Keep(const EtcdOps& ops) {
  if (ops.empty()) return absl::OkStatus();
  if (Bounded(ops).size() == 1) return KeepFenced(ops);
  absl::Status status = WriteAside(ops);
  if (status.ok()) status = CarryOut(ops);
  return status.ok() ? ClearAside(/*sealed=*/true) : status;
}

absl::Status EtcdCommits::WriteAside(const EtcdOps& ops) {
  etcd::TxnRequest whole;
  for (const etcd::RequestOp& op : ops) *whole.add_success() = op;
  const std::string bytes = whole.SerializeAsString();
  size_t parts = 0;
  for (size_t at = 0; at < bytes.size(); at += kPieceBytesMax) {
    const absl::Status status =
        KeepFenced({PutOp(keys_.Journal(parts++), bytes.substr(at, kPieceBytesMax))});
    if (!status.ok()) return status;
  }
  return KeepFenced({PutOp(keys_.Sealed(), absl::StrCat(parts))});
}

absl::Status EtcdCommits::CarryOut(const EtcdOps& ops) {
  for (const EtcdOps& piece : Bounded(ops)) {
    if (absl::Status status = KeepFenced(piece); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Together: pieces without a seal are cleared away, a seal without pieces would be damage.
absl::Status EtcdCommits::ClearAside(bool sealed) {
  EtcdOps ops = {DeleteRangeOp(keys_.Journal(), AfterAll(keys_.Journal()))};
  if (sealed) ops.push_back(DeleteOp(keys_.Sealed()));
  return KeepFenced(ops);
}

absl::StatusOr<etcd::RangeResponse> EtcdCommits::Read(const etcd::RangeRequest& request) {
  absl::StatusOr<etcd::RangeResponse> response;
  const absl::Status status = client_.Repeat("reading waits for etcd", [&] {
    response = client_.Range(request);
    return response.status();
  });
  return status.ok() ? response : status;
}

absl::StatusOr<EtcdOps> EtcdCommits::ReadAside(size_t parts) {
  std::string bytes;
  for (size_t part = 0; part < parts; ++part) {
    etcd::RangeRequest request;
    request.set_key(keys_.Journal(part));
    const absl::StatusOr<etcd::RangeResponse> response = Read(request);
    if (!response.ok()) return response.status();
    if (response->kvs_size() != 1) return DamagedKey(request.key());
    bytes += response->kvs(0).value();
  }
  etcd::TxnRequest whole;
  if (!whole.ParseFromString(bytes)) return DamagedKey(keys_.Journal());
  return EtcdOps(whole.success().begin(), whole.success().end());
}

absl::Status EtcdCommits::Recover() {
  if (absl::Status status = TakeTurn(); !status.ok()) return status;
  etcd::RangeRequest request;
  request.set_key(keys_.Sealed());
  const absl::StatusOr<etcd::RangeResponse> seal = Read(request);
  if (!seal.ok()) return seal.status();
  if (seal->kvs_size() == 0) return ClearAside(/*sealed=*/false);
  size_t parts = 0;
  if (!absl::SimpleAtoi(seal->kvs(0).value(), &parts)) return DamagedKey(keys_.Sealed());
  const absl::StatusOr<EtcdOps> ops = ReadAside(parts);
  if (!ops.ok()) return ops.status();
  const absl::Status status = CarryOut(*ops);
  return status.ok() ? ClearAside(/*sealed=*/true) : status;
}

}  // namespace tensorhub::store
