// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/driver_status.h"

#include "absl/strings/str_format.h"

namespace tensorhub::agent {
namespace {

// Results by number, since builds without CUDA's headers test this too; they are the driver's ABI.
absl::StatusCode CodeOf(int result) {
  switch (result) {
    case 0:
      return absl::StatusCode::kOk;
    case 2:  // OUT_OF_MEMORY
      return absl::StatusCode::kResourceExhausted;
    case 3:    // NOT_INITIALIZED
    case 4:    // DEINITIALIZED: the process is ending
    case 46:   // DEVICE_UNAVAILABLE
    case 100:  // NO_DEVICE
    case 802:  // SYSTEM_NOT_READY
      return absl::StatusCode::kUnavailable;
    case 1:    // INVALID_VALUE
    case 101:  // INVALID_DEVICE
    case 201:  // INVALID_CONTEXT
    case 400:  // INVALID_HANDLE
    case 500:  // NOT_FOUND
      return absl::StatusCode::kInvalidArgument;
    case 209:  // NO_BINARY_FOR_GPU
    case 217:  // PEER_ACCESS_UNSUPPORTED
    case 218:  // INVALID_PTX
    case 221:  // JIT_COMPILER_NOT_FOUND
    case 222:  // UNSUPPORTED_PTX_VERSION
    case 712:  // HOST_MEMORY_ALREADY_REGISTERED
    case 800:  // NOT_PERMITTED
    case 801:  // NOT_SUPPORTED
    case 803:  // SYSTEM_DRIVER_MISMATCH
    case 804:  // COMPAT_NOT_SUPPORTED_ON_DEVICE
    case 900:  // STREAM_CAPTURE_UNSUPPORTED
    case 901:  // STREAM_CAPTURE_INVALIDATED
    case 902:  // STREAM_CAPTURE_MERGE
    case 903:  // STREAM_CAPTURE_UNMATCHED
    case 904:  // STREAM_CAPTURE_UNJOINED
    case 905:  // STREAM_CAPTURE_ISOLATION
    case 906:  // STREAM_CAPTURE_IMPLICIT
    case 907:  // CAPTURED_EVENT
    case 908:  // STREAM_CAPTURE_WRONG_THREAD
      return absl::StatusCode::kFailedPrecondition;
    case 214:  // ECC_UNCORRECTABLE
    case 220:  // NVLINK_UNCORRECTABLE
    case 226:  // CONTAINED: an error of memory, whose process has to end
    case 700:  // ILLEGAL_ADDRESS
    case 702:  // LAUNCH_TIMEOUT
    case 709:  // CONTEXT_IS_DESTROYED
    case 710:  // ASSERT
    case 714:  // HARDWARE_STACK_ERROR
    case 715:  // ILLEGAL_INSTRUCTION
    case 716:  // MISALIGNED_ADDRESS
    case 717:  // INVALID_ADDRESS_SPACE
    case 718:  // INVALID_PC
    case 719:  // LAUNCH_FAILED
      return absl::StatusCode::kAborted;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status CudaStatus(int result, std::string_view call, std::string_view name,
                        std::string_view text) {
  if (result == 0) return absl::OkStatus();
  return absl::Status(CodeOf(result), absl::StrFormat("%s: %s: %s", call, name, text));
}

}  // namespace tensorhub::agent
