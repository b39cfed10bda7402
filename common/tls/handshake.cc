// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/tls/handshake.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/thread.h"
#include "common/tls/openssl.h"

namespace tensorhub::tls {
namespace {

using ContextPtr = std::unique_ptr<SSL_CTX, Freeing<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, Freeing<SSL_free>>;
using AddressesPtr = std::unique_ptr<addrinfo, Freeing<freeaddrinfo>>;

using Clock = std::chrono::steady_clock;

// For all of it: who asks has waited already, and is to hear within a second (R8).
constexpr std::chrono::milliseconds kPatience(900);

struct HostAndPort {
  std::string host;  // without brackets
  std::string port;
};

HostAndPort Split(const std::string& server) {
  const size_t colon = server.rfind(':');
  HostAndPort split{server.substr(0, colon), server.substr(colon + 1)};
  if (split.host.size() > 2 && split.host.front() == '[') {
    split.host = split.host.substr(1, split.host.size() - 2);
  }
  return split;
}

AddressesPtr Look(const HostAndPort& to) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const bool good = getaddrinfo(to.host.c_str(), to.port.c_str(), &hints, &found) == 0;
  return AddressesPtr(good ? found : nullptr);
}

// Nothing interrupts a look at name servers that keep silent, so it has a thread that is left
// behind.
AddressesPtr Resolve(const HostAndPort& to, Clock::time_point until) {
  const auto answer = std::make_shared<std::promise<AddressesPtr>>();
  std::future<AddressesPtr> addresses = answer->get_future();
  absl::StatusOr<std::thread> looking =
      StartThread("a look at name servers", [answer, to] { answer->set_value(Look(to)); });
  if (!looking.ok()) return nullptr;
  looking->detach();
  if (addresses.wait_until(until) != std::future_status::ready) return nullptr;
  return addresses.get();
}

// A descriptor, or -1.
class Connection {
 public:
  explicit Connection(const HostAndPort& to) {
    const AddressesPtr addresses = Resolve(to, until_);
    const addrinfo* each = addresses.get();
    for (; each != nullptr && fd_ < 0; each = each->ai_next) Connect(*each);
  }
  ~Connection() { Close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool good() const { return fd_ >= 0; }

  // What has come; nothing: the end, or too late.
  std::string Receive() {
    std::array<char, 16384> buffer;
    if (!Wait(POLLIN)) return "";
    const ssize_t bytes = recv(fd_, buffer.data(), buffer.size(), 0);
    ended_ = bytes <= 0;
    return bytes > 0 ? std::string(buffer.data(), static_cast<size_t>(bytes)) : "";
  }
  bool ended() const { return ended_; }
  // No SIGPIPE: the process is somebody else's.
  bool Send(const std::string& bytes) const {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return sent == static_cast<ssize_t>(bytes.size());
  }

 private:
  void Connect(const addrinfo& to) {
    fd_ = socket(to.ai_family, to.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to.ai_protocol);
    if (fd_ < 0) return;
    int error = 0;
    socklen_t size = sizeof(error);
    connect(fd_, to.ai_addr, to.ai_addrlen);
    const bool answered =
        Wait(POLLOUT) && getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
    if (!answered) Close();
  }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  bool Wait(short events) const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until_ - Clock::now());
    pollfd wanted{fd_, events, 0};
    return left.count() > 0 && poll(&wanted, 1, static_cast<int>(left.count())) == 1;
  }

  const Clock::time_point until_ = Clock::now() + kPatience;
  int fd_ = -1;
  bool ended_ = false;  // by the other side
};

// A client's half of TLS over a Connection.
class Handshake {
 public:
  Handshake(Connection& connection, const Set* set, const std::string& host)
      : connection_(connection), context_(SSL_CTX_new(TLS_client_method())) {
    if (set != nullptr) Trust(*set);
    ssl_.reset(SSL_new(context_.get()));
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(in_, -1);
    SSL_set_bio(ssl_.get(), in_, out_);
    constexpr std::array<unsigned char, 3> kHttp2{2, 'h', '2'};
    SSL_set_alpn_protos(ssl_.get(), kHttp2.data(), kHttp2.size());
    SSL_set_cert_cb(ssl_.get(), &Handshake::OnAsked, this);
    if (set != nullptr) Expect(host);
  }

  bool Shake() {
    return Drive([this] { return SSL_connect(ssl_.get()); });
  }
  // In TLS 1.3 a server judges the client's certificate after the client's half is done: whoever is
  // welcome hears the server's first frame. Others hear an alert, or, of gRPC 1.51, nothing.
  bool Hear() {
    return Drive([this] {
      std::array<char, 256> frame;
      return SSL_read(ssl_.get(), frame.data(), frame.size());
    });
  }

  int reason() const { return reason_; }
  const std::string& reason_text() const { return reason_text_; }
  bool asked() const { return asked_; }
  long verified() const { return SSL_get_verify_result(ssl_.get()); }
  std::optional<CertificateFacts> peer() const {
    const X509Ptr certificate(SSL_get1_peer_certificate(ssl_.get()));
    if (certificate == nullptr) return shown_;
    return FactsOf(certificate.get());
  }

