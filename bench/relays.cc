// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/relays.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tensorhub::bench {
namespace {

// A star of sixteen takes sixteen times as long as a stream.
constexpr std::chrono::seconds kRelayTimeout{1200};

absl::StatusOr<std::string> Digest(Child& child) {
  const absl::StatusOr<Fields> answer = child.Ask("digest");
  if (!answer.ok()) return answer.status();
  return answer->Text("digest");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Relays>> Relays::Start(const Lab& lab, size_t nodes,
                                                      uint64_t bytes) {
  std::unique_ptr<Relays> relays(new Relays);
  for (size_t i = 0; i < nodes; ++i) {
    const Lab::Host& host = lab.built().hosts[i];
    const Child::Options options = {
        .name = absl::StrCat("the relay on ", host.name),
        .binary = OwnBinary(),
        .args = {"@relay", absl::StrCat("bytes=", bytes, " source=", i == 0 ? 1 : 0,
                                        " address=", host.address)}};
    absl::StatusOr<std::unique_ptr<Child>> node = Child::Start(lab.On(host, options));
    if (!node.ok()) return node.status();
    relays->nodes_.push_back(*std::move(node));
  }
  for (size_t i = 0; i < nodes; ++i) {
    const absl::StatusOr<Fields> ready = relays->nodes_[i]->Answer();
    if (!ready.ok()) return ready.status();
    const absl::StatusOr<std::string> port = ready->Text("port");
    if (!port.ok()) return port.status();
    relays->addresses_.push_back(absl::StrCat(lab.built().hosts[i].address, ":", *port));
  }
  return relays;
}

absl::Status Relays::Begin(size_t node, const std::vector<Edge>& edges) {
  std::string line = "run";
  bool is_store = false;
  for (const Edge& edge : edges) {
    if (edge.to != node) continue;
    absl::StrAppend(&line, " upstream=", addresses_[edge.from]);
    is_store = edge.is_store;
  }
  const auto downstreams = std::count_if(edges.begin(), edges.end(),
                                         [node](const Edge& edge) { return edge.from == node; });
  absl::StrAppend(&line, " downstreams=", downstreams, " whole=", is_store ? 1 : 0);
  return nodes_[node]->Send(line);
}

absl::StatusOr<double> Relays::Run(const std::vector<Edge>& edges) {
  for (const Edge& edge : edges) {
    const absl::StatusOr<Fields> done = nodes_[edge.to]->Ask("scrub");
    if (!done.ok()) return done.status();
  }
  for (const Edge& edge : edges) {
    if (absl::Status status = Begin(edge.to, edges); !status.ok()) return status;
  }
  if (absl::Status status = Begin(0, edges); !status.ok()) return status;
  const absl::StatusOr<Fields> source = nodes_[0]->Answer(kRelayTimeout);
  if (!source.ok()) return source.status();
  const absl::StatusOr<double> start = source->Number("start");
  if (!start.ok()) return start.status();
  double end = *start;
  for (const Edge& edge : edges) {
    const absl::StatusOr<Fields> answer = nodes_[edge.to]->Answer(kRelayTimeout);
    if (!answer.ok()) return answer.status();
    const absl::StatusOr<double> node_end = answer->Number("end");
    if (!node_end.ok()) return node_end.status();
    end = std::max(end, *node_end);
  }
  if (absl::Status status = Verify(edges); !status.ok()) return status;
  return end - *start;
}

absl::Status Relays::Verify(const std::vector<Edge>& edges) {
  const absl::StatusOr<std::string> wanted = Digest(*nodes_[0]);
  if (!wanted.ok()) return wanted.status();
  for (const Edge& edge : edges) {
    const absl::StatusOr<std::string> digest = Digest(*nodes_[edge.to]);
    if (!digest.ok()) return digest.status();
    if (*digest != *wanted) return absl::DataLossError("a relay's bytes are not the source's");
  }
  return absl::OkStatus();
}

absl::StatusOr<double> PlainStream(const Lab& lab, size_t from, size_t to, uint64_t bytes) {
  const absl::StatusOr<std::unique_ptr<Relays>> relays =
      Relays::Start(lab, std::max(from, to) + 1, bytes);
  if (!relays.ok()) return relays.status();
  return (*relays)->Run(StreamEdges(from, to));
}

std::vector<Relays::Edge> StreamEdges(size_t from, size_t to) { return {{from, to}}; }

std::vector<Relays::Edge> ChainEdges(size_t readers) {
  std::vector<Relays::Edge> edges;
  for (size_t i = 0; i < readers; ++i) edges.push_back({i, i + 1});
  return edges;
}

std::vector<Relays::Edge> FanoutEdges(size_t readers) {
  std::vector<Relays::Edge> edges;
  for (size_t i = 0; i < readers; ++i) edges.push_back({0, i + 1});
  return edges;
}

std::vector<Relays::Edge> StoreEdges(size_t readers) {
  const size_t store = readers + 1;
  std::vector<Relays::Edge> edges = {{0, store, /*is_store=*/true}};
  for (size_t i = 0; i < readers; ++i) edges.push_back({store, i + 1});
  return edges;
}

}  // namespace tensorhub::bench
