// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The hub's rows as bytes. R9: what is read is checked like any other input.

#ifndef TENSORHUB_SERVER_STORE_ETCD_ROW_VALUES_H_
#define TENSORHUB_SERVER_STORE_ETCD_ROW_VALUES_H_

#include <optional>
#include <string>

#include "server/core/durable.h"

namespace tensorhub::store {

std::string ToValue(const hub::ModelRow& row);
std::string ToValue(const hub::GroupRow& row);
std::string ToValue(const hub::RetentionRow& row);
std::string ToValue(const hub::WorkerRow& row);
std::string ToValue(const hub::AdoptedRow& row);

// None: no server has written that.
std::optional<hub::ModelRow> ModelFrom(const std::string& value);
std::optional<hub::GroupRow> GroupFrom(const std::string& value);
std::optional<hub::RetentionRow> RetentionFrom(const std::string& value);
std::optional<hub::WorkerRow> WorkerFrom(const std::string& value);
std::optional<hub::AdoptedRow> AdoptedFrom(const std::string& value);

}  // namespace tensorhub::store

#endif  // TENSORHUB_SERVER_STORE_ETCD_ROW_VALUES_H_
