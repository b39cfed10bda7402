// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A version that one process publishes, as one rank or as several that cut it by rows: a client for
// each, in a group of its own, over the same memory.
//
// Thread contract: one thread.

#ifndef TENSORHUB_TOOLS_CTL_GROUP_PUBLISH_H_
#define TENSORHUB_TOOLS_CTL_GROUP_PUBLISH_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tensorhub/ros.h"
#include "tools/ctl/shard_memory.h"
#include "tools/safetensors/attachment.h"

namespace tensorhub::ctl {

class GroupPublish {
 public:
  struct Options {
    std::string server;
    std::string model;
    std::string group;
    std::string location;
    std::chrono::milliseconds connect_timeout{5000};
    uint32_t ranks = 1;
  };

  // `contents` outlives it.
  GroupPublish(Options options, const safetensors::Attachment& contents)
      : options_(std::move(options)), contents_(contents) {}

  absl::Status Connect();
  // For the files' tensors, one behind the other. One rank's is such that peers on this host can
  // read it by themselves, where there is as much of that.
  absl::Status Allocate();
  std::byte* memory() const { return memory_.get(); }
  absl::Status Register();
  absl::Status Publish(uint64_t version, const tensorhub::PublishOptions& options);
  // An error if nobody can find the version here any more.
  absl::Status Check() const;
  absl::Status Leave();

 private:
  absl::Status ConnectRank(uint32_t rank, const safetensors::Attachment& files);
  std::vector<tensorhub::Tensor> TensorsOfRank(uint32_t rank) const;

  const Options options_;
  const safetensors::Attachment& contents_;
  ShardMemory memory_;  // outlives the clients
  std::vector<std::unique_ptr<tensorhub::Client>> clients_;
};

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_GROUP_PUBLISH_H_
