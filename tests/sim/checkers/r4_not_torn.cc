// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/checkers/r4_not_torn.h"

#include "absl/strings/str_cat.h"
#include "tests/sim/gets.h"
#include "tests/sim/process.h"

namespace tensorhub::fault {

void R4NotTorn::OnWord(const Process& process, ControlWord before) {
  const ControlWord word = process.memory().word();
  if (word.generation < before.generation) {
    return scene_.Fail("R4", absl::StrCat(process.name(), ": generation ", word.generation,
                                          " after ", before.generation));
  }
  if (word.generation != before.generation) {
    if (word.valid_chunks == 0) return;
    return scene_.Fail("R4", absl::StrCat(process.name(), ": a generation begins with ",
                                          word.valid_chunks, " chunks"));
  }
  if (word.valid_chunks < before.valid_chunks) {
    return scene_.Fail(
        "R4", absl::StrCat(process.name(), ": the count goes from ", before.valid_chunks, " to ",
                           word.valid_chunks, " within generation ", word.generation));
  }
  const bool publishes = std::holds_alternative<agent::PublishVerb>(process.verb());
  const ContentId content =
      publishes ? process.publishing()
                : scene_.contents.Of(process.decision() ? process.decision()->publication
                                                        : PublicationId{});
  if (!publishes) scene_.counts.chunks += word.valid_chunks - before.valid_chunks;
  // Whether anybody gets to read those is R1's.
  if (publishes && process.unlike()) return;
  const Rank rank = process.identity().key.rank;
  if (content != 0 &&
      process.memory().Holds(content, rank, before.valid_chunks, word.valid_chunks)) {
    return;
  }
  scene_.Fail("R4", absl::StrCat(process.name(), " committed torn, mixed or stale bytes in chunks ",
                                 before.valid_chunks, " to ", word.valid_chunks));
}

void R4NotTorn::OnVerbDone(const Process& process, const agent::VerbDone& done) {
  if (scene_.gets->HasAny(process)) {
    scene_.Fail("R4", absl::StrCat(process.name(), ": a verb ended while a get was under way"));
  }
  if (!done.status.ok() || !std::holds_alternative<agent::FetchVerb>(process.verb())) return;
  const auto& decision = process.decision();
  const ContentId content = decision ? scene_.contents.Of(decision->publication) : 0;
  const uint32_t chunks = process.memory().chunking().count();
  // Of an empty shard nothing is read, and perhaps nobody has been told what was published.
  const bool held =
      chunks == 0 ||
      (content != 0 && process.memory().Holds(content, process.identity().key.rank, 0, chunks));
  const bool whole = held && decision && decision->version == done.fetch.version;
  if (whole) return;
  scene_.Fail("R6", absl::StrCat(process.name(), " fetched version ", done.fetch.version,
                                 ", and its buffers do not hold it whole"));
}

}  // namespace tensorhub::fault
