// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Who reads from whom, as trees: at the roots the holders that read from nobody now, beneath each
// the readers that it feeds. Of plain data; pure.

#ifndef TENSORHUB_TOOLS_CTL_REPLICATION_TREE_H_
#define TENSORHUB_TOOLS_CTL_REPLICATION_TREE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tensorhub::ctl {

// A worker that holds a shard of a version, or fills it.
struct Holder {
  std::string group;
  uint32_t rank = 0;
  std::string state;  // as `tensorhubctl replicas` says it
  uint64_t valid_chunks = 0;
  uint64_t chunks = 0;
  std::string location;
};

// A reader and the source that feeds it.
struct Feed {
  std::string reader_group;
  uint32_t reader_rank = 0;
  std::string source_group;  // empty: nobody, yet
  uint32_t source_rank = 0;
  uint32_t sources = 1;  // that feed it; the others are not named
  std::string tier;      // how far the source is
  std::string way;
};

class ReplicationTree {
 public:
  // The tree of one version. Readers that are no holder are left out; a circle, which a changing
  // hub may seem to have, is cut.
  ReplicationTree(std::vector<Holder> holders, const std::vector<Feed>& feeds);

  // One line each, with what is beneath it: "├─ rollout-3/0  42%  rack, one-sided over rc/mlx5_0".
  // Of more than `children_max` leaves that are whole beneath one holder the rest is counted.
  std::string ToText(size_t children_max = 20) const;
  // A digraph for Graphviz.
  std::string ToDot(const std::string& name) const;
  nlohmann::ordered_json ToJson() const;
  bool empty() const { return nodes_.empty(); }
  // Readers in the longest chain.
  size_t depth() const;

 private:
  struct Node {
    Holder holder;
    std::optional<Feed> feed;
    std::vector<size_t> children;  // by number of nodes_
  };

  std::optional<size_t> Find(const std::string& group, uint32_t rank) const;
  bool IsBeneath(size_t node, size_t above) const;
  std::string Label(const Node& node) const;
  void AppendText(size_t node, const std::string& indent, size_t children_max,
                  std::string& text) const;
  nlohmann::ordered_json NodeJson(size_t node) const;
  size_t DepthOf(size_t node) const;

  std::vector<Node> nodes_;    // by group and rank
  std::vector<size_t> roots_;  // the same order
};

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_REPLICATION_TREE_H_
