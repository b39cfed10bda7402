// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/hearsay.h"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "worker_agent/core/peer_wire.h"

namespace tensorhub::fault {
namespace {

// The type's own name, as g++ and clang both write it: "… [with T = tensorhub::hub::WaitOp]"; of
// a template, its argument's: "… FromSession<tensorhub::protocol::Progress>]".
template <typename T>
std::string_view TypeName() {
  std::string_view text = __PRETTY_FUNCTION__;
  text = text.substr(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";>]"));
  return text.substr(text.rfind(':') + 1);
}

template <typename Variant>
std::string_view AlternativeName(const Variant& variant) {
  return std::visit([](const auto& body) { return TypeName<std::decay_t<decltype(body)>>(); },
                    variant);
}

constexpr std::array<std::pair<agent::PeerKind, std::string_view>, 16> kPeerNames = {{
    {agent::PeerKind::kHello, "Hello"},
    {agent::PeerKind::kOpen, "Open"},
    {agent::PeerKind::kOpened, "Opened"},
    {agent::PeerKind::kRequest, "Request"},
    {agent::PeerKind::kData, "Data"},
    {agent::PeerKind::kConfirm, "Confirm"},
    {agent::PeerKind::kRefuse, "Refuse"},
    {agent::PeerKind::kClose, "Close"},
    {agent::PeerKind::kDigests, "Digests"},
    {agent::PeerKind::kAskWord, "AskWord"},
    {agent::PeerKind::kWord, "Word"},
    {agent::PeerKind::kBye, "Bye"},
    {agent::PeerKind::kOpenRanges, "OpenRanges"},
    {agent::PeerKind::kWant, "Want"},
    {agent::PeerKind::kPart, "Part"},
    {agent::PeerKind::kStand, "Stand"},
}};

}  // namespace

bool Flows(const std::string& what) {
  static const auto& flowing =
      *new std::set<std::string>{"Request", "Data", "Confirm", "AskWord", "Word", "Progress", kGet};
  return flowing.contains(what);
}

std::string NameOf(const hub::Event& event) {
  const std::string_view name = AlternativeName(event);
  if (name == "SessionOpened") return "OpenSession";
  const bool said = name != "SessionClosed" && name != "CallCancelled" && name != "Tick";
  return said ? std::string(absl::StripSuffix(absl::string_view(name.data(), name.size()), "Op"))
              : std::string();
}

std::string NameOf(const hub::Directive& directive) {
  return std::string(AlternativeName(directive.body));
}

std::string NameOf(const hub::Reply& reply) {
  return reply.status.ok() ? "OK" : absl::StatusCodeToString(reply.status.code());
}

std::string NameOfPeerMessage(const std::string& header) {
  const std::optional<agent::PeerMessage> message = agent::DecodePeerMessage(header);
  if (!message) return "not a message";
  for (const auto& [kind, name] : kPeerNames) {
    if (kind == message->kind) return std::string(name);
  }
  return absl::StrCat("kind ", static_cast<int>(message->kind));
}

std::string NameOf(const agent::Verb& verb) {
  if (const auto* publish = std::get_if<agent::PublishVerb>(&verb)) {
    return absl::StrCat("publish(", publish->version, ")");
  }
  if (std::holds_alternative<agent::UnpublishVerb>(verb)) return "unpublish()";
  if (const auto* fetch = std::get_if<agent::FetchVerb>(&verb)) {
    return absl::StrCat("fetch(", ToString(fetch->selector), ")");
  }
  return "leave()";
}

std::string CauseOf(const hub::Event& event) {
  if (std::holds_alternative<hub::Tick>(event)) return "time";
  if (std::holds_alternative<hub::SessionClosed>(event)) return "end of the session";
  if (std::holds_alternative<hub::CallCancelled>(event)) return "end of the call";
  return NameOf(event);
}

std::string CauseOf(const agent::Event& event) {
  if (const auto* message = std::get_if<agent::MessageArrived>(&event)) {
    return NameOfPeerMessage(std::string(message->header));
  }
  if (const auto* asked = std::get_if<agent::VerbAsked>(&event)) {
    const std::string name = NameOf(asked->verb);
    return name.substr(0, name.find('('));
  }
  if (const auto* reply = std::get_if<agent::CallReply>(&event)) {
    return reply->status.ok() ? "answer" : "answer with an error";
  }
  const std::string_view name = AlternativeName(event);
  static const auto& words = *new std::map<std::string_view, std::string>{
      {"Tick", "time"},
      {"SessionUp", "a session"},
      {"SessionDown", "end of the session"},
      {"SessionRefused", "refused session"},
      {"PeerFailed", "broken connection"},
      {"SendDone", "sends done"},
      {"GetDone", "gets done"},
      {"ChunksHashed", "chunks hashed"},
      {"MemoryImported", "memory mapped"},
      {"WordArrived", "control word"},
      {"ReadPlanned", "parts planned"},
      {"CancelAsked", "cancel"},
      {"LeaveAsked", "leave"},
      {"Stopping", "stop"},
      {"TransportReplaced", "another transport"},
      {"PeerHeard", "part of a message"},
      {"PathKnown", "way known"},
  };
  const auto found = words.find(name);
  if (found != words.end()) return found->second;
  return std::string(name);
}

}  // namespace tensorhub::fault
