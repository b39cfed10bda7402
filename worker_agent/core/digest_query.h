// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Asks a holder for the digests of what it holds, and for no byte of it: so a publisher whose
// content was refused learns which chunk differs (R1). For people: nothing is decided by it.

#ifndef TENSORHUB_WORKER_AGENT_CORE_DIGEST_QUERY_H_
#define TENSORHUB_WORKER_AGENT_CORE_DIGEST_QUERY_H_

#include <cstdint>
#include <optional>

#include "worker_agent/core/agent_core.h"
#include "worker_agent/core/digests.h"
#include "worker_agent/core/peer_table.h"
#include "worker_agent/core/peer_wire.h"

namespace tensorhub::agent {

class DigestQuery {
 public:
  // A read of the holder's that is opened and never asked for more.
  DigestQuery(const CoreOptions& options, const PublishReply& asked, const Chunking& chunking,
              PeerTable& peers, uint64_t& next_token, TimeMs now, Effects& effects);

  // False: it is not for this query.
  bool OnMessage(const PeerMessage& message);
  void OnPeerFailed(Incarnation peer);
  void Close(Effects& effects) const;

  // All have come, or no more will.
  bool settled() const { return over_ || theirs_.known() >= chunking_.count(); }
  // True: an answer of that peer is awaited.
  bool Asks(Incarnation peer) const { return holder_ == peer && !settled(); }
  // As far as both are known.
  std::optional<uint32_t> FirstDifference(const Digests& mine) const;

 private:
  PeerMessage Header(PeerKind kind) const;

  const Incarnation self_;
  const Incarnation holder_;
  const Generation generation_;
  const uint64_t read_;
  const Chunking chunking_;
  Digests theirs_;
  bool over_ = false;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_DIGEST_QUERY_H_
