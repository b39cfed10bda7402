// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What operators order: retain, pin, unpin, that is, what must not be lost (R7); supersede (R2);
// and adopt (R8).

#include <chrono>
#include <cstdint>
#include <memory>

#include "tools/ctl/admin_client.h"
#include "tools/ctl/arguments.h"
#include "tools/ctl/verbs.h"

namespace tensorhub::ctl {
namespace {

void AddRetainVerb(Verbs& verbs) {
  auto model = std::make_shared<ModelArgument>();
  auto count = std::make_shared<uint32_t>(0);
  cli::Command& command =
      verbs.Add("retain", "Keeps the newest COUNT versions of a model from being lost (0: none).",
                [=](const Globals& globals) {
                  v1::RetainRequest request;
                  request.set_model(model->name);
                  request.set_keep_latest(*count);
                  return AdminClient(globals.server, globals.connect_timeout).Retain(request);
                });
  command.Argument("MODEL", model.get(), "the model");
  command.Argument("COUNT", count.get(), "how many of the versions that became visible");
  command.Example("tensorhubctl retain actor 2");
}

struct PinFlags {
  ModelArgument model;
  VersionArgument version;
  GroupFlag name{"pinned"};
  std::chrono::milliseconds lasting{0};
};

void AddPinVerb(Verbs& verbs) {
  auto flags = std::make_shared<PinFlags>();
  cli::Command& command =
      verbs.Add("pin", "Keeps one version from being lost, until it is unpinned.",
                [flags](const Globals& globals) {
                  v1::PinRequest request;
                  request.set_model(flags->model.name);
                  request.set_name(flags->name.name);
                  request.set_version(flags->version.value);
                  request.set_ttl_ms(static_cast<uint64_t>(flags->lasting.count()));
                  return AdminClient(globals.server, globals.connect_timeout).Pin(request);
                });
  command.Argument("MODEL", &flags->model, "the model");
  command.Argument("VERSION", &flags->version, "the version, which somebody holds");
  command.Flag("name", &flags->name, "of the pin; the same name again moves it");
  command.Flag("for", &flags->lasting, "how long it holds (0s: until it is taken away)");
  command.Example("tensorhubctl pin actor 1200 --name best --for 24h");
}

void AddUnpinVerb(Verbs& verbs) {
  auto model = std::make_shared<ModelArgument>();
  auto name = std::make_shared<GroupFlag>(GroupFlag{"pinned"});
  cli::Command& command = verbs.Add("unpin", "Takes a pin away.", [=](const Globals& globals) {
    v1::UnpinRequest request;
    request.set_model(model->name);
    request.set_name(name->name);
    return AdminClient(globals.server, globals.connect_timeout).Unpin(request);
  });
  command.Argument("MODEL", model.get(), "the model");
  command.Flag("name", name.get(), "of the pin");
}

void AddSupersedeVerb(Verbs& verbs) {
  auto model = std::make_shared<ModelArgument>();
  auto version = std::make_shared<VersionArgument>();
  cli::Command& command = verbs.Add(
      "supersede",
      "Makes an older version, which is held, the latest again; all newer ones are superseded.",
      [=](const Globals& globals) {
        v1::SupersedeRequest request;
        request.set_model(model->name);
        request.set_version(version->value);
        return AdminClient(globals.server, globals.connect_timeout).Supersede(request);
      });
  command.Argument("MODEL", model.get(), "the model");
  command.Argument("VERSION", version.get(), "the version, which somebody holds");
  command.Example("tensorhubctl supersede actor 1190");
}

void AddAdoptVerb(Verbs& verbs) {
  auto hub = std::make_shared<HubArgument>();
  cli::Command& command = verbs.Add(
      "adopt", "Takes over the workers of another hub, whose data is lost, with what they hold.",
      [=](const Globals& globals) {
        v1::AdoptRequest request;
        request.set_store_id(ToBytes(hub->store));
        return AdminClient(globals.server, globals.connect_timeout).Adopt(request);
      });
  command.Argument("HUB", hub.get(), "its id, which the server's log and the workers' say");
  command.Example("tensorhubctl adopt 5b0c7d1e9a3f42688c21d0f4b6a7e913");
}

}  // namespace

void AddRetentionVerbs(Verbs& verbs) {
  AddRetainVerb(verbs);
  AddPinVerb(verbs);
  AddUnpinVerb(verbs);
  AddSupersedeVerb(verbs);
  AddAdoptVerb(verbs);
}

}  // namespace tensorhub::ctl
