// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/etcd/keys.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace tensorhub::store {
namespace {

std::string Escaped(const std::string& name) {
  std::string word;
  for (const char c : name) {
    if (c == '/') {
      word += "%2F";
    } else if (c == '%') {
      word += "%25";
    } else {
      word += c;
    }
  }
  return word;
}

std::optional<std::string> Unescaped(std::string_view word) {
  std::string name;
  while (!word.empty()) {
    if (word.starts_with("%2F") || word.starts_with("%25")) {
      name += word[2] == 'F' ? '/' : '%';
      word.remove_prefix(3);
    } else if (word.front() == '%') {
      return std::nullopt;
    } else {
      name += word.front();
      word.remove_prefix(1);
    }
  }
  return name;
}

}  // namespace

// So that they sort as they count.
std::string EtcdKeys::Journal(size_t part) const {
  return absl::StrFormat("%s%08d", Journal(), part);
}

std::string EtcdKeys::Model(const std::string& model) const {
  return absl::StrCat(below_, "m/", Escaped(model));
}

std::string EtcdKeys::Group(const hub::GroupKey& key) const {
  return absl::StrCat(below_, "g/", Escaped(key.model), "/", Escaped(key.group));
}

std::string EtcdKeys::Retention(const std::string& model) const {
  return absl::StrCat(below_, "r/", Escaped(model));
}

std::string EtcdKeys::Worker(const WorkerKey& key) const {
  return absl::StrCat(below_, "w/", Escaped(key.model), "/", Escaped(key.group), "/", key.rank);
}

std::string EtcdKeys::Adopted(const Id128& store) const {
  return absl::StrCat(below_, "a/", ToHex(store));
}

std::string PartKey(const std::string& key, size_t part) {
  return absl::StrFormat("%s/part/%08d", key, part);
}

std::string AfterAll(std::string text) {
  text.back() = static_cast<char>(text.back() + 1);
  return text;
}

std::optional<std::vector<std::string>> WordsOf(std::string_view key_below) {
  std::vector<std::string> words;
  for (const auto piece : absl::StrSplit(std::string(key_below), '/')) {
    std::optional<std::string> word = Unescaped(std::string(piece));
    if (!word) return std::nullopt;
    words.push_back(*std::move(word));
  }
  return words;
}

}  // namespace tensorhub::store
