// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/integration/harness/etcd_process.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace tensorhub::harness {
namespace {

constexpr char kEtcd[] = "/usr/bin/etcd";
// Of etcd 3.4; a member says so once it knows the cluster's leader.
constexpr std::string_view kReady = "ready to serve client requests";

std::string Url(uint16_t port) { return "http://127.0.0.1:" + std::to_string(port); }

}  // namespace

EtcdCluster::EtcdCluster(size_t members, std::vector<std::string> args)
    : args_(std::move(args)), members_(members) {
  if (access(kEtcd, X_OK) != 0) {
    std::fprintf(stderr, "there is no %s: install the package etcd-server\n", kEtcd);
    std::abort();
  }
  for (Member& member : members_) {
    member.client_port = FreePort();
    member.peer_port = FreePort();
  }
  for (size_t index = 0; index < members; ++index) Start(index);
  for (Member& member : members_) {
    if (member.process->errors().WaitFor(kReady, seconds(30))) continue;
    member.process->Kill();
    std::fprintf(stderr, "etcd has no leader: %s\n", member.process->Describe().c_str());
    std::abort();
  }
}

void EtcdCluster::Start(size_t index) {
  std::string all;
  for (size_t i = 0; i < members_.size(); ++i) {
    all += (i == 0 ? "e" : ",e") + std::to_string(i) + "=" + Url(members_[i].peer_port);
  }
  const std::string name = "e" + std::to_string(index);
  const std::string client = Url(members_[index].client_port);
  const std::string peer = Url(members_[index].peer_port);
  std::vector<std::string> args = {"--name",
                                   name,
                                   "--data-dir",
                                   folder_ / name,
                                   "--listen-client-urls",
                                   client,
                                   "--advertise-client-urls",
                                   client,
                                   "--listen-peer-urls",
                                   peer,
                                   "--initial-advertise-peer-urls",
                                   peer,
                                   "--initial-cluster",
                                   all};
  args.insert(args.end(), args_.begin(), args_.end());
  members_[index].process = std::make_unique<Process>(Process::Options{kEtcd, args, {}});
}

std::vector<std::string> EtcdCluster::endpoints() const {
  std::vector<std::string> endpoints;
  for (const Member& member : members_) {
    endpoints.push_back("127.0.0.1:" + std::to_string(member.client_port));
  }
  return endpoints;
}

std::string EtcdCluster::Place(const std::string& prefix) const {
  std::string place;
  for (const std::string& endpoint : endpoints()) {
    place += (place.empty() ? "etcd://" : ",") + endpoint;
  }
  return place + "/" + prefix;
}

}  // namespace tensorhub::harness
