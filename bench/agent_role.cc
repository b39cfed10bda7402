// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/agent_role.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/bare_role.h"
#include "bench/clock.h"
#include "bench/content.h"
#include "bench/device_stall.h"
#include "bench/echo.h"
#include "bench/figures.h"
#include "bench/process_facts.h"
#include "bench/tensors.h"
#include "tensorhub/ros.h"
#include "worker_agent/hub/channel.h"

namespace tensorhub::bench {
namespace {

constexpr size_t kEchoes = 11;

// On a clock that all processes of the machine share.
double Seconds(Clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

// Without the blanks that would end a field; never empty.
std::string Word(std::string text) {
  std::replace(text.begin(), text.end(), ' ', '_');
  return text.empty() ? "-" : text;
}

struct AgentArgs {
  std::string server;
  std::string group;
  size_t bytes = 0;
  size_t tensors = 0;
  bool is_source = false;
  bool allocate = false;
  uint64_t mapped = 0;
  int device = -1;  // whose memory the tensors are in; -1: the host's
  std::string location = "bench/bench/bench/bench/0";
  std::string timeline;
  static absl::StatusOr<AgentArgs> Parse(const Fields& fields);
};

absl::StatusOr<AgentArgs> AgentArgs::Parse(const Fields& fields) {
  AgentArgs args;
  const absl::StatusOr<std::string> server = fields.Text("server");
  if (!server.ok()) return server.status();
  const absl::StatusOr<std::string> group = fields.Text("group");
  if (!group.ok()) return group.status();
  args.server = *server;
  args.group = *group;
  double bytes = 0, tensors = 0, source = 0, allocate = 0, mapped = 0;
  const std::pair<const char*, double*> numbers[] = {{"bytes", &bytes},
                                                     {"tensors", &tensors},
                                                     {"source", &source},
                                                     {"allocate", &allocate},
                                                     {"mapped", &mapped}};
  for (const auto& [key, target] : numbers) {
    const absl::StatusOr<double> value = fields.Number(key);
    if (!value.ok()) return value.status();
    *target = *value;
  }
  args.bytes = static_cast<size_t>(bytes);
  args.tensors = static_cast<size_t>(tensors);
  args.is_source = source != 0;
  args.allocate = allocate != 0;
  args.mapped = static_cast<uint64_t>(mapped);
  if (const auto device = fields.Number("device"); device.ok()) {
    args.device = static_cast<int>(*device);
  }
  if (const auto location = fields.Text("location"); location.ok()) args.location = *location;
  if (const auto timeline = fields.Text("timeline"); timeline.ok()) args.timeline = *timeline;
  return args;
}

class Agent {
 public:
  static absl::StatusOr<std::unique_ptr<Agent>> Make(const AgentArgs& args);
  absl::StatusOr<std::string> Run(const std::string& line);

 private:
  explicit Agent(const AgentArgs& args) : args_(args) {}
  absl::Status Open();
  absl::Status MakeContent();
  absl::Status Connect();
  absl::StatusOr<std::vector<tensorhub::Tensor>> MakeTensors();
  absl::StatusOr<std::string> Publish(uint64_t version);
  absl::StatusOr<std::string> Stall(uint64_t version);
  absl::StatusOr<std::string> Unpublish();
  absl::StatusOr<std::string> Fetch(uint64_t version);
  absl::StatusOr<std::string> RoundTrip();
  absl::Status Stamp(uint64_t version);
  std::string Stat() const;
  void Note(uint64_t bytes, const std::string& source);

  const AgentArgs args_;
  // What the client must not outlive is declared before it.
  std::unique_ptr<MemoryBlock> block_;
  std::unique_ptr<Content> content_;
  std::unique_ptr<tensorhub::Client> client_;
  std::ofstream timeline_;
  uint64_t resident_before_ = 0;
};

absl::StatusOr<std::unique_ptr<Agent>> Agent::Make(const AgentArgs& args) {
  std::unique_ptr<Agent> agent(new Agent(args));
  if (absl::Status status = agent->Open(); !status.ok()) return status;
  return agent;
}

absl::Status Agent::Open() {
  absl::Status status = MakeContent();
  resident_before_ = ResidentBytes();
  if (status.ok()) status = Connect();
  if (!status.ok()) return status;
  const absl::StatusOr<std::vector<tensorhub::Tensor>> tensors = MakeTensors();
  if (!tensors.ok()) return tensors.status();
  if (!args_.timeline.empty()) timeline_.open(args_.timeline);
  if (args_.is_source) status = content_->Fill(kBareSeed);
  return status.ok() ? client_->Register(*tensors) : status;
}

absl::Status Agent::MakeContent() {
  if (args_.allocate) return absl::OkStatus();  // the client does
  if (args_.device >= 0) {
    const absl::StatusOr<agent::CudaDriver*> driver = agent::OpenCudaDriver();
    if (!driver.ok()) return driver.status();
    absl::StatusOr<std::unique_ptr<Content>> content =
        ContentOnDevice(*driver, args_.device, args_.bytes);
    if (!content.ok()) return content.status();
    content_ = *std::move(content);
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<MemoryBlock>> block = MemoryBlock::Make(args_.bytes);
  if (!block.ok()) return block.status();
  block_ = *std::move(block);
  content_ = ContentInHostMemory(block_->data(), args_.bytes);
  return absl::OkStatus();
}

absl::Status Agent::Connect() {
  tensorhub::ConnectOptions options;
  options.server = args_.server;
  options.model = args_.group.substr(0, args_.group.rfind('-'));
  options.group = args_.group;
  options.location = args_.location;
  absl::StatusOr<std::unique_ptr<tensorhub::Client>> client = tensorhub::Client::Connect(options);
  if (!client.ok()) return client.status();
  client_ = *std::move(client);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<tensorhub::Tensor>> Agent::MakeTensors() {
  if (args_.allocate) {
    const absl::StatusOr<void*> memory = client_->Allocate(args_.bytes);
    if (!memory.ok()) return memory.status();
    content_ = ContentInHostMemory(static_cast<std::byte*>(*memory), args_.bytes);
    if (absl::Status status = content_->Scrub(); !status.ok()) return status;
  }
  std::vector<tensorhub::Tensor> tensors =
      CutIntoTensors(content_->data(), args_.bytes, args_.tensors);
  if (args_.device < 0) return tensors;
  for (tensorhub::Tensor& tensor : tensors) {
    tensor.device = tensorhub::Device::kCuda;
    tensor.device_index = args_.device;
  }
  return tensors;
}

// Readers leave out what did not change since the version before, so everything does.
absl::Status Agent::Stamp(uint64_t version) {
  return client_->Held() ? absl::OkStatus() : content_->Stamp(version);  // published again
}

absl::StatusOr<std::string> Agent::Publish(uint64_t version) {
  if (absl::Status status = Stamp(version); !status.ok()) return status;
  const uint64_t sent_before = BytesSentTo(args_.server);
  const auto start = Clock::now();
  if (absl::Status status = client_->Publish(version); !status.ok()) return status;
  const double seconds = SecondsSince(start);
  return absl::StrCat("ms=", seconds * 1e3, " message=", BytesSentTo(args_.server) - sent_before);
}

absl::StatusOr<std::string> Agent::Stall(uint64_t version) {
  const absl::StatusOr<agent::CudaDriver*> driver = agent::OpenCudaDriver();
  if (!driver.ok()) return driver.status();
  const absl::StatusOr<double> seconds = MeasureStall(*driver, args_.device, [&](void* stream) {
    tensorhub::PublishOptions options;
    options.stream = stream;
    return client_->Publish(version, options);
  });
  if (!seconds.ok()) return seconds.status();
  return absl::StrCat("ms=", *seconds * 1e3);
}

absl::StatusOr<std::string> Agent::Unpublish() {
  const auto start = Clock::now();
  // The first copy in host memory has its pages made and locked, which takes as long as it takes.
  const absl::Status status = client_->Unpublish({.drain_timeout = std::chrono::seconds(100)});
  if (!status.ok()) return status;
  return absl::StrCat("ms=", SecondsSince(start) * 1e3);
}

absl::StatusOr<std::string> Agent::RoundTrip() {
  const auto channel = agent::MakeHubChannel(args_.server, agent::Connection::kOwn);
  Echo echo;
  if (absl::Status status = echo.Call(channel); !status.ok()) return status;  // connects
  std::vector<double> ms;
  while (ms.size() < kEchoes) {
    const auto start = Clock::now();
    if (absl::Status status = echo.Call(channel); !status.ok()) return status;
    ms.push_back(SecondsSince(start) * 1e3);
  }
  return absl::StrCat("ms=", Median(ms));
}

void Agent::Note(uint64_t bytes, const std::string& source) {
  if (!timeline_.is_open()) return;
  timeline_ << absl::StrFormat("%.6f %d %s", Seconds(Clock::now()), bytes, Word(source))
            << std::endl;
}

absl::StatusOr<std::string> Agent::Fetch(uint64_t version) {
  tensorhub::FetchOptions options;
  options.progress = [this](const tensorhub::FetchProgress& progress) {
    Note(progress.bytes_done, progress.source);
  };
  const auto start = Clock::now();
  const absl::StatusOr<tensorhub::FetchResult> result =
      client_->Fetch(tensorhub::Version(version), options);
  const double seconds = SecondsSince(start);
  const double end = Seconds(Clock::now());
  if (!result.ok()) return result.status();
  if (result->bytes_read != args_.bytes) {
    return absl::InternalError(
        absl::StrCat("fetch read ", result->bytes_read, " of ", args_.bytes, " bytes"));
  }
  Note(args_.bytes, "");
  return absl::StrFormat("seconds=%.6f end=%.6f way=%s sources=%s", seconds, end, Word(result->way),
                         Word(result->sources));
}

std::string Agent::Stat() const {
  timespec cpu = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  const uint64_t tensors = (args_.allocate ? args_.bytes : 0) + args_.mapped;
  const auto growth = static_cast<int64_t>(ResidentBytes()) -
                      static_cast<int64_t>(resident_before_) - static_cast<int64_t>(tensors);
  return absl::StrCat("growth=", growth, " cpu=",
                      static_cast<double>(cpu.tv_sec) + static_cast<double>(cpu.tv_nsec) * 1e-9);
}

absl::StatusOr<std::string> Agent::Run(const std::string& line) {
  const std::string verb = line.substr(0, line.find(' '));
  if (verb == "unpublish") return Unpublish();
  if (verb == "stat") return Stat();
  if (verb == "echo") return RoundTrip();
  if (verb == "digest") {
    const absl::StatusOr<std::string> digest = content_->Digest();
    return digest.ok() ? absl::StrCat("digest=", *digest) : digest;
  }
  if (verb == "scrub") {
    const absl::Status status = content_->Scrub();
    return status.ok() ? absl::StatusOr<std::string>("") : status;
  }
  const absl::StatusOr<Fields> fields = Fields::Parse(line.substr(verb.size()));
  if (!fields.ok()) return fields.status();
  const absl::StatusOr<double> version = fields->Number("version");
  if (!version.ok()) return version.status();
  if (verb == "publish") return Publish(static_cast<uint64_t>(*version));
  if (verb == "stall") return Stall(static_cast<uint64_t>(*version));
  if (verb == "fetch") return Fetch(static_cast<uint64_t>(*version));
  return absl::InvalidArgumentError(absl::StrCat("unknown command ", line));
}

absl::Status PlayAgent(const Fields& fields) {
  const absl::StatusOr<AgentArgs> args = AgentArgs::Parse(fields);
  if (!args.ok()) return args.status();
  const absl::StatusOr<std::unique_ptr<Agent>> agent = Agent::Make(*args);
  if (!agent.ok()) return agent.status();
  AnswerOk("");
  AnswerCommands([&](const std::string& line) { return (*agent)->Run(line); });
  return absl::OkStatus();
}

}  // namespace

int RunAgent(const Fields& args) { return EndRole(PlayAgent(args)); }

}  // namespace tensorhub::bench