 private:
  void Trust(const Set& set) {
    if (set.ca.empty()) SSL_CTX_set_default_verify_paths(context_.get());
    for (const X509Ptr& each : ParseCertificates(set.ca)) {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), each.get());
    }
    const std::vector<X509Ptr> own = ParseCertificates(set.cert);
    for (size_t i = 0; i < own.size(); ++i) {
      if (i == 0) SSL_CTX_use_certificate(context_.get(), own[i].get());
      if (i > 0) SSL_CTX_add1_chain_cert(context_.get(), own[i].get());
    }
    const KeyPtr key = ParseKey(set.key);
    if (key != nullptr) SSL_CTX_use_PrivateKey(context_.get(), key.get());
  }
  void Expect(const std::string& host) {
    std::array<unsigned char, 16> address;
    const bool numeric = inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
                         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
    X509_VERIFY_PARAM* const expected = SSL_get0_param(ssl_.get());
    if (numeric) {
      X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str());
    } else {
      SSL_set_tlsext_host_name(ssl_.get(), host.c_str());
      X509_VERIFY_PARAM_set1_host(expected, host.c_str(), 0);
    }
    SSL_set_ex_data(ssl_.get(), 0, this);
    SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER, &Handshake::OnCertificate);
  }
  // The server wants a certificate.
  static int OnAsked(SSL* /*ssl*/, void* self) {
    static_cast<Handshake*>(self)->asked_ = true;
    return 1;
  }
  // Keeps what was shown: OpenSSL forgets a certificate that it refuses.
  static int OnCertificate(int good, X509_STORE_CTX* store) {
    auto* ssl =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto* self = static_cast<Handshake*>(SSL_get_ex_data(ssl, 0));
    self->shown_ = FactsOf(X509_STORE_CTX_get0_cert(store));
    return good;
  }
  template <typename Step>
  bool Drive(const Step& step) {
    constexpr int kRounds = 32;
    for (int round = 0; round < kRounds; ++round) {
      ERR_clear_error();
      const int result = step();
      const int error = SSL_get_error(ssl_.get(), result);
      if (result <= 0) Remember();
      if (!Flush() && error == SSL_ERROR_WANT_READ) return false;
      if (result > 0) return true;
      if (error != SSL_ERROR_WANT_READ) return false;
      const std::string bytes = connection_.Receive();
      if (bytes.empty()) return false;
      BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
    }
    return false;
  }
  void Remember() {
    reason_ = ERR_GET_REASON(ERR_peek_last_error());
    reason_text_ = LastReason();
  }
  bool Flush() {
    char* text = nullptr;
    const long length = BIO_get_mem_data(out_, &text);
    const bool sent = length <= 0 || connection_.Send(std::string(text, text + length));
    static_cast<void>(BIO_reset(out_));
    return sent;
  }

  Connection& connection_;
  const ContextPtr context_;
  SslPtr ssl_;
  BIO* in_ = nullptr;  // the SSL's own
  BIO* out_ = nullptr;
  bool asked_ = false;
  int reason_ = 0;
  std::string reason_text_;
  std::optional<CertificateFacts> shown_;
};

std::string WhyNotVerified(const Handshake& shaken, const std::string& host) {
  const CertificateFacts facts = shaken.peer().value_or(CertificateFacts{});
  switch (shaken.verified()) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return absl::StrCat("the server's certificate, of ", facts.Name(),
                          ", or its issuer's has ended (its own does at ",
                          ShownTime(facts.not_after), "); renew it there");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return absl::StrCat("the server's certificate, of ", facts.Name(), ", counts from ",
                          ShownTime(facts.not_before), " only; check this host's clock");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return absl::StrCat("the server's certificate is of ", absl::StrJoin(facts.names, ", "),
                          ", and not of ", host,
                          "; connect by one of its names, or have it made for this one as well");
    default:
      return absl::StrCat("the server's certificate, of ", facts.Name(),
                          ", is not by an authority that is trusted here (",
                          X509_verify_cert_error_string(shaken.verified()),
                          "); give the server's authority as the TLS authorities");
  }
}

std::string WhyHungUp(const Handshake& shaken, const Set& set) {
  if (!shaken.asked()) return "";
  if (!set.own) return "the server wants a client certificate; give one, with its key";
  return absl::StrCat("the server does not know the authority of the certificate shown, of ",
                      set.own->Name(), ", or counts it as ended; have one made by an authority ",
                      "that the server was given");
}

std::string WhyRefused(const Handshake& shaken, const Set& set) {
  const std::string own = set.own ? set.own->Name() : "";
  switch (shaken.reason()) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return "the server wants a client certificate; give one, with its key";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return absl::StrCat("the server says that the certificate shown, of ", own,
                          ", has ended; renew it");
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
      return absl::StrCat("the server does not know the authority of the certificate shown, of ",
                          own, "; have one made by an authority that the server was given");
    default:
      return shaken.reason_text().empty() ? "" : absl::StrCat("TLS failed: ", shaken.reason_text());
  }
}

std::string ProblemOf(const Connection& connection, Handshake& shaken, const Set& set,
                      const std::string& host) {
  if (shaken.Shake() && shaken.Hear()) return "";
  if (shaken.verified() != X509_V_OK) return WhyNotVerified(shaken, host);
  if (shaken.reason() == SSL_R_WRONG_VERSION_NUMBER) {
    return "the server there does not speak TLS; give it --tls-cert and --tls-key, or connect "
           "without TLS";
  }
  return connection.ended() ? WhyHungUp(shaken, set) : WhyRefused(shaken, set);
}

}  // namespace

HandshakeResult TryHandshake(const std::string& server, const Set* set) {
  const HostAndPort to = Split(server);
  Connection connection(to);
  HandshakeResult result{.reached = connection.good(), .problem = "", .server = std::nullopt};
  if (!result.reached) return result;
  Handshake shaken(connection, set, to.host);
  if (set != nullptr) {
    result.problem = ProblemOf(connection, shaken, *set, to.host);
  } else if (shaken.Shake()) {
    result.problem = "the server speaks TLS; name its authority (TLS authorities) to connect";
  }
  result.server = shaken.peer();
  return result;
}

}  // namespace tensorhub::tls
