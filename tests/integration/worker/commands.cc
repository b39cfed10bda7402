// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/integration/worker/commands.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace tensorhub::worker {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

absl::StatusOr<std::string> Done(const absl::Status& status) {
  if (!status.ok()) return status;
  return std::string();
}

microseconds Since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - start);
}

std::string Took(microseconds time) {
  return absl::StrFormat("ms=%d us=%d", time.count() / 1000, time.count());
}

void PrintProgress(const tensorhub::FetchProgress& progress) {
  // A transfer that has not begun, or is through, is none to interrupt.
  if (progress.bytes_done == 0 || progress.bytes_done >= progress.bytes_total) return;
  std::printf("progress %llu %llu %llu %s\n", static_cast<unsigned long long>(progress.version),
              static_cast<unsigned long long>(progress.bytes_done),
              static_cast<unsigned long long>(progress.bytes_total), progress.source.c_str());
  std::fflush(stdout);
}

}  // namespace

Command Command::Parse(const std::string& line) {
  std::istringstream stream(line);
  Command command;
  stream >> command.verb;
  for (std::string word; stream >> word;) {
    const size_t equals = word.find('=');
    if (equals != std::string::npos) {
      command.words[word.substr(0, equals)] = word.substr(equals + 1);
    } else if (word.find_first_not_of("0123456789") == std::string::npos) {
      command.version = std::strtoull(word.c_str(), nullptr, 10);
    } else {
      command.words[word] = "1";
    }
  }
  return command;
}

std::string Command::Text(const std::string& name, const std::string& otherwise) const {
  const auto found = words.find(name);
  return found == words.end() ? otherwise : found->second;
}

uint64_t Command::Number(const std::string& name, uint64_t otherwise) const {
  return Has(name) ? std::strtoull(Text(name).c_str(), nullptr, 10) : otherwise;
}

milliseconds Command::Time(const std::string& name, uint64_t otherwise_ms) const {
  return milliseconds(Number(name, otherwise_ms));
}

tensorhub::Selector Command::Selector() const {
  if (Has("exact")) return tensorhub::Version(Number("exact", 0));
  if (Has("newer")) return tensorhub::NewerThan(Number("newer", 0));
  return tensorhub::Latest();
}

std::string Commands::Run(const std::string& line) {
  const Answer answer = Dispatch(Command::Parse(line));
  if (answer.ok()) return answer->empty() ? "ok" : "ok " + *answer;
  return "error " + absl::StatusCodeToString(answer.status().code()) + " " +
         std::string(answer.status().message());
}

Commands::Answer Commands::Dispatch(const Command& command) {
  if (command.verb == "connect") return Connect(command);
  if (client_ == nullptr) return absl::FailedPreconditionError("connect comes first");
  if (command.verb == "register") return Register(command);
  if (command.verb == "publish") return Publish(command);
  if (command.verb == "unpublish") return Unpublish(command);
  if (command.verb == "fetch") return Fetch(command);
  if (command.verb == "wait") return Wait(command);
  if (command.verb == "list") return List();
  if (command.verb == "health") return Done(client_->Health());
  if (command.verb == "leave") return Done(client_->Leave());
  if (!shard_.has_value()) return absl::FailedPreconditionError("register comes first");
  if (command.verb == "damage") return Done(shard_->Damage());
  if (command.verb == "forbid") return Done(shard_->Forbid());
  if (command.verb == "check") return Done(shard_->Check(command.version, rank_));
  if (command.verb == "fill") return Done(shard_->Fill(command.version, rank_));
  return absl::InvalidArgumentError("no such command: " + command.verb);
}

Commands::Answer Commands::Connect(const Command& command) {
  rank_ = static_cast<uint32_t>(command.Number("rank", 0));
  tensorhub::ConnectOptions options;
  options.server = command.Text("server", options.server);
  options.model = command.Text("model");
  options.group = command.Text("group");
  options.rank = rank_;
  options.world_size = static_cast<uint32_t>(command.Number("world", 1));
  options.location = command.Text("location");
  options.spot = command.Has("spot");
  options.host_copy_bytes = command.Number("copies", options.host_copy_bytes);
  options.connect_timeout = command.Time("timeout", 5000);
  auto client = tensorhub::Client::Connect(options);
  if (!client.ok()) return client.status();
  watching_.reset();
  client_ = *std::move(client);
  watching_.emplace(leaving_, *client_);
  return std::string();
}

Commands::Answer Commands::Register(const Command& command) {
  ShardOptions options;
  options.tensors = command.Number("tensors", options.tensors);
  options.bytes = command.Number("bytes", options.bytes);
  options.seed = command.Number("seed", options.seed);
  options.dtype = command.Text("dtype", options.dtype);
  options.layout = command.Text("layout", options.layout);
  options.shared = command.Has("shared");
  options.unaligned = command.Has("unaligned");
  options.empty = command.Number("empty", 0);
  options.fault = command.Text("fault");
  if (command.Has("device")) options.device = static_cast<int>(command.Number("device", 0));
  auto shard = Shard::Make(options, [this](size_t bytes) { return client_->Allocate(bytes); });
  if (!shard.ok()) return shard.status();
  const absl::Status registered = client_->Register(shard->tensors());
  // A shard that was accepted earlier stays: the client still reads it.
  if (registered.ok()) shard_.emplace(*std::move(shard));
  return Done(registered);
}

Commands::Answer Commands::Publish(const Command& command) {
  const auto start = std::chrono::steady_clock::now();
  const absl::Status published =
      client_->Publish(command.version, {.wait_for_group = command.Has("wait"),
                                         .timeout = command.Time("timeout", 60000),
                                         .supersede = command.Has("supersede")});
  if (!published.ok()) return published;
  return Took(Since(start));
}

Commands::Answer Commands::Unpublish(const Command& command) {
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = client_->Unpublish(
      {.drain_timeout = command.Time("drain", 10000), .force = command.Has("force")});
  if (!status.ok()) return status;
  return Took(Since(start));
}

Commands::Answer Commands::Fetch(const Command& command) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = client_->Fetch(
      command.Selector(), {.timeout = command.Time("timeout", 60000), .progress = PrintProgress});
  const std::string took = Took(Since(start));
  if (!result.ok()) return result.status();
  std::string identity;
  for (const uint8_t byte : result->identity.value_or(tensorhub::ContentIdentity{})) {
    absl::StrAppendFormat(&identity, "%02x", byte);
  }
  return absl::StrFormat("version=%d bytes=%d skipped=%d way=%s sources=%s %s identity=%s",
                         result->version, result->bytes_read, result->bytes_skipped, result->way,
                         result->sources, took, result->identity ? identity : "");
}

Commands::Answer Commands::Wait(const Command& command) {
  const auto result = client_->WaitForVersion(command.Selector(), command.Time("timeout", 60000));
  if (!result.ok()) return result.status();
  return absl::StrFormat("version=%d", result->version);
}

Commands::Answer Commands::List() {
  const auto versions = client_->List();
  if (!versions.ok()) return versions.status();
  std::string text;
  for (const tensorhub::VersionInfo& version : *versions) {
    text += absl::StrFormat("%s%d:%s:%d:", text.empty() ? "" : " ", version.version, version.state,
                            version.bytes);
    for (const tensorhub::Replica& replica : version.replicas) {
      text += absl::StrFormat("%s=%s/%d/%d,", replica.group, replica.state, replica.ranks_complete,
                              replica.ranks);
    }
  }
  return text;
}

}  // namespace tensorhub::worker
