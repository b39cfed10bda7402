// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/http/json_views.h"

#include <string>
#include <utility>

#include "common/ids.h"
#include "common/tls/certificates.h"
#include "server/http/alerts.h"

namespace tensorhub::http {
namespace {

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json ToJson(const Alert& alert) {
  return {{"name", alert.name},       {"severity", alert.severity},
          {"for_s", alert.for_s},     {"model", TextOrNull(alert.model)},
          {"summary", alert.summary}, {"remedy", alert.remedy}};
}

Json ToJson(const hub::FeedView& feed) {
  return {{"source_group", feed.source.group},
          {"source_rank", feed.source.rank},
          {"tier", ToString(feed.tier)},
          {"way", TextOrNull(feed.way)}};
}

}  // namespace

Json ToJson(const hub::ModelView& model) {
  return {{"model", model.model},
          {"latest", model.has_latest ? Json(model.latest) : Json()},
          {"latest_held", model.latest_held},
          {"versions", model.versions},
          {"replicas", model.replicas},
          {"workers", model.workers},
          {"behind", model.behind},
          {"lag_max", model.lag_max},
          {"keep_latest", model.keep_latest},
          {"term", model.term}};
}

Json ToJson(const hub::VersionView& version) {
  return {{"version", version.version},
          {"state", ToString(version.state)},
          {"term", version.term},
          {"world_size", version.world_size},
          {"bytes", version.bytes},
          {"chunk_bytes", version.chunk_bytes},
          {"complete_replicas", version.complete_replicas},
          {"filling_replicas", version.filling_replicas},
          {"kept_by", version.kept_by},
          {"identity", version.identity ? Json(ToHex(version.identity)) : Json()}};
}

Json ToJson(const hub::WorkerView& worker) {
  return {{"model", worker.worker.key.model},
          {"group", worker.worker.key.group},
          {"rank", worker.worker.key.rank},
          {"world_size", worker.world_size},
          {"version", worker.holds ? Json(worker.version) : Json()},
          {"state", worker.holds ? Json(ToString(worker.state)) : Json()},
          {"valid_chunks", worker.valid_chunks},
          {"chunks", worker.chunks},
          {"connected", worker.connected},
          {"spot", !worker.stable},
          {"lease_left_ms", worker.lease_left_ms},
          {"stalled_ms", worker.stalled_ms},
          {"withdrawn", worker.withdrawn},
          {"readers", worker.readers},
          {"location", worker.location}};
}

Json ToJson(const hub::MemberView& member) {
  const hub::ReferenceView& reference = member.reference;
  Json json = {{"group", reference.group},
               {"rank", reference.worker.key.rank},
               {"state", ToString(reference.state)},
               {"valid_chunks", reference.valid_chunks},
               {"chunks", reference.chunks},
               {"readers", reference.readers},
               {"sharding", reference.sharding ? Json(ToHex(reference.sharding.id)) : Json()},
               {"full", !reference.sharding || reference.sharding.full},
               {"medium", reference.medium},
               {"location", reference.location},
               {"reads", member.reads},
               {"running_ms", member.running_ms},
               {"sources", member.feeds.size()}};
  if (!member.feeds.empty()) json.update(ToJson(member.feeds.front()));
  if (member.feeds.size() > 1) {
    json["more_sources"] = Json::array();
    for (size_t i = 1; i < member.feeds.size(); ++i) {
      json["more_sources"].push_back(ToJson(member.feeds[i]));
    }
  }
  json["below_left_out"] = member.below_left_out;
  return json;
}

Json ToJson(const Facts& facts, int64_t now_s) {
  const hub::StatusView& status = facts.hub.status;
  Json alerts = Json::array();
  for (const Alert& alert : AlertsOf(facts, now_s)) alerts.push_back(ToJson(alert));
  return {{"server_version", facts.version},
          {"epoch", facts.epoch},
          {"role", facts.leads_at.empty() ? Json() : Json("leader")},
          {"leader", facts.leads_at.empty() ? Json() : Json(facts.leads_at)},
          {"uptime_ms", static_cast<uint64_t>(facts.uptime_s * 1000)},
          {"recovering", status.recovering},
          {"models", status.models},
          {"workers", status.workers},
          {"connected", status.connected},
          {"stalled", facts.hub.fleet.stalled},
          {"references", status.references},
          {"transfers", status.transfers},
          {"transfers_by_tier", TransfersByTier(facts.hub)},
          {"oldest_transfer_ms", facts.hub.fleet.oldest_read_ms},
          {"decisions", status.decisions},
          {"refused", facts.refused},
          {"security", facts.security.empty() ? "plain" : facts.security},
          {"certificate_ends",
           facts.certificate_ends == 0 ? Json() : Json(tls::ShownTime(facts.certificate_ends))},
          {"reloads_failed", facts.reloads_failed},
          {"answer_ms", static_cast<uint64_t>(facts.look_s * 1000)},
          {"alerts", std::move(alerts)},
          {"alerts_leave_out_models", ModelsLeftOut(facts.hub)}};
}

std::string ToText(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tensorhub::http
