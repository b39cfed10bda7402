// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/fetch_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "spdlog/spdlog.h"
#include "tools/ctl/rows.h"

namespace tensorhub::ctl {
namespace {

using safetensors::Attachment;

absl::StatusOr<uint64_t> LatestOf(AdminClient& admin, const std::string& model) {
  const auto models = admin.ListModels();
  if (!models.ok()) return models.status();
  for (const v1::ModelInfo& info : models->models()) {
    if (info.model() != model) continue;
    if (info.has_latest()) return info.latest();
    return absl::NotFoundError(absl::StrCat("model ", model, " has no version yet"));
  }
  return absl::NotFoundError(
      absl::StrCat("unknown model ", model, "; `tensorhubctl models` lists those there are"));
}

// Names what could be fetched instead.
absl::Status NotHeld(const std::string& model, uint64_t version,
                     const v1::ListVersionsResponse& versions) {
  std::optional<uint64_t> newest;
  for (const v1::VersionInfo& info : versions.versions()) {
    if (info.state() == "visible") newest = std::max(newest.value_or(0), info.version());
  }
  std::string text = absl::StrCat("nobody holds version ", version, " of ", model);
  absl::StrAppend(&text, newest ? absl::StrCat("; the newest one held is ", *newest)
                                : std::string("; no version of it is held, publish one"));
  return absl::NotFoundError(text);
}

// Files do not say it, or in words of their own.
void TakeSlices(const Layout& layout, Attachment& attachment) {
  std::map<std::string_view, TensorSpec> specs;
  for (const Layout::Entry& entry : layout.entries()) specs[entry.name] = entry.spec();
  for (auto& file : attachment.files) {
    for (auto& tensor : file.header.tensors) tensor.spec.slice = specs.at(tensor.spec.name).slice;
  }
}

absl::StatusOr<Attachment> DescribeRank(AdminClient& admin, const v1::VersionInfo& info,
                                        const Layout& layout, int rank) {
  const auto one_file = [&] {
    return safetensors::FromLayout(layout, static_cast<uint32_t>(rank), info.world_size());
  };
  const std::optional<Id128> attached =
      rank < info.attachments_size() ? FromBytes(info.attachments(rank)) : std::nullopt;
  if (!attached || !*attached) return one_file();
  const absl::StatusOr<std::string> encoded = admin.GetAttachment(info.attachments(rank));
  // A hub that has restarted learns attachments from publishers only, and this one's has left.
  if (absl::IsNotFound(encoded.status())) {
    spdlog::warn(
        "the server no longer knows the files that version {} was published as; writing "
        "one file per rank, without their metadata",
        info.version());
    return one_file();
  }
  if (!encoded.ok()) return encoded.status();
  if (!safetensors::IsEncoded(*encoded)) {
    spdlog::warn(
        "the attachment of version {} was not written by tensorhubctl and names no files; writing "
        "one file per rank, without their metadata",
        info.version());
    return one_file();
  }
  absl::StatusOr<Attachment> attachment = safetensors::Decode(*encoded);
  if (!attachment.ok()) return attachment.status();
  if (absl::Status status = CheckFits(*attachment, layout); !status.ok()) return status;
  TakeSlices(layout, *attachment);
  return attachment;
}

absl::StatusOr<std::vector<Layout>> FetchLayouts(AdminClient& admin, const v1::VersionInfo& info) {
  std::vector<Layout> layouts;
  for (const std::string& fingerprint : info.layouts()) {
    absl::StatusOr<Layout> layout = FetchLayout(admin, fingerprint);
    if (!layout.ok()) return layout.status();
    layouts.push_back(*std::move(layout));
  }
  return layouts;
}

// Each once, whichever ranks have it.
std::vector<safetensors::ExtraFile> ExtrasOf(const std::vector<Attachment>& ranks) {
  std::vector<safetensors::ExtraFile> extras;
  std::set<std::string> names;
  for (const Attachment& rank : ranks) {
    for (const safetensors::ExtraFile& extra : rank.extras) {
      if (names.insert(extra.name).second) extras.push_back(extra);
    }
  }
  return extras;
}

}  // namespace

absl::StatusOr<uint64_t> NumberOf(AdminClient& admin, const std::string& model,
                                  const VersionOrLatest& wanted) {
  return wanted.exact ? absl::StatusOr<uint64_t>(*wanted.exact) : LatestOf(admin, model);
}

absl::StatusOr<v1::VersionInfo> FindVersion(AdminClient& admin, const std::string& model,
                                            uint64_t version) {
  auto versions = admin.ListVersions(model);
  if (!versions.ok()) return versions.status();
  for (v1::VersionInfo& info : *versions->mutable_versions()) {
    if (info.version() != version) continue;
    if (info.state() == "publishing") {
      return absl::FailedPreconditionError(
          absl::StrCat("version ", version, " of ", model, " is still being published; try again"));
    }
    if (info.state() != "visible") continue;
    if (info.world_size() == 0 || static_cast<int64_t>(info.world_size()) != info.layouts_size()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the hub does not know all layouts of version ", version, " of ", model));
    }
    return std::move(info);
  }
  return NotHeld(model, version, *versions);
}

absl::StatusOr<Layout> FetchLayout(AdminClient& admin, const std::string& fingerprint) {
  const absl::StatusOr<std::string> encoded = admin.GetLayout(fingerprint);
  if (!encoded.ok()) return encoded.status();
  absl::StatusOr<Layout> layout = Layout::Decode(*encoded);
  if (layout.ok() && ToBytes(layout->fingerprint()) != fingerprint) {
    return absl::DataLossError("the hub answered with another layout than the version has");
  }
  return layout;
}

uint64_t FetchPlan::data_bytes() const {
  uint64_t sum = 0;
  for (const Attachment& rank : ranks) sum += rank.data_bytes();
  return sum;
}

uint64_t FetchPlan::disk_bytes() const {
  uint64_t sum = data_bytes();
  for (const Attachment& rank : ranks) {
    for (const auto& file : rank.files) sum += file.header.raw.size();
    for (const auto& file : rank.extras) sum += file.content.size();
  }
  return sum;
}

size_t FetchPlan::file_count() const {
  std::set<std::string> names;
  for (const Attachment& rank : ranks) {
    for (const auto& file : rank.files) names.insert(file.name);
    for (const auto& file : rank.extras) names.insert(file.name);
  }
  return names.size();
}

absl::StatusOr<FetchPlan> DescribeVersion(AdminClient& admin, const std::string& model,
                                          const VersionOrLatest& wanted,
                                          std::optional<uint32_t> rows) {
  const absl::StatusOr<uint64_t> version = NumberOf(admin, model, wanted);
  if (!version.ok()) return version.status();
  const absl::StatusOr<v1::VersionInfo> info = FindVersion(admin, model, *version);
  if (!info.ok()) return info.status();
  const absl::StatusOr<std::vector<Layout>> layouts = FetchLayouts(admin, *info);
  if (!layouts.ok()) return layouts.status();
  FetchPlan plan{.version = *version, .ranks = {}};
  for (int rank = 0; rank < info->layouts_size(); ++rank) {
    absl::StatusOr<Attachment> contents =
        DescribeRank(admin, *info, (*layouts)[static_cast<size_t>(rank)], rank);
    if (!contents.ok()) return contents.status();
    plan.ranks.push_back(std::move(*contents));
  }
  if (rows) {
    const auto whole = WholeTensors(*layouts);
    if (!whole.ok()) return whole.status();
    auto cut = FilesOfRows(*whole, ExtrasOf(plan.ranks), *rows);
    if (!cut.ok()) return cut.status();
    plan.ranks = *std::move(cut);
  }
  MakeNamesDistinct(plan.ranks);
  return plan;
}

}  // namespace tensorhub::ctl
