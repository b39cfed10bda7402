// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ways/networks.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tensorhub::agent {
namespace {

namespace fs = std::filesystem;

std::string BytesOf(const sockaddr* address) {
  if (address == nullptr) return "";
  if (address->sa_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
    return std::string(reinterpret_cast<const char*>(&in), sizeof(in));
  }
  if (address->sa_family != AF_INET6) return "";
  const auto& in = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  return std::string(reinterpret_cast<const char*>(&in), sizeof(in));
}

int BitsOf(const std::string& mask) {
  int bits = 0;
  for (const char byte : mask) bits += std::popcount(static_cast<unsigned char>(byte));
  return bits;
}

bool IsLinkLocal(const std::string& address) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(address[i]); };
  if (address.size() == 4) return byte(0) == 169 && byte(1) == 254;
  return byte(0) == 0xfe && (byte(1) & 0xc0) == 0x80;
}

// A part of a bridge that leads out of the host, or into a tunnel: neither a container's end of a
// pair nor a virtual machine's tap.
bool LeadsOut(const fs::path& device) {
  std::error_code error;
  return fs::exists(device / "device", error) || fs::exists(device / "bonding", error) ||
         fs::exists("/proc/net/vlan/" + device.filename().string(), error);
}

// Devices that the mounted /sys does not show belong to another namespace than it: not judged.
bool IsIsolatedBridge(const std::string& device) {
  const fs::path folder = "/sys/class/net/" + device;
  std::error_code error;
  if (!fs::exists(folder / "bridge", error)) return false;
  for (const auto& part : fs::directory_iterator(folder / "brif", error)) {
    if (LeadsOut("/sys/class/net/" + part.path().filename().string())) return false;
  }
  return true;
}

// The devices with a default route, IPv4 or IPv6.
std::set<std::string> DefaultRoutes() {
  std::set<std::string> devices;
  std::string line;
  for (std::ifstream routes("/proc/net/route"); std::getline(routes, line);) {
    std::istringstream words(line);
    std::string device, destination;
    words >> device >> destination;
    if (destination == "00000000") devices.insert(device);
  }
  for (std::ifstream routes("/proc/net/ipv6_route"); std::getline(routes, line);) {
    std::istringstream words(line);
    std::vector<std::string> fields;
    for (std::string word; words >> word;) fields.push_back(word);
    if (fields.size() < 10 || fields[1] != "00" || fields[9] == "lo") continue;
    if (fields[0].find_first_not_of('0') == std::string::npos) devices.insert(fields[9]);
  }
  return devices;
}

struct Subnet {
  std::string address;
  int bits = 0;
};

std::optional<Subnet> SubnetFrom(std::string_view text) {
  const size_t slash = text.find('/');
  const std::optional<std::string> address = AddressFrom(text.substr(0, slash));
  if (!address) return std::nullopt;
  Subnet subnet{*address, static_cast<int>(8 * address->size())};
  if (slash == std::string_view::npos) return subnet;
  int bits = 0;
  const std::string tail(text.substr(slash + 1));
  if (!absl::SimpleAtoi(tail, &bits) || bits < 0 || bits > subnet.bits) return std::nullopt;
  subnet.bits = bits;
  return subnet;
}

bool SameBits(std::string_view one, std::string_view other, int bits) {
  if (one.size() != other.size()) return false;
  for (size_t i = 0; bits > 0; ++i, bits -= 8) {
    const int shift = bits >= 8 ? 0 : 8 - bits;
    const auto a = static_cast<unsigned char>(one[i]), b = static_cast<unsigned char>(other[i]);
    if (a >> shift != b >> shift) return false;
  }
  return true;
}

std::string ListOf(const std::vector<Network>& networks) {
  std::string text;
  for (const Network& network : networks) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", network.device, " ",
                    AddressText(network.address), "/", network.prefix_bits);
  }
  return text.empty() ? "none" : text;
}

// Lower is better.
int RankOf(const Network& network) {
  if (network.default_route) return network.point_to_point ? 1 : 0;
  return network.point_to_point ? 3 : 2;
}

}  // namespace

