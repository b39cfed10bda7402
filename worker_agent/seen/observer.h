// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a worker does, for who asks: it sees all that goes into the core and all that comes out, and
// adds it up. Without one, nothing of it costs anything.
//
// Thread contract: the progress thread.

#ifndef TENSORHUB_WORKER_AGENT_SEEN_OBSERVER_H_
#define TENSORHUB_WORKER_AGENT_SEEN_OBSERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "worker_agent/seen/reading_watch.h"
#include "worker_agent/seen/serving_watch.h"
#include "worker_agent/seen/tally.h"
#include "worker_agent/seen/trace_file.h"
#include "worker_agent/seen/trace_lines.h"

namespace tensorhub::agent {

class Observer {
 public:
  // Where what it sees goes; null: not there.
  struct Targets {
    std::shared_ptr<SharedTally> tally;
    std::shared_ptr<TraceFile> trace;
    explicit operator bool() const { return tally != nullptr || trace != nullptr; }
  };
  // `way_to`: ServingWatch's.
  Observer(WorkerIdentity self, Targets targets, std::function<std::string(Incarnation)> way_to)
      : targets_(std::move(targets)),
        serving_(std::move(way_to), /*reads=*/targets_.trace != nullptr),
        lines_(std::move(self)) {}

  void See(const Event& event, int64_t now_us) {
    reading_.See(event, now_us);
    serving_.See(event, now_us);
  }
  // What a verb's caller hears of, others may ask for at once.
  void See(const Effect& effect, int64_t now_us) {
    reading_.See(effect, now_us);
    serving_.See(effect, now_us);
    if (std::holds_alternative<VerbDone>(effect)) Pass(now_us);
  }
  // Nothing follows.
  void End(int64_t now_us) {
    serving_.End(now_us);
    Pass(now_us);
  }
  // Now and then.
  void OnTurn(int64_t now_us) {
    if (now_us - passed_us_ >= kPassEveryUs) Pass(now_us);
  }

 private:
  static constexpr int64_t kPassEveryUs = 100'000;

  void Pass(int64_t now_us);
  void Trace(int64_t now_us);

  const Targets targets_;
  ReadingWatch reading_;
  ServingWatch serving_;
  TraceLines lines_;
  int64_t passed_us_ = 0;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_SEEN_OBSERVER_H_
