// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// watch: a line per event, until interrupted.

#include <algorithm>
#include <array>
#include <ctime>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/cli/logging.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/arguments.h"
#include "tools/ctl/signals.h"
#include "tools/ctl/units.h"
#include "tools/ctl/verbs.h"

namespace tensorhub::ctl {
namespace {

using SteadyClock = AdminClient::Clock;
using nlohmann::ordered_json;

// While the server is away, how long one attempt waits before the deadline is looked at again.
constexpr std::chrono::milliseconds kReconnectSlice{500};
constexpr std::chrono::hours kForEver{24 * 365};

struct WatchArguments {
  ModelArgument model;
  std::optional<uint64_t> count;
  std::optional<std::chrono::milliseconds> duration;
};

std::string TimeOfDay() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%H:%M:%S", &local);
  return text.data();
}

ordered_json ListingObject(uint64_t revision, const v1::Listing& listing) {
  ordered_json versions = ordered_json::array();
  for (const v1::VersionInfo& version : listing.versions()) {
    versions.push_back({{"version", version.version()},
                        {"state", version.state()},
                        {"term", version.term()},
                        {"bytes", version.bytes()},
                        {"complete_replicas", version.complete_replicas()},
                        {"filling_replicas", version.filling_replicas()}});
  }
  ordered_json object = {{"revision", revision}, {"kind", "listing"}, {"latest", nullptr}};
  if (listing.has_model() && listing.model().has_latest()) {
    object["latest"] = listing.model().latest();
  }
  object["workers"] = listing.model().workers();
  object["versions"] = std::move(versions);
  return object;
}

ordered_json ChangeObject(uint64_t revision, const v1::Change& change) {
  return {{"revision", revision},
          {"kind", change.kind()},
          {"version", change.version()},
          {"group", change.group()}};
}

std::string ListingText(const std::string& model, const v1::Listing& listing) {
  if (!listing.has_model()) return absl::StrCat("nobody has joined ", model, " yet");
  std::string text = absl::StrCat(model, ": ", listing.model().workers(), " workers");
  if (listing.model().has_latest()) {
    absl::StrAppend(&text, ", latest version ", listing.model().latest());
  }
  for (const v1::VersionInfo& version : listing.versions()) {
    absl::StrAppend(&text, "; ", version.version(), " ", version.state(), ", ",
                    HumanBytes(version.bytes()), ", ", version.complete_replicas(), " complete, ",
                    version.filling_replicas(), " filling");
  }
  return text;
}

std::string ChangeText(const v1::Change& change) {
  const bool about_workers = change.kind().starts_with("worker-");
  std::string text = change.kind();
  if (!about_workers) absl::StrAppend(&text, "  version ", change.version());
  if (!change.group().empty()) absl::StrAppend(&text, "  group ", change.group());
  return text;
}

void PrintEvent(const Globals& globals, const std::string& model, const v1::WatchEvent& event) {
  if (globals.format() == OutputFormat::kJson) {
    PrintJson(event.has_listing() ? ListingObject(event.revision(), event.listing())
                                  : ChangeObject(event.revision(), event.change()),
              std::cout);
  } else {
    const std::string text =
        event.has_listing() ? ListingText(model, event.listing()) : ChangeText(event.change());
    std::cout << TimeOfDay() << "  " << cli::OneLine(text) << '\n';
  }
  std::cout.flush();
}

// What a stopping, restarting or unreachable server makes of a stream; anything else is an answer.
bool IsOutage(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::INTERNAL:  // the stream was reset
      return true;
    default:
      return false;
  }
}

class Watcher {
 public:
  Watcher(const Globals& globals, const WatchArguments& arguments)
      : globals_(globals),
        arguments_(arguments),
        admin_(globals.server, globals.connect_timeout),
        deadline_(SteadyClock::now() + std::min<std::chrono::milliseconds>(
                                           arguments.duration.value_or(kForEver), kForEver)) {}

  absl::Status Run() {
    const auto give_up = SteadyClock::now() + globals_.connect_timeout;
    if (absl::Status status = admin_.WaitUntilConnected(give_up); !status.ok()) return status;
    for (;;) {
      const grpc::Status status = Follow();
      if (Enough()) return absl::OkStatus();
      if (!IsOutage(status)) return admin_.Explain(status);
      if (!Reconnect()) return absl::OkStatus();
    }
  }

 private:
  // True as well once nobody can read it any more, which main makes an error of.
  bool Enough() const {
    return !std::cout.good() || SteadyClock::now() >= deadline_ ||
           (arguments_.count && printed_ >= *arguments_.count);
  }

  grpc::Status Follow() {
    grpc::ClientContext context;
    context.set_deadline(deadline_);
    const auto stream = admin_.Watch(context, arguments_.model.name);
    v1::WatchEvent event;
    while (!Enough() && stream->Read(&event)) {
      PrintEvent(globals_, arguments_.model.name, event);
      ++printed_;
    }
    if (Enough()) context.TryCancel();
    return stream->Finish();
  }

  // False once the time is over.
  bool Reconnect() {
    std::cerr << "tensorhubctl: the connection to " << admin_.server()
              << " was lost; waiting for it\n";
    // A server that accepts and refuses in turn is not asked in a tight loop.
    std::this_thread::sleep_for(kReconnectSlice);
    while (!Enough()) {
      const auto until = std::min(deadline_, SteadyClock::now() + kReconnectSlice);
      if (!admin_.WaitUntilConnected(until).ok()) continue;
      std::cerr << "tensorhubctl: connected to " << admin_.server() << " again\n";
      return true;
    }
    return false;
  }

  const Globals& globals_;
  const WatchArguments& arguments_;
  AdminClient admin_;
  const SteadyClock::time_point deadline_;
  uint64_t printed_ = 0;
};

}  // namespace

void AddWatchVerb(Verbs& verbs) {
  auto arguments = std::make_shared<WatchArguments>();
  const auto run = [arguments](const Globals& globals) {
    // Being interrupted is how a watch normally ends.
    SignalThread signals([](int) { ExitNow(0); });
    return Watcher(globals, *arguments).Run();
  };
  cli::Command& command = verbs.Add("watch", "Prints a line per event of a model.", run);
  command.Argument("MODEL", &arguments->model, "the model");
  command.Flag("count", &arguments->count, "end after this many events");
  command.Flag("for", &arguments->duration, "end after this long");
}

}  // namespace tensorhub::ctl
