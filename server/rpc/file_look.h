// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// When files that belong together are to be read again: once they have changed, and are the same
// at two looks. Whoever copies one after the other is not taken at its half.

#ifndef TENSORHUB_SERVER_RPC_FILE_LOOK_H_
#define TENSORHUB_SERVER_RPC_FILE_LOOK_H_

#include <string>
#include <utility>
#include <vector>

#include "common/tls/certificates.h"

namespace tensorhub::rpc {

class FileLook {
 public:
  explicit FileLook(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  // `ordered`: somebody says so, and they are read now.
  bool Due(bool ordered) {
    std::string stamp = tls::StampOf(paths_);
    const bool settled = stamp == seen_;
    seen_ = std::move(stamp);
    if (!ordered && (seen_ == read_ || !settled)) return false;
    read_ = seen_;
    return true;
  }

 private:
  const std::vector<std::string> paths_;
  std::string seen_;
  std::string read_;
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_FILE_LOOK_H_
