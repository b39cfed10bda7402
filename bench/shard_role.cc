// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/shard_role.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/bare_role.h"
#include "bench/lab_runs.h"
#include "bench/model_shardings.h"
#include "bench/tensors.h"
#include "tensorhub/ros.h"

namespace tensorhub::bench {
namespace {

using Element = uint16_t;

struct ShardArgs {
  std::string server, model, group, location, cut, shape;
  uint32_t rank = 0, world = 1;
  uint64_t layers = 1;
  bool allocate = false;
  static absl::StatusOr<ShardArgs> Parse(const Fields& fields);
};

absl::StatusOr<ShardArgs> ShardArgs::Parse(const Fields& fields) {
  ShardArgs args;
  const std::pair<const char*, std::string*> texts[] = {
      {"server", &args.server},     {"model", &args.model}, {"group", &args.group},
      {"location", &args.location}, {"cut", &args.cut},     {"shape", &args.shape}};
  for (const auto& [key, target] : texts) {
    const absl::StatusOr<std::string> value = fields.Text(key);
    if (!value.ok()) return value.status();
    *target = *value;
  }
  double rank = 0, world = 0, layers = 0, allocate = 0;
  const std::pair<const char*, double*> numbers[] = {
      {"rank", &rank}, {"world", &world}, {"layers", &layers}, {"allocate", &allocate}};
  for (const auto& [key, target] : numbers) {
    const absl::StatusOr<double> value = fields.Number(key);
    if (!value.ok()) return value.status();
    *target = *value;
  }
  args.rank = static_cast<uint32_t>(rank);
  args.world = static_cast<uint32_t>(world);
  args.layers = static_cast<uint64_t>(layers);
  args.allocate = allocate != 0;
  return args;
}

// Fills the elements from `first` on, in the whole tensor.
void FillRun(Element* to, uint64_t count, uint64_t first, uint64_t seed) {
  for (uint64_t i = 0; i < count; ++i) {
    const auto mixed = static_cast<uint32_t>(first + i) * 2654435761u + static_cast<uint32_t>(seed);
    to[i] = static_cast<Element>(mixed >> 16);
  }
}

bool IsRun(const Element* held, uint64_t count, uint64_t first, uint64_t seed) {
  std::vector<Element> wanted(count);
  FillRun(wanted.data(), count, first, seed);
  return std::memcmp(held, wanted.data(), count * sizeof(Element)) == 0;
}

class Shard {
 public:
  explicit Shard(const ShardArgs& args) : args_(args) {}
  absl::Status Open();
  absl::StatusOr<std::string> Run(const std::string& line);
  uint64_t bytes() const { return bytes_; }

 private:
  struct Held {
    TensorSpec spec;
    Element* data = nullptr;
  };
  using OnRun = std::function<bool(Element* data, uint64_t count, uint64_t first)>;

  absl::Status Connect();
  absl::Status Place(const std::vector<TensorSpec>& specs);
  static bool ForEachRun(const Held& held, const OnRun& use);
  uint64_t SeedOf(const Held& held, uint64_t version) const;
  absl::StatusOr<std::string> Publish(uint64_t version);
  absl::StatusOr<std::string> Fetch(uint64_t version);
  absl::StatusOr<std::string> Verify(uint64_t version) const;

