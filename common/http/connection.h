// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One request and one answer over a connection, with bounds on bytes and time that count for the
// whole of each, and not for one read. The library has none of the kind.

#ifndef TENSORHUB_COMMON_HTTP_CONNECTION_H_
#define TENSORHUB_COMMON_HTTP_CONNECTION_H_

#include <httplib.h>

#include <chrono>
#include <string>

namespace tensorhub::http {

inline constexpr size_t kHeadBytesMax = 16 << 10;
inline constexpr std::chrono::seconds kHeadPatience{2};
inline constexpr std::chrono::seconds kAnswerPatience{5};

// What came of a request.
struct Head {
  enum class Outcome { kWhole, kTooLong, kTooSlow, kSilent };  // kSilent: said nothing, or hung up
  Outcome outcome = Outcome::kSilent;
  std::string text;  // of kWhole: the request line and the headers
};
// What comes behind the headers is not read.
Head ReadHead(socket_t socket);
// As far as the client takes it in time.
void SendAll(socket_t socket, const std::string& text);
// Says that nothing more comes, and takes a little of what the client still sends: with bytes left
// unread the system would reset the connection, and the client might not see its answer.
void EndGently(socket_t socket);

// A request that has been read, and room for its answer.
class Exchange final : public httplib::Stream {
 public:
  explicit Exchange(std::string request) : request_(std::move(request)) {}

  bool is_readable() const override { return at_ < request_.size(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

  const std::string& answer() const { return answer_; }

 private:
  const std::string request_;
  size_t at_ = 0;
  std::string answer_;
};

}  // namespace tensorhub::http

#endif  // TENSORHUB_COMMON_HTTP_CONNECTION_H_
