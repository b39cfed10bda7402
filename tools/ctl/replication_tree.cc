// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/replication_tree.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/ctl/units.h"

namespace tensorhub::ctl {
namespace {

std::string NameOf(const Holder& holder) { return absl::StrCat(holder.group, "/", holder.rank); }

bool IsWhole(const Holder& holder) { return holder.valid_chunks == holder.chunks; }

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::CEscape(text), "\"");
}

}  // namespace

ReplicationTree::ReplicationTree(std::vector<Holder> holders, const std::vector<Feed>& feeds) {
  std::sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) {
    return std::tie(a.group, a.rank) < std::tie(b.group, b.rank);
  });
  for (Holder& holder : holders) nodes_.push_back({std::move(holder), std::nullopt, {}});
  for (const Feed& feed : feeds) {
    const auto reader = Find(feed.reader_group, feed.reader_rank);
    const auto source = Find(feed.source_group, feed.source_rank);
    if (!reader || !source || nodes_[*reader].feed || IsBeneath(*source, *reader)) continue;
    nodes_[*reader].feed = feed;
    nodes_[*source].children.push_back(*reader);
  }
  for (size_t node = 0; node < nodes_.size(); ++node) {
    std::sort(nodes_[node].children.begin(), nodes_[node].children.end());
    if (!nodes_[node].feed) roots_.push_back(node);
  }
}

std::optional<size_t> ReplicationTree::Find(const std::string& group, uint32_t rank) const {
  const auto node = std::lower_bound(
      nodes_.begin(), nodes_.end(), std::tie(group, rank),
      [](const Node& a, const auto& key) { return std::tie(a.holder.group, a.holder.rank) < key; });
  if (node == nodes_.end() || node->holder.group != group || node->holder.rank != rank) {
    return std::nullopt;
  }
  return static_cast<size_t>(node - nodes_.begin());
}

bool ReplicationTree::IsBeneath(size_t node, size_t above) const {
  for (std::optional<size_t> at = node; at;) {
    if (*at == above) return true;
    const std::optional<Feed>& feed = nodes_[*at].feed;
    at = feed ? Find(feed->source_group, feed->source_rank) : std::nullopt;
  }
  return false;
}

std::string ReplicationTree::Label(const Node& node) const {
  const Holder& holder = node.holder;
  std::string label = absl::StrCat(NameOf(holder), "  ");
  absl::StrAppend(&label, node.feed ? HumanPercent(holder.valid_chunks, holder.chunks)
                                    : absl::StrCat(holder.state));
  if (!node.feed && !IsWhole(holder)) {
    absl::StrAppend(&label, " ", HumanPercent(holder.valid_chunks, holder.chunks));
  }
  if (!node.feed) return absl::StrCat(label, "  ", holder.location);
  absl::StrAppend(&label, "  ", node.feed->tier);
  if (!node.feed->way.empty()) absl::StrAppend(&label, ", ", node.feed->way);
  if (node.feed->sources > 1)
    absl::StrAppend(&label, ", and ", node.feed->sources - 1, " more sources");
  return label;
}

std::string ReplicationTree::ToText(size_t children_max) const {
  std::string text;
  size_t idle = 0;
  for (const size_t root : roots_) {
    const bool is_idle = nodes_[root].children.empty() && IsWhole(nodes_[root].holder);
    if (is_idle && ++idle > children_max) continue;
    absl::StrAppend(&text, Label(nodes_[root]), "\n");
    AppendText(root, "", children_max, text);
  }
  if (idle > children_max) {
    absl::StrAppend(&text, "and ", idle - children_max, " more that hold it and feed nobody\n");
  }
  return text;
}

void ReplicationTree::AppendText(size_t node, const std::string& indent, size_t children_max,
                                 std::string& text) const {
  const std::vector<size_t>& children = nodes_[node].children;
  const size_t shown = std::min(children.size(), children_max);
  for (size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == children.size();
    absl::StrAppend(&text, indent, last ? "└─ " : "├─ ", Label(nodes_[children[i]]), "\n");
    AppendText(children[i], indent + (last ? "   " : "│  "), children_max, text);
  }
  if (shown < children.size()) {
    absl::StrAppend(&text, indent, "└─ and ", children.size() - shown, " more readers\n");
  }
}

std::string ReplicationTree::ToDot(const std::string& name) const {
  std::string dot =
      absl::StrCat("digraph ", Quoted(name), " {\n  rankdir=LR;\n  node [shape=box];\n");
  for (const Node& node : nodes_) {
    const std::string label = absl::StrCat(
        NameOf(node.holder), "\n", HumanPercent(node.holder.valid_chunks, node.holder.chunks));
    absl::StrAppend(&dot, "  ", Quoted(NameOf(node.holder)), " [label=", Quoted(label), "];\n");
  }
  for (const Node& node : nodes_) {
    for (const size_t child : node.children) {
      absl::StrAppend(&dot, "  ", Quoted(NameOf(node.holder)), " -> ",
                      Quoted(NameOf(nodes_[child].holder)),
                      " [label=", Quoted(nodes_[child].feed->tier), "];\n");
    }
  }
  return absl::StrCat(dot, "}\n");
}

nlohmann::ordered_json ReplicationTree::NodeJson(size_t at) const {
  const Node& node = nodes_[at];
  nlohmann::ordered_json json = {
      {"group", node.holder.group},   {"rank", node.holder.rank},
      {"state", node.holder.state},   {"valid_chunks", node.holder.valid_chunks},
      {"chunks", node.holder.chunks}, {"location", node.holder.location}};
  if (node.feed) {
    json["tier"] = node.feed->tier;
    json["way"] = node.feed->way;
    json["sources"] = node.feed->sources;
  }
  json["readers"] = nlohmann::ordered_json::array();
  for (const size_t child : node.children) json["readers"].push_back(NodeJson(child));
  return json;
}

nlohmann::ordered_json ReplicationTree::ToJson() const {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const size_t root : roots_) json.push_back(NodeJson(root));
  return json;
}

size_t ReplicationTree::DepthOf(size_t node) const {
  size_t depth = 0;
  for (const size_t child : nodes_[node].children) depth = std::max(depth, 1 + DepthOf(child));
  return depth;
}

size_t ReplicationTree::depth() const {
  size_t depth = 0;
  for (const size_t root : roots_) depth = std::max(depth, DepthOf(root));
  return depth;
}

}  // namespace tensorhub::ctl
