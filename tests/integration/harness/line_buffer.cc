// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/integration/harness/line_buffer.h"

#include <unistd.h>

#include <cerrno>

namespace tensorhub::harness {

void LineBuffer::Follow(int fd) {
  thread_ = std::thread([this, fd] {
    char bytes[4096];
    while (true) {
      const ssize_t got = read(fd, bytes, sizeof(bytes));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      Add({bytes, static_cast<size_t>(got)});
    }
    close(fd);
    End();
  });
}

void LineBuffer::Join() {
  if (thread_.joinable()) thread_.join();
}

void LineBuffer::Add(std::string_view bytes) {
  MutexLock lock(mutex_);
  for (const char byte : bytes) {
    if (byte == '\n') {
      lines_.push_back(std::move(partial_));
      partial_.clear();
    } else {
      partial_.push_back(byte);
    }
  }
  changed_.NotifyAll();
}

void LineBuffer::End() {
  MutexLock lock(mutex_);
  if (!partial_.empty()) lines_.push_back(std::move(partial_));
  partial_.clear();
  ended_ = true;
  changed_.NotifyAll();
}

std::optional<std::string> LineBuffer::WaitFor(std::string_view text, milliseconds timeout,
                                               size_t from) {
  const auto deadline = Clock::now() + timeout;
  MutexLock lock(mutex_);
  for (size_t i = from;;) {
    for (; i < lines_.size(); ++i) {
      if (lines_[i].find(text) != std::string::npos) return lines_[i];
    }
    if (ended_ || Clock::now() >= deadline) return std::nullopt;
    changed_.WaitUntil(mutex_, deadline);
  }
}

std::optional<std::string> LineBuffer::Next(milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  MutexLock lock(mutex_);
  while (taken_ == lines_.size()) {
    if (ended_ || Clock::now() >= deadline) return std::nullopt;
    changed_.WaitUntil(mutex_, deadline);
  }
  return lines_[taken_++];
}

size_t LineBuffer::LineCount() const {
  MutexLock lock(mutex_);
  return lines_.size();
}

std::string LineBuffer::Text() const {
  MutexLock lock(mutex_);
  std::string text;
  for (const std::string& line : lines_) text += line + "\n";
  return text + partial_;
}

}  // namespace tensorhub::harness
