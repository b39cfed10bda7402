// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What tensorhub-server can be told.

#ifndef TENSORHUB_SERVER_FLAGS_H_
#define TENSORHUB_SERVER_FLAGS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "common/cli/flags.h"
#include "common/tls/certificates.h"
#include "server/rpc/bounds.h"
#include "server/store/etcd/place.h"

namespace tensorhub {

struct Flags {
  std::string listen = "0.0.0.0:7070";
  std::string data_dir;
  std::string store = "auto";
  std::optional<store::EtcdPlace> etcd;  // what `store` says, if it does
  tls::Files store_tls;
  std::string hub_name;
  std::string advertise;
  std::chrono::milliseconds leader_lease{3000};
  std::chrono::milliseconds lease{5000};
  uint32_t readers_per_source = 1;
  uint32_t sources_per_reader = 1;
  uint32_t keep_latest = 1;
  bool reflection = true;
  bool insecure_loopback = false;
  bool child = false;  // of a program that runs this one
  tls::Files tls;
  std::string client_auth = "auto";
  std::string access;
  bool guard_reads = true;
  rpc::CallerLimits limits;
  cli::Bytes document_bytes_per_caller{limits.document_bytes_per_min};
  std::string http;
  std::string record;
  cli::Bytes record_max{uint64_t{1} << 30};
};

void Declare(cli::CommandLine& line, Flags& flags);
// What is wrong with the flags beyond their types, or nothing. Fills in what follows from others.
cli::ErrorText Check(const cli::CommandLine& line, Flags& flags);
bool OnLoopback(const Flags& flags);

}  // namespace tensorhub

#endif  // TENSORHUB_SERVER_FLAGS_H_
