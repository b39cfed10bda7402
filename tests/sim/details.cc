// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/details.h"

#include <optional>
#include <type_traits>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/location.h"
#include "worker_agent/core/peer_wire.h"

namespace tensorhub::fault {
namespace {

// Of the group and the rank alone: a script has one model.
std::string WhoIs(const WorkerKey& key) { return absl::StrCat(key.group, "/", key.rank); }

std::string CodeOf(const absl::Status& status) { return absl::StatusCodeToString(status.code()); }

std::string StandingOf(const hub::Holding& holding) {
  return absl::StrCat(holding.complete ? "holds v" : "has some of v", holding.version,
                      " gen=", holding.generation);
}

struct OfEvent {
  std::string operator()(const hub::SessionOpened& event) const {
    std::string text = event.holding ? StandingOf(*event.holding) : "";
    if (event.open_fetch) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", "fetches v", event.open_fetch->version);
    }
    return text;
  }
  std::string operator()(const hub::PublishOp& op) const {
    return absl::StrCat("v", op.version, " gen=", op.generation,
                        op.supersede ? " begins a term" : "", op.digest ? " with its digest" : "");
  }
  std::string operator()(const hub::UnpublishOp& op) const {
    return absl::StrCat(
        "gen=", op.generation, op.leaving ? " and leave" : "",
        op.then_read ? absl::StrCat(", then read with gen=", op.then_read->generation) : "");
  }
  std::string operator()(const hub::JoinFetchOp& op) const { return ToString(op.selector); }
  std::string operator()(const hub::BeginReadOp& op) const {
    return absl::StrCat("gen=", op.generation);
  }
  std::string operator()(const hub::FinishReadOp& op) const { return CodeOf(op.result); }
  std::string operator()(const hub::SourceFailed& event) const { return CodeOf(event.reason); }
  std::string operator()(const hub::ProbeAnswer& event) const {
    return absl::StrCat("gen=", event.generation, event.holds ? " stands" : " does not stand");
  }
  std::string operator()(const hub::CopyFailed& event) const {
    return absl::StrCat("v", event.version, ": ", CodeOf(event.reason));
  }
  template <typename Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

struct OfDirective {
  std::string operator()(const hub::Assign& assign) const {
    return absl::StrCat(WhoIs(assign.source.key), " gen=", assign.generation, " (",
                        std::string(ToString(assign.tier)), ")",
                        assign.ranges ? " of several" : "");
  }
  std::string operator()(const hub::AbortRead& abort) const { return CodeOf(abort.reason); }
  std::string operator()(const hub::Probe& probe) const {
    return absl::StrCat("gen=", probe.generation);
  }
  std::string operator()(const hub::Dropped& dropped) const {
    return absl::StrCat("gen=", dropped.generation, ": ", CodeOf(dropped.reason));
  }
  std::string operator()(const hub::Superseded& superseded) const {
    return CodeOf(superseded.reason);
  }
  std::string operator()(const hub::MakeCopy& copy) const {
    return absl::StrCat("v", copy.version);
  }
  std::string operator()(const hub::ReleaseCopy& copy) const {
    return absl::StrCat("gen=", copy.generation);
  }
  template <typename Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

struct OfPayload {
  std::string operator()(const hub::PublishReply& reply) const {
    if (reply.compare) return "compare";
    return reply.visible ? "visible" : "not visible yet";
  }
  std::string operator()(const hub::UnpublishReply& reply) const {
    return absl::StrCat(reply.drained ? "drained" : "not drained", reply.begun ? ", begun" : "");
  }
  std::string operator()(const hub::FetchDecision& decision) const {
    return absl::StrCat("v", decision.version, decision.already_held ? ", held already" : "");
  }
  std::string operator()(const hub::FinishReadReply& reply) const {
    return absl::StrCat("v", reply.version);
  }
  template <typename Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

}  // namespace

std::string DetailOf(const hub::Event& event) { return std::visit(OfEvent(), event); }

std::string DetailOf(const hub::Directive& directive) {
  return std::visit(OfDirective(), directive.body);
}

std::string DetailOf(const hub::Reply& reply) {
  return reply.status.ok() ? std::visit(OfPayload(), reply.payload)
                           : std::string(reply.status.message());
}

std::string DetailOfPeerMessage(const std::string& header) {
  const std::optional<agent::PeerMessage> message = agent::DecodePeerMessage(header);
  if (!message) return "";
  switch (message->kind) {
    case agent::PeerKind::kOpen:
    case agent::PeerKind::kOpenRanges:
      return absl::StrCat("gen=", message->generation, " from chunk ", message->chunk,
                          (message->flags & agent::kFlagOneSided) != 0 ? ", one-sided" : "");
    case agent::PeerKind::kOpened:
      return absl::StrCat(message->valid, " chunks are valid",
                          (message->flags & agent::kFlagOneSided) != 0 ? ", one-sided" : "");
    case agent::PeerKind::kRefuse:
      return absl::StrCat(absl::StatusCodeToString(static_cast<absl::StatusCode>(message->code)),
                          ": ", message->text);
    default:
      return "";
  }
}

}  // namespace tensorhub::fault
