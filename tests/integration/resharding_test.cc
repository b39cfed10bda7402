// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Groups that cut a model in different ways: each rank reads its own slices, from as many
// publishers as it takes, and is a source for the next group that is cut like its own. Several
// clients in one process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tensorhub/ros.h>

#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/harness/server_process.h"

namespace tensorhub::harness {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

using Extents = std::vector<uint64_t>;

struct Piece {
  Extents offset;
  Extents shape;
};
// Of one tensor, for a rank of so many. No extents: this rank does not have it.
using Cut = std::function<Piece(const Extents& global, uint32_t rank, uint32_t world)>;

Piece CutAlong(size_t axis, const Extents& global, uint32_t rank, uint32_t world) {
  Piece piece{Extents(global.size(), 0), global};
  const uint64_t each = (global[axis] + world - 1) / world;
  const uint64_t begin = std::min(rank * each, global[axis]);
  piece.offset[axis] = begin;
  piece.shape[axis] = std::min(begin + each, global[axis]) - begin;
  return piece;
}
Piece Rows(const Extents& global, uint32_t rank, uint32_t world) {
  return CutAlong(0, global, rank, world);
}
Piece Columns(const Extents& global, uint32_t rank, uint32_t world) {
  return CutAlong(global.size() - 1, global, rank, world);
}
Piece Whole(const Extents& global, uint32_t /*rank*/, uint32_t /*world*/) {
  return {Extents(global.size(), 0), global};
}

struct Model {
  std::string name;
  Extents global;
};
const std::vector<Model>& Tensors() {
  static const std::vector<Model> tensors = {
      {"embed", {4000, 256}},      {"layer.0.q", {512, 1024}},        {"layer.0.norm", {1024}},
      {"layer.1.up", {1000, 777}}, {"layer.1.experts", {6, 64, 128}}, {"scale", {3}}};
  return tensors;
}

uint32_t ElementOf(uint64_t version, const std::string& name, uint64_t index) {
  return static_cast<uint32_t>(version * 2654435761u + name.size() * 40503u + name.back() +
                               index * 2246822519u);
}

// Calls it with each element's index in the piece and in the whole tensor, row-major both.
void ForEachElement(const Piece& piece, const Extents& global,
                    const std::function<void(uint64_t, uint64_t)>& use) {
  uint64_t count = 1;
  for (const uint64_t extent : piece.shape) count *= extent;
  Extents at(global.size(), 0);
  for (uint64_t local = 0; local < count; ++local) {
    uint64_t index = 0;
    for (size_t axis = 0; axis < global.size(); ++axis) {
      index = index * global[axis] + piece.offset[axis] + at[axis];
    }
    use(local, index);
    for (size_t axis = global.size(); axis-- > 0 && ++at[axis] == piece.shape[axis];) at[axis] = 0;
  }
}

// One rank: its slices in memory of its own.
class Rank {
 public:
  Rank(const std::string& server, const std::string& group, uint32_t rank, uint32_t world,
       const Cut& cut, const std::string& dtype = "F32") {
    tensorhub::ConnectOptions options;
    options.server = server;
    options.model = "m";
    options.group = group;
    options.rank = rank;
    options.world_size = world;
    options.digests = tensorhub::Digests::kOn;
    options.host_copy_bytes = 0;  // R7: who is the last to hold a version cannot give it up
    client_ = tensorhub::Client::Connect(options).value();
    std::vector<tensorhub::Tensor> tensors;
    for (const Model& model : Tensors()) {
      Held held{model, cut(model.global, rank, world), {}};
      uint64_t elements = 1;
      for (const uint64_t extent : held.piece.shape) elements *= extent;
      held.data.resize(elements);
      tensorhub::Tensor tensor;
      tensor.name = model.name;
      tensor.bytes = elements * sizeof(uint32_t);
      tensor.dtype = dtype;
      tensor.shape = held.piece.shape;
      tensor.slice = tensorhub::Slice{model.global, held.piece.offset};
      held_.push_back(std::move(held));
      tensor.data = held_.back().data.data();
      tensors.push_back(tensor);
    }
    const absl::Status registered = client_->Register(tensors);
    EXPECT_TRUE(registered.ok()) << registered;
  }

