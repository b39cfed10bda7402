// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "python/native/client.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "python/native/call.h"

namespace tensorhub::python {
namespace {

namespace nb = nanobind;
using std::chrono::milliseconds;

// Name, address, bytes, dtype, shape, device (negative: the host's memory), and of a piece the
// whole tensor's shape and where in it the piece begins.
using Shape = std::vector<uint64_t>;
using Described = std::tuple<std::string, uintptr_t, size_t, std::string, Shape, int,
                             std::optional<Shape>, Shape>;

std::optional<void*> ToStream(std::optional<uintptr_t> handle) {
  if (!handle) return std::nullopt;
  return reinterpret_cast<void*>(*handle);
}

tensorhub::Selector ToSelector(int kind, uint64_t version) {
  return {static_cast<tensorhub::Selector::Kind>(kind), version};
}

tensorhub::Tensor ToTensor(Described described) {
  auto& [name, address, bytes, dtype, shape, device, whole, offset] = described;
  tensorhub::Tensor tensor;
  tensor.name = std::move(name);
  tensor.data = reinterpret_cast<void*>(address);
  tensor.bytes = bytes;
  tensor.dtype = std::move(dtype);
  tensor.shape = std::move(shape);
  if (device >= 0) {
    tensor.device = tensorhub::Device::kCuda;
    tensor.device_index = device;
  }
  if (whole) tensor.slice = {std::move(*whole), std::move(offset)};
  return tensor;
}

// The arguments have been checked; `digests` is the place in tensorhub::Digests.
std::unique_ptr<Call> Connect(const std::string& server, const std::string& model,
                              const std::string& group, uint32_t rank, uint32_t world_size,
                              const std::string& location, const std::string& data_address,
                              bool spot, int64_t connect_timeout_ms,
                              std::optional<uint64_t> host_copy_bytes, const nb::bytes& attachment,
                              int digests, bool gpu_through_host, const Security& security,
                              const std::string& http, const std::string& trace) {
  tensorhub::ConnectOptions options;
  options.server = server;
  options.model = model;
  options.group = group;
  options.rank = rank;
  options.world_size = world_size;
  options.location = location;
  options.data_address = data_address;
  options.spot = spot;
  options.connect_timeout = milliseconds(connect_timeout_ms);
  options.host_copy_bytes = host_copy_bytes.value_or(options.host_copy_bytes);
  options.attachment.assign(attachment.c_str(), attachment.size());
  options.digests = static_cast<tensorhub::Digests>(digests);
  options.gpu_through_host = gpu_through_host;
  std::tie(options.tls_ca, options.tls_cert, options.tls_key, options.token_file) = security;
  options.http = http;
  options.trace = trace;
  return Call::Start([options](Call::Shared& call) mutable {
    options.cancel = call.cancel();
    absl::StatusOr<std::unique_ptr<tensorhub::Client>> client = tensorhub::Client::Connect(options);
    if (!client.ok()) return Outcome{client.status()};
    return Outcome{absl::OkStatus(), std::shared_ptr<tensorhub::Client>(*std::move(client))};
  });
}

nb::tuple Register(Client& self, std::vector<Described> described) {
  std::vector<tensorhub::Tensor> tensors;
  tensors.reserve(described.size());
  for (Described& each : described) tensors.push_back(ToTensor(std::move(each)));
  absl::Status status;
  {
    const nb::gil_scoped_release released;
    status = self.client()->Register(tensors);
  }
  return ToPython(status);
}

struct ToPublish {
  ToPublish(uint64_t number, bool wait_for_group, bool supersede, int64_t timeout_ms,
            std::optional<uintptr_t> stream, uintptr_t event)
      : version(number) {
    options.wait_for_group = wait_for_group;
    options.supersede = supersede;
    options.timeout = milliseconds(timeout_ms);
    options.stream = ToStream(stream);
    options.event = reinterpret_cast<void*>(event);
  }
  uint64_t version;
  tensorhub::PublishOptions options;
};

std::unique_ptr<Call> Publish(Client& self, ToPublish what) {
  return Call::Start([client = self.client(), what = std::move(what)](Call::Shared& call) mutable {
    what.options.cancel = call.cancel();
    return Outcome{client->Publish(what.version, what.options)};
  });
}

// In the caller's thread: handing it to another one and back costs two wake-ups, a third of what
// a publish takes. While it waits, `look` is called, and ends it by raising.
nb::tuple PublishHere(Client& self, ToPublish what, const nb::callable& look) {
  const std::shared_ptr<tensorhub::Client> client =
      self.client();  // a signal handler may drop `self`
  std::stop_source stop;
  std::optional<nb::python_error> raised;
  what.options.cancel = stop.get_token();
  what.options.while_waiting = [&] {
    const nb::gil_scoped_acquire acquired;
    if (raised) return;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      look();
    } catch (const nb::python_error& error) {
      raised.emplace(error);
      stop.request_stop();
    }
  };
  absl::Status status;
  {
    const nb::gil_scoped_release released;
    status = client->Publish(what.version, what.options);
  }
  if (raised) throw nb::python_error(*raised);
  return ToPython(status);
}

std::unique_ptr<Call> Unpublish(Client& self, int64_t drain_ms, bool force) {
  return Call::Start([client = self.client(), drain_ms, force](Call::Shared&) {
    return Outcome{client->Unpublish({milliseconds(drain_ms), force})};
  });
}

std::unique_ptr<Call> Fetch(Client& self, int kind, uint64_t version, int64_t timeout_ms,
                            std::optional<uintptr_t> stream, bool waits_out_outages, bool partial,
                            const std::string& traceparent) {
  tensorhub::FetchOptions options;
  options.timeout = milliseconds(timeout_ms);
  options.waits_out_outages = waits_out_outages;
  options.partial = partial;
  options.traceparent = traceparent;
  options.stream = ToStream(stream);
  return Call::Start([client = self.client(), selector = ToSelector(kind, version),
                      options](Call::Shared& call) mutable {
    options.cancel = call.cancel();
    options.progress = [&call](const tensorhub::FetchProgress& progress) { call.Report(progress); };
    absl::StatusOr<tensorhub::FetchResult> result = client->Fetch(selector, options);
    if (!result.ok()) return Outcome{result.status()};
    return Outcome{absl::OkStatus(), *std::move(result)};
  });
}

std::unique_ptr<Call> WaitForVersion(Client& self, int kind, uint64_t version, int64_t timeout_ms,
                                     uint64_t max_lag) {
  return Call::Start([client = self.client(), selector = ToSelector(kind, version), timeout_ms,
                      max_lag](Call::Shared& call) {
    tensorhub::WaitOptions options;
    options.max_lag = max_lag;
    options.cancel = call.cancel();
    const auto result = client->WaitForVersion(selector, milliseconds(timeout_ms), options);
    if (!result.ok()) return Outcome{result.status()};
    return Outcome{absl::OkStatus(), result->version};
  });
}

std::unique_ptr<Call> List(Client& self) {
  return Call::Start([client = self.client()](Call::Shared&) {
    absl::StatusOr<std::vector<tensorhub::VersionInfo>> versions = client->List();
    if (!versions.ok()) return Outcome{versions.status()};
    return Outcome{absl::OkStatus(), *std::move(versions)};
  });
}

std::unique_ptr<Call> Leave(Client& self, int64_t drain_ms) {
  return Call::Start([client = self.client(), drain_ms](Call::Shared&) {
    return Outcome{client->Leave({milliseconds(drain_ms)})};
  });
}

std::unique_ptr<Call> Allocate(Client& self, size_t bytes) {
  return Call::Start([client = self.client(), bytes](Call::Shared&) {
    const absl::StatusOr<void*> memory = client->Allocate(bytes);
    if (!memory.ok()) return Outcome{memory.status()};
    return Outcome{absl::OkStatus(), static_cast<uint64_t>(reinterpret_cast<uintptr_t>(*memory))};
  });
}

std::optional<uint64_t> Held(Client& self) {
  const nb::gil_scoped_release released;
  return self.client()->Held();
}

nb::tuple Health(Client& self) {
  absl::Status status;
  {
    const nb::gil_scoped_release released;
    status = self.client()->Health();
  }
  return ToPython(status);
}

}  // namespace

