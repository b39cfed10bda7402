// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/demo/notes.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"

namespace tensorhub::demo {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kPollInterval{10};

// Renamed into place, so that a reader finds all of it or nothing.
absl::Status WriteNote(const std::string& path, const std::string& text) {
  const std::string partial = path + ".partial";
  std::ofstream file(partial);
  file << text;
  file.close();
  if (file.good() && std::rename(partial.c_str(), path.c_str()) == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
}

absl::StatusOr<std::string> ReadNote(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": is not there"));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

std::string RolloutName(uint32_t number) { return absl::StrCat("rollout-", number); }

std::string Notes::FetchPath(const std::string& group, uint32_t rank, uint64_t version) const {
  return absl::StrCat(directory_, "/fetch-", group, "-", rank, "-", version, ".json");
}

std::string Notes::DigestPath(uint64_t version, uint32_t rank) const {
  return absl::StrCat(directory_, "/digest-", version, "-", rank);
}

absl::Status Notes::WriteDigest(uint64_t version, uint32_t rank, const Fingerprint& digest) const {
  return WriteNote(DigestPath(version, rank), ToHex(digest));
}

absl::StatusOr<Fingerprint> Notes::ReadDigest(uint64_t version, uint32_t rank) const {
  const absl::StatusOr<std::string> text = ReadNote(DigestPath(version, rank));
  if (!text.ok()) return text.status();
  const std::optional<Fingerprint> digest = ParseHex(*text);
  if (!digest) return absl::DataLossError(absl::StrCat(DigestPath(version, rank), ": is damaged"));
  return *digest;
}

absl::Status Notes::WriteFetch(const FetchNote& note) const {
  const json object = {{"group", note.group},     {"rank", note.rank},
                       {"version", note.version}, {"bytes", note.bytes},
                       {"seconds", note.seconds}, {"way", note.way},
                       {"sources", note.sources}, {"digest_ok", note.digest_ok}};
  return WriteNote(FetchPath(note.group, note.rank, note.version), object.dump());
}

absl::StatusOr<FetchNote> Notes::ReadFetch(const std::string& group, uint32_t rank,
                                           uint64_t version) const {
  const absl::StatusOr<std::string> text = ReadNote(FetchPath(group, rank, version));
  if (!text.ok()) return text.status();
  const json object = json::parse(*text, nullptr, false);
  if (!object.is_object()) return absl::DataLossError("a fetch's note is damaged");
  return FetchNote{.group = group,
                   .rank = rank,
                   .version = version,
                   .bytes = object.value("bytes", uint64_t{0}),
                   .seconds = object.value("seconds", 0.0),
                   .way = object.value("way", ""),
                   .sources = object.value("sources", ""),
                   .digest_ok = object.value("digest_ok", false)};
}

absl::Status Notes::WaitForFetches(uint64_t version, uint32_t rollouts, uint32_t ranks,
                                   std::chrono::milliseconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (uint32_t i = 0; i < rollouts * ranks; ++i) {
    const std::string path = FetchPath(RolloutName(i / ranks + 1), i % ranks, version);
    while (!std::filesystem::exists(path)) {
      if (std::chrono::steady_clock::now() > deadline) {
        return absl::DeadlineExceededError(absl::StrCat(RolloutName(i / ranks + 1), " rank ",
                                                        i % ranks, " did not fetch version ",
                                                        version, " in time"));
      }
      std::this_thread::sleep_for(kPollInterval);
    }
  }
  return absl::OkStatus();
}

}  // namespace tensorhub::demo