  const ShardArgs args_;
  std::unique_ptr<MemoryBlock> block_;  // outlives the client
  std::unique_ptr<tensorhub::Client> client_;
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
  std::vector<Held> held_;
};

absl::Status Shard::Open() {
  const absl::StatusOr<Model> model = ModelOfShape(args_.shape, args_.layers);
  const absl::StatusOr<Cut> cut = ParseCut(args_.cut);
  if (!model.ok()) return model.status();
  if (!cut.ok()) return cut.status();
  const Layout layout = LayoutOfRank(*model, *cut, args_.world, args_.rank);
  if (absl::Status status = Connect(); !status.ok()) return status;
  bytes_ = layout.total_bytes();
  std::vector<TensorSpec> specs;
  for (const Layout::Entry& entry : layout.entries()) specs.push_back(entry.spec());
  return Place(specs);
}

absl::Status Shard::Connect() {
  tensorhub::ConnectOptions options;
  options.server = args_.server;
  options.model = args_.model;
  options.group = args_.group;
  options.rank = args_.rank;
  options.world_size = args_.world;
  options.location = args_.location;
  absl::StatusOr<std::unique_ptr<tensorhub::Client>> client = tensorhub::Client::Connect(options);
  if (!client.ok()) return client.status();
  client_ = *std::move(client);
  return absl::OkStatus();
}

absl::Status Shard::Place(const std::vector<TensorSpec>& specs) {
  if (args_.allocate) {
    const absl::StatusOr<void*> memory = client_->Allocate(bytes_);
    if (!memory.ok()) return memory.status();
    data_ = static_cast<std::byte*>(*memory);
  } else {
    absl::StatusOr<std::unique_ptr<MemoryBlock>> block = MemoryBlock::Make(bytes_);
    if (!block.ok()) return block.status();
    block_ = *std::move(block);
    data_ = block_->data();
  }
  std::vector<tensorhub::Tensor> tensors;
  std::byte* at = data_;
  for (const TensorSpec& spec : specs) {
    tensorhub::Tensor tensor;
    tensor.name = spec.name;
    tensor.dtype = "BF16";
    tensor.shape = spec.shape;
    tensor.slice = tensorhub::Slice{spec.slice->global_shape, spec.slice->offset};
    tensor.data = at;
    tensor.bytes = sizeof(Element);
    for (const uint64_t extent : spec.shape) tensor.bytes *= extent;
    held_.push_back({spec, reinterpret_cast<Element*>(at)});
    at += tensor.bytes;
    tensors.push_back(std::move(tensor));
  }
  return client_->Register(tensors);
}

// Visits runs of one or two dimensions. False as soon as `use` is.
bool Shard::ForEachRun(const Held& held, const OnRun& use) {
  const std::vector<uint64_t>& shape = held.spec.shape;
  const SliceSpec& slice = *held.spec.slice;
  const bool flat = shape.size() == 1;
  const uint64_t rows = flat ? 1 : shape[0];
  const uint64_t columns = shape.back();
  for (uint64_t row = 0; row < rows; ++row) {
    const uint64_t first_row = flat ? 0 : slice.offset[0] + row;
    const uint64_t first = first_row * slice.global_shape.back() + slice.offset.back();
    if (!use(held.data + row * columns, columns, first)) return false;
  }
  return true;
}

uint64_t Shard::SeedOf(const Held& held, uint64_t version) const {
  return version * 40503 + FingerprintOf(held.spec.name).lo;
}

absl::StatusOr<std::string> Shard::Publish(uint64_t version) {
  for (const Held& held : held_) {
    const uint64_t seed = SeedOf(held, version);
    ForEachRun(held, [seed](Element* data, uint64_t count, uint64_t first) {
      FillRun(data, count, first, seed);
      return true;
    });
  }
  const absl::Status status = client_->Publish(version);
  if (!status.ok()) return status;
  return std::string();
}

absl::StatusOr<std::string> Shard::Fetch(uint64_t version) {
  const double start = SteadySeconds();
  const absl::StatusOr<tensorhub::FetchResult> result = client_->Fetch(tensorhub::Version(version));
  const double end = SteadySeconds();
  if (!result.ok()) return result.status();
  std::string way = result->way;
  std::string sources = result->sources;
  for (std::string* text : {&way, &sources}) std::replace(text->begin(), text->end(), ' ', '_');
  return absl::StrFormat("seconds=%.6f end=%.6f read=%d way=%s sources=%s", end - start, end,
                         result->bytes_read, way, sources);
}

absl::StatusOr<std::string> Shard::Verify(uint64_t version) const {
  for (const Held& held : held_) {
    const uint64_t seed = SeedOf(held, version);
    const bool same = ForEachRun(held, [seed](Element* data, uint64_t count, uint64_t first) {
      return IsRun(data, count, first, seed);
    });
    if (same) continue;
    return absl::DataLossError(absl::StrCat(args_.group, "/", args_.rank, ": ", held.spec.name,
                                            " does not hold version ", version));
  }
  return std::string();
}

absl::StatusOr<std::string> Shard::Run(const std::string& line) {
  const std::string verb = line.substr(0, line.find(' '));
  if (verb == "unpublish") {
    const absl::Status status = client_->Unpublish();
    return status.ok() ? absl::StatusOr<std::string>("") : status;
  }
  if (verb == "scrub") {
    std::memset(data_, 0x5a, bytes_);
    return std::string();
  }
  const absl::StatusOr<Fields> fields = Fields::Parse(line.substr(verb.size()));
  if (!fields.ok()) return fields.status();
  const absl::StatusOr<double> version = fields->Number("version");
  if (!version.ok()) return version.status();
  if (verb == "publish") return Publish(static_cast<uint64_t>(*version));
  if (verb == "fetch") return Fetch(static_cast<uint64_t>(*version));
  if (verb == "verify") return Verify(static_cast<uint64_t>(*version));
  return absl::InvalidArgumentError(absl::StrCat("unknown command ", line));
}

absl::Status PlayShard(const Fields& fields) {
  const absl::StatusOr<ShardArgs> args = ShardArgs::Parse(fields);
  if (!args.ok()) return args.status();
  Shard shard(*args);
  if (absl::Status status = shard.Open(); !status.ok()) return status;
  AnswerOk(absl::StrCat("bytes=", shard.bytes()));
  AnswerCommands([&](const std::string& line) { return shard.Run(line); });
  return absl::OkStatus();
}

}  // namespace

int RunShard(const Fields& args) { return EndRole(PlayShard(args)); }

}  // namespace tensorhub::bench
