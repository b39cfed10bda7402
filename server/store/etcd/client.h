// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Calls to an etcd cluster: one channel per member, a deadline of our own per try, and the next
// member when one does not answer. A member that is stopped, or cut off, costs one deadline, once:
// the one that answered last is asked first.
//
// Thread contract: any thread; each call blocks, for the members' deadlines together at most.

#ifndef TENSORHUB_SERVER_STORE_ETCD_CLIENT_H_
#define TENSORHUB_SERVER_STORE_ETCD_CLIENT_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "common/tls/client_security.h"
#include "server/store/etcd/etcd.grpc.pb.h"

namespace tensorhub::store {

namespace etcd = etcdserverpb;

class EtcdClient {
 public:
  struct Options {
    std::vector<std::string> endpoints;
    tls::Files tls = {};  // any: the connections are TLS
    // What one member has to answer. Shorter: a stopped one is left sooner; longer: slower disks.
    std::chrono::milliseconds patience{500};
  };

  explicit EtcdClient(Options options);
  ~EtcdClient();
  EtcdClient(const EtcdClient&) = delete;
  EtcdClient& operator=(const EtcdClient&) = delete;

  // UNAVAILABLE: no member answered; whether it was carried out is not known. CANCELLED: Stop. Else
  // etcd's own error, of which MayPass says whether it is worth to try again.
  absl::StatusOr<etcd::TxnResponse> Txn(const etcd::TxnRequest& request);
  absl::StatusOr<etcd::RangeResponse> Range(const etcd::RangeRequest& request);
  absl::StatusOr<etcd::LeaseGrantResponse> Grant(const etcd::LeaseGrantRequest& request);
  absl::Status Revoke(int64_t lease);
  // Seconds that the lease has from now on; 0: it is gone.
  absl::StatusOr<int64_t> KeepAlive(int64_t lease);
  // True: `key` has changed, `from_revision` or later, or may have. False: not within `patience`.
  absl::StatusOr<bool> AwaitChange(const std::string& key, int64_t from_revision,
                                   std::chrono::milliseconds patience);

  // What is under way ends with CANCELLED, and so does whatever is asked later.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  // What is under way in AwaitChange ends, as if there had been a change.
  void WakeWaiting() ABSL_LOCKS_EXCLUDED(mutex_);
  // Asks again and again while what it hears MayPass, and logs that once, as `what`. CANCELLED:
  // Stop.
  absl::Status Repeat(const std::string& what, const std::function<absl::Status()>& ask);
  // Waits; false: Stop.
  bool Pause(std::chrono::milliseconds time) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Member;
  using Call = std::function<grpc::Status(Member&, grpc::ClientContext&)>;

  absl::Status Ask(const Call& call, std::chrono::milliseconds patience);
  grpc::Status AskOne(size_t index, const Call& call, std::chrono::milliseconds patience);
  std::string WhyNot(const absl::Status& status) const;
  void Tell(const std::string& what, const absl::Status& status,
            std::optional<std::string>& told) const;
  bool Enter(grpc::ClientContext* context) ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave(grpc::ClientContext* context) ABSL_LOCKS_EXCLUDED(mutex_);
  std::shared_ptr<Member> MemberAt(size_t index) ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  tls::ClientCredentials credentials_;

  Mutex mutex_;
  CondVar wake_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  size_t first_ ABSL_GUARDED_BY(mutex_) = 0;  // whom to ask first
  std::vector<std::shared_ptr<Member>> members_ ABSL_GUARDED_BY(mutex_);
  std::set<grpc::ClientContext*> running_ ABSL_GUARDED_BY(mutex_);
  std::set<grpc::ClientContext*> waiting_ ABSL_GUARDED_BY(mutex_);
};

// Nothing is wrong with what was asked: no member answered, or etcd has no room, which an operator
// makes.
bool MayPass(const absl::Status& status);

}  // namespace tensorhub::store

#endif  // TENSORHUB_SERVER_STORE_ETCD_CLIENT_H_
