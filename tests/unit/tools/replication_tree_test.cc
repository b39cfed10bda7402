// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/replication_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorhub::ctl {
namespace {

using testing::HasSubstr;

Holder Whole(const std::string& group) { return {group, 0, "complete", 10, 10, "us/dc/r/h"}; }
Holder Filling(const std::string& group, uint64_t valid) {
  return {group, 0, "filling", valid, 10, "us/dc/r/h"};
}
Feed From(const std::string& reader, const std::string& source) {
  return {reader, 0, source, 0, 1, "rack", "served over tcp/eth0"};
}

TEST(ReplicationTree, ReadersHangBeneathTheirSources) {
  const ReplicationTree tree({Filling("b", 4), Whole("t"), Filling("a", 7), Filling("c", 1)},
                             {From("a", "t"), From("b", "a"), From("c", "t")});
  EXPECT_EQ(tree.ToText(),
            "t/0  complete  us/dc/r/h\n"
            "├─ a/0  70%  rack, served over tcp/eth0\n"
            "│  └─ b/0  40%  rack, served over tcp/eth0\n"
            "└─ c/0  10%  rack, served over tcp/eth0\n");
  EXPECT_EQ(tree.depth(), 2u);
}

TEST(ReplicationTree, WhoIsFedByNobodyIsARoot) {
  const ReplicationTree tree({Whole("t"), Filling("late", 3)}, {From("late", "gone")});
  EXPECT_EQ(tree.ToText(),
            "late/0  filling 30%  us/dc/r/h\n"
            "t/0  complete  us/dc/r/h\n");
}

// The two lists come from two moments.
TEST(ReplicationTree, ACircleIsCut) {
  const ReplicationTree tree({Filling("a", 1), Filling("b", 2)},
                             {From("a", "b"), From("b", "a"), From("a", "a"), From("x", "a")});
  EXPECT_EQ(tree.depth(), 1u);
  EXPECT_EQ(tree.ToJson().size(), 1u);
}

TEST(ReplicationTree, ManyAreCounted) {
  std::vector<Holder> holders = {Whole("t")};
  std::vector<Feed> feeds;
  for (int i = 100; i < 130; ++i) {
    holders.push_back(Filling("r" + std::to_string(i), 5));
    holders.push_back(Whole("w" + std::to_string(i)));
    feeds.push_back(From("r" + std::to_string(i), "t"));
  }
  const std::string text = ReplicationTree(holders, feeds).ToText(/*children_max=*/5);
  EXPECT_THAT(text, HasSubstr("├─ r104/0"));
  EXPECT_THAT(text, Not(HasSubstr("r105/0")));
  EXPECT_THAT(text, HasSubstr("└─ and 25 more readers\n"));
  EXPECT_THAT(text, HasSubstr("and 25 more that hold it and feed nobody\n"));
}

TEST(ReplicationTree, SeveralSourcesAreSaid) {
  Feed feed = From("a", "t");
  feed.sources = 4;
  const ReplicationTree tree({Whole("t"), Filling("a", 1)}, {feed});
  EXPECT_THAT(tree.ToText(), HasSubstr("and 3 more sources"));
  EXPECT_EQ(tree.ToJson()[0]["readers"][0]["sources"], 4);
}

TEST(ReplicationTree, AsAGraph) {
  Holder odd = Whole("t");
  odd.group = "a\"b";
  const ReplicationTree tree({odd, Filling("r", 5)}, {From("r", "a\"b")});
  EXPECT_EQ(tree.ToDot("m version 1"),
            "digraph \"m version 1\" {\n  rankdir=LR;\n  node [shape=box];\n"
            "  \"a\\\"b/0\" [label=\"a\\\"b/0\\n100%\"];\n"
            "  \"r/0\" [label=\"r/0\\n50%\"];\n"
            "  \"a\\\"b/0\" -> \"r/0\" [label=\"rack\"];\n}\n");
}

}  // namespace
}  // namespace tensorhub::ctl
