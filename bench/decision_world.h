// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A hub with as many workers as one wants and no network: each of them holds one reference, whole
// or filling. Events are applied directly, and the time that one takes is told.

#ifndef TENSORHUB_BENCH_DECISION_WORLD_H_
#define TENSORHUB_BENCH_DECISION_WORLD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/random.h"
#include "server/core/hub.h"

namespace tensorhub::bench {

// How the workers of a model lie: in one datacenter, of which nothing more is known, so that all
// are one chain; or in racks of hosts.
enum class Lie { kFlat, kRacks };

class DecisionWorld {
 public:
  DecisionWorld();

  // A publisher and `readers` readers of one version of a new model, all of them reading. What each
  // reader's BeginRead took is appended to `begin_us`.
  void AddModel(const std::string& model, size_t readers, Lie lie, std::vector<double>& begin_us);
  // The prefixes of a chain in motion: who came first has most.
  void SpreadProgress(const std::string& model);
  // A reader of the model, taken at random, complains about its source and is given another one.
  double ComplainUs(const std::string& model);
  // A worker in the middle leaves, and its readers are given other sources.
  double LeaveUs(const std::string& model);

  size_t references() const { return workers_.size() - gone_; }
  const hub::Hub& hub() const { return hub_; }

 private:
  struct Worker {
    WorkerIdentity id;
    hub::SessionId session = 0;
    OpId op = 0;
    Generation generation = 1;
    TransactionId transaction;
    PublicationId publication;
    AssignmentNumber assignment = 0;
    bool gone = false;
  };
  // Returns microseconds.
  double Apply(const hub::Event& event);
  void Learn(const hub::Effect& effect);
  template <typename Op>
  double Call(Worker& worker, Op op);
  Worker& Open(const WorkerKey& key, const std::string& location);
  Worker& Pick(const std::string& model);

  hub::Hub hub_;
  Random random_{1};
  hub::Effects effects_;
  hub::CallId last_call_ = 0;
  std::shared_ptr<const Layout> layout_;
  std::vector<std::unique_ptr<Worker>> workers_;  // by session, which counts from 1
  Worker* caller_ = nullptr;
  size_t gone_ = 0;
};

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_DECISION_WORLD_H_