Client::~Client() {
  const nb::gil_scoped_release released;
  // Threads that nobody waits for any more have the client as well, and end by this.
  static_cast<void>(client_->Leave({std::chrono::seconds(5)}));
  client_.reset();
}

void BindClient(nb::module_& module) {
  module.def("connect", &Connect, nb::arg("server"), nb::arg("model"), nb::arg("group"),
             nb::arg("rank"), nb::arg("world_size"), nb::arg("location"), nb::arg("data_address"),
             nb::arg("spot"), nb::arg("connect_timeout_ms"), nb::arg("host_copy_bytes").none(),
             nb::arg("attachment"), nb::arg("digests"), nb::arg("gpu_through_host"),
             nb::arg("security"), nb::arg("http"), nb::arg("trace"));
  nb::class_<ToPublish>(module, "ToPublish")
      .def(nb::init<uint64_t, bool, bool, int64_t, std::optional<uintptr_t>, uintptr_t>(),
           nb::arg("version"), nb::arg("wait_for_group"), nb::arg("supersede"),
           nb::arg("timeout_ms"), nb::arg("stream").none(), nb::arg("event"));
  nb::class_<Client>(module, "Client")
      .def("register", &Register, nb::arg("tensors"))
      .def("publish", &Publish, nb::arg("what"))
      .def("publish_here", &PublishHere, nb::arg("what"), nb::arg("look"))
      .def("unpublish", &Unpublish, nb::arg("drain_ms"), nb::arg("force"))
      .def("fetch", &Fetch, nb::arg("kind"), nb::arg("version"), nb::arg("timeout_ms"),
           nb::arg("stream").none(), nb::arg("waits_out_outages"), nb::arg("partial"),
           nb::arg("traceparent") = "")
      .def("wait", &WaitForVersion, nb::arg("kind"), nb::arg("version"), nb::arg("timeout_ms"),
           nb::arg("max_lag"))
      .def("list", &List)
      .def("leave", &Leave, nb::arg("drain_ms"))
      .def("allocate", &Allocate, nb::arg("bytes"))
      .def("held", &Held)
      .def("health", &Health);
}

}  // namespace tensorhub::python
