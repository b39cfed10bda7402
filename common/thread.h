// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How threads are started: the system may have none left (a user's limit, a container's), and
// std::thread throws then, which ends the process of whoever has linked this.

#ifndef TENSORHUB_COMMON_THREAD_H_
#define TENSORHUB_COMMON_THREAD_H_

#include <cstddef>
#include <functional>
#include <string_view>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tensorhub {

// RESOURCE_EXHAUSTED names `what` the thread is for ("reading"), and the limits.
absl::StatusOr<std::thread> StartThread(std::string_view what, std::function<void()> body);

// For our own programs, where they begin: without it the process ends, with that line and 1.
std::thread StartThreadOrEnd(std::string_view what, std::function<void()> body);

// Runs `body` in so many threads at a time, the calling one among them, or in as many as there are.
void RunInThreads(size_t threads, const std::function<void()>& body);

// RESOURCE_EXHAUSTED unless so many can be started now, for `what`, which starts them by itself.
absl::Status CheckRoomForThreads(std::string_view what, size_t threads);

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_THREAD_H_
