// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/record/codec.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "common/remedy.h"
#include "common/structural.h"

namespace tensorhub::record {
namespace {

constexpr size_t kZerosMax = size_t{1} << 30;  // of an attachment that was left out

// A message that a worker sent, and what the shell has added to it. What has a base is none of the
// aggregates that take themselves apart.
template <typename T, typename... Own>
auto WithSaid(T& value, Own&... own) {
  using Said = typename T::Said;
  using Base = std::conditional_t<std::is_const_v<T>, const Said, Said>;
  static_assert(structural::CountOf<std::remove_const_t<T>>() == 1 + sizeof...(Own),
                "a record leaves out what the shell has added");
  return std::tuple<Base&, Own&...>(value, own...);
}

template <typename T>
auto MembersOf(T& value) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_base_of_v<hub::Operation, Plain> &&
                !std::is_same_v<hub::Operation, Plain>) {
    using Base = std::conditional_t<std::is_const_v<T>, const hub::Operation, hub::Operation>;
    return WithSaid(value, static_cast<Base&>(value));
  } else if constexpr (std::is_same_v<Plain, hub::SessionOpened>) {
    return WithSaid(value, value.session, value.may_publish);
  } else if constexpr (requires { typename Plain::Said; }) {
    return WithSaid(value, value.session);
  } else {
    return structural::Fields(value);
  }
}

template <typename T>
struct IsVariant : std::false_type {};
template <typename... T>
struct IsVariant<std::variant<T...>> : std::true_type {};
template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <typename T>
struct IsMap : std::false_type {};
template <typename K, typename V>
struct IsMap<std::map<K, V>> : std::true_type {};
template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void Text(std::string_view text) {
    EncodeNumber(text.size(), out_);
    out_.append(text);
  }
  void Put(const absl::Status& status) {
    EncodeNumber(static_cast<uint64_t>(status.code()), out_);
    if (status.ok()) return;
    Text(std::string(status.message()));
    EncodeNumber(static_cast<uint64_t>(RemedyOf(status)), out_);
  }
  void Put(const Location& location) { Text(location.ToString()); }
  void Put(const CapabilityKey& key) { EncodeNumber(key ? 1 : 0, out_); }
  void Put(const std::string& text) { Text(text); }
  void Put(const std::shared_ptr<const Layout>& layout) {
    Text(layout == nullptr ? std::string() : layout->Encode());
  }
  void Put(const std::shared_ptr<const std::string>& content) {
    EncodeNumber(content == nullptr ? 0 : content->size(), out_);
  }
  template <typename T>
  void Put(const T& value) {
    if constexpr (std::is_enum_v<T> || std::is_unsigned_v<T>) {
      EncodeNumber(static_cast<uint64_t>(value), out_);
    } else if constexpr (std::is_integral_v<T>) {
      EncodeSigned(value, out_);
    } else if constexpr (IsVariant<T>::value) {
      EncodeNumber(value.index(), out_);
      std::visit([this](const auto& body) { this->Put(body); }, value);
    } else if constexpr (IsOptional<T>::value) {
      EncodeNumber(value ? 1 : 0, out_);
      if (value) Put(*value);
    } else if constexpr (IsMap<T>::value || IsVector<T>::value) {
      EncodeNumber(value.size(), out_);
      for (const auto& each : value) Put(each);
    } else if constexpr (requires { value.first, value.second; }) {
      Put(value.first);
      Put(value.second);
    } else {
      std::apply([this](const auto&... member) { (this->Put(member), ...); }, MembersOf(value));
    }
  }

 private:
  std::string& out_;
};

class Reader {
 public:
  explicit Reader(std::string_view& from) : from_(from) {}

