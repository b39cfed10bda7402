// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/http/api.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/ids.h"
#include "common/text.h"
#include "common/tls/certificates.h"
#include "server/http/target.h"

namespace tensorhub::http {
namespace {

using Which = hub::WorkerQuery::Which;

constexpr uint64_t kAnyNumber = ~uint64_t{0};

absl::Status NoAnswer() {
  return absl::UnavailableError("the hub does not answer; ask again in a moment");
}

absl::Status UnknownModel(const std::string& model) {
  return absl::NotFoundError(absl::StrCat(
      "model ", Shown(model), ": nobody has joined it; /api/v1/models lists those that are known"));
}

absl::StatusOr<size_t> LimitOf(const Parameters& parameters) {
  const auto limit = parameters.Number("limit", 1, kRowsMax);
  if (!limit.ok()) return limit.status();
  return limit->value_or(kRowsUnlessSaid);
}

absl::Status CheckName(const std::string& model) {
  const std::optional<std::string> problem = NameProblem(model);
  if (!problem) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("model ", Shown(model), ": ", *problem));
}

// A row more than `limit` was asked for: it says whether there are more.
template <typename View>
Json Rows(const std::vector<View>& views, size_t limit) {
  Json rows = Json::array();
  for (size_t i = 0; i < std::min(limit, views.size()); ++i) rows.push_back(ToJson(views[i]));
  return rows;
}

// Names may have any character but a blank.
std::string CursorOf(const WorkerKey& key) {
  return absl::StrCat(key.rank, " ", key.model, " ", key.group);
}

absl::StatusOr<std::optional<WorkerKey>> WorkerAfter(const Parameters& parameters) {
  const std::optional<std::string> text = parameters.Text("after");
  if (!text) return std::optional<WorkerKey>();
  const std::vector<std::string> parts = absl::StrSplit(*text, ' ');
  WorkerKey key;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &key.rank)) {
    return absl::InvalidArgumentError(
        absl::StrCat("after: ", Shown(*text), "; give what `next` of the answer before says"));
  }
  key.model = parts[1];
  key.group = parts[2];
  return std::optional<WorkerKey>(key);
}

absl::StatusOr<Which> StateOf(const Parameters& parameters) {
  static const std::map<std::string, Which> states = {
      {"all", Which::kAll},           {"stalled", Which::kStalled},
      {"filling", Which::kFilling},   {"disconnected", Which::kDisconnected},
      {"draining", Which::kDraining}, {"behind", Which::kBehind}};
  const auto found = states.find(parameters.Text("state").value_or("all"));
  if (found != states.end()) return found->second;
  return absl::InvalidArgumentError(
      absl::StrCat("state: ", Shown(*parameters.Text("state")),
                   "; give all, behind, disconnected, draining, filling or stalled"));
}

// The NAME of /api/v1/models/NAME/versions, in which there may be slashes.
std::optional<std::string_view> ModelIn(std::string_view path) {
  constexpr std::string_view kBefore = "/api/v1/models/";
  constexpr std::string_view kBehind = "/versions";
  const bool fits = path.size() >= kBefore.size() + kBehind.size() && path.starts_with(kBefore) &&
                    path.ends_with(kBehind);
  if (!fits) return std::nullopt;
  path.remove_prefix(kBefore.size());
  path.remove_suffix(kBehind.size());
  return path;
}

}  // namespace

absl::StatusOr<Json> Api::Get(std::string_view target) const {
  const std::string_view path = PathOf(target);
  const std::string_view query = QueryOf(target);
  if (path == "/api/v1/status") return Status(query);
  if (path == "/api/v1/models") return Models(query);
  if (path == "/api/v1/versions") return Replication(query);
  if (path == "/api/v1/workers") return Workers(query);
  if (const auto model = ModelIn(path)) return Versions(*model, query);
  return absl::NotFoundError(absl::StrCat(
      Shown(PathOf(target)),
      ": no such path; there is /api/v1/status, /api/v1/models, /api/v1/models/NAME/versions, "
      "/api/v1/versions and /api/v1/workers"));
}

absl::StatusOr<Json> Api::Status(std::string_view query) const {
  const auto parameters = Parameters::Parse(query, {});
  if (!parameters.ok()) return parameters.status();
  const std::optional<Facts> facts = facts_();
  if (!facts) return NoAnswer();
  return ToJson(*facts, tls::SecondsNow());
}

