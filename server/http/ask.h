// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How pages look at the hub: on its own thread, while the page waits.

#ifndef TENSORHUB_SERVER_HTTP_ASK_H_
#define TENSORHUB_SERVER_HTTP_ASK_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "server/core/hub.h"

namespace tensorhub::http {

// Any thread. Has the function called once, on the hub's thread, and waits for that: true once it
// is over. False: not in time, and it may be called later yet.
using Look = std::function<bool(std::function<void(const hub::Hub&, TimeMs now)>)>;

// What `view` makes of the hub; none: the hub does not answer. `view` keeps nothing of its caller's
// by reference.
template <typename View>
auto Ask(const Look& look, View view) {
  using Answer = decltype(view(std::declval<const hub::Hub&>(), TimeMs{}));
  const auto answer = std::make_shared<Answer>();
  const bool seen = look([answer, view = std::move(view)](const hub::Hub& hub, TimeMs now) {
    *answer = view(hub, now);
  });
  return seen ? std::optional<Answer>(std::move(*answer)) : std::nullopt;
}

}  // namespace tensorhub::http

#endif  // TENSORHUB_SERVER_HTTP_ASK_H_
