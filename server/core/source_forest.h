// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Who reads from whom, as a forest: each reader hangs below its source. Asked before every
// assignment whether a holder reads, through any number of others, from the reader (R5: no
// cycles), so the answer must not cost a walk along a chain of ten thousand: a link-cut tree, where
// attaching, detaching and asking cost O(log n), amortized.
//
// Nodes live in the hub's rows. One that is copied, moved or destroyed must be detached and have
// nobody below it.

#ifndef TENSORHUB_SERVER_CORE_SOURCE_FOREST_H_
#define TENSORHUB_SERVER_CORE_SOURCE_FOREST_H_

#include <array>
#include <cstddef>

namespace tensorhub::hub {

struct Worker;

class SourceNode {
 public:
  // `source` is not below this node, which is detached. `reader`: whose node this is.
  void AttachTo(SourceNode& source, Worker* reader);
  // Keeps those below it. Nothing happens if it is detached.
  void Detach();
  bool attached() const { return attached_; }
  // Reads from `other`, directly or through others. Not below itself.
  bool IsBelow(SourceNode& other);
  // How many it reads through; 0 if it is detached.
  size_t Depth();
  // The one through which it reads after so many steps: at most Depth(), which is the top.
  SourceNode& Above(size_t steps);
  // As AttachTo was told; null at the top.
  Worker* reader() const { return attached_ ? reader_ : nullptr; }

 private:
  // A path of the forest is a splay tree, ordered from its top to its bottom; `up_` of its root is
  // the node below which the path hangs.
  bool IsPathRoot() const;
  int Side() const { return up_->down_[1] == this ? 1 : 0; }
  void Rotate();
  void Splay();
  // Makes the way from the top to this node one path, with this node as its root and its end.
  void Expose();
  static size_t SizeOf(const SourceNode* node) { return node == nullptr ? 0 : node->size_; }
  void SetDown(size_t side, SourceNode* node);

  SourceNode* up_ = nullptr;
  std::array<SourceNode*, 2> down_ = {nullptr, nullptr};
  size_t size_ = 1;  // of its part of the splay tree
  Worker* reader_ = nullptr;
  bool attached_ = false;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_SOURCE_FOREST_H_
