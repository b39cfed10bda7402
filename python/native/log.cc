// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "python/native/log.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <spdlog/sinks/sink.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/mutex.h"

namespace tensorhub::python {
namespace {

namespace nb = nanobind;
using Line = std::pair<int, std::string>;  // Python's level, and the text

constexpr size_t kLinesMax = 1000;  // what nobody takes is lost, oldest last

int PythonLevel(spdlog::level::level_enum level) {
  if (level >= spdlog::level::critical) return 50;
  if (level >= spdlog::level::err) return 40;
  if (level >= spdlog::level::warn) return 30;
  return level >= spdlog::level::info ? 20 : 10;
}

class Queue final : public spdlog::sinks::sink {
 public:
  void log(const spdlog::details::log_msg& message) override ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    if (lines_.size() >= kLinesMax) return;
    lines_.emplace_back(PythonLevel(message.level),
                        std::string(message.payload.data(), message.payload.size()));
    changed_.NotifyAll();
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

  std::vector<Line> Take(double seconds) ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto until = std::chrono::steady_clock::now() +
                       std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
    MutexLock lock(mutex_);
    while (lines_.empty() && !closed_ && changed_.WaitUntil(mutex_, until)) {
    }
    return std::exchange(lines_, {});
  }
  void Close() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    closed_ = true;
    changed_.NotifyAll();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<Line> lines_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// Never destroyed: threads that log may outlive everything.
Queue& TheQueue() {
  static auto& queue = *new std::shared_ptr<Queue>(std::make_shared<Queue>());
  return *queue;
}

// Before the first Connect: the library takes the logger of this name then
// (worker_agent/runtime/log.h).
void UseQueue(int python_level) {
  constexpr char kName[] = "tensorhub";
  std::shared_ptr<spdlog::logger> logger = spdlog::get(kName);
  if (!logger) {
    logger = std::make_shared<spdlog::logger>(
        kName, std::shared_ptr<spdlog::sinks::sink>(&TheQueue(), [](Queue*) {}));
    spdlog::register_logger(logger);
  }
  logger->set_level(python_level <= 10   ? spdlog::level::debug
                    : python_level <= 20 ? spdlog::level::info
                    : python_level <= 30 ? spdlog::level::warn
                                         : spdlog::level::err);
}

}  // namespace

void BindLog(nb::module_& module) {
  module.def("use_log_queue", &UseQueue, nb::arg("level"));
  module.def(
      "take_log_lines", [](double seconds) { return TheQueue().Take(seconds); }, nb::arg("seconds"),
      nb::call_guard<nb::gil_scoped_release>());
  module.def("close_log_queue", [] { TheQueue().Close(); });
}

}  // namespace tensorhub::python
