// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/http/alerts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tensorhub::http {
namespace {

constexpr int64_t kCertificateWarningS = 7 * 24 * 3600;
constexpr double kSlowAnswerS = 1;

constexpr char kCritical[] = "critical";
constexpr char kWarning[] = "warning";

// "1 worker stands", "2 workers stand".
std::string Many(uint64_t count, const char* one, const char* more) {
  return absl::StrCat(count, " ", count == 1 ? one : more);
}

void AddOfServer(const Facts& facts, std::vector<Alert>& alerts) {
  if (facts.hub.status.recovering) {
    alerts.push_back({"TensorHubRecoversTooLong", kWarning, 60, "", "the server is recovering",
                      "Workers that were there before do not reach it. See tensorhubctl workers."});
  }
  if (facts.look_s > kSlowAnswerS) {
    alerts.push_back({"TensorHubSlow", kWarning, 120, "",
                      absl::StrFormat("the hub took %.1f s to answer", facts.look_s),
                      "Its disk is slow, or it has too little of a processor."});
  }
}

void AddCertificate(const Facts& facts, int64_t now_s, std::vector<Alert>& alerts) {
  const int64_t left_s = facts.certificate_ends - now_s;
  if (facts.certificate_ends == 0 || left_s >= kCertificateWarningS) return;
  alerts.push_back({"TensorHubCertificateEnds", kWarning, 0, "",
                    left_s <= 0 ? "the server's certificate has ended"
                                : absl::StrFormat("the server's certificate ends in %.1f days",
                                                  static_cast<double>(left_s) / (24 * 3600)),
                    "Renew its files. The server takes them up without a restart."});
}

void AddFleet(const hub::FleetView& fleet, std::vector<Alert>& alerts) {
  if (fleet.reads_without_source > 0) {
    alerts.push_back(
        {"TensorHubReadersWait", kWarning, 60, "",
         Many(fleet.reads_without_source, "reader has no source", "readers have no source"),
         "Their sources are silent or gone. See tensorhubctl transfers."});
  }
  if (fleet.stalled > 0) {
    alerts.push_back({"TensorHubWorkersStandStill", kWarning, 120, "",
                      Many(fleet.stalled, "worker stands still", "workers stand still"),
                      "Their processes are stopped or starved. See tensorhubctl workers."});
  }
}

void AddModel(const hub::ModelView& model, std::vector<Alert>& alerts) {
  if (model.latest > 0 && !model.latest_held) {
    alerts.push_back({"TensorHubVersionLost", kCritical, 30, model.model,
                      absl::StrCat("nobody holds its latest version, ", model.latest, ", whole"),
                      "Its trainer has to publish again. See tensorhubctl versions."});
  }
  if (2 * uint64_t{model.behind} > model.workers) {
    alerts.push_back({"TensorHubFleetBehind", kWarning, 600, model.model,
                      absl::StrCat(model.behind, " of ", model.workers,
                                   " workers hold an older version than ", model.latest),
                      "See tensorhubctl transfers, and the engines' logs."});
  }
}

}  // namespace

std::vector<Alert> AlertsOf(const Facts& facts, int64_t now_s) {
  std::vector<Alert> alerts;
  AddOfServer(facts, alerts);
  AddCertificate(facts, now_s, alerts);
  AddFleet(facts.hub.fleet, alerts);
  for (const hub::ModelView& model : facts.hub.models) AddModel(model, alerts);
  std::stable_partition(alerts.begin(), alerts.end(),
                        [](const Alert& alert) { return alert.severity == kCritical; });
  return alerts;
}

}  // namespace tensorhub::http
