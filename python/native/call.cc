// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "python/native/call.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "common/thread.h"
#include "python/native/client.h"

namespace tensorhub::python {
namespace {

namespace nb = nanobind;

void Signal(int event) {
  if (event >= 0) static_cast<void>(eventfd_write(event, 1));
}

nb::object ToPython(std::monostate) { return nb::none(); }
nb::object ToPython(uint64_t number) { return nb::int_(number); }
nb::object ToPython(const std::optional<tensorhub::ContentIdentity>& identity) {
  if (!identity) return nb::none();
  return nb::bytes(reinterpret_cast<const char*>(identity->data()), identity->size());
}
nb::object ToPython(const tensorhub::FetchResult& result) {
  nb::dict fields;
  fields["version"] = result.version;
  fields["bytes_read"] = result.bytes_read;
  fields["bytes_skipped"] = result.bytes_skipped;
  fields["way"] = result.way;
  fields["sources"] = result.sources;
  fields["identity"] = ToPython(result.identity);
  return fields;
}
nb::object ToPython(const std::vector<tensorhub::VersionInfo>& versions) {
  nb::list listed;
  for (const tensorhub::VersionInfo& version : versions) {
    nb::list replicas;
    for (const tensorhub::Replica& replica : version.replicas) {
      replicas.append(
          nb::make_tuple(replica.group, replica.ranks_complete, replica.ranks, replica.state));
    }
    listed.append(nb::make_tuple(version.version, version.state, version.bytes, replicas,
                                 ToPython(version.identity), version.term));
  }
  return listed;
}
nb::object ToPython(const std::shared_ptr<tensorhub::Client>& client) {
  return nb::cast(std::make_unique<Client>(client));
}

// The program's signals are for the interpreter's threads.
absl::Status RunBeside(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  absl::StatusOr<std::thread> thread = tensorhub::StartThread("a call", std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (thread.ok()) thread->detach();
  return thread.status();
}

}  // namespace

nb::tuple ToPython(const absl::Status& status) {
  const std::string message(status.message());
  return nb::make_tuple(static_cast<int>(status.code()), nb::str(message.data(), message.size()));
}

Call::Shared::~Shared() {
  MutexLock lock(mutex_);
  if (event_ >= 0) close(event_);
}

void Call::Shared::Report(const tensorhub::FetchProgress& progress) {
  MutexLock lock(mutex_);
  progress_ = progress;
}

void Call::Shared::End(Outcome outcome) {
  MutexLock lock(mutex_);
  outcome_ = std::move(outcome);
  Signal(event_);
  changed_.NotifyAll();
}

std::unique_ptr<Call> Call::Start(Body body) {
  auto shared = std::make_shared<Shared>(std::stop_source());
  const absl::Status started = RunBeside([shared, body = std::move(body)]() mutable {
    Outcome outcome = body(*shared);
    body = nullptr;  // before anybody hears of the end: it may hold the last reference to a client
    shared->End(std::move(outcome));
  });
  if (!started.ok()) shared->End(Outcome{started});
  return std::unique_ptr<Call>(new Call(shared));
}

bool Call::Wait(double seconds) {
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
  MutexLock lock(shared_->mutex_);
  while (!shared_->outcome_ && shared_->changed_.WaitUntil(shared_->mutex_, until)) {
  }
  return shared_->outcome_.has_value();
}

void Call::Cancel() { shared_->cancel_.request_stop(); }

int Call::FileNumber() {
  MutexLock lock(shared_->mutex_);
  if (shared_->event_ < 0) {
    shared_->event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (shared_->outcome_) Signal(shared_->event_);
  }
  return shared_->event_;
}

nb::object Call::Progress() {
  std::optional<tensorhub::FetchProgress> progress;
  {
    MutexLock lock(shared_->mutex_);
    progress.swap(shared_->progress_);
  }
  if (!progress) return nb::none();
  return nb::make_tuple(progress->version, progress->bytes_done, progress->bytes_total,
                        progress->source);
}

nb::tuple Call::Result() {
  Outcome outcome;
  {
    MutexLock lock(shared_->mutex_);
    if (!shared_->outcome_) throw nb::value_error("the call has not ended");
    outcome = *shared_->outcome_;
  }
  const std::string message(outcome.status.message());
  return nb::make_tuple(
      static_cast<int>(outcome.status.code()), message,
      std::visit([](const auto& value) { return ToPython(value); }, outcome.value));
}

void BindCall(nb::module_& module) {
  nb::class_<Call>(module, "Call")
      .def("wait", &Call::Wait, nb::arg("seconds"), nb::call_guard<nb::gil_scoped_release>())
      .def("cancel", &Call::Cancel, nb::call_guard<nb::gil_scoped_release>())
      .def("fileno", &Call::FileNumber, nb::call_guard<nb::gil_scoped_release>())
      .def("progress", &Call::Progress)
      .def("result", &Call::Result);
}

}  // namespace tensorhub::python
