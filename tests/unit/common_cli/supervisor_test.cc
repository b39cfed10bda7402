// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/supervisor.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

namespace tensorhub::cli {
namespace {

// A supervisor's socket under `name`, where a leading @ stands for a zero byte.
class SupervisorSocket {
 public:
  explicit SupervisorSocket(const std::string& name) : name_(name) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), bytes), 0);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~SupervisorSocket() {
    unsetenv("NOTIFY_SOCKET");
    close(socket_);
    unlink(name_.c_str());
  }

  std::string Heard() const {
    char text[256];
    const ssize_t bytes = recv(socket_, text, sizeof(text), MSG_DONTWAIT);
    return bytes < 0 ? "nothing" : std::string(text, static_cast<size_t>(bytes));
  }

 private:
  const std::string name_;
  const int socket_ = socket(AF_UNIX, SOCK_DGRAM, 0);
};

TEST(SupervisorTest, HearsWhatItIsToldByPathAndByAbstractName) {
  const std::string process = std::to_string(getpid());
  for (const std::string& name : {testing::TempDir() + "notify-" + process, "@notify-" + process}) {
    const SupervisorSocket supervisor(name);
    EXPECT_TRUE(TellSupervisor("READY=1\nSTATUS=well")) << name;
    EXPECT_EQ(supervisor.Heard(), "READY=1\nSTATUS=well");
    EXPECT_EQ(supervisor.Heard(), "nothing");
  }
}

TEST(SupervisorTest, NobodyThereIsNoHarm) {
  unsetenv("NOTIFY_SOCKET");
  EXPECT_FALSE(TellSupervisor("READY=1"));
  for (const char* name : {"", "/", "relative", "/nonexistent/socket", "vsock:2:1"}) {
    setenv("NOTIFY_SOCKET", name, 1);
    EXPECT_FALSE(TellSupervisor("READY=1")) << name;
  }
  setenv("NOTIFY_SOCKET", ("/" + std::string(200, 'x')).c_str(), 1);
  EXPECT_FALSE(TellSupervisor("READY=1"));
  unsetenv("NOTIFY_SOCKET");
}

TEST(SupervisorTest, WatchesThisProcessOnly) {
  unsetenv("WATCHDOG_USEC");
  EXPECT_EQ(WatchdogPatience(), std::nullopt);
  setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_EQ(WatchdogPatience(), std::chrono::seconds(30));
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(WatchdogPatience(), std::chrono::seconds(30));
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(WatchdogPatience(), std::nullopt);
  unsetenv("WATCHDOG_PID");
  for (const char* wrong : {"", "0", "-1", "soon"}) {
    setenv("WATCHDOG_USEC", wrong, 1);
    EXPECT_EQ(WatchdogPatience(), std::nullopt) << wrong;
  }
  unsetenv("WATCHDOG_USEC");
}

}  // namespace
}  // namespace tensorhub::cli
