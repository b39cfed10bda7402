// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/etcd/commits.h"

#include <gtest/gtest.h>

namespace tensorhub::store {
namespace {

TEST(EtcdCommitsTest, PiecesKeepTheOrderAndTheBounds) {
  EtcdOps ops;
  for (size_t i = 0; i < 1000; ++i) {
    ops.push_back(PutOp("k" + std::to_string(i), std::string(i % 7 == 0 ? 300'000 : 10, 'x')));
  }
  size_t next = 0;
  const std::vector<EtcdOps> pieces = Bounded(ops);
  for (const EtcdOps& piece : pieces) {
    size_t bytes = 0;
    for (const etcd::RequestOp& op : piece) {
      EXPECT_EQ(op.request_put().key(), "k" + std::to_string(next++));
      bytes += op.ByteSizeLong();
    }
    EXPECT_LE(piece.size(), kTxnOpsMax);
    EXPECT_LE(bytes, kTxnBytesMax);
  }
  EXPECT_EQ(next, ops.size());
  EXPECT_EQ(Bounded({}).size(), 0u);
  EXPECT_EQ(Bounded(EtcdOps(kTxnOpsMax, DeleteOp("k"))).size(), 1u);
}

}  // namespace
}  // namespace tensorhub::store
