// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/process_facts.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "worker_agent/ucx/ucx_settings.h"

namespace tensorhub::bench {
namespace {

// 0 if it is no TCP connection.
uint16_t PeerPort(int fd) {
  sockaddr_storage address = {};
  socklen_t length = sizeof(address);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
  }
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  }
  return 0;
}

uint64_t BytesSent(int fd) {
  tcp_info info = {};
  socklen_t length = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return 0;
  return info.tcpi_bytes_sent;
}

// The value behind "NAME :" or "NAME:" in one of /proc's files.
std::string ProcValue(const char* file, const std::string& name) {
  std::ifstream lines(file);
  std::string line;
  while (std::getline(lines, line)) {
    if (!line.starts_with(name)) continue;
    const size_t colon = line.find(':');
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

}  // namespace

uint64_t ResidentBytes() { return ResidentBytesOf(getpid()); }

uint64_t ResidentBytesOf(pid_t process) {
  std::ifstream statm(absl::StrCat("/proc/", process, "/statm"));
  uint64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

double CpuSecondsOf(pid_t process) {
  std::ifstream stat(absl::StrCat("/proc/", process, "/stat"));
  std::string text;
  std::getline(stat, text);
  const size_t name_end = text.rfind(')');  // the name may hold blanks
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

uint64_t BytesSentTo(const std::string& server) {
  int port = 0;
  if (!absl::SimpleAtoi(server.substr(server.rfind(':') + 1), &port)) return 0;
  uint64_t sent = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    int fd = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &fd)) continue;
    if (PeerPort(fd) == port) sent += BytesSent(fd);
  }
  return sent;
}

uint64_t AvailableMemoryBytes() {
  return std::strtoull(ProcValue("/proc/meminfo", "MemAvailable").c_str(), nullptr, 10) * 1024;
}

absl::Status AllowOpenFiles(uint64_t count) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= count) return absl::OkStatus();
  limit.rlim_cur = count;
  if (limit.rlim_max >= count && setrlimit(RLIMIT_NOFILE, &limit) == 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("%d open files are needed, %d are allowed: raise `ulimit -n`, or give a "
                      "smaller --workers",
                      count, limit.rlim_max));
}

double LoadPerCore() {
  double load = 0;
  if (getloadavg(&load, 1) != 1) return 0;
  return load / static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
}

CpuTimes MachineCpu() {
  std::ifstream stat("/proc/stat");
  std::string name;
  stat >> name;
  CpuTimes times;
  // user nice system idle iowait irq softirq steal; what guests use is in user already.
  for (int column = 0; column < 8; ++column) {
    double ticks = 0;
    stat >> ticks;
    times.total += ticks;
    if (column != 3 && column != 4) times.busy += ticks;
  }
  const auto per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  return {times.busy / per_second, times.total / per_second};
}

double BusyShare(const CpuTimes& before, const CpuTimes& after) {
  const double total = after.total - before.total;
  return total > 0 ? (after.busy - before.busy) / total : 0;
}

std::string MachineLine() {
  utsname system = {};
  uname(&system);
  const time_t now = time(nullptr);
  tm today = {};
  gmtime_r(&now, &today);
  std::string cpu = ProcValue("/proc/cpuinfo", "model name");
  if (cpu.empty()) cpu = system.machine;
  return absl::StrFormat("%s, %d cores, %s %s, UCX %s, %04d-%02d-%02d", cpu,
                         sysconf(_SC_NPROCESSORS_ONLN), system.sysname, system.release,
                         agent::UcxVersion(), today.tm_year + 1900, today.tm_mon + 1,
                         today.tm_mday);
}

}  // namespace tensorhub::bench
