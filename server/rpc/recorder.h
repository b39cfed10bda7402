// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Writes what goes into the hub to a file (server/record/recording.h). The hub does not wait for
// the disk: a thread of its own writes. Where the disk does not keep up, where it fails, and at the
// file's limit, the record ends with a warning, and the hub goes on without it.
//
// Thread contract: Begin and Note are of the loop's thread; the rest is of whoever owns it.

#ifndef TENSORHUB_SERVER_RPC_RECORDER_H_
#define TENSORHUB_SERVER_RPC_RECORDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "server/record/recording.h"

namespace tensorhub::rpc {

class Recorder {
 public:
  struct Options {
    std::string file;
    uint64_t bytes_max = uint64_t{1} << 30;  // of the file; the record ends before it is larger
    std::string program;                     // its version
  };
  // What was there under that name is FILE.1 from now on. UNAVAILABLE: it cannot be made.
  static absl::StatusOr<std::unique_ptr<Recorder>> Open(const Options& options);
  ~Recorder();  // what was noted is written
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void Begin(const hub::HubOptions& options, TimeMs now);
  void Note(const hub::Event& event, TimeMs now, const hub::Effects& effects);

 private:
  Recorder(const Options& options, int file);
  void Append(std::string_view bytes);
  void End(const std::string& why);
  void WriteAll();

  const Options options_;
  const int file_;
  std::optional<record::Encoder> encoder_;  // none: the record has not begun, or has ended
  uint64_t noted_bytes_ = 0;

  Mutex mutex_;
  CondVar wake_;
  std::string waiting_ ABSL_GUARDED_BY(mutex_);
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: starts when all else is there
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_RECORDER_H_
