// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// explain: where the time of a fetch went, and why it read from whom.

#include <array>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/arguments.h"
#include "tools/ctl/fetch_plan.h"
#include "tools/ctl/units.h"
#include "tools/ctl/verbs.h"

namespace tensorhub::ctl {
namespace {

using nlohmann::ordered_json;

struct ExplainArguments {
  ModelArgument model;
  std::optional<VersionOrLatest> version;
  std::optional<std::string> group;
};

struct Phase {
  const char* name;
  std::optional<int64_t> ms;
  const char* meaning;
};

std::array<Phase, 5> PhasesOf(const v1::FetchInfo& fetch) {
  const auto some = [](bool there, int64_t ms) {
    return there ? std::optional<int64_t>(ms) : std::nullopt;
  };
  return {{{"join", fetch.join_ms(), "until all ranks had joined, and the version was there"},
           {"drain", some(fetch.has_drain_ms(), fetch.drain_ms()), "until its buffers were free"},
           {"assign", some(fetch.has_assign_ms(), fetch.assign_ms()), "until it had a source"},
           {"read", some(fetch.has_read_ms(), fetch.read_ms()), "until it had everything"},
           {"commit", some(fetch.has_commit_ms(), fetch.commit_ms()), "until its group had"}}};
}

std::string Millis(int64_t ms) { return HumanSeconds(static_cast<double>(ms) / 1000); }

std::string OutcomeOf(const v1::FetchInfo& fetch) {
  if (!fetch.ended()) return "running";
  if (fetch.code() == 0) return fetch.already_held() ? "held already" : "done";
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(fetch.code()));
}

ordered_json ToJson(const v1::FetchInfo& fetch) {
  ordered_json object = {{"group", fetch.group()}, {"rank", fetch.rank()}, {"version", nullptr}};
  if (fetch.has_version()) object["version"] = fetch.version();
  object["outcome"] = OutcomeOf(fetch);
  object["error"] = fetch.error();
  object["age_ms"] = fetch.age_ms();
  for (const Phase& phase : PhasesOf(fetch)) {
    object[absl::StrCat(phase.name, "_ms")] =
        phase.ms ? ordered_json(*phase.ms) : ordered_json(nullptr);
  }
  object["choices"] = ordered_json::array();
  for (const v1::SourceChoiceInfo& choice : fetch.choices()) {
    const bool second = !choice.second_group().empty();
    object["choices"].push_back(
        {{"after_ms", choice.after_ms()},
         {"part", choice.part()},
         {"valid_chunks", choice.valid_chunks()},
         {"source", RankText(choice.group(), choice.rank())},
         {"tier", choice.tier()},
         {"why", choice.why()},
         {"second", second ? ordered_json(RankText(choice.second_group(), choice.second_rank()))
                           : ordered_json(nullptr)},
         {"left", choice.left()}});
  }
  object["more_choices"] = fetch.more_choices();
  return object;
}

// "  at 0.12 s, with 40 chunks: from b/0 (rack), which has fewer readers than a/0; the one before:
// it drains"
std::string ToText(const v1::SourceChoiceInfo& choice, bool of_parts) {
  std::string text = absl::StrCat(
      "  at ", Millis(choice.after_ms()), ", with ", choice.valid_chunks(), " chunks",
      of_parts ? absl::StrCat(", part ", choice.part()) : "", ": from ",
      RankText(choice.group(), choice.rank()), " (", choice.tier(), "), ", choice.why());
  if (!choice.second_group().empty()) {
    absl::StrAppend(&text, ", before ", RankText(choice.second_group(), choice.second_rank()));
  }
  if (!choice.left().empty()) absl::StrAppend(&text, "; the source before: ", choice.left());
  return text;
}

std::string ToText(const v1::FetchInfo& fetch) {
  std::string text = absl::StrCat(
      RankText(fetch.group(), fetch.rank()), ": ",
      fetch.has_version() ? absl::StrCat("version ", fetch.version()) : "no version yet", ", ",
      OutcomeOf(fetch), ", joined ", Millis(fetch.age_ms()), " ago\n");
  if (!fetch.error().empty()) absl::StrAppend(&text, "  ", fetch.error(), "\n");
  for (const Phase& phase : PhasesOf(fetch)) {
    if (!phase.ms) continue;
    const std::string name = phase.name;
    absl::StrAppend(&text, "  ", name, std::string(8 - name.size(), ' '), Millis(*phase.ms), "  ",
                    phase.meaning, "\n");
  }
  bool of_parts = false;
  for (const auto& choice : fetch.choices()) of_parts |= choice.part() > 0;
  for (const auto& choice : fetch.choices()) {
    absl::StrAppend(&text, ToText(choice, of_parts), "\n");
  }
  if (fetch.more_choices() > 0) {
    absl::StrAppend(&text, "  and ", fetch.more_choices(), " more sources after that\n");
  }
  return text;
}

absl::Status Explain(const Globals& globals, const ExplainArguments& arguments) {
  AdminClient admin(globals.server, globals.connect_timeout);
  v1::ExplainFetchesRequest request;
  request.set_model(arguments.model.name);
  if (arguments.version) {
    const absl::StatusOr<uint64_t> version =
        NumberOf(admin, arguments.model.name, *arguments.version);
    if (!version.ok()) return version.status();
    request.set_version(*version);
  }
  request.set_group(arguments.group.value_or(""));
  const auto response = admin.ExplainFetches(request);
  if (!response.ok()) return response.status();
  if (globals.format() == OutputFormat::kJson) {
    ordered_json fetches = ordered_json::array();
    for (const v1::FetchInfo& fetch : response->fetches()) fetches.push_back(ToJson(fetch));
    PrintJson({{"model", arguments.model.name}, {"fetches", std::move(fetches)}}, std::cout);
    return absl::OkStatus();
  }
  if (response->fetches().empty()) {
    std::cout << "No worker's last fetch was of that. Earlier ones are not remembered.\n";
  }
  for (const v1::FetchInfo& fetch : response->fetches()) std::cout << ToText(fetch);
  return absl::OkStatus();
}

}  // namespace

void AddExplainVerb(Verbs& verbs) {
  auto arguments = std::make_shared<ExplainArguments>();
  const auto run = [arguments](const Globals& globals) { return Explain(globals, *arguments); };
  cli::Command& command = verbs.Add(
      "explain",
      "Shows where the time of each worker's last fetch went, and why it read from whom.", run);
  command.Argument("MODEL", &arguments->model, "the model");
  command.OptionalArgument("VERSION", &arguments->version,
                           "only fetches of that version, or of the latest");
  command.OptionalArgument("GROUP", &arguments->group, "only the ranks of this group");
  command.Example("tensorhubctl explain qwen3-8b/actor 12 rollout-7");
}

}  // namespace tensorhub::ctl
