// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/log_thread.h"

#include <poll.h>
#include <spdlog/async.h>
#include <spdlog/sinks/sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tensorhub::cli {
namespace {

using spdlog::details::thread_pool;

constexpr std::chrono::seconds kFlushMax(1);

// To standard error, past stdio, whose lock the end of a process takes. Says how many lines the
// queue has dropped, before the next one. On the pool's thread.
class ThreadSink : public spdlog::sinks::sink {
 public:
  ThreadSink(std::unique_ptr<spdlog::formatter> formatter, thread_pool* pool)
      : formatter_(std::move(formatter)), pool_(pool) {}

  std::future<void> flushed() { return flushed_.get_future(); }

  void log(const spdlog::details::log_msg& record) override {
    const size_t dropped = pool_->overrun_counter();
    if (dropped != told_) TellOf(dropped - told_, record);
    told_ = dropped;
    Write(record);
  }
  // The logger's last word.
  void flush() override { flushed_.set_value(); }
  void set_pattern(const std::string& /*pattern*/) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override {
    formatter_ = std::move(formatter);
  }

 private:
  void TellOf(size_t lines, const spdlog::details::log_msg& before) {
    const std::string text = absl::StrCat(
        lines, " lines are missing here: whoever reads this log did not take them in time");
    Write({before.time, {}, before.logger_name, spdlog::level::warn, text});
  }
  void Write(const spdlog::details::log_msg& record) {
    spdlog::memory_buf_t line;
    formatter_->format(record, line);
    const char* from = line.data();
    const char* const end = from + line.size();
    while (from < end) {
      const ssize_t written = write(STDERR_FILENO, from, static_cast<size_t>(end - from));
      if (written >= 0) {
        from += written;
      } else if (errno == EAGAIN) {
        pollfd writable{STDERR_FILENO, POLLOUT, 0};
        poll(&writable, 1, -1);
      } else if (errno != EINTR) {
        return;  // there is nobody to be told
      }
    }
  }

  std::unique_ptr<spdlog::formatter> formatter_;
  thread_pool* const pool_;
  size_t told_ = 0;
  std::promise<void> flushed_;
};

// Never destroyed: its destructor waits for its thread, which may be waiting for a reader.
std::shared_ptr<thread_pool> NewPool() {
  static auto& pools = *new std::vector<std::shared_ptr<thread_pool>>;
  return pools.emplace_back(std::make_shared<thread_pool>(LogThread::kWaitingMax, 1));
}

}  // namespace

LogThread::LogThread(const std::string& program, const LogOptions& options) {
  const std::shared_ptr<thread_pool> pool = NewPool();
  const auto sink = std::make_shared<ThreadSink>(LineFormat(program, options), pool.get());
  flushed_ = sink->flushed();
  auto logger = std::make_shared<spdlog::async_logger>(
      program, spdlog::sink_ptr(sink), pool, spdlog::async_overflow_policy::overrun_oldest);
  logger->flush_on(spdlog::level::off);
  LogBy(std::move(logger), options);
}

LogThread::~LogThread() {
  spdlog::default_logger()->flush();
  static_cast<void>(flushed_.wait_for(kFlushMax));
}

}  // namespace tensorhub::cli
