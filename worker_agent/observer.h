// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a worker does, for who asks: it sees all that goes into the core and all that comes out, and
// adds it up. Without one, nothing of it costs anything.
//
// Thread contract: the progress thread.

#ifndef TENSORHUB_WORKER_AGENT_OBSERVER_H_
#define TENSORHUB_WORKER_AGENT_OBSERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "worker_agent/reading_watch.h"
#include "worker_agent/serving_watch.h"
#include "worker_agent/tally.h"

namespace tensorhub::agent {

class Observer {
 public:
  // `way_to`: ServingWatch's.
  Observer(std::shared_ptr<SharedTally> tally, std::function<std::string(Incarnation)> way_to)
      : tally_(std::move(tally)), serving_(std::move(way_to), /*reads=*/false) {}

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
  // Now and then.
  void OnTurn(int64_t now_us) {
    if (now_us - passed_us_ >= kPassEveryUs) Pass(now_us);
  }

 private:
  static constexpr int64_t kPassEveryUs = 100'000;

  void Pass(int64_t now_us) {
    passed_us_ = now_us;
    reading_.CountTime(now_us);
    tally_->Add(reading_.Take());
    tally_->Add(serving_.Take());
  }

  const std::shared_ptr<SharedTally> tally_;
  ReadingWatch reading_;
  ServingWatch serving_;
  int64_t passed_us_ = 0;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_OBSERVER_H_
