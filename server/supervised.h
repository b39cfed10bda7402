// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A server as its supervisor sees it: ready, alive, stopping (common/cli/supervisor.h).

#ifndef TENSORHUB_SERVER_SUPERVISED_H_
#define TENSORHUB_SERVER_SUPERVISED_H_

#include <chrono>
#include <string>
#include <thread>

#include "common/mutex.h"
#include "server/rpc/rpc_server.h"

namespace tensorhub {

// Says READY with `status` when it is made, and STOPPING at its end; in between, where the
// supervisor watches, three signs of life in the time that it allows for one.
//
// The hub's own thread gives the sign, whatever the disk does: a thread that is stuck is mended by
// a restart, a disk that hangs is not.
//
// Thread contract: made and ended on one thread, within the life of `server`.
class Supervised {
 public:
  Supervised(rpc::RpcServer& server, const std::string& status);
  ~Supervised();
  Supervised(const Supervised&) = delete;
  Supervised& operator=(const Supervised&) = delete;

 private:
  void GiveSigns(std::chrono::microseconds pause);

  rpc::RpcServer& server_;
  Mutex mutex_;
  CondVar wake_;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // where it is watched
};

}  // namespace tensorhub

#endif  // TENSORHUB_SERVER_SUPERVISED_H_
