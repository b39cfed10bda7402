// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/source_forest.h"

#include "common/check.h"

namespace tensorhub::hub {

bool SourceNode::IsPathRoot() const {
  return up_ == nullptr || (up_->down_[0] != this && up_->down_[1] != this);
}

void SourceNode::Rotate() {
  SourceNode* const parent = up_;
  const auto side = static_cast<size_t>(Side());
  SourceNode* const inner = down_[1 - side];
  up_ = parent->up_;
  if (!parent->IsPathRoot()) up_->down_[static_cast<size_t>(parent->Side())] = this;
  parent->up_ = this;
  parent->down_[side] = inner;
  if (inner != nullptr) inner->up_ = parent;
  down_[1 - side] = parent;
}

void SourceNode::Splay() {
  while (!IsPathRoot()) {
    if (!up_->IsPathRoot()) (Side() == up_->Side() ? up_ : this)->Rotate();
    Rotate();
  }
}

void SourceNode::Expose() {
  SourceNode* below = nullptr;
  for (SourceNode* node = this; node != nullptr; node = node->up_) {
    node->Splay();
    node->down_[1] = below;
    below = node;
  }
  Splay();
}

void SourceNode::AttachTo(SourceNode& source) {
  TH_CHECK(!attached_ && this != &source);
  Expose();
  source.Expose();
  TH_CHECK(up_ == nullptr);  // else the source is below
  up_ = &source;
  attached_ = true;
}

void SourceNode::Detach() {
  if (!attached_) return;
  Expose();
  down_[0]->up_ = nullptr;
  down_[0] = nullptr;
  attached_ = false;
}

bool SourceNode::IsBelow(SourceNode& other) {
  if (this == &other) return false;
  Expose();
  other.Splay();
  const SourceNode* root = this;
  while (!root->IsPathRoot()) root = root->up_;
  return root == &other;
}

}  // namespace tensorhub::hub
