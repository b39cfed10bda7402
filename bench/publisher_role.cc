// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/publisher_role.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/bare_role.h"
#include "bench/clock.h"
#include "bench/echo.h"
#include "bench/figures.h"
#include "bench/join_cost.h"
#include "bench/process_facts.h"
#include "bench/tensors.h"
#include "common/grpc_status.h"
#include "common/layout.h"
#include "tensorhub/ros.h"
#include "tensorhub/v1/hub.grpc.pb.h"
#include "worker_agent/hub/channel.h"

namespace tensorhub::bench {
namespace {

// Publishing moves none of them.
constexpr size_t kBytesPerTensor = 1024;

// Appends what `call` took.
template <typename Call>
absl::Status Took(std::vector<double>& us, Call call) {
  const auto start = Clock::now();
  absl::Status status = call();
  us.push_back(MicrosecondsSince(start));
  return status;
}

absl::StatusOr<std::string> EncodedLayout(const std::vector<tensorhub::Tensor>& tensors) {
  std::vector<TensorSpec> specs;
  for (const tensorhub::Tensor& tensor : tensors) {
    specs.push_back({.name = tensor.name, .dtype = DType::kU8, .shape = tensor.shape, .slice = {}});
  }
  const absl::StatusOr<Layout> layout = Layout::Make(specs);
  if (!layout.ok()) return layout.status();
  return layout->Encode();
}

class Publisher {
 public:
  static absl::StatusOr<std::unique_ptr<Publisher>> Make(const Fields& args);
  absl::StatusOr<std::string> Run(const std::string& line);

 private:
  Publisher(std::string server, std::string name)
      : server_(std::move(server)), name_(std::move(name)) {}
  absl::Status Open(size_t tensors);
  absl::Status Connect();
  void MakeUnknown();
  absl::Status PutLayout(const std::string& encoded);
  absl::Status PublishNext() { return client_->Publish(++version_); }
  absl::StatusOr<std::string> First();
  absl::StatusOr<std::string> Cycles(int count);
  absl::StatusOr<std::string> Rate(const std::string& kind, double seconds);
  absl::StatusOr<std::string> JoinOthers(uint64_t bytes, int rounds) const;

