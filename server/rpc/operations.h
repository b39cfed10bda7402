// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A service of which some methods are operations of the hub. `Service` is what gRPC generates.

#ifndef TENSORHUB_SERVER_RPC_OPERATIONS_H_
#define TENSORHUB_SERVER_RPC_OPERATIONS_H_

#include "server/rpc/access.h"
#include "server/rpc/hub_loop.h"
#include "server/rpc/unary_reactor.h"
#include "server/rpc/unfinished.h"

namespace tensorhub::rpc {

template <typename Service>
class Operations : public Service::CallbackService {
 protected:
  Operations(HubLoop& loop, Unfinished& unfinished, Access& access)
      : loop_(loop), unfinished_(unfinished), access_(access) {}

  // From now on the method is one, each call of it a CallReactor.
  template <typename Request, typename Response>
  void Offer(const char* method) {
    const auto* service =
        Request::descriptor()->file()->pool()->FindServiceByName(Service::service_full_name());
    using Handler = grpc::internal::CallbackBidiHandler<Request, Response>;
    this->MarkMethodStreamed(service->FindMethodByName(method)->index(),
                             new Handler([this](grpc::CallbackServerContext* context) {
                               return CallReactor<Request, Response>::Start(loop_, unfinished_,
                                                                            access_, context);
                             }));
  }

  HubLoop& loop_;
  Unfinished& unfinished_;
  Access& access_;
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_OPERATIONS_H_
