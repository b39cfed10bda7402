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

#include "absl/status/status.h"
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
    if (!ordered && !bad() && (seen_ == read_ || !settled)) return false;
    read_ = seen_;
    return true;
  }

  // What came of it. Bad files are due each time from then on: what mends them, permissions say,
  // need not show in their stamps. False: that was so before, and need not be said again.
  bool Note(const absl::Status& status) {
    const std::string before = std::exchange(problem_, std::string(status.message()));
    return before != problem_;
  }

 private:
  bool bad() const { return !problem_.empty(); }

  const std::vector<std::string> paths_;
  std::string seen_;
  std::string read_;
  std::string problem_;  // empty: they were good
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_FILE_LOOK_H_
