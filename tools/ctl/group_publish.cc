// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/group_publish.h"

#include <map>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/thread.h"
#include "tools/ctl/rows.h"

namespace tensorhub::ctl {
namespace {

std::vector<TensorSpec> SpecsOf(const safetensors::Attachment& contents) {
  std::vector<TensorSpec> specs;
  for (const safetensors::SplitFile& file : contents.files) {
    for (const safetensors::TensorEntry& tensor : file.header.tensors) specs.push_back(tensor.spec);
  }
  return specs;
}

}  // namespace

absl::Status GroupPublish::Connect() {
  if (options_.ranks == 1) return ConnectRank(0, contents_);
  const auto files = FilesOfRows(SpecsOf(contents_), contents_.extras, options_.ranks);
  if (!files.ok()) return files.status();
  for (uint32_t rank = 0; rank < options_.ranks; ++rank) {
    if ((*files)[rank].data_bytes() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--ranks ", options_.ranks, ": no tensor has so many rows; rank ", rank, " has nothing"));
    }
    if (absl::Status status = ConnectRank(rank, (*files)[rank]); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status GroupPublish::ConnectRank(uint32_t rank, const safetensors::Attachment& files) {
  absl::StatusOr<std::string> attachment = Encode(files);
  if (!attachment.ok()) return attachment.status();
  auto client = tensorhub::Client::Connect({.server = options_.server,
                                            .model = options_.model,
                                            .group = options_.group,
                                            .rank = rank,
                                            .world_size = options_.ranks,
                                            .location = options_.location,
                                            .spot = false,
                                            .connect_timeout = options_.connect_timeout,
                                            .host_copy_bytes = 0,
                                            .attachment = *std::move(attachment)});
  if (!client.ok()) return client.status();
  clients_.push_back(*std::move(client));
  return absl::OkStatus();
}

// What one client allocates is not another's to share.
absl::Status GroupPublish::Allocate() {
  const uint64_t bytes = contents_.data_bytes();
  absl::Status status = options_.ranks == 1 ? absl::OkStatus() : CheckMemoryFor(bytes);
  if (!status.ok()) return status;
  auto memory = options_.ranks == 1 ? AllocateShard(*clients_.front(), bytes) : MapShard(bytes);
  if (!memory.ok()) return memory.status();
  memory_ = *std::move(memory);
  return absl::OkStatus();
}

std::vector<tensorhub::Tensor> GroupPublish::TensorsOfRank(uint32_t rank) const {
  std::vector<tensorhub::Tensor> whole = TensorsOf(contents_, memory_.get());
  if (options_.ranks == 1) return whole;
  std::map<std::string, tensorhub::Tensor*> by_name;
  for (tensorhub::Tensor& tensor : whole) by_name[tensor.name] = &tensor;
  std::vector<tensorhub::Tensor> rows;
  for (const TensorSpec& spec : RowsOf(SpecsOf(contents_), rank, options_.ranks)) {
    tensorhub::Tensor piece = *by_name.at(spec.name);
    const uint64_t all_rows = piece.shape.empty() ? 0 : piece.shape[0];
    const uint64_t row_bytes = all_rows == 0 ? 0 : piece.bytes / all_rows;
    piece.slice = tensorhub::Slice{spec.slice->global_shape, spec.slice->offset};
    if (all_rows != 0 && spec.shape[0] != all_rows) {
      piece.data = static_cast<std::byte*>(piece.data) + spec.slice->offset[0] * row_bytes;
      piece.bytes = spec.shape[0] * row_bytes;
    }
    piece.shape = spec.shape;
    rows.push_back(std::move(piece));
  }
  return rows;
}

absl::Status GroupPublish::Register() {
  for (uint32_t rank = 0; rank < options_.ranks; ++rank) {
    absl::Status status = clients_[rank]->Register(TensorsOfRank(rank));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// At the same time: each may wait for the others.
absl::Status GroupPublish::Publish(uint64_t version, const tensorhub::PublishOptions& options) {
  std::vector<absl::Status> results(clients_.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < clients_.size(); ++rank) {
    threads.push_back(StartThreadOrEnd(
        "a rank", [&, rank] { results[rank] = clients_[rank]->Publish(version, options); }));
  }
  for (std::thread& thread : threads) thread.join();
  absl::Status first;
  for (const absl::Status& result : results) first.Update(result);
  return first;
}

absl::Status GroupPublish::Check() const {
  for (const auto& client : clients_) {
    const absl::Status health = client->Health();
    if (!health.ok() && !absl::IsUnavailable(health)) return health;
    if (!client->Held()) {
      return absl::AbortedError("the server does not list this copy any more; publish again");
    }
  }
  return absl::OkStatus();
}

absl::Status GroupPublish::Leave() {
  absl::Status first;
  for (const auto& client : clients_) first.Update(client->Leave());
  return first;
}

}  // namespace tensorhub::ctl
