// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/seen/worker_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"

namespace tensorhub::agent {
namespace {

using testing::HasSubstr;
using testing::Not;

std::shared_ptr<WorkerPage> PageAt(const std::string& address) {
  auto page = WorkerPage::At(address);
  return page.ok() ? *page : nullptr;
}

// A worker whose progress thread says nothing; at what its program asked for, or not.
AskWorker Silent(bool at_owners_call = false) {
  const auto now = [] { return std::make_shared<Answer<std::optional<WorkerNow>>>(); };
  return {now, std::make_shared<std::atomic<bool>>(at_owners_call)};
}

TEST(WorkerPageTest, AddressesAndRanges) {
  for (const char* good : {"0.0.0.0:9101", "[::1]:9101", "a-host:9101", "a-host:9101-9108"}) {
    EXPECT_TRUE(WorkerPage::CheckAddress(good).ok()) << good;
  }
  for (const char* bad :
       {"9101", "host:9101-", "host:9108-9101", "host:0-5", "host:1-x", "h:1-99999"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(WorkerPage::CheckAddress(bad))) << bad;
  }
}

TEST(WorkerPageTest, OnePageForOneAddressAsLongAsItIsWanted) {
  std::shared_ptr<WorkerPage> page = PageAt("127.0.0.1:0");
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(PageAt("127.0.0.1:0"), page);
  auto shown = page->Show("m", Silent());
  const uint16_t port = page->address().port;
  const std::string taken = absl::StrCat("127.0.0.1:", port);
  page.reset();
  EXPECT_THAT(std::string(WorkerPage::At(taken).status().message()), HasSubstr("another address"));
  EXPECT_EQ(PageAt("127.0.0.1:0")->address().port, port) << "a worker has it still";
  shown.reset();
  EXPECT_NE(PageAt(taken), nullptr);
}

// Whoever leaves last closes the page, while somebody else connects.
TEST(WorkerPageTest, APageThatIsBeingClosedIsWaitedFor) {
  const std::string address = absl::StrCat("127.0.0.1:", PageAt("127.0.0.1:0")->address().port);
  const auto come_and_go = [&address] {
    for (int i = 0; i < 200; ++i) {
      const auto page = WorkerPage::At(address);
      ASSERT_TRUE(page.ok()) << i << ": " << page.status();
    }
  };
  std::thread another(come_and_go);
  come_and_go();
  another.join();
}

// Memory takes its time, by the gigabyte: a probe that ends the process then would end it each
// time.
TEST(WorkerPageTest, AProgramsOwnCallIsNoReasonToEndIt) {
  const std::shared_ptr<WorkerPage> page = PageAt("127.0.0.1:0");
  ASSERT_NE(page, nullptr);
  const auto registers = page->Show("m", Silent(/*at_owners_call=*/true));
  page->TallyOf("m");
  EXPECT_EQ(page->Alive().body, "ok\n");
  const auto stands_still = page->Show("m", Silent());
  EXPECT_EQ(page->Alive().code, http::kUnavailable);
}

TEST(WorkerPageTest, TheNextPortOfARange) {
  const std::shared_ptr<WorkerPage> first = PageAt("127.0.0.1:0");
  ASSERT_NE(first, nullptr);
  const uint16_t port = first->address().port;
  if (port > 65000) GTEST_SKIP() << "no room above port " << port;
  const auto next = PageAt(absl::StrCat("127.0.0.1:", port, "-", port + 500));
  ASSERT_NE(next, nullptr);
  EXPECT_GT(next->address().port, port);
}

TEST(WorkerMetricsTest, RanksOfAModel) {
  std::map<std::string, ModelWorkers> models;
  ModelWorkers& model = models["team/\"actor\""];
  model.ranks = {WorkerNow{true, 7, 1, 2}, WorkerNow{false, 5, 0, 3}, std::nullopt};
  model.tally.read[{Tier::kRack, "served over tcp"}] = 10;
  model.tally.phase_us[3] = 2'500'000;
  const std::string text = WorkerMetrics(models);
  const std::string label = "model=\"team/\\\"actor\\\"\"";
  for (const std::string& line :
       {"ranks{" + label + "} 3", "ranks_connected{" + label + "} 1",
        "ranks_stalled{" + label + "} 1", "ranks_holding{" + label + "} 2",
        "held_version{" + label + "} 5", "sources{" + label + "} 1", "readers{" + label + "} 5",
        "fetch_phase_seconds_total{" + label + ",phase=\"read\"} 2.5",
        "read_bytes_total{" + label + ",tier=\"rack\",way=\"served over tcp\"} 10"}) {
    EXPECT_THAT(text, HasSubstr("tensorhub_worker_" + line + "\n"));
  }
  model.ranks = {std::nullopt};
  EXPECT_THAT(WorkerMetrics(models), Not(HasSubstr("held_version{")));
}

}  // namespace
}  // namespace tensorhub::agent