absl::StatusOr<Json> Api::Models(std::string_view query) const {
  const auto parameters = Parameters::Parse(query, {"limit", "after"});
  if (!parameters.ok()) return parameters.status();
  const absl::StatusOr<size_t> limit = LimitOf(*parameters);
  if (!limit.ok()) return limit.status();
  const auto models =
      Ask(look_, [after = parameters->Text("after").value_or(""), limit = *limit](
                     const hub::Hub& hub, TimeMs) { return hub.Models(after, limit + 1); });
  if (!models) return NoAnswer();
  const bool more = models->size() > *limit;
  return Json{{"models", Rows(*models, *limit)},
              {"next", more ? Json((*models)[*limit - 1].model) : Json()}};
}

// Newest first; all contents that one number has are on one page.
absl::StatusOr<Json> Api::Versions(std::string_view escaped_model, std::string_view query) const {
  const absl::StatusOr<std::string> model = Unescaped(escaped_model, false);
  if (!model.ok()) return model.status();
  const auto parameters = Parameters::Parse(query, {"limit", "after"});
  if (!parameters.ok()) return parameters.status();
  const absl::StatusOr<size_t> limit = LimitOf(*parameters);
  if (!limit.ok()) return limit.status();
  const auto after = parameters->Number("after", 0, kAnyNumber);
  if (!after.ok()) return after.status();
  if (absl::Status status = CheckName(*model); !status.ok()) return status;
  struct Seen {
    bool known = false;
    std::vector<hub::VersionView> versions;
  };
  const auto seen = Ask(look_, [model = *model](const hub::Hub& hub, TimeMs) {
    return Seen{hub.HasModel(model), hub.Versions(model)};
  });
  if (!seen) return NoAnswer();
  if (!seen->known) return UnknownModel(*model);
  Json rows = Json::array();
  Json next;
  std::optional<VersionNumber> last;
  for (auto view = seen->versions.rbegin(); view != seen->versions.rend(); ++view) {
    if (*after && view->version >= **after) continue;
    if (rows.size() >= *limit && view->version != last) {
      next = *last;
      break;
    }
    rows.push_back(ToJson(*view));
    last = view->version;
  }
  return Json{{"model", *model}, {"versions", std::move(rows)}, {"next", std::move(next)}};
}

absl::StatusOr<Json> Api::Replication(std::string_view query) const {
  const auto parameters = Parameters::Parse(query, {"model", "version", "limit"});
  if (!parameters.ok()) return parameters.status();
  const absl::StatusOr<size_t> limit = LimitOf(*parameters);
  if (!limit.ok()) return limit.status();
  const std::string model = parameters->Text("model").value_or("");
  if (absl::Status status = CheckName(model); !status.ok()) return status;
  const auto number = parameters->Number("version", 0, kAnyNumber);
  if (!number.ok()) return number.status();
  struct Seen {
    bool known = false;
    std::optional<VersionNumber> version;
    hub::ReplicationView tree;
  };
  const auto seen =
      Ask(look_, [model, version = *number, limit = *limit](const hub::Hub& hub, TimeMs now) {
        Seen answer;
        answer.known = hub.HasModel(model);
        answer.version = version ? version : hub.Latest(model);
        if (answer.version) answer.tree = hub.Replication(model, *answer.version, limit, now);
        return answer;
      });
  if (!seen) return NoAnswer();
  if (!seen->known) return UnknownModel(model);
  return Json{{"model", model},
              {"version", seen->version ? Json(*seen->version) : Json()},
              {"members", seen->tree.members},
              {"complete", seen->tree.complete},
              {"replicas", Rows(seen->tree.listed, *limit)},
              {"left_out", seen->tree.members - seen->tree.listed.size()},
              {"idle_left_out", seen->tree.idle_left_out}};
}

absl::StatusOr<Json> Api::Workers(std::string_view query) const {
  const auto parameters = Parameters::Parse(query, {"model", "state", "limit", "after"});
  if (!parameters.ok()) return parameters.status();
  const absl::StatusOr<size_t> limit = LimitOf(*parameters);
  if (!limit.ok()) return limit.status();
  const auto after = WorkerAfter(*parameters);
  if (!after.ok()) return after.status();
  const absl::StatusOr<Which> which = StateOf(*parameters);
  if (!which.ok()) return which.status();
  const std::string model = parameters->Text("model").value_or("");
  const hub::WorkerQuery wanted{*which, model, *after, *limit + 1};
  struct Seen {
    bool known = false;
    std::vector<hub::WorkerView> workers;
  };
  const auto seen = Ask(look_, [wanted](const hub::Hub& hub, TimeMs now) {
    return Seen{wanted.model.empty() || hub.HasModel(wanted.model), hub.Workers(wanted, now)};
  });
  if (!seen) return NoAnswer();
  if (!seen->known) return UnknownModel(model);
  const bool more = seen->workers.size() > *limit;
  return Json{{"workers", Rows(seen->workers, *limit)},
              {"next", more ? Json(CursorOf(seen->workers[*limit - 1].worker.key)) : Json()}};
}

}  // namespace tensorhub::http
