// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/lab.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tensorhub::bench {
namespace {

// As `netlab run` does it, without Python's start for each of a hundred processes.
constexpr char kIp[] = "/sbin/ip";
constexpr std::chrono::seconds kBuildTimeout{60};
// Says how the laboratory looks, or netlab's exit code, then waits for the end of its input.
constexpr char kKeeper[] = "\"$NETLAB\" status \"$NETLAB_LAB\" -o json && exec cat";
constexpr char kWrapper[] = "\"$0\" \"$@\" 2>&1; code=$?; [ $code = 0 ] || echo \"@exit $code\"";

std::string NetlabBinary() { return BinaryBeside("netlab"); }

double Number(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

absl::StatusOr<Lab::Status> ParseStatus(const std::string& text) {
  const auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("hosts") || document["hosts"].empty()) {
    return absl::InternalError(absl::StrCat("netlab did not say what it built, but: ", text));
  }
  Lab::Status status;
  status.name = document.value("name", "");
  for (const auto& entry : document["hosts"]) {
    status.hosts.push_back({.name = entry.value("name", ""),
                            .space = entry.value("namespace", ""),
                            .address = entry.value("address", ""),
                            .location = entry.value("location", ""),
                            .rate_bit = Number(entry, "rate_bit"),
                            .sent_bytes = Number(entry, "sent_bytes"),
                            .received_bytes = Number(entry, "received_bytes")});
  }
  for (const auto& entry : document["datacenters"]) {
    status.datacenters.push_back({.name = entry.value("name", ""),
                                  .wan_bit = Number(entry, "wan_bit"),
                                  .sent_bytes = Number(entry, "sent_bytes"),
                                  .received_bytes = Number(entry, "received_bytes")});
  }
  return status;
}

// From netlab's one line, and its exit code.
absl::Status Refusal(const std::string& said, const std::string& exit_line) {
  if (exit_line == "@exit 2") return absl::InvalidArgumentError(said);
  if (exit_line == "@exit 77") return absl::FailedPreconditionError(said);
  return absl::InternalError(said);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Lab>> Lab::Start(const std::vector<std::string>& spec) {
  std::vector<std::string> args = {"-c", kWrapper, NetlabBinary(), "with"};
  args.insert(args.end(), spec.begin(), spec.end());
  args.insert(args.end(), {"--", "sh", "-c", kKeeper});
  std::unique_ptr<Lab> lab(new Lab);
  absl::StatusOr<std::unique_ptr<Child>> keeper =
      Child::Start({.name = "netlab", .binary = "/bin/sh", .args = args});
  if (!keeper.ok()) return keeper.status();
  lab->keeper_ = *std::move(keeper);
  const absl::StatusOr<std::string> line = lab->keeper_->LineWith("", kBuildTimeout);
  if (!line.ok()) return line.status();
  if (!line->starts_with("{")) {
    const absl::StatusOr<std::string> exit_line = lab->keeper_->LineWith("@exit", kBuildTimeout);
    return Refusal(*line, exit_line.ok() ? *exit_line : "");
  }
  absl::StatusOr<Status> status = ParseStatus(*line);
  if (!status.ok()) return status.status();
  lab->built_ = *std::move(status);
  return lab;
}

absl::StatusOr<std::string> Lab::Netlab(const std::string& verb,
                                        const std::vector<std::string>& args) const {
  std::vector<std::string> all = {verb, built_.name};
  all.insert(all.end(), args.begin(), args.end());
  const absl::StatusOr<std::unique_ptr<Child>> asked =
      Child::Start({.name = "netlab", .binary = NetlabBinary(), .args = all});
  if (!asked.ok()) return asked.status();
  return (*asked)->ReadToEnd(kBuildTimeout);
}

absl::StatusOr<Lab::Status> Lab::Now() const {
  const absl::StatusOr<std::string> text = Netlab("status", {"-o", "json"});
  if (!text.ok()) return text.status();
  return ParseStatus(*text);
}

absl::Status Lab::Cut(const Host& host) const { return Netlab("cut", {host.name}).status(); }

absl::Status Lab::Heal(const Host& host) const { return Netlab("heal", {host.name}).status(); }

absl::Status Lab::SetRate(const Host& host, double rate_bit) const {
  return Netlab("rate", {host.name, absl::StrFormat("%.0fkbit", rate_bit / 1000)}).status();
}

Child::Options Lab::On(const Host& host, const Child::Options& process) const {
  Child::Options options = process;
  options.binary = kIp;
  options.args = {"netns", "exec", host.space, process.binary};
  options.args.insert(options.args.end(), process.args.begin(), process.args.end());
  return options;
}

}  // namespace tensorhub::bench
