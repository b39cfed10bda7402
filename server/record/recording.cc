// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/record/recording.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/structural_hash.h"
#include "server/record/codec.h"

namespace tensorhub::record {
namespace {

constexpr std::string_view kMagic = "THRECORD";
constexpr size_t kWordBytes = 4;

uint32_t CheckOf(std::string_view bytes) {
  return static_cast<uint32_t>(StructuralHash(bytes) >> 32);
}

void AppendWord(uint32_t word, std::string& out) {
  for (unsigned shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(word >> shift));
}

uint32_t TakeWord(std::string_view& from) {
  uint32_t word = 0;
  for (unsigned i = 0; i < kWordBytes; ++i) word |= uint32_t{uint8_t(from[i])} << (8 * i);
  from.remove_prefix(kWordBytes);
  return word;
}

// The length has a check of its own: a damaged one is not taken for that of a torn record.
void AppendSize(uint64_t size, std::string& out) {
  const size_t begin = out.size();
  EncodeNumber(size, out);
  AppendWord(CheckOf(std::string_view(out).substr(begin)), out);
}

enum class Found { kWhole, kTorn, kDamaged };

// A body behind its length, with `words` words after it.
Found TakeBody(std::string_view& from, size_t words, std::string_view& body) {
  const std::string_view begin = from;
  uint64_t size = 0;
  if (!DecodeNumber(from, size)) return from.empty() ? Found::kTorn : Found::kDamaged;
  const std::string_view length = begin.substr(0, begin.size() - from.size());
  if (from.size() < kWordBytes) return Found::kTorn;
  if (TakeWord(from) != CheckOf(length)) return Found::kDamaged;
  if (from.size() < words * kWordBytes || size > from.size() - words * kWordBytes) {
    return Found::kTorn;
  }
  body = from.substr(0, size);
  from.remove_prefix(size);
  return Found::kWhole;
}

bool AreZeros(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == '\0'; });
}

bool DecodeHeader(std::string_view body, Beginning& out) {
  uint64_t size = 0;
  if (!DecodeNumber(body, size) || size > body.size()) return false;
  out.program = std::string(body.substr(0, size));
  body.remove_prefix(size);
  return DecodeSigned(body, out.start) && Decode(body, out.options) && body.empty();
}

}  // namespace

void EffectsDigest::Add(TimeMs now, const hub::Effects& effects) {
  digest_ = Mix(Mix(digest_, static_cast<uint64_t>(now)), StructuralHash(effects));
}

std::string Encoder::Header(const std::string& program, const hub::HubOptions& options,
                            TimeMs now) {
  std::string body;
  EncodeNumber(kFormat, body);
  EncodeNumber(program.size(), body);
  body += program;
  EncodeSigned(now, body);
  Encode(options, body);
  std::string header(kMagic);
  AppendSize(body.size(), header);
  header += body;
  AppendWord(CheckOf(body), header);
  return header;
}

std::string Encoder::Record(const hub::Event& event, TimeMs now, const hub::Effects& effects) {
  std::string body;
  EncodeSigned(now - std::exchange(last_, now), body);
  Encode(event, body);
  digest_.Add(now, effects);
  std::string record;
  AppendSize(body.size(), record);
  AppendWord(digest_.low(), body);
  record += body;
  AppendWord(CheckOf(body), record);
  return record;
}

absl::StatusOr<Decoder> Decoder::Open(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    return absl::InvalidArgumentError("is no record of a hub (tensorhub-server --record)");
  }
  bytes.remove_prefix(kMagic.size());
  std::string_view body;
  const bool whole = TakeBody(bytes, 1, body) == Found::kWhole;
  if (!whole || TakeWord(bytes) != CheckOf(body)) {
    return absl::InvalidArgumentError("its beginning is damaged");
  }
  uint64_t format = 0;
  Decoder decoder(bytes);
  const bool read = DecodeNumber(body, format);
  if (read && format != kFormat) {
    return absl::FailedPreconditionError(
        absl::StrCat("has format ", format, ", and this program reads format ", kFormat,
                     ": use the tensorhub-sim of the server that wrote it"));
  }
  // Within a format, options and events differ from version to version.
  if (!read || !DecodeHeader(body, decoder.beginning_)) {
    return absl::FailedPreconditionError(
        absl::StrCat("was written by another version of the server",
                     decoder.beginning_.program.empty() ? "" : ": ", decoder.beginning_.program,
                     "; use that version's tensorhub-sim"));
  }
  decoder.last_ = decoder.beginning_.start;
  return decoder;
}

absl::Status Decoder::Damaged() const {
  return absl::DataLossError(absl::StrCat("step ", steps_ + 1, " is damaged"));
}

absl::StatusOr<bool> Decoder::Next(Step& step) {
  if (rest_.empty()) return false;
  std::string_view from = rest_;
  std::string_view body;
  const Found found = TakeBody(from, 2, body);
  if (found == Found::kTorn || AreZeros(rest_)) {
    torn_ = std::exchange(rest_, {}).size();
    return false;
  }
  if (found == Found::kDamaged) return Damaged();
  step.digest = TakeWord(from);
  if (TakeWord(from) != CheckOf({body.data(), body.size() + kWordBytes})) {
    if (from.empty() || !AreZeros(from)) return Damaged();
    torn_ = std::exchange(rest_, {}).size();  // its end, and what was to follow, were not kept
    return false;
  }
  TimeMs since = 0;
  if (!DecodeSigned(body, since) || !Decode(body, step.event) || !body.empty()) return Damaged();
  rest_ = from;
  step.now = last_ += since;
  step.number = ++steps_;
  return true;
}

}  // namespace tensorhub::record
