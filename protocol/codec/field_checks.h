// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reads checked values out of a message's fields and remembers the first one that is wrong, so
// that a translation is one line per field (rule R9).

#ifndef TENSORHUB_PROTOCOL_CODEC_FIELD_CHECKS_H_
#define TENSORHUB_PROTOCOL_CODEC_FIELD_CHECKS_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "common/location.h"
#include "common/time.h"
#include "tensorhub/v1/hub.pb.h"

namespace tensorhub::protocol {

// Longer times are cut: nobody waits for ten years.
inline constexpr TimeMs kTimeMsMax = 10LL * 365 * 24 * 3600 * 1000;

class FieldChecks {
 public:
  // For the fields of a nested message: "holding." makes errors say holding.layout.
  void SetPrefix(const std::string& prefix) { prefix_ = prefix; }
  void Require(bool good, const char* field, const std::string& problem);

  std::string Name(const std::string& value, const char* field);
  Id128 Id(const std::string& bytes, const char* field);        // 16 bytes, not all zero
  Id128 IdOrNone(const std::string& bytes, const char* field);  // or empty
  Generation GenerationOf(uint64_t value, const char* field = "generation");
  uint64_t Positive(uint64_t value, const char* field);
  uint32_t WorldSize(uint32_t value, const char* field = "world_size");
  uint32_t ChunkCount(uint32_t value, const char* field = "valid_chunks");
  uint64_t ChunkBytes(uint64_t value, const char* field = "chunk_bytes");
  Location LocationOf(const std::string& text, const char* field);
  TimeMs Time(uint64_t ms);  // never wrong, but cut
  WorkerIdentity Worker(bool present, const v1::WorkerId& worker, const char* field = "worker");
  // Code and reason; `code` 0 is OK.
  absl::Status Result(uint32_t code, const std::string& reason, const char* field = "code");
  VersionSelector SelectorOf(bool present, const v1::Selector& selector);

  const absl::Status& status() const { return status_; }
  template <typename T>
  absl::StatusOr<T> Take(T value) const {
    if (!status_.ok()) return status_;
    return value;
  }

 private:
  std::string prefix_;
  absl::Status status_;
};

}  // namespace tensorhub::protocol

#endif  // TENSORHUB_PROTOCOL_CODEC_FIELD_CHECKS_H_
