// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "python/native/layouts.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/layout.h"
#include "common/server_choice.h"
#include "python/native/call.h"
#include "python/native/client.h"
#include "tools/ctl/fetch_plan.h"

namespace tensorhub::python {
namespace {

namespace nb = nanobind;

struct Described {
  absl::Status status;
  uint64_t version = 0;
  std::vector<Layout> ranks = {};
};

Described Ask(const std::string& server, const std::string& model,
              const std::optional<uint64_t>& wanted, const Security& security) {
  const absl::Status address = CheckServers(server);
  if (!address.ok()) return {address};
  const auto& [ca, cert, key, token_file] = security;
  ctl::AdminClient admin(server, std::chrono::seconds(5),
                         {.tls = {.ca = ca, .cert = cert, .key = key}, .token_file = token_file});
  const auto found = ctl::DescribeVersion(admin, model, {wanted});
  if (!found.ok()) return {found.status()};
  const auto info = ctl::FindVersion(admin, model, found->version);
  if (!info.ok()) return {info.status()};
  Described described;
  described.version = info->version();
  for (const std::string& fingerprint : info->layouts()) {
    absl::StatusOr<Layout> layout = ctl::FetchLayout(admin, fingerprint);
    if (!layout.ok()) return {layout.status()};
    described.ranks.push_back(*std::move(layout));
  }
  return described;
}

nb::list Numbers(std::span<const uint64_t> numbers) {
  nb::list list;
  for (const uint64_t number : numbers) list.append(number);
  return list;
}

nb::list ToPython(const Layout& layout) {
  nb::list tensors;
  for (const Layout::Entry& entry : layout.entries()) {
    nb::object whole = nb::none();
    nb::object offset = nb::none();
    if (entry.is_slice) {
      whole = Numbers(entry.global_shape);
      offset = Numbers(entry.slice_offset);
    }
    const std::string name(entry.name);
    const std::string dtype(ToString(entry.dtype));
    tensors.append(nb::make_tuple(name, dtype, Numbers(entry.shape), whole, offset));
  }
  return tensors;
}

// (code, message, version, for each rank its tensors): of the latest version without `wanted`.
nb::tuple DescribeVersion(const std::string& server, const std::string& model,
                          std::optional<uint64_t> wanted, const Security& security) {
  Described described;
  {
    const nb::gil_scoped_release released;
    described = Ask(server, model, wanted, security);
  }
  nb::list ranks;
  for (const Layout& layout : described.ranks) ranks.append(ToPython(layout));
  const std::string message(described.status.message());
  return nb::make_tuple(static_cast<int>(described.status.code()), message, described.version,
                        ranks);
}

}  // namespace

void BindLayouts(nb::module_& module) {
  module.def("describe_version", &DescribeVersion, nb::arg("server"), nb::arg("model"),
             nb::arg("version").none(), nb::arg("security") = Security());
}

}  // namespace tensorhub::python
