// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What can be wrong with a caller's options without asking anybody (R9): INVALID_ARGUMENT that
// names the field and what it may be.

#ifndef TENSORHUB_LIBROS_CHECKS_H_
#define TENSORHUB_LIBROS_CHECKS_H_

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "common/tls/client_security.h"
#include "tensorhub/ros.h"

namespace tensorhub::libros {

// The mode, by the option and TENSORHUB_DIGESTS; INVALID_ARGUMENT names the variable.
absl::StatusOr<Digests> DigestsOf(const ConnectOptions& options);
// The option, or else TENSORHUB_LOCATION.
std::string LocationOf(const ConnectOptions& options);
// The option, or else TENSORHUB_DATA_ADDRESS.
std::string DataAddressOf(const ConnectOptions& options);
// The options, or else the environment.
tls::ClientSecurity SecurityOf(const ConnectOptions& options);
// Whether device memory on this host is read by the device's own copies, by TENSORHUB_DEVICE_READS.
absl::StatusOr<bool> DeviceCopies();
// What TENSORHUB_WORKER_HTTP says, if `http` is empty.
std::string HttpOf(const ConnectOptions& options);
// What TENSORHUB_TRACE says, if `trace` is empty.
std::string TraceOf(const ConnectOptions& options);
absl::Status Check(const ConnectOptions& options);
absl::Status Check(const PublishOptions& options);
absl::Status Check(const UnpublishOptions& options);
absl::Status Check(const LeaveOptions& options);
absl::Status Check(const FetchOptions& options);
absl::Status CheckTimeout(const std::string& field, std::chrono::milliseconds value);

// As a number that sums with a clock's cannot overflow.
int64_t Milliseconds(std::chrono::milliseconds value);

}  // namespace tensorhub::libros

#endif  // TENSORHUB_LIBROS_CHECKS_H_
