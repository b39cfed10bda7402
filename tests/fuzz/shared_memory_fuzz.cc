// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The description of a peer's memory: whatever is accepted, no place that it names lies outside
// the region it is in.

#include "common/check.h"
#include "tests/fuzz/fuzz.h"
#include "worker_agent/transport/shared_memory_description.h"

namespace tensorhub::fuzz {
namespace {

constexpr int kPlaces = 64;

agent::SharedMemoryDescription Example() {
  agent::SharedMemoryDescription example;
  example.host = "host";
  example.address = "address";
  example.regions = {{.base = 1 << 20, .bytes = 4096, .packed_key = "key"},
                     {.base = 1 << 30, .bytes = 8192, .packed_key = std::string("\0k", 2)}};
  example.segments = {{.begin = 0, .region = 1, .offset = 80, .bytes = 1000},
                      {.begin = 1000, .region = 0, .offset = 40, .bytes = 300}};
  example.word_region = 0;
  example.word_offset = 8;
  return example;
}

}  // namespace

std::vector<std::string> Seeds() {
  agent::SharedMemoryDescription nothing = Example();
  nothing.segments.clear();
  agent::SharedMemoryDescription asked = Example();
  asked.word_by_message = true;
  asked.process = "process";
  asked.regions[0].local_key = "here";
  return {Encode(Example()), Encode(nothing), Encode(asked)};
}

void Run(std::string_view input) {
  const auto read = agent::DecodeSharedMemoryDescription(input);
  if (!read.ok()) {
    TH_CHECK(absl::IsInvalidArgument(read.status()));
    return;
  }
  TH_CHECK(Encode(*read) == input);
  if (!read->word_by_message) {
    const auto& word_region = read->regions.at(read->word_region);
    TH_CHECK((word_region.base + read->word_offset) % 8 == 0);
    TH_CHECK(read->word_offset + 8 <= word_region.bytes);
  }
  uint64_t at = 0;
  for (int count = 0; count < kPlaces && at < read->total_bytes(); ++count) {
    const auto place = agent::PlaceWalk(*read, at).Take(read->total_bytes() - at);
    const auto& region = read->regions.at(place.region);
    TH_CHECK(place.bytes > 0);
    TH_CHECK(place.offset <= region.bytes && place.bytes <= region.bytes - place.offset);
    at += place.bytes;
  }
}

}  // namespace tensorhub::fuzz
