// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The graph of reads without the rest of the hub: rows that the test makes, words of workers in,
// and what comes of them out. What it decides where is in the scenarios and in source_choice_test.

#include "server/core/read_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tensorhub::hub {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint32_t kGraphChunks = 64;

// One shard of one version, and what the hub does at the end of each event.
class GraphWorld : private Turn, private Roster {
 public:
  GraphWorld()
      : documents_(options_.limits.layouts, options_.limits.attachments),
        plans_(documents_),
        graph_(options_, *this, *this, plans_) {
    out_ = &effects_;
    publication_.id = {0, 7};
    publication_.model = "m";
    publication_.version = 1;
    publication_.visible = true;
    sharding().world_size = 1;
    sharding().chunk_bytes = 4096;
    shard().chunks = kGraphChunks;
  }

  ReadGraph& graph() { return graph_; }
  Shard& shard() { return sharding().shards[0]; }

  Worker& Add(const std::string& group) {
    Worker& worker = workers_[{"m", group, 0}];
    worker.id = {{"m", group, 0}, 1};
    Number(worker);
    worker.place = PlaceOf(worker.location);
    worker.alive = true;
    worker.session = worker.serial;
    sessions_[worker.session] = &worker;
    ++alive_;
    return worker;
  }

  Worker& AddHolder(const std::string& group) {
    Worker& worker = Add(group);
    List(worker, ReferenceState::kComplete, kGraphChunks);
    ++shard().complete;
    sharding().whole_shards = 1;
    return worker;
  }

  // Begins to read, and is given a source if there is one.
  Worker& AddReader(const std::string& group) {
    Worker& worker = Add(group);
    List(worker, ReferenceState::kFilling, 0);
    Transaction transaction;
    transaction.id = {0, worker.serial};
    transaction.publication = publication_.id;
    transaction.version = publication_.version;
    graph_.Begin(worker, transaction);
    graph_.QueueForAssignment(worker);
    Settle();
    return worker;
  }

  void Drain(Worker& holder) {
    holder.reference->state = ReferenceState::kDraining;
    shard().draining.insert(&holder);
    --shard().complete;
    graph_.MarkIndexStale(holder);
    graph_.RedirectReaders(holder);
    Settle();
  }

  void Fail(Worker& reader) {
    SourceFailed failed;
    failed.session = reader.session;
    failed.transaction = reader.read->transaction;
    failed.assignment = reader.read->whole().current;
    failed.reason = absl::UnavailableError("no route");
    graph_.On(failed);
    Settle();
  }

  void Settle() {
    for (graph_.FlushIndex(); graph_.HasOrphans() || graph_.MayCut(); graph_.FlushIndex()) {
      graph_.HasOrphans() ? graph_.AssignOrAbort() : graph_.CutChain();
    }
  }

  void Check() {
    EXPECT_FALSE(graph_.TakeStranded());
    graph_.TakeDrained();
    graph_.CheckInvariants();
    for (const auto& [key, worker] : workers()) graph_.CheckInvariants(worker);
    graph_.CheckSeeds(shard());
  }

  // The groups that were sent to as sources, in order, since this was asked last.
  std::vector<std::string> Assigned() {
    std::vector<std::string> sources;
    ForEachDirective([&](const Directive& directive) {
      const Assign* assign = std::get_if<Assign>(&directive.body);
      if (assign != nullptr) sources.push_back(assign->source.key.group);
    });
    effects_.clear();
    return sources;
  }

  bool WasAsked(const Worker& source) {
    bool asked = false;
    ForEachDirective([&](const Directive& directive) {
      const bool probe = std::holds_alternative<Probe>(directive.body);
      if (probe && directive.session == source.session) asked = true;
    });
    return asked;
  }

 private:
  template <typename Visit>
  void ForEachDirective(Visit visit) {
    for (const Effect& effect : effects_) {
      if (const Directive* directive = std::get_if<Directive>(&effect)) visit(*directive);
    }
  }

  Sharding& sharding() { return publication_.published; }

  void List(Worker& worker, ReferenceState state, uint32_t valid_chunks) {
    Reference& reference = worker.reference.emplace();
    reference.publication = publication_.id;
    reference.row = &publication_;
    reference.version = publication_.version;
    reference.generation = 1;
    reference.valid_chunks = valid_chunks;
    reference.state = state;
    reference.sharding = &sharding();
    reference.shard = &shard();
    shard().holders[worker.serial] = &worker;
    graph_.List(worker);
    graph_.MarkIndexStale(worker);
  }

