// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A real etcd cluster on 127.0.0.1, of the etcd that is installed. Its members can be killed,
// stopped and started again.

#ifndef TENSORHUB_TESTS_INTEGRATION_HARNESS_ETCD_PROCESS_H_
#define TENSORHUB_TESTS_INTEGRATION_HARNESS_ETCD_PROCESS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/harness/places.h"
#include "tests/integration/harness/process.h"

namespace tensorhub::harness {

class EtcdCluster {
 public:
  // Returns when a leader is there. Aborts, with etcd's log, if it does not come, and names the
  // package if there is no etcd.
  explicit EtcdCluster(size_t members, std::vector<std::string> args = {});

  std::vector<std::string> endpoints() const;
  // etcd://…/PREFIX, of all members.
  std::string Place(const std::string& prefix) const;
  Process& member(size_t index) { return *members_[index].process; }
  // A member that was killed, with its data.
  void Start(size_t index);

 private:
  struct Member {
    uint16_t client_port = 0;
    uint16_t peer_port = 0;
    std::unique_ptr<Process> process;
  };

  const std::vector<std::string> args_;
  TempDir folder_;
  std::vector<Member> members_;
};

}  // namespace tensorhub::harness

#endif  // TENSORHUB_TESTS_INTEGRATION_HARNESS_ETCD_PROCESS_H_
