// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A call of the library that runs on a thread of its own, so that Python can wait for it in small
// pieces: between them its signal handlers run, and the other threads always do. That thread never
// calls Python.
//
// Thread contract: any thread. Start, Result and Progress are called with the interpreter's lock.

#ifndef TENSORHUB_PYTHON_NATIVE_CALL_H_
#define TENSORHUB_PYTHON_NATIVE_CALL_H_

#include <nanobind/nanobind.h>
#include <tensorhub/ros.h>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <variant>
#include <vector>

#include "common/mutex.h"

namespace tensorhub::python {

// What a call may bring.
using Value = std::variant<std::monostate, uint64_t, tensorhub::FetchResult,
                           std::vector<tensorhub::VersionInfo>, std::shared_ptr<tensorhub::Client>>;

struct Outcome {
  absl::Status status;
  Value value = {};
};

class Call {
 public:
  // What the running call may touch; outlives it.
  class Shared {
   public:
    explicit Shared(std::stop_source cancel) : cancel_(std::move(cancel)) {}
    ~Shared();
    std::stop_token cancel() const { return cancel_.get_token(); }
    void Report(const tensorhub::FetchProgress& progress) ABSL_LOCKS_EXCLUDED(mutex_);
    void End(Outcome outcome) ABSL_LOCKS_EXCLUDED(mutex_);

   private:
    friend class Call;
    std::stop_source cancel_;
    Mutex mutex_;
    CondVar changed_;
    std::optional<tensorhub::FetchProgress> progress_ ABSL_GUARDED_BY(mutex_);
    std::optional<Outcome> outcome_ ABSL_GUARDED_BY(mutex_);
    int event_ ABSL_GUARDED_BY(mutex_) = -1;
  };
  using Body = std::function<Outcome(Shared&)>;

  static std::unique_ptr<Call> Start(Body body);

  // Whether it has ended, at the latest after so many seconds.
  bool Wait(double seconds);
  // Asks it to end soon.
  void Cancel();
  // A file descriptor that becomes readable when the call has ended; lives as long as the call.
  int FileNumber();
  // What a fetch reports: (version, bytes done, in total, source), or None if nothing is new.
  nanobind::object Progress();
  // (code, message, value), once it has ended.
  nanobind::tuple Result();

 private:
  explicit Call(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  const std::shared_ptr<Shared> shared_;
};

nanobind::tuple ToPython(const absl::Status& status);

void BindCall(nanobind::module_& module);

}  // namespace tensorhub::python

#endif  // TENSORHUB_PYTHON_NATIVE_CALL_H_