  tensorhub::Client& client() { return *client_; }
  void Fill(uint64_t version) {
    for (Held& held : held_) {
      ForEachElement(held.piece, held.model.global, [&](uint64_t local, uint64_t index) {
        held.data[local] = ElementOf(version, held.model.name, index);
      });
    }
  }
  void Spoil(const std::string& name) {
    for (Held& held : held_) {
      if (held.model.name == name) ++held.data.back();
    }
  }
  void ExpectHolds(uint64_t version) const {
    for (const Held& held : held_) {
      uint64_t wrong = 0;
      ForEachElement(held.piece, held.model.global, [&](uint64_t local, uint64_t index) {
        wrong += held.data[local] == ElementOf(version, held.model.name, index) ? 0 : 1;
      });
      EXPECT_EQ(wrong, 0u) << held.model.name;
    }
  }
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const Held& held : held_) sum += held.data.size() * sizeof(uint32_t);
    return sum;
  }

 private:
  struct Held {
    Model model;
    Piece piece;
    std::vector<uint32_t> data;
  };
  std::vector<Held> held_;
  std::unique_ptr<tensorhub::Client> client_;
};

using Group = std::vector<std::unique_ptr<Rank>>;

struct Case {
  std::string name;
  uint32_t publishers = 0;
  Cut published;
  uint32_t readers = 0;
  Cut read;
};

class ReshardingTest : public testing::TestWithParam<Case> {
 protected:
  Group Join(const std::string& group, uint32_t world, const Cut& cut,
             const std::string& dtype = "F32") {
    Group ranks;
    for (uint32_t rank = 0; rank < world; ++rank) {
      ranks.push_back(std::make_unique<Rank>(server_.address(), group, rank, world, cut, dtype));
    }
    return ranks;
  }
  static void Publish(const Group& group, uint64_t version) {
    for (const auto& rank : group) {
      rank->Fill(version);
      const absl::Status published = rank->client().Publish(version);
      ASSERT_TRUE(published.ok()) << published;
    }
  }
  static void Unpublish(const Group& group) {
    for (const auto& rank : group) EXPECT_TRUE(rank->client().Unpublish().ok());
  }
  // All ranks at a time.
  static std::vector<absl::StatusOr<tensorhub::FetchResult>> Fetch(const Group& group,
                                                                   bool partial = false) {
    std::vector<std::future<absl::StatusOr<tensorhub::FetchResult>>> running;
    for (const auto& rank : group) {
      running.push_back(std::async(std::launch::async, [&rank, partial] {
        tensorhub::FetchOptions options;
        options.partial = partial;
        options.timeout = std::chrono::seconds(30);
        return rank->client().Fetch(tensorhub::Latest(), options);
      }));
    }
    std::vector<absl::StatusOr<tensorhub::FetchResult>> results;
    for (auto& each : running) results.push_back(each.get());
    return results;
  }
  static void ExpectFetched(const Group& group, uint64_t version) {
    const auto results = Fetch(group);
    for (size_t rank = 0; rank < group.size(); ++rank) {
      ASSERT_TRUE(results[rank].ok()) << results[rank].status();
      EXPECT_EQ(results[rank]->version, version);
      EXPECT_EQ(results[rank]->bytes_read, group[rank]->bytes());
      group[rank]->ExpectHolds(version);
    }
  }

  ServerProcess server_{{"--keep-latest", "1"}};
};

INSTANTIATE_TEST_SUITE_P(Cuts, ReshardingTest,
                         testing::Values(Case{"RowsOfFourToColumnsOfTwo", 4, Rows, 2, Columns},
                                         Case{"RowsOfEightToRowsOfThree", 8, Rows, 3, Rows},
                                         Case{"ColumnsOfTwoToWhole", 2, Columns, 1, Whole},
                                         Case{"WholeToRowsOfTwo", 1, Whole, 2, Rows}),
                         [](const auto& param) { return param.param.name; });

// R7: the rollouts have all of the version, so that their trainers need no copy of it.
TEST_P(ReshardingTest, EachRankGetsItsSlices) {
  const Group trainer = Join("trainer", GetParam().publishers, GetParam().published);
  const Group rollout = Join("rollout", GetParam().readers, GetParam().read);
  for (uint64_t version = 1; version <= 3; ++version) {
    Publish(trainer, version);
    ExpectFetched(rollout, version);
    Unpublish(trainer);
  }
}

// R5, R7: with the publishers gone, others read from the rollouts, trainers that come back
// included.
TEST_P(ReshardingTest, RolloutsKeepTheVersionAndGiveItBack) {
  const Group rollout = Join("rollout", GetParam().readers, GetParam().read);
  {
    const Group trainer = Join("trainer", GetParam().publishers, GetParam().published);
    Publish(trainer, 1);
    ExpectFetched(rollout, 1);
    Unpublish(trainer);
  }
  const Group other = Join("other", 3, Rows);
  ExpectFetched(other, 1);
  Unpublish(other);
  const auto kept =
      rollout[0]->client().Unpublish({.drain_timeout = std::chrono::milliseconds(50)});
  EXPECT_EQ(kept.code(), StatusCode::kResourceExhausted) << kept;
  const Group trainer = Join("trainer", GetParam().publishers, GetParam().published);
  ExpectFetched(trainer, 1);
  Unpublish(rollout);
  ExpectFetched(rollout, 1);
}

