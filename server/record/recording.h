// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What went into a hub, in a file, so that it can be gone through again: `tensorhub-server
// --record` writes it, `tensorhub-sim replay` applies it to the same core.
//
//   header   "THRECORD", a length and its check; the format's number (kFormat), the program's
//            version, the hub's time at its start, its options with what it had kept; their check
//   records  a length and its check; the time since the record before, the event, the low half of
//            the digest of all effects until then; their check
//
// Lengths and numbers are as in codec.h, checks and digests are 4 bytes, low byte first: 13 bytes
// beside the event. A file that ends in the middle of a record, or in zeros, is that of a
// program or machine that ended; what is before counts.

#ifndef TENSORHUB_SERVER_RECORD_RECORDING_H_
#define TENSORHUB_SERVER_RECORD_RECORDING_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/effects.h"
#include "server/core/events.h"
#include "server/core/hub.h"

namespace tensorhub::record {

inline constexpr uint64_t kFormat = 3;

// A digest of everything that a hub wanted done, in order.
class EffectsDigest {
 public:
  void Add(TimeMs now, const hub::Effects& effects);
  uint32_t low() const { return static_cast<uint32_t>(digest_); }

 private:
  uint64_t digest_ = 1;
};

// The file's bytes, piece by piece.
class Encoder {
 public:
  static std::string Header(const std::string& program, const hub::HubOptions& options, TimeMs now);
  explicit Encoder(TimeMs start) : last_(start) {}
  // What came of the event is `effects`.
  std::string Record(const hub::Event& event, TimeMs now, const hub::Effects& effects);

 private:
  TimeMs last_;
  EffectsDigest digest_;
};

struct Beginning {
  std::string program;
  hub::HubOptions options;
  TimeMs start = 0;
};

struct Step {
  uint64_t number = 0;  // from 1
  hub::Event event;
  TimeMs now = 0;
  uint32_t digest = 0;  // as it was then
};

class Decoder {
 public:
  // `bytes` outlives it. INVALID_ARGUMENT: no record; FAILED_PRECONDITION: of another format.
  static absl::StatusOr<Decoder> Open(std::string_view bytes);
  const Beginning& beginning() const { return beginning_; }

  // False at the end. DATA_LOSS: the step is damaged.
  absl::StatusOr<bool> Next(Step& step);
  // Bytes of a last record that is not whole.
  uint64_t torn() const { return torn_; }

 private:
  explicit Decoder(std::string_view rest) : rest_(rest) {}
  absl::Status Damaged() const;

  Beginning beginning_;
  std::string_view rest_;
  TimeMs last_ = 0;
  uint64_t steps_ = 0;
  uint64_t torn_ = 0;
};

}  // namespace tensorhub::record

#endif  // TENSORHUB_SERVER_RECORD_RECORDING_H_
