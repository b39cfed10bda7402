// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/fleet.h"

#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tensorhub::bench {
namespace {

constexpr std::chrono::seconds kTimeout{600};
constexpr char kModel[] = "model";

}  // namespace

absl::StatusOr<std::unique_ptr<Fleet>> Fleet::Start(const Lab& lab, const Options& options) {
  std::unique_ptr<Fleet> fleet(new Fleet(lab, options));
  if (absl::Status status = fleet->StartAll(); !status.ok()) return status;
  return fleet;
}

Fleet::~Fleet() {
  // Readers first: a trainer that leaves would wait for them.
  while (!workers_.empty()) workers_.pop_back();
}

absl::Status Fleet::StartAll() {
  if (absl::Status status = folder_.Make(); !status.ok()) return status;
  absl::Status hub = StartHub(absl::StrCat(lab_.hub().address, ":0"));
  if (!hub.ok()) return hub;
  workers_.resize(options_.readers + 1);
  groups_.resize(options_.readers + 1);
  for (size_t worker = 0; worker < workers_.size(); ++worker) {
    if (absl::Status status = StartWorker(worker); !status.ok()) return status;
  }
  for (size_t worker = 0; worker < workers_.size(); ++worker) {
    if (absl::Status status = Ready(worker); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Fleet::StartHub(const std::string& listen) {
  std::vector<std::string> flags = {"--data-dir", (folder_.path() / "hub").string()};
  flags.insert(flags.end(), options_.server_flags.begin(), options_.server_flags.end());
  absl::StatusOr<std::unique_ptr<Hub>> hub =
      Hub::Start([this](const Child::Options& process) { return lab_.On(lab_.hub(), process); },
                 listen, flags);
  if (!hub.ok()) return hub.status();
  hub_ = *std::move(hub);
  return absl::OkStatus();
}

absl::Status Fleet::StartWorker(size_t worker) {
  const Lab::Host& host = lab_.built().hosts[worker];
  groups_[worker] = absl::StrCat(kModel, "-", host.name, "x", ++started_);
  const Child::Options options = {
      .name = absl::StrCat("the worker on ", host.name),
      .binary = OwnBinary(),
      .args = {"@agent", absl::StrCat("server=", hub_->address(), " group=", groups_[worker],
                                      " bytes=", options_.bytes, " tensors=", options_.tensors,
                                      " source=", worker == 0 ? 1 : 0, " allocate=0 mapped=0",
                                      " location=", host.location,
                                      " timeline=", TimelineFile(worker).string())},
      // Namespaces share one machine's memory, which hosts do not.
      .env = {{"UCX_TLS", "tcp,self"}, {"UCX_NET_DEVICES", "eth0"}}};
  absl::StatusOr<std::unique_ptr<Child>> child = Child::Start(lab_.On(host, options));
  if (!child.ok()) return child.status();
  workers_[worker] = *std::move(child);
  return absl::OkStatus();
}

absl::Status Fleet::Ready(size_t worker) { return workers_[worker]->Answer().status(); }

absl::Status Fleet::Publish(const std::vector<size_t>& readers) {
  for (const char* command : {"unpublish", "scrub"}) {
    for (const size_t reader : readers) {
      if (absl::Status status = workers_[reader]->Send(command); !status.ok()) return status;
    }
    for (const size_t reader : readers) {
      if (absl::Status status = workers_[reader]->Answer().status(); !status.ok()) return status;
    }
  }
  if (absl::Status status = Unpublish(0).status(); !status.ok()) return status;
  return workers_[0]->Ask(absl::StrCat("publish version=", ++version_)).status();
}

absl::Status Fleet::Begin(size_t reader) {
  return workers_[reader]->Send(absl::StrCat("fetch version=", version_));
}

absl::StatusOr<Fleet::Fetched> Fleet::End(size_t reader) {
  const absl::StatusOr<Fields> answer = workers_[reader]->Answer(kTimeout);
  if (!answer.ok()) return answer.status();
  const absl::StatusOr<double> seconds = answer->Number("seconds");
  const absl::StatusOr<double> end = answer->Number("end");
  const absl::StatusOr<std::string> sources = answer->Text("sources");
  if (!seconds.ok()) return seconds.status();
  if (!end.ok()) return end.status();
  if (!sources.ok()) return sources.status();
  return Fetched{*seconds, *end, *sources};
}

absl::StatusOr<double> Fleet::RoundTripMs(size_t worker) {
  const absl::StatusOr<Fields> answer = workers_[worker]->Ask("echo");
  if (!answer.ok()) return answer.status();
  return answer->Number("ms");
}

absl::StatusOr<double> Fleet::Unpublish(size_t worker) {
  const absl::StatusOr<Fields> answer = workers_[worker]->Ask("unpublish");
  if (!answer.ok()) return answer.status();
  return answer->Number("ms");
}

absl::Status Fleet::Verify(const std::vector<size_t>& readers) {
  std::vector<size_t> all = {0};
  all.insert(all.end(), readers.begin(), readers.end());
  for (const size_t worker : all) {
    if (absl::Status status = workers_[worker]->Send("digest"); !status.ok()) return status;
  }
  std::string wanted;
  for (const size_t worker : all) {
    const absl::StatusOr<Fields> answer = workers_[worker]->Answer();
    if (!answer.ok()) return answer.status();
    const absl::StatusOr<std::string> digest = answer->Text("digest");
    if (!digest.ok()) return digest.status();
    if (worker == 0) wanted = *digest;
    if (*digest != wanted) {
      return absl::DataLossError(
          absl::StrCat("the bytes on ", lab_.built().hosts[worker].name, " are not the trainer's"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<double> Fleet::CpuSeconds(size_t worker) {
  const absl::StatusOr<Fields> answer = workers_[worker]->Ask("stat");
  if (!answer.ok()) return answer.status();
  return answer->Number("cpu");
}

void Fleet::Kill(size_t worker) {
  workers_[worker]->Kill();
  workers_[worker].reset();
}

void Fleet::KillHub() { hub_->Kill(); }

absl::Status Fleet::RestartHub() { return StartHub(hub_->address()); }

void Fleet::Leave(size_t worker) { workers_[worker].reset(); }

absl::Status Fleet::Restart(size_t worker) {
  if (absl::Status status = StartWorker(worker); !status.ok()) return status;
  return Ready(worker);
}

std::filesystem::path Fleet::TimelineFile(size_t worker) const {
  return folder_.path() / groups_[worker];
}

std::vector<Fleet::Sample> Fleet::Timeline(size_t worker) const {
  std::vector<Sample> samples;
  std::ifstream file(TimelineFile(worker));
  Sample sample;
  while (file >> sample.at >> sample.bytes >> sample.source) samples.push_back(sample);
  return samples;
}

std::string Fleet::SourceName(size_t worker) const { return absl::StrCat(groups_[worker], "/0"); }

std::vector<size_t> Fleet::Readers() const {
  std::vector<size_t> readers;
  for (size_t i = 1; i < workers_.size(); ++i) readers.push_back(i);
  return readers;
}

}  // namespace tensorhub::bench
