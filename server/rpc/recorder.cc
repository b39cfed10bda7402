// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/recorder.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/thread.h"

namespace tensorhub::rpc {
namespace {

// Bytes by which the disk may be behind.
constexpr size_t kWaitingMax = size_t{64} << 20;
// Less is written at once only when nothing comes for a moment.
constexpr size_t kWorthwhile = size_t{64} << 10;
constexpr std::chrono::milliseconds kMoment(200);

absl::Status CannotMake(const std::string& file) {
  return absl::UnavailableError(
      absl::StrCat("--record ", file, ": cannot be made: ", std::strerror(errno)));
}

bool Write(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Recorder>> Recorder::Open(const Options& options) {
  const std::string before = options.file + ".1";
  if (std::rename(options.file.c_str(), before.c_str()) != 0 && errno != ENOENT) {
    return CannotMake(options.file);
  }
  // The record says who is there and where: as private as the data directory.
  const int file =
      open(options.file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return CannotMake(options.file);
  return std::unique_ptr<Recorder>(new Recorder(options, file));
}

Recorder::Recorder(const Options& options, int file)
    : options_(options),
      file_(file),
      thread_(StartThreadOrEnd("the record", [this] { WriteAll(); })) {}

Recorder::~Recorder() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    wake_.NotifyAll();
  }
  thread_.join();
  close(file_);
}

void Recorder::Begin(const hub::HubOptions& options, TimeMs now) {
  encoder_.emplace(now);
  Append(record::Encoder::Header(options_.program, options, now));
}

void Recorder::Note(const hub::Event& event, TimeMs now, const hub::Effects& effects) {
  if (encoder_) Append(encoder_->Record(event, now, effects));
}

void Recorder::Append(std::string_view bytes) {
  noted_bytes_ += bytes.size();
  if (noted_bytes_ > options_.bytes_max) {
    return End(absl::StrCat("has its ", options_.bytes_max, " bytes (--record-max)"));
  }
  MutexLock lock(mutex_);
  if (failed_) return encoder_.reset();
  if (waiting_.size() + bytes.size() > kWaitingMax) {
    failed_ = true;
    return End("ends here: the disk does not keep up");
  }
  waiting_ += bytes;
  if (waiting_.size() >= kWorthwhile) wake_.NotifyAll();
}

void Recorder::End(const std::string& why) {
  encoder_.reset();
  spdlog::warn("the record {} {}", options_.file, why);
}

void Recorder::WriteAll() {
  for (bool last = false; !last;) {
    std::string bytes;
    {
      MutexLock lock(mutex_);
      if (!stop_ && waiting_.size() < kWorthwhile) {
        wake_.WaitUntil(mutex_, std::chrono::steady_clock::now() + kMoment);
      }
      last = stop_;
      bytes.swap(waiting_);
    }
    if (Write(file_, bytes)) continue;
    spdlog::warn("the record {} ends here: {}", options_.file, std::strerror(errno));
    MutexLock lock(mutex_);
    failed_ = true;
  }
}

}  // namespace tensorhub::rpc