// The publishers are asked once, however many groups are cut like the first.
TEST_P(ReshardingTest, TheNextGroupReadsFromTheFirst) {
  const Group trainer = Join("trainer", GetParam().publishers, GetParam().published);
  Publish(trainer, 1);
  const Group first = Join("first", GetParam().readers, GetParam().read);
  ExpectFetched(first, 1);
  const Group second = Join("second", GetParam().readers, GetParam().read);
  const auto results = Fetch(second);
  for (size_t rank = 0; rank < second.size(); ++rank) {
    ASSERT_TRUE(results[rank].ok()) << results[rank].status();
    EXPECT_THAT(results[rank]->sources, HasSubstr("first/"));
    second[rank]->ExpectHolds(1);
  }
}

class ReshardingRefusedTest : public ReshardingTest {};
INSTANTIATE_TEST_SUITE_P(Cuts, ReshardingRefusedTest,
                         testing::Values(Case{"Rows", 2, Rows, 2, Columns}));

// Before anybody has given up what it holds.
TEST_P(ReshardingRefusedTest, AnotherDtype) {
  const Group trainer = Join("trainer", 2, Rows);
  const Group rollout = Join("rollout", 2, Columns, "I32");
  Publish(trainer, 1);
  for (const auto& result : Fetch(rollout)) {
    EXPECT_EQ(result.status().code(), StatusCode::kFailedPrecondition) << result.status();
    EXPECT_THAT(std::string(result.status().message()), HasSubstr("embed"));
    EXPECT_THAT(std::string(result.status().message()), HasSubstr("F32"));
  }
}

// One rank of two has the first half: the other half nobody would read.
TEST_P(ReshardingRefusedTest, APartUnlessItSaysSo) {
  const Group trainer = Join("trainer", 2, Rows);
  Publish(trainer, 1);
  const Cut half = [](const Extents& global, uint32_t /*rank*/, uint32_t /*world*/) {
    return Rows(global, 0, 2);
  };
  const Group rollout = Join("rollout", 1, half);
  const absl::Status refused = Fetch(rollout).front().status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("rollout has not registered: \"embed\", \"layer.0.norm\""));
  EXPECT_FALSE(rollout[0]->client().Held());
  const auto fetched = Fetch(rollout, /*partial=*/true).front();
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  rollout[0]->ExpectHolds(1);
}

// R1: both ranks have all of it, and one of them other bytes.
TEST_P(ReshardingRefusedTest, RanksThatDifferInWhatBothHave) {
  const Group trainer = Join("trainer", 2, Whole);
  for (const auto& rank : trainer) rank->Fill(1);
  trainer[1]->Spoil("layer.0.norm");
  ASSERT_TRUE(trainer[0]->client().Publish(1).ok());
  const absl::Status differs = trainer[1]->client().Publish(1);
  EXPECT_EQ(differs.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(differs.message()),
              HasSubstr("tensor \"layer.0.norm\" [0:1024] differs between ranks 0, 1"));
  EXPECT_FALSE(trainer[1]->client().Held());
  Publish(trainer, 1);
  EXPECT_EQ(trainer[0]->client().List()->back().state, "visible");
}

// R3: a publisher that wants its buffers back has them once nobody reads its part any more.
TEST_P(ReshardingRefusedTest, APublisherUnpublishesWhileOthersRead) {
  const Group trainer = Join("trainer", 2, Rows);
  const Group rollout = Join("rollout", 2, Columns);
  for (uint64_t version = 1; version <= 20; ++version) {
    Publish(trainer, version);
    auto fetched = std::async(std::launch::async, [&] { return Fetch(rollout); });
    for (const auto& rank : trainer) {
      EXPECT_TRUE(rank->client().Unpublish({.force = true}).ok());
      rank->Fill(1000 + version);
    }
    const auto results = fetched.get();
    for (size_t rank = 0; rank < rollout.size(); ++rank) {
      if (results[rank].ok()) rollout[rank]->ExpectHolds(results[rank]->version);
    }
  }
}

}  // namespace
}  // namespace tensorhub::harness
