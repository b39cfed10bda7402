// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a stranger attached to a version, which `tensorhubctl fetch` makes files of: names are plain
// and distinct, sizes sum without wrapping round.

#include <set>

#include "common/check.h"
#include "tests/fuzz/fuzz.h"
#include "tools/safetensors/attachment.h"
#include "tools/safetensors/names.h"

namespace tensorhub::fuzz {
namespace {

using safetensors::Attachment;

safetensors::Header HeaderOf(const std::string& tensor, uint64_t bytes) {
  return safetensors::MakeHeader(
             {{.name = tensor, .dtype = DType::kU8, .shape = {bytes}, .slice = {}}}, {})
      .value();
}

void CheckName(std::set<std::string>& names, const std::string& name) {
  TH_CHECK(!safetensors::FilePathProblem(name));
  TH_CHECK(name.front() != '/' && name.back() != '/' && name.find("..") != 0);
  TH_CHECK(name.find("/.") == std::string::npos && name.find("//") == std::string::npos);
  TH_CHECK(names.insert(name).second);
}

void CheckFiles(const Attachment& attachment) {
  std::set<std::string> names;
  std::vector<TensorSpec> specs;
  uint64_t bytes = 0;
  for (const safetensors::SplitFile& file : attachment.files) {
    CheckName(names, file.name);
    TH_CHECK(bytes + file.header.data_bytes >= bytes);
    bytes += file.header.data_bytes;
    for (const safetensors::TensorEntry& tensor : file.header.tensors) {
      specs.push_back(tensor.spec);
    }
  }
  for (const safetensors::ExtraFile& extra : attachment.extras) CheckName(names, extra.name);
  TH_CHECK(bytes == attachment.data_bytes());
  TH_CHECK(specs.size() == attachment.tensor_count());
  const absl::StatusOr<Layout> layout = Layout::Make(specs);
  if (layout.ok()) TH_CHECK(safetensors::CheckFits(attachment, *layout).ok());
}

}  // namespace

std::vector<std::string> Seeds() {
  Attachment attachment;
  attachment.files.push_back({"model-1.safetensors", HeaderOf("a", 3)});
  attachment.files.push_back({"model-2.safetensors", HeaderOf("b", 0)});
  attachment.extras.push_back({"model.safetensors.index.json", "{}"});
  Attachment pipeline;
  pipeline.files.push_back({"vae/model.safetensors", HeaderOf("a", 3)});
  pipeline.files.push_back({"unet/model.safetensors", HeaderOf("a", 3)});
  pipeline.extras.push_back({"vae/config.json", "{}"});
  // Files that each could be one, and together are more than 2^64 bytes.
  Attachment vast;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) {
    vast.files.push_back({name, HeaderOf(name, (uint64_t{1} << 61) - 1)});
  }
  Attachment hostile = attachment;
  hostile.extras.push_back({"../escape", "x"});
  return {Encode(attachment).value(), Encode(Attachment()).value(), Encode(vast).value(),
          Encode(hostile).value()};
}

void Run(std::string_view input) {
  const absl::StatusOr<Attachment> attachment = safetensors::Decode(input);
  if (!attachment.ok()) {
    TH_CHECK(absl::IsInvalidArgument(attachment.status()));
    return;
  }
  TH_CHECK(Encode(*attachment).value() == input);
  CheckFiles(*attachment);
  std::vector<Attachment> ranks = {*attachment, *attachment};
  MakeNamesDistinct(ranks);
  std::set<std::string> names;
  for (const Attachment& rank : ranks) {
    for (const safetensors::SplitFile& file : rank.files) CheckName(names, file.name);
  }
}

}  // namespace tensorhub::fuzz
