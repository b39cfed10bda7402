// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A file of this process in a folder of traces, in the trace event format: an event a line, behind
// a "[". It lacks the "]", which its readers do without. The same folder is the same file.
//
// Thread contract: any thread. Add never waits for the disk; a thread of the file's writes.

#ifndef TENSORHUB_WORKER_AGENT_SEEN_TRACE_FILE_H_
#define TENSORHUB_WORKER_AGENT_SEEN_TRACE_FILE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "common/mutex.h"

namespace tensorhub::agent {

class TraceFile {
 public:
  static constexpr char kSuffix[] = ".trace.json";
  // What waits for the disk, R9. What comes beyond is dropped, and the log says so once.
  static constexpr size_t kWaitingMax = 4 << 20;

  // FAILED_PRECONDITION if no file can be made there. The folder has to be there.
  static absl::StatusOr<std::shared_ptr<TraceFile>> In(const std::string& folder);
  // Writes what waits.
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // Whole lines.
  void Add(const std::string& lines) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns when all of that is written, or after a second.
  void Flush() ABSL_LOCKS_EXCLUDED(mutex_);
  const std::string& path() const { return path_; }

 private:
  TraceFile(std::string path, int fd);
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  bool Write(const std::string& lines);
  void SayOnce(const std::string& what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  const int fd_;
  Mutex mutex_;
  CondVar changed_;
  std::string waiting_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  bool said_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_SEEN_TRACE_FILE_H_
