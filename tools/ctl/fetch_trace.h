// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Fetches as a timeline that Perfetto and chrome://tracing read: a track for each rank with the
// phases of its fetch, one for each source of it, and an arrow from the source to the reader. Of
// the hub's own record, so that all times are of one clock. Pure.

#ifndef TENSORHUB_TOOLS_CTL_FETCH_TRACE_H_
#define TENSORHUB_TOOLS_CTL_FETCH_TRACE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tensorhub/v1/admin.pb.h"

namespace tensorhub::ctl {

// Events of the trace event format, in the array that it wants. Time 0 is when the first of the
// fetches was joined; with `now_ms`, since 1970, when they were told of, it is that of the day.
std::vector<nlohmann::ordered_json> TraceOf(const std::string& model,
                                            const v1::ExplainFetchesResponse& fetches,
                                            std::optional<int64_t> now_ms = {});

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_FETCH_TRACE_H_
