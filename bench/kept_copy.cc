// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/kept_copy.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tensorhub::bench {

absl::StatusOr<std::unique_ptr<KeptCopy>> KeptCopy::Start(const AgentPair::Options& options) {
  std::unique_ptr<KeptCopy> kept(new KeptCopy(options));
  absl::StatusOr<std::unique_ptr<Child>> worker = Child::Start(
      {.name = options.name,
       .binary = OwnBinary(),
       .args = {"@agent",
                absl::StrCat("server=", options.server, " group=", options.name,
                             "-worker bytes=", options.bytes, " tensors=", options.tensors,
                             " source=1 allocate=0 mapped=0 device=", options.source_device)},
       .env = options.environment});
  if (!worker.ok()) return worker.status();
  kept->worker_ = *std::move(worker);
  const absl::StatusOr<Fields> ready = kept->worker_->Answer();
  if (!ready.ok()) return ready.status();
  return kept;
}

absl::StatusOr<KeptCopy::Sample> KeptCopy::Round() {
  const std::string version = absl::StrCat(" version=", ++version_);
  absl::StatusOr<Fields> done = worker_->Ask("unpublish");
  if (done.ok()) done = worker_->Ask("publish" + version);
  if (done.ok()) done = worker_->Ask("unpublish");
  if (!done.ok()) return done.status();
  const absl::StatusOr<double> out_ms = done->Number("ms");
  if (!out_ms.ok()) return out_ms.status();
  const absl::StatusOr<Fields> fetched = worker_->Ask("fetch" + version);
  if (!fetched.ok()) return fetched.status();
  const absl::StatusOr<double> in_seconds = fetched->Number("seconds");
  const absl::StatusOr<std::string> way = fetched->Text("way");
  if (!in_seconds.ok()) return in_seconds.status();
  if (!way.ok()) return way.status();
  if (!way->starts_with(options_.way)) {
    return absl::FailedPreconditionError(absl::StrCat(options_.name, ": the bytes came ", *way,
                                                      ", not ", options_.way, ", on this machine"));
  }
  return Sample{*out_ms / 1e3, *in_seconds};
}

}  // namespace tensorhub::bench
