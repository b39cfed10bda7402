// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhub::Client as the Python layer (python/tensorhub/_client.py) calls it, which checks
// arguments, waits for the calls and makes exceptions of statuses.
//
// Thread contract: as tensorhub::Client; the interpreter's lock is given up in whatever may take
// time.

#ifndef TENSORHUB_PYTHON_NATIVE_CLIENT_H_
#define TENSORHUB_PYTHON_NATIVE_CLIENT_H_

#include <nanobind/nanobind.h>
#include <tensorhub/ros.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>

namespace tensorhub::python {

// The files of TLS: authorities, certificate, key; and the token's. Empty: as the environment says.
using Security = std::tuple<std::string, std::string, std::string, std::string>;

class Client {
 public:
  explicit Client(std::shared_ptr<tensorhub::Client> client) : client_(std::move(client)) {}
  // Leaves, so that the registered memory may be freed behind it.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const std::shared_ptr<tensorhub::Client>& client() const { return client_; }

 private:
  std::shared_ptr<tensorhub::Client> client_;
};

void BindClient(nanobind::module_& module);

}  // namespace tensorhub::python

#endif  // TENSORHUB_PYTHON_NATIVE_CLIENT_H_
