// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A group of workers and what its owners do with them, over and over: a trainer's steps, a
// rollout's fetches, waits, unpublishing, leaving and coming back. Owners keep to the contract:
// they change their buffers only when these are theirs, and then they do change them. A trainer
// goes back now and then, as after a crash: it supersedes with bytes of its own, whatever others
// hold.

#ifndef TENSORHUB_TESTS_SIM_GROUP_H_
#define TENSORHUB_TESTS_SIM_GROUP_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/cuts.h"
#include "tests/sim/process.h"
#include "tests/sim/scene.h"

namespace tensorhub::fault {

// What all groups of a model share.
struct Model {
  std::string name;
  uint32_t world_size = 1;
  VersionNumber newest = 0;  // that somebody tried to publish
  std::shared_ptr<const Layout> layout;
  // If groups cut it in different ways; and how its publishers do.
  std::shared_ptr<const CutModel> cut = nullptr;
  std::vector<CutShard> published = {};
  std::vector<std::vector<CutShard>> others = {};  // as its readers do
};

class Group {
 public:
  // `places` by rank. All outlive the group.
  Group(Scene& scene, Model& model, const std::vector<const Place*>& places, bool trains);

  // Starts its processes, and from then on does one thing after another.
  void Begin();
  // Begins nothing new.
  void SetResting(bool resting);
  bool busy() const { return !unfinished_.empty(); }
  bool copying() const;   // a rank makes a copy in host memory
  bool complete() const;  // every rank runs and is connected

  // Owners of processes that the hub has refused for good start others.
  void Supervise();
  // A crash, after which another process takes the place. `told`: its peers hear of it.
  void Kill(Rank rank, bool told);
  // Another process takes the place while this one lives on, with what it holds and does. False: it
  // does not live, or is about to leave.
  bool Supplant(Rank rank);
  // Nothing if it has ended before.
  void EndOutlived(Process& process, bool told);
  // Each within a few seconds.
  void EndAllOutlived();
  // Of a rank whose process may be dead by now.
  Process* process(Rank rank) const { return ranks_[rank].process; }
  uint32_t world_size() const { return static_cast<uint32_t>(ranks_.size()); }

  void FetchLatest(TimeMs timeout_ms);
  // If it does nothing else: unpublishes at once, and gives its readers no time.
  void TakeBack();
  // Everybody leaves, or dies, and nobody comes back.
  void LeaveForGood();

  const Model& model() const { return model_; }
  bool trains() const { return trains_; }
  std::vector<Fingerprint> layouts() const;  // by rank
  // It holds cells of the model, in its publishers' way or another.
  bool cuts() const { return ranks_[0].place->cells != nullptr; }
  // Of the newest operation, by rank.
  const std::vector<absl::Status>& outcomes() const { return outcomes_; }
  VersionNumber fetched() const { return fetched_; }

 private:
  enum class Kind { kTrain, kPublishAgain, kFetch, kUnpublish, kWait, kLeave };
  struct Operation {
    Kind kind = Kind::kFetch;
    VersionNumber version = 0;
    ContentId content = 0;
    Contents::Number number;  // who publishes by it has that content
    VersionSelector selector;
    bool partial = true;  // else groups that leave a tensor out are refused
    bool supersede = false;
    bool wait_for_group = false;
    TimeMs timeout_ms = 0;
    TimeMs drain_ms = 0;
    bool at_once = false;    // all ranks together, whatever is lost by it
    Nanos leaves_after = 0;  // in the middle of it; 0: does not
    Nanos taken_back = 0;    // by its caller, in the middle of it; 0: is not
  };
  struct RankState {
    const Place* place = nullptr;
    Process* process = nullptr;
    bool starting = false;  // another process will come
  };
  // Continues a rank's part in the present operation.
  using Done = std::function<void(const absl::Status&)>;

  void Start(Rank rank);
  void Restart(Rank rank, Nanos delay);
  void NextLater();
  void Next();
  Operation Draw();
  Operation DrawTraining();
  Operation DrawFetch();
  bool IsUsed(VersionNumber version) const;
  bool IsUsedHere(VersionNumber version) const;
  void Run(const Operation& operation);
  void RunRank(Rank rank, uint64_t number);
  void RankDone(Rank rank, uint64_t number, const absl::Status& status);
  void End();
  void Ask(Rank rank, uint64_t number, const agent::Verb& verb, const Done& done);
  void Train(Rank rank, uint64_t number);
  void Publish(Rank rank, uint64_t number);
  void Unpublish(Rank rank, uint64_t number, const Done& done);
  void Wait(Rank rank, uint64_t number);
  void Leave(Rank rank, uint64_t number);
  void ScribbleIfFree(Process& process);
  void LiveOn(Process& process);
  bool IsOutlived(const Process& process) const;

  Scene& scene_;
  Model& model_;
  const bool trains_;
  std::vector<RankState> ranks_;
  std::vector<Process*> outlived_;  // they live, and another process has their place
  bool resting_ = false;
  bool for_good_ = false;
  Operation operation_;
  uint64_t number_ = 0;  // of the operation
  Nanos began_ = 0;
  std::set<Rank> unfinished_;
  std::vector<absl::Status> outcomes_;
  VersionNumber fetched_ = 0;
  bool fenced_ = false;  // the last publish was refused: somebody has begun a term since
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_GROUP_H_
