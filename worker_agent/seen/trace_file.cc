// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/seen/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/random.h"
#include "common/text.h"
#include "worker_agent/runtime/log.h"
#include "worker_agent/runtime/thread.h"

namespace tensorhub::agent {
namespace {

constexpr std::chrono::seconds kFlushPatience{1};

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "host";
  std::string text(name.data());
  for (char& c : text) {
    if (c == '/') c = '-';
  }
  return text;
}

// Several hosts may write to one folder, and in containers all processes may have one number.
std::string NewName() {
  return absl::StrFormat("%s-%d-%08x%s", HostName(), getpid(), static_cast<uint32_t>(RandomSeed()),
                         TraceFile::kSuffix);
}

// What a process has, by the folder that was asked for.
struct Files {
  Mutex mutex;
  std::map<std::string, std::weak_ptr<TraceFile>> there ABSL_GUARDED_BY(mutex);
};
Files& TheFiles() {
  static auto* const files = new Files;  // workers may end after main
  return *files;
}

}  // namespace

absl::StatusOr<std::shared_ptr<TraceFile>> TraceFile::In(const std::string& folder) {
  Files& files = TheFiles();
  MutexLock lock(files.mutex);
  if (auto there = files.there[folder].lock()) return there;
  std::string path = absl::StrCat(folder, "/", NewName());
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("no trace can be written in ", Shown(folder), " (", std::strerror(errno),
                     "); name a folder that is there and may be written to"));
  }
  std::shared_ptr<TraceFile> file(new TraceFile(std::move(path), fd));
  absl::StatusOr<std::thread> thread =
      StartWithoutSignals("writing a trace", [writer = file.get()] { writer->Run(); });
  if (!thread.ok()) return thread.status();
  file->thread_ = *std::move(thread);
  files.there[folder] = file;
  return file;
}

TraceFile::TraceFile(std::string path, int fd) : path_(std::move(path)), fd_(fd), waiting_("[\n") {}

TraceFile::~TraceFile() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  close(fd_);
}

void TraceFile::Add(const std::string& lines) {
  MutexLock lock(mutex_);
  if (broken_) return;
  if (waiting_.size() + lines.size() > kWaitingMax) {
    return SayOnce("is written more slowly than it grows; something is missing in it");
  }
  waiting_ += lines;
  changed_.NotifyAll();
}

void TraceFile::Flush() {
  const auto until = std::chrono::steady_clock::now() + kFlushPatience;
  MutexLock lock(mutex_);
  while ((writing_ || !waiting_.empty()) && changed_.WaitUntil(mutex_, until)) {
  }
}

void TraceFile::Run() {
  for (;;) {
    std::string lines;
    {
      MutexLock lock(mutex_);
      writing_ = false;
      changed_.NotifyAll();
      while (waiting_.empty() && !ending_) changed_.Wait(mutex_);
      if (waiting_.empty()) return;
      lines.swap(waiting_);
      writing_ = true;
    }
    if (Write(lines)) continue;
    const std::string why = std::strerror(errno);
    MutexLock lock(mutex_);
    broken_ = true;
    waiting_.clear();
    SayOnce(absl::StrCat("cannot be written any further (", why, ")"));
  }
}

bool TraceFile::Write(const std::string& lines) {
  for (size_t at = 0; at < lines.size();) {
    const ssize_t wrote = write(fd_, lines.data() + at, lines.size() - at);
    if (wrote < 0 && errno != EINTR) return false;
    at += static_cast<size_t>(wrote < 0 ? 0 : wrote);
  }
  return true;
}

void TraceFile::SayOnce(const std::string& what) {
  if (std::exchange(said_, true)) return;
  Log().warn("the trace {} {}", path_, what);
}

}  // namespace tensorhub::agent