std::vector<Network> ListNetworks() {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(raw, &freeifaddrs);
  const std::set<std::string> routes = DefaultRoutes();
  std::vector<Network> networks;
  for (const ifaddrs* entry = raw; entry != nullptr; entry = entry->ifa_next) {
    const std::string address = BytesOf(entry->ifa_addr);
    if (address.empty() || IsLinkLocal(address)) continue;
    if ((entry->ifa_flags & (IFF_UP | IFF_RUNNING)) != (IFF_UP | IFF_RUNNING)) continue;
    Network network{entry->ifa_name, address, BitsOf(BytesOf(entry->ifa_netmask))};
    network.loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    network.point_to_point = (entry->ifa_flags & IFF_POINTOPOINT) != 0;
    network.default_route = routes.contains(network.device);
    network.isolated = IsIsolatedBridge(network.device);
    networks.push_back(network);
  }
  // Where a device has both, the older one is used, unless data_address names the other.
  std::stable_sort(networks.begin(), networks.end(), [](const Network& one, const Network& other) {
    return one.address.size() < other.address.size();
  });
  return networks;
}

absl::StatusOr<std::vector<Network>> ChooseNetworks(std::vector<Network> all,
                                                    std::string_view choice) {
  const std::vector<Network> there = all;
  const std::optional<Subnet> subnet = SubnetFrom(choice);
  if (!choice.empty() && !subnet && choice.find_first_of("/: ") != choice.npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(choice),
                     "\" is no device, address or subnet (eth0, 10.0.3.7, fd00::/8)"));
  }
  if (!choice.empty()) {
    std::erase_if(all, [&](const Network& network) {
      return subnet ? !SameBits(network.address, subnet->address, subnet->bits)
                    : network.device != choice;
    });
    if (all.empty()) {
      return absl::NotFoundError(absl::StrCat("no network of this host is in \"",
                                              std::string(choice),
                                              "\"; there are: ", ListOf(there)));
    }
  } else {
    const auto leads = [](const Network& n) { return !n.loopback && !n.isolated; };
    const bool any = std::any_of(all.begin(), all.end(), leads);
    if (any) std::erase_if(all, [&](const Network& network) { return !leads(network); });
  }
  std::vector<Network> chosen;
  for (Network& network : all) {
    const bool known = std::any_of(chosen.begin(), chosen.end(), [&](const Network& other) {
      return other.device == network.device;
    });
    if (!known) chosen.push_back(std::move(network));
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const Network& one, const Network& other) {
    return RankOf(one) < RankOf(other);
  });
  return chosen;
}

bool IsWithin(const Network& network, std::string_view address) {
  return SameBits(network.address, address, network.prefix_bits);
}

std::optional<std::string> SourceTowards(std::string_view address) {
  sockaddr_storage to{};
  socklen_t bytes = sizeof(sockaddr_in);
  if (address.size() == 4) {
    auto* in = reinterpret_cast<sockaddr_in*>(&to);
    in->sin_family = AF_INET;
    in->sin_port = htons(9);
    std::memcpy(&in->sin_addr, address.data(), 4);
  } else if (address.size() == 16) {
    auto* in = reinterpret_cast<sockaddr_in6*>(&to);
    in->sin6_family = AF_INET6;
    in->sin6_port = htons(9);
    std::memcpy(&in->sin6_addr, address.data(), 16);
    bytes = sizeof(sockaddr_in6);
  } else {
    return std::nullopt;
  }
  // Nothing is sent: connecting a datagram socket asks for the route only.
  const int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::nullopt;
  sockaddr_storage from{};
  socklen_t from_bytes = sizeof(from);
  const bool routed = connect(fd, reinterpret_cast<const sockaddr*>(&to), bytes) == 0 &&
                      getsockname(fd, reinterpret_cast<sockaddr*>(&from), &from_bytes) == 0;
  close(fd);
  if (!routed) return std::nullopt;
  return BytesOf(reinterpret_cast<const sockaddr*>(&from));
}

std::optional<std::string> AddressFrom(std::string_view text) {
  const std::string name(text);
  char bytes[16];
  if (inet_pton(AF_INET, name.c_str(), bytes) == 1) return std::string(bytes, 4);
  if (inet_pton(AF_INET6, name.c_str(), bytes) == 1) return std::string(bytes, 16);
  return std::nullopt;
}

std::string AddressText(std::string_view address) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(address.size() == 4 ? AF_INET : AF_INET6, address.data(), text, sizeof(text));
  return text;
}

}  // namespace tensorhub::agent
