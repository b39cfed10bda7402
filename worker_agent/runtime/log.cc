// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/runtime/log.h"

#include <poll.h>
#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "worker_agent/runtime/thread.h"

namespace tensorhub::agent {
namespace {

constexpr char kLoggerName[] = "tensorhub";

spdlog::level::level_enum LevelOf(const char* spelling) {
  const std::string name = absl::AsciiStrToLower(spelling);
  if (name == "debug") return spdlog::level::debug;
  if (name == "info") return spdlog::level::info;
  return name == "error" ? spdlog::level::err : spdlog::level::warn;
}

// More than an agent says in an hour in which all goes wrong.
constexpr size_t kWaitingMax = 1024;
constexpr int kDrainedWithinMs = 200;

// The thread that writes. Never destroyed: it may be waiting for whoever reads the log.
spdlog::details::thread_pool& Writer();

// What is said last, by a program that ends, is to be read as well.
void AwaitWriter() {
  for (int ms = 0; Writer().queue_size() > 0 && ms < kDrainedWithinMs; ms += 5) poll(nullptr, 0, 5);
  poll(nullptr, 0, 1);  // the last one has been taken out, and is being written
}

std::shared_ptr<spdlog::details::thread_pool> SharedWriter() {
  static const auto& writer = *new std::shared_ptr<spdlog::details::thread_pool>([] {
    const WithoutSignals blocked;
    std::atexit(&AwaitWriter);
    return std::make_shared<spdlog::details::thread_pool>(kWaitingMax, 1);
  }());
  return writer;
}

spdlog::details::thread_pool& Writer() { return *SharedWriter(); }

}  // namespace

std::shared_ptr<spdlog::logger> MakeStderrLogger(const char* level) {
  auto logger = std::make_shared<spdlog::async_logger>(
      kLoggerName, std::make_shared<spdlog::sinks::stderr_sink_mt>(), SharedWriter(),
      spdlog::async_overflow_policy::overrun_oldest);
  logger->set_level(LevelOf(level == nullptr ? "" : level));
  return logger;
}

spdlog::logger& Log() {
  // Never destroyed: the progress thread may outlive main's statics.
  static const auto& logger = *new std::shared_ptr<spdlog::logger>([] {
    std::shared_ptr<spdlog::logger> given = spdlog::get(kLoggerName);
    return given ? given : MakeStderrLogger(std::getenv("TENSORHUB_LOG_LEVEL"));
  }());
  return *logger;
}

}  // namespace tensorhub::agent