  bool Text(std::string_view& text) {
    uint64_t size = 0;
    if (!DecodeNumber(from_, size) || size > from_.size()) return false;
    text = from_.substr(0, size);
    from_.remove_prefix(size);
    return true;
  }
  bool Take(absl::Status& status) {
    uint64_t code = 0;
    if (!DecodeNumber(from_, code)) return false;
    status = absl::OkStatus();
    if (code == 0) return true;
    std::string_view text;
    uint64_t remedy = 0;
    if (!Text(text) || !DecodeNumber(from_, remedy) || code > 16) return false;
    status = absl::Status(static_cast<absl::StatusCode>(code), std::string(text));
    status = WithRemedy(std::move(status), static_cast<Remedy>(remedy));
    return true;
  }
  bool Take(Location& location) {
    std::string_view text;
    if (!Text(text)) return false;
    const auto parsed = Location::Parse(text);
    if (parsed.ok()) location = *parsed;
    return parsed.ok();
  }
  bool Take(CapabilityKey& key) {
    uint64_t there = 0;
    if (!DecodeNumber(from_, there) || there > 1) return false;
    key = there == 0 ? CapabilityKey{} : CapabilityKey::Guessable(0);
    return true;
  }
  bool Take(std::string& text) {
    std::string_view view;
    if (!Text(view)) return false;
    text = std::string(view);
    return true;
  }
  bool Take(std::shared_ptr<const Layout>& layout) {
    std::string_view encoded;
    if (!Text(encoded)) return false;
    auto decoded = Layout::Decode(encoded);
    if (!decoded.ok()) return false;
    layout = std::make_shared<const Layout>(*std::move(decoded));
    return true;
  }
  bool Take(std::shared_ptr<const std::string>& content) {
    uint64_t size = 0;
    if (!DecodeNumber(from_, size) || size > kZerosMax) return false;
    content = std::make_shared<const std::string>(size, '\0');
    return true;
  }
  template <typename T>
  bool Take(T& value) {
    if constexpr (std::is_enum_v<T> || std::is_unsigned_v<T>) {
      uint64_t number = 0;
      if (!DecodeNumber(from_, number)) return false;
      value = static_cast<T>(number);
      return static_cast<uint64_t>(value) == number;
    } else if constexpr (std::is_integral_v<T>) {
      int64_t number = 0;
      if (!DecodeSigned(from_, number)) return false;
      value = static_cast<T>(number);
      return value == number;
    } else if constexpr (IsVariant<T>::value) {
      return TakeVariant(value, std::make_index_sequence<std::variant_size_v<T>>());
    } else if constexpr (IsOptional<T>::value) {
      uint64_t there = 0;
      if (!DecodeNumber(from_, there) || there > 1) return false;
      value.reset();
      return there == 0 || Take(value.emplace());
    } else if constexpr (IsMap<T>::value) {
      return TakeEach([&] {
        std::pair<typename T::key_type, typename T::mapped_type> entry;
        return Take(entry.first) && Take(entry.second) && value.insert(std::move(entry)).second;
      });
    } else if constexpr (IsVector<T>::value) {
      return TakeEach([&] { return Take(value.emplace_back()); });
    } else {
      return std::apply([this](auto&... member) { return (this->Take(member) && ...); },
                        MembersOf(value));
    }
  }

 private:
  // Each takes a byte at least.
  template <typename One>
  bool TakeEach(One one) {
    uint64_t count = 0;
    if (!DecodeNumber(from_, count) || count > from_.size()) return false;
    for (uint64_t i = 0; i < count; ++i) {
      if (!one()) return false;
    }
    return true;
  }
  template <typename Variant, size_t... I>
  bool TakeVariant(Variant& value, std::index_sequence<I...>) {
    uint64_t index = 0;
    if (!DecodeNumber(from_, index)) return false;
    bool taken = false;
    const auto take = [&](auto number) {
      if (index == number) taken = Take(value.template emplace<number>());
    };
    (take(std::integral_constant<size_t, I>()), ...);
    return taken;
  }

  std::string_view& from_;
};

constexpr std::array<std::string_view, 28> kNames = {
    "SessionOpened", "SessionClosed", "Heartbeat",    "Progress",      "SourceReleased",
    "SourceFailed",  "SourceSilent",  "ProbeAnswer",  "ContentHashed", "CopyFailed",
    "BoxesHashed",   "Publish",       "Unpublish",    "JoinFetch",     "BeginRead",
    "FinishRead",    "Leave",         "Wait",         "PutLayout",     "PutAttachment",
    "Retain",        "Pin",           "Unpin",        "Supersede",     "Drain",
    "Adopt",         "PlanMade",      "CallCancelled"};

}  // namespace

void EncodeNumber(uint64_t number, std::string& out) {
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<char>(number | 0x80));
  out.push_back(static_cast<char>(number));
}

void EncodeSigned(int64_t number, std::string& out) {
  EncodeNumber(static_cast<uint64_t>(number) << 1 ^ static_cast<uint64_t>(number >> 63), out);
}

bool DecodeNumber(std::string_view& from, uint64_t& out) {
  out = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(from.front());
    from.remove_prefix(1);
    out |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool DecodeSigned(std::string_view& from, int64_t& out) {
  uint64_t folded = 0;
  if (!DecodeNumber(from, folded)) return false;
  out = static_cast<int64_t>(folded >> 1) ^ -static_cast<int64_t>(folded & 1);
  return true;
}

void Encode(const hub::Event& event, std::string& out) { Writer(out).Put(event); }
void Encode(const hub::HubOptions& options, std::string& out) { Writer(out).Put(options); }
bool Decode(std::string_view& from, hub::Event& out) { return Reader(from).Take(out); }
bool Decode(std::string_view& from, hub::HubOptions& out) { return Reader(from).Take(out); }

std::string_view NameOf(const hub::Event& event) {
  static_assert(std::variant_size_v<hub::Event> == kNames.size() + 1);
  return event.index() < kNames.size() ? kNames[event.index()] : "Tick";
}

}  // namespace tensorhub::record
