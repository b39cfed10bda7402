// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What each call needs, in one place: a right, on a model. A call that is not here does not
// compile.

#ifndef TENSORHUB_SERVER_RPC_NEEDS_H_
#define TENSORHUB_SERVER_RPC_NEEDS_H_

#include <string>

#include "server/rpc/access_rules.h"
#include "tensorhub/v1/admin.pb.h"
#include "tensorhub/v1/hub.pb.h"

namespace tensorhub::rpc {

struct Need {
  Right right = Right::kRead;
  std::string model;                     // empty: any at all
  const v1::WorkerId* worker = nullptr;  // in whose name it is done; the request's
};

// A worker that reads says as much of itself as one that publishes; it may not publish.
template <typename Request>
Need NeedOfWorker(Right right, const Request& request) {
  return {right, request.worker().model(), &request.worker()};
}
inline Need NeedOf(const v1::OpenSession& request) { return NeedOfWorker(Right::kRead, request); }
inline Need NeedOf(const v1::PublishRequest& request) {
  return NeedOfWorker(Right::kPublish, request);
}
inline Need NeedOf(const v1::UnpublishRequest& request) {
  return NeedOfWorker(Right::kRead, request);
}
inline Need NeedOf(const v1::JoinFetchRequest& request) {
  return NeedOfWorker(Right::kRead, request);
}
inline Need NeedOf(const v1::BeginReadRequest& request) {
  return NeedOfWorker(Right::kRead, request);
}
inline Need NeedOf(const v1::FinishReadRequest& request) {
  return NeedOfWorker(Right::kRead, request);
}
inline Need NeedOf(const v1::LeaveRequest& request) { return NeedOfWorker(Right::kRead, request); }
inline Need NeedOf(const v1::WaitForVersionRequest& request) {
  return {Right::kRead, request.model()};
}

// Documents are known by their fingerprints, which only those hear who may read a model with them.
inline Need NeedOf(const v1::PutLayoutRequest& /*request*/) { return {}; }
inline Need NeedOf(const v1::PutAttachmentRequest& /*request*/) { return {}; }
inline Need NeedOf(const v1::GetLayoutRequest& /*request*/) { return {}; }
inline Need NeedOf(const v1::GetAttachmentRequest& /*request*/) { return {}; }

inline Need NeedOf(const v1::GetStatusRequest& /*request*/) { return {}; }
// Requests whose answer leaves out what the caller may not read:
inline Need NeedOf(const v1::ListModelsRequest& /*request*/) { return {}; }
inline Need NeedOf(const v1::ListWorkersRequest& /*request*/) { return {}; }
inline Need NeedOf(const v1::ListTransfersRequest& /*request*/) { return {}; }
inline Need NeedOf(const v1::ListVersionsRequest& request) {
  return {Right::kRead, request.model()};
}
inline Need NeedOf(const v1::ListReplicasRequest& request) {
  return {Right::kRead, request.model()};
}
inline Need NeedOf(const v1::ExplainFetchesRequest& request) {
  return {Right::kRead, request.model()};
}
inline Need NeedOf(const v1::WatchRequest& request) { return {Right::kRead, request.model()}; }

inline Need NeedOf(const v1::RetainRequest& request) { return {Right::kAdmin, request.model()}; }
inline Need NeedOf(const v1::PinRequest& request) { return {Right::kAdmin, request.model()}; }
inline Need NeedOf(const v1::UnpinRequest& request) { return {Right::kAdmin, request.model()}; }
inline Need NeedOf(const v1::SupersedeRequest& request) { return {Right::kAdmin, request.model()}; }
inline Need NeedOf(const v1::DrainRequest& request) { return {Right::kAdmin, request.model()}; }
// Of all models, hence of one by any name.
inline Need NeedOf(const v1::AdoptRequest& /*request*/) { return {Right::kAdmin, "*"}; }
inline Need NeedOf(const v1::RewindRequest& request) { return {Right::kAdmin, request.model()}; }

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_NEEDS_H_
