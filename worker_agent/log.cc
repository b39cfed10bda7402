// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <string_view>

namespace tensorhub::agent {
namespace {

constexpr char kName[] = "tensorhub";

spdlog::level::level_enum LevelOf(std::string_view name) {
  if (name == "debug") return spdlog::level::debug;
  if (name == "info") return spdlog::level::info;
  return name == "error" ? spdlog::level::err : spdlog::level::warn;
}

}  // namespace

std::shared_ptr<spdlog::logger> MakeStderrLogger(const char* level) {
  auto logger =
      std::make_shared<spdlog::logger>(kName, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(LevelOf(level == nullptr ? "" : level));
  return logger;
}

spdlog::logger& Log() {
  // Never destroyed: the progress thread may outlive main's statics.
  static const auto& logger = *new std::shared_ptr<spdlog::logger>([] {
    std::shared_ptr<spdlog::logger> given = spdlog::get(kName);
    return given ? given : MakeStderrLogger(std::getenv("TENSORHUB_LOG_LEVEL"));
  }());
  return *logger;
}

}  // namespace tensorhub::agent
