// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/load.h"

#include <atomic>
#include <utility>

namespace tensorhub::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Duration = std::chrono::duration<double>;

constexpr int kPulseSteps = 20;

// One of the threads, and what it brought.
class Caller {
 public:
  Caller(const LightWorkers& workers, const LoadPlan& plan, const Turn& turn, uint32_t index,
         Clock::time_point start, std::atomic<bool>& failed)
      : workers_(workers),
        plan_(plan),
        turn_(turn),
        index_(index),
        start_(start),
        failed_(failed) {}

  void Run();
  const absl::Status& status() const { return status_; }
  // Adds to the result of all.
  void AddTo(LoadResult& result) const { result.Add({0, turns_, us_}); }

 private:
  bool IsOver() const;
  LightWorker& Next();
  // Microseconds that it comes late.
  double AwaitTurn() const;

  const LightWorkers& workers_;
  const LoadPlan& plan_;
  const Turn& turn_;
  const uint32_t index_;
  const Clock::time_point start_;
  std::atomic<bool>& failed_;
  Echo echo_;
  absl::Status status_;
  uint64_t turns_ = 0;
  std::map<std::string, std::vector<double>> us_;
};

// The next of the caller's share: every worker whose number is its own modulo the count of callers.
LightWorker& Caller::Next() {
  const size_t share = (workers_.size() - index_ + plan_.callers - 1) / plan_.callers;
  return *workers_[index_ + turns_ % share * plan_.callers];
}

bool Caller::IsOver() const {
  if (failed_) return true;
  if (plan_.each_once) return index_ + turns_ * plan_.callers >= workers_.size();
  return Duration(Clock::now() - start_).count() >= plan_.seconds;
}

double Caller::AwaitTurn() const {
  if (plan_.turns_per_second <= 0) return 0;
  const auto number = static_cast<double>(turns_ * plan_.callers + index_);
  const Duration after(number / plan_.turns_per_second);
  const auto due = start_ + std::chrono::duration_cast<Clock::duration>(after);
  std::this_thread::sleep_until(due);
  return std::chrono::duration<double, std::micro>(Clock::now() - due).count();
}

void Caller::Run() {
  double late_us = 0;
  const LightWorker::OnCall on_call = [&](const char* name, double us) {
    us_[name].push_back(us + std::exchange(late_us, 0));
  };
  for (; !IsOver(); ++turns_) {
    late_us = AwaitTurn();
    status_ = turn_(Next(), echo_, on_call);
    if (status_.ok()) continue;
    failed_ = true;
    return;
  }
}

}  // namespace

double LoadResult::calls() const {
  size_t count = 0;
  for (const auto& [name, values] : us) count += values.size();
  return static_cast<double>(count);
}

std::vector<double> LoadResult::all_us() const {
  std::vector<double> all;
  for (const auto& [name, values] : us) all.insert(all.end(), values.begin(), values.end());
  return all;
}

void LoadResult::Add(const LoadResult& other) {
  seconds += other.seconds;
  turns += other.turns;
  for (const auto& [name, values] : other.us) {
    std::vector<double>& all = us[name];
    all.insert(all.end(), values.begin(), values.end());
  }
}

absl::Status EchoTurn(LightWorker& worker, Echo& echo, const LightWorker::OnCall& on_call) {
  const auto start = Clock::now();
  const absl::Status status = echo.Call(worker.channel());
  on_call("echo", std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  return status;
}

absl::StatusOr<LoadResult> Drive(const LightWorkers& workers, const LoadPlan& plan,
                                 const Turn& turn) {
  const auto start = Clock::now();
  std::atomic<bool> failed = false;
  std::vector<std::unique_ptr<Caller>> callers;
  for (uint32_t i = 0; i < plan.callers; ++i) {
    callers.push_back(std::make_unique<Caller>(workers, plan, turn, i, start, failed));
  }
  std::vector<std::thread> threads;
  for (const auto& caller : callers) threads.emplace_back([&caller] { caller->Run(); });
  for (std::thread& thread : threads) thread.join();
  LoadResult result;
  result.seconds = Duration(Clock::now() - start).count();
  for (const auto& caller : callers) {
    if (!caller->status().ok()) return caller->status();
    caller->AddTo(result);
  }
  return result;
}

Pulse::Pulse(std::vector<LightWorker*> workers, std::chrono::milliseconds interval)
    : workers_(std::move(workers)), interval_(interval), thread_([this] { Run(); }) {}

Pulse::~Pulse() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    stop_asked_.NotifyAll();
  }
  thread_.join();
}

// False once it is to stop.
bool Pulse::SleepUntil(Clock::time_point time) {
  MutexLock lock(mutex_);
  while (!stopping_ && stop_asked_.WaitUntil(mutex_, time)) {
  }
  return !stopping_;
}

void Pulse::Run() {
  auto next = Clock::now();
  for (size_t step = 0; SleepUntil(next); ++step) {
    for (size_t i = step % kPulseSteps; i < workers_.size(); i += kPulseSteps) workers_[i]->Beat();
    next += interval_ / kPulseSteps;
  }
}

}  // namespace tensorhub::bench
