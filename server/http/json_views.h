// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The hub's views as the API's JSON. What tensorhubctl says as well has the same name and value
// there (tools/ctl). What could be used as a key is left out: fingerprints of layouts and
// attachments, publications, incarnations (docs/security.md).

#ifndef TENSORHUB_SERVER_HTTP_JSON_VIEWS_H_
#define TENSORHUB_SERVER_HTTP_JSON_VIEWS_H_

#include <cstdint>
#include <nlohmann/json.hpp>

#include "server/core/fleet_views.h"
#include "server/http/facts.h"

namespace tensorhub::http {

using Json = nlohmann::ordered_json;

Json ToJson(const hub::ModelView& model);
Json ToJson(const hub::VersionView& version);
Json ToJson(const hub::WorkerView& worker);
Json ToJson(const hub::MemberView& member);
// With what AlertsOf says at `now_s`.
Json ToJson(const Facts& facts, int64_t now_s);

// One line, whatever bytes are in it.
std::string ToText(const Json& json);

}  // namespace tensorhub::http

#endif  // TENSORHUB_SERVER_HTTP_JSON_VIEWS_H_