  const std::string server_;
  const std::string name_;
  uint64_t layouts_ = 0;
  uint64_t version_ = 0;
  // What the client must not outlive is declared before it.
  std::unique_ptr<MemoryBlock> block_;
  std::vector<tensorhub::Tensor> tensors_;
  std::vector<std::string> names_;
  std::unique_ptr<tensorhub::Client> client_;
  // Made after the client, whose channel is the process' first (worker_agent/hub/channel.h).
  std::shared_ptr<grpc::Channel> channel_;
  Echo echo_;
};

absl::StatusOr<std::unique_ptr<Publisher>> Publisher::Make(const Fields& args) {
  const absl::StatusOr<std::string> server = args.Text("server");
  if (!server.ok()) return server.status();
  const absl::StatusOr<std::string> name = args.Text("name");
  if (!name.ok()) return name.status();
  const absl::StatusOr<double> tensors = args.Number("tensors");
  if (!tensors.ok()) return tensors.status();
  std::unique_ptr<Publisher> publisher(new Publisher(*server, *name));
  if (absl::Status status = publisher->Open(static_cast<size_t>(*tensors)); !status.ok()) {
    return status;
  }
  return publisher;
}

absl::Status Publisher::Open(size_t tensors) {
  absl::StatusOr<std::unique_ptr<MemoryBlock>> block = MemoryBlock::Make(tensors * kBytesPerTensor);
  if (!block.ok()) return block.status();
  block_ = *std::move(block);
  tensors_ = CutIntoTensors(block_->data(), block_->bytes(), tensors);
  for (const tensorhub::Tensor& tensor : tensors_) names_.push_back(tensor.name);
  if (absl::Status status = Connect(); !status.ok()) return status;
  if (absl::Status status = client_->Register(tensors_); !status.ok()) return status;
  channel_ = agent::MakeHubChannel(server_);
  return echo_.Call(channel_);
}

absl::Status Publisher::Connect() {
  tensorhub::ConnectOptions options;
  options.server = server_;
  options.model = name_;
  options.group = "trainer";
  options.location = "bench/bench/bench/bench/0";
  absl::StatusOr<std::unique_ptr<tensorhub::Client>> client = tensorhub::Client::Connect(options);
  if (!client.ok()) return client.status();
  client_ = *std::move(client);
  return absl::OkStatus();
}

// The hub keeps layouts, and a known one does not travel again.
void Publisher::MakeUnknown() {
  ++layouts_;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    tensors_[i].name = absl::StrCat(names_[i], ".", layouts_);
  }
}

absl::Status Publisher::PutLayout(const std::string& encoded) {
  v1::PutLayoutRequest request;
  request.set_encoded(encoded);
  v1::PutLayoutResponse response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  return FromGrpc(v1::Hub::NewStub(channel_)->PutLayout(&context, request, &response));
}

absl::StatusOr<std::string> Publisher::First() {
  MakeUnknown();
  const absl::StatusOr<std::string> encoded = EncodedLayout(tensors_);
  if (!encoded.ok()) return encoded.status();
  std::vector<double> put_us;
  if (absl::Status status = Took(put_us, [&] { return PutLayout(*encoded); }); !status.ok()) {
    return status;
  }
  MakeUnknown();
  client_.reset();  // leaves, so that its rank is free
  if (absl::Status status = Connect(); !status.ok()) return status;
  const uint64_t sent_before = BytesSentTo(server_);
  const auto start = Clock::now();
  if (absl::Status status = client_->Register(tensors_); !status.ok()) return status;
  const double register_us = MicrosecondsSince(start);
  if (absl::Status status = PublishNext(); !status.ok()) return status;
  const double first_us = MicrosecondsSince(start);
  const uint64_t sent = BytesSentTo(server_) - sent_before;
  if (absl::Status status = client_->Unpublish(); !status.ok()) return status;
  return absl::StrCat("first_us=", first_us, " register_us=", register_us, " put_us=", put_us[0],
                      " layout_bytes=", sent);
}

absl::StatusOr<std::string> Publisher::Cycles(int count) {
  std::vector<double> echo_us, publish_us, unpublish_us, message_bytes;
  for (int i = 0; i < count; ++i) {
    absl::Status status = Took(echo_us, [this] { return echo_.Call(channel_); });
    const uint64_t sent_before = BytesSentTo(server_);
    status.Update(Took(publish_us, [this] { return PublishNext(); }));
    message_bytes.push_back(static_cast<double>(BytesSentTo(server_) - sent_before));
    status.Update(Took(unpublish_us, [this] { return client_->Unpublish(); }));
    if (!status.ok()) return status;
  }
  return absl::StrCat("echo_us=", Median(echo_us), " publish_us=", Median(publish_us),
                      " unpublish_us=", Median(unpublish_us),
                      " message_bytes=", Median(message_bytes));
}

absl::StatusOr<std::string> Publisher::Rate(const std::string& kind, double seconds) {
  const bool publish = kind == "publish";
  const auto start = Clock::now();
  uint64_t count = 0;
  while (MicrosecondsSince(start) < seconds * 1e6) {
    absl::Status status = publish ? PublishNext() : echo_.Call(channel_);
    if (publish) status.Update(client_->Unpublish());
    if (!status.ok()) return status;
    ++count;
  }
  return absl::StrCat("rate=", static_cast<double>(count) * 1e6 / MicrosecondsSince(start));
}

absl::StatusOr<std::string> Publisher::JoinOthers(uint64_t bytes, int rounds) const {
  const absl::StatusOr<JoinCost> cost = MeasureJoin(server_, name_ + "-joined", bytes, rounds);
  if (!cost.ok()) return cost.status();
  return absl::StrCat("join_us=", cost->join_us, " hash_us=", cost->hash_us);
}

absl::StatusOr<std::string> Publisher::Run(const std::string& line) {
  const std::string verb = line.substr(0, line.find(' '));
  if (verb == "first") return First();
  const absl::StatusOr<Fields> fields = Fields::Parse(line.substr(verb.size()));
  if (!fields.ok()) return fields.status();
  if (verb == "cycles") {
    const absl::StatusOr<double> count = fields->Number("count");
    if (!count.ok()) return count.status();
    return Cycles(static_cast<int>(*count));
  }
  if (verb == "join") {
    const absl::StatusOr<double> mib = fields->Number("mib");
    if (!mib.ok()) return mib.status();
    const absl::StatusOr<double> rounds = fields->Number("rounds");
    if (!rounds.ok()) return rounds.status();
    return JoinOthers(static_cast<uint64_t>(*mib) << 20, static_cast<int>(*rounds));
  }
  if (verb != "rate") return absl::InvalidArgumentError(absl::StrCat("unknown command ", line));
  const absl::StatusOr<std::string> kind = fields->Text("kind");
  if (!kind.ok()) return kind.status();
  const absl::StatusOr<double> seconds = fields->Number("seconds");
  if (!seconds.ok()) return seconds.status();
  return Rate(*kind, *seconds);
}

absl::Status PlayPublisher(const Fields& args) {
  const absl::StatusOr<std::unique_ptr<Publisher>> publisher = Publisher::Make(args);
  if (!publisher.ok()) return publisher.status();
  AnswerOk("");
  AnswerCommands([&](const std::string& line) { return (*publisher)->Run(line); });
  return absl::OkStatus();
}

}  // namespace

int RunPublisher(const Fields& args) { return EndRole(PlayPublisher(args)); }

}  // namespace tensorhub::bench
