// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The core's views as messages of the admin service.

#ifndef TENSORHUB_SERVER_RPC_TRANSLATE_VIEWS_H_
#define TENSORHUB_SERVER_RPC_TRANSLATE_VIEWS_H_

#include "server/core/effects.h"
#include "server/core/views.h"
#include "tensorhub/v1/admin.pb.h"

namespace tensorhub::rpc {

void Fill(const hub::StatusView& view, v1::GetStatusResponse& out);
void Fill(const hub::ModelView& view, v1::ModelInfo& out);
void Fill(const hub::VersionView& view, v1::VersionInfo& out);
void Fill(const hub::ReferenceView& view, v1::ReferenceInfo& out);
void Fill(const hub::WorkerView& view, v1::WorkerInfo& out);
void Fill(const hub::TransferView& view, v1::TransferInfo& out);
void Fill(const hub::FetchView& view, TimeMs now, v1::FetchInfo& out);
void Fill(const hub::ModelChange& change, v1::Change& out);

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_TRANSLATE_VIEWS_H_