  const HubOptions options_{};
  Documents documents_;
  Plans plans_;
  Publication publication_;
  Effects effects_;
  ReadGraph graph_;
};

TEST(ReadGraphTest, AReaderIsCountedAtItsSourceUntilItHasEnded) {
  GraphWorld world;
  Worker& source = world.AddHolder("a");
  Worker& reader = world.AddReader("b");
  EXPECT_THAT(world.Assigned(), ElementsAre("a"));
  EXPECT_EQ(source.reference->readers.size(), 1u);
  EXPECT_EQ(world.graph().decisions(), 1u);
  world.Check();
  world.graph().EndRead(reader);
  EXPECT_THAT(source.reference->readers, IsEmpty());
}

TEST(ReadGraphTest, ReadersFollowOneAnother) {
  GraphWorld world;
  world.AddHolder("a");
  world.AddReader("b");
  world.AddReader("c");
  world.AddReader("d");
  EXPECT_THAT(world.Assigned(), ElementsAre("a", "b", "c"));
  world.Check();
}

TEST(ReadGraphTest, AReaderThatNobodyCanFeedIsHandedBack) {
  GraphWorld world;
  Worker& reader = world.AddReader("b");
  const std::optional<ReadGraph::Stranded> stranded = world.graph().TakeStranded();
  ASSERT_TRUE(stranded);
  EXPECT_EQ(stranded->reader, &reader);
  EXPECT_TRUE(absl::IsNotFound(stranded->why)) << stranded->why;
  EXPECT_FALSE(world.graph().TakeStranded()) << "once";
}

TEST(ReadGraphTest, ASourceThatDrainsIsHandedBackWhenItsLastReaderHasLeft) {
  GraphWorld world;
  Worker& source = world.AddHolder("a");
  Worker& reader = world.AddReader("b");
  world.Drain(source);
  EXPECT_THAT(world.graph().TakeDrained(), IsEmpty()) << "there is no other source";
  world.AddHolder("c");
  world.graph().RedirectReaders(source);
  EXPECT_THAT(world.Assigned(), ElementsAre("a", "c"));
  EXPECT_THAT(world.graph().TakeDrained(), IsEmpty()) << "it may still be at the first";
  world.graph().Released(reader, 1);
  EXPECT_THAT(world.graph().TakeDrained(), ElementsAre(&source));
  world.Settle();
  world.Check();
}

TEST(ReadGraphTest, ASourceThatFailedIsAskedAndTriedOnceMore) {
  GraphWorld world;
  Worker& source = world.AddHolder("a");
  Worker& reader = world.AddReader("b");
  world.Fail(reader);
  EXPECT_TRUE(world.WasAsked(source));
  EXPECT_TRUE(world.graph().TakeAbsenceChanged()) << "until its next word";
  EXPECT_THAT(world.Assigned(), ElementsAre("a"));
  world.Check();  // nobody is handed back while there is hope
  world.graph().ConfirmHolder(source, /*verified=*/false);
  world.Settle();
  EXPECT_THAT(world.Assigned(), ElementsAre("a"));
  world.Fail(reader);
  world.graph().ConfirmHolder(source, /*verified=*/false);
  world.Settle();
  const std::optional<ReadGraph::Stranded> stranded = world.graph().TakeStranded();
  ASSERT_TRUE(stranded);
  EXPECT_TRUE(absl::IsUnavailable(stranded->why)) << stranded->why;
}

TEST(ReadGraphTest, AReaderWhoseSourceIsUnlistedGetsAnother) {
  GraphWorld world;
  Worker& first = world.AddHolder("a");
  world.AddReader("b");
  world.AddHolder("c");
  EXPECT_THAT(world.Assigned(), ElementsAre("a"));
  --world.shard().complete;
  world.shard().holders.erase(first.serial);
  world.graph().Unlist(first);
  first.reference.reset();
  world.Settle();
  EXPECT_THAT(world.Assigned(), ElementsAre("c"));
  EXPECT_NE(world.graph().AwaitedReaders(first.id), nullptr) << "it may be there until it says so";
  world.Check();
}

}  // namespace
}  // namespace tensorhub::hub
