// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/source_forest.h"

#include "common/check.h"

namespace tensorhub::hub {

bool SourceNode::IsPathRoot() const {
  return up_ == nullptr || (up_->down_[0] != this && up_->down_[1] != this);
}

void SourceNode::SetDown(size_t side, SourceNode* node) {
  down_[side] = node;
  size_ = 1 + SizeOf(down_[0]) + SizeOf(down_[1]);
}

void SourceNode::Rotate() {
  SourceNode* const parent = up_;
  const auto side = static_cast<size_t>(Side());
  SourceNode* const inner = down_[1 - side];
  up_ = parent->up_;
  if (!parent->IsPathRoot()) up_->down_[static_cast<size_t>(parent->Side())] = this;
  parent->up_ = this;
  if (inner != nullptr) inner->up_ = parent;
  parent->SetDown(side, inner);
  SetDown(1 - side, parent);
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
    node->SetDown(1, below);
    below = node;
  }
  Splay();
}

void SourceNode::AttachTo(SourceNode& source, Worker* reader) {
  TH_CHECK(!attached_ && this != &source);
  Expose();
  source.Expose();
  TH_CHECK(up_ == nullptr);  // else the source is below
  up_ = &source;
  attached_ = true;
  reader_ = reader;
}

void SourceNode::Detach() {
  if (!attached_) return;
  Expose();
  down_[0]->up_ = nullptr;
  SetDown(0, nullptr);
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

size_t SourceNode::Depth() {
  Expose();
  return SizeOf(down_[0]);
}

SourceNode& SourceNode::Above(size_t steps) {
  const size_t depth = Depth();
  TH_CHECK(steps <= depth);
  SourceNode* node = this;
  for (size_t wanted = depth - steps;;) {  // counted from the top of what is below `node`
    const size_t before = SizeOf(node->down_[0]);
    if (wanted == before) break;
    const bool lower = wanted > before;
    if (lower) wanted -= before + 1;
    node = node->down_[lower ? 1 : 0];
  }
  node->Splay();
  return *node;
}

}  // namespace tensorhub::hub
