// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// absl::Status <-> grpc::Status. The codes are the same numbers on both sides; whatever else a
// peer sends counts as UNKNOWN. A remedy travels in the details. Header only, so that common links
// no gRPC.

#ifndef TENSORHUB_COMMON_GRPC_STATUS_H_
#define TENSORHUB_COMMON_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/remedy.h"

namespace tensorhub {

// A code from the wire. 0 is OK; unknown numbers are kUnknown.
inline absl::StatusCode StatusCodeFromWire(uint32_t code) {
  constexpr uint32_t kLast = 16;  // UNAUTHENTICATED
  return code <= kLast ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown;
}

// OK for code 0, whatever the message.
inline absl::Status StatusFromWire(uint32_t code, const std::string& message) {
  return absl::Status(StatusCodeFromWire(code), message);
}

inline uint32_t StatusCodeToWire(const absl::Status& status) {
  return static_cast<uint32_t>(status.code());
}

inline grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()),
                      DetailsOf(status));
}

inline absl::Status FromGrpc(const grpc::Status& status) {
  return WithDetails(
      StatusFromWire(static_cast<uint32_t>(status.error_code()), status.error_message()),
      status.error_details());
}

// No answer of the server's has come: the connection ended in the middle of a call. So, or as
// UNAVAILABLE, gRPC says it.
inline bool WasCut(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::CANCELLED ||
         (status.error_code() == grpc::StatusCode::UNKNOWN &&
          status.error_message() == "Stream removed");
}

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_GRPC_STATUS_H_
