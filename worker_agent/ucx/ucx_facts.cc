// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_facts.h"

#include <dlfcn.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "absl/strings/str_split.h"
#include "common/text.h"
#include "worker_agent/ucx/ucx_settings.h"
#include "worker_agent/ucx/ucx_worker.h"

namespace tensorhub::agent {
namespace {

constexpr size_t kWhyBytesMax = 200;

std::string LibraryFile() {
  Dl_info library = {};
  const bool known = dladdr(reinterpret_cast<const void*>(&ucp_get_version), &library) != 0;
  return known && library.dli_fname != nullptr ? library.dli_fname : "unknown";
}

bool SeesCuda(ucp_context_h context) {
  ucp_context_attr_t attributes = {};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  if (ucp_context_query(context, &attributes) != UCS_OK) return false;
  return (attributes.memory_types >> UCS_MEMORY_TYPE_CUDA & 1) != 0;
}

}  // namespace

bool UcxFacts::Has(std::string_view transport) const {
  for (const absl::string_view lane : absl::StrSplit(transports, ", ")) {
    const std::string_view name(lane.data(), std::min(lane.find('/'), lane.size()));
    if (!name.starts_with(transport)) continue;
    if (name.size() == transport.size() || name[transport.size()] == '_') return true;
  }
  return false;
}

absl::StatusOr<UcxFacts> LookAtUcx() {
  UcxWorker::Options options;
  options.name = "tensorhub-facts";
  options.features = UCP_FEATURE_AM | UCP_FEATURE_RMA;
  const absl::StatusOr<std::unique_ptr<UcxWorker>> worker = UcxWorker::Create(options);
  if (!worker.ok()) return worker.status();
  UcxFacts facts;
  unsigned release = 0;
  ucp_get_version(&facts.number.first, &facts.number.second, &release);
  facts.version = UcxVersion();
  facts.library = LibraryFile();
  if (const char* why = std::getenv(kUcxWhyVariable)) facts.why = ReadableText(why, kWhyBytesMax);
  facts.transports = (*worker)->Transports();
  facts.cuda = SeesCuda((*worker)->context());
  facts.address_bytes = (*worker)->address().size();
  return facts;
}

}  // namespace tensorhub::agent
