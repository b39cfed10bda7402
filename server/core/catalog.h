// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The rows of models, and of what is published of each: which publication has that id, or stands
// for that number, and what a number means where none does. The hub alone adds rows and takes them
// away; its files say which rule lets them change.

#ifndef TENSORHUB_SERVER_CORE_CATALOG_H_
#define TENSORHUB_SERVER_CORE_CATALOG_H_

#include <map>
#include <optional>
#include <string>

#include "server/core/durable.h"
#include "server/core/tables.h"

namespace tensorhub::hub {

class Catalog {
 public:
  const std::map<std::string, Model>& models() const { return models_; }
  // Null: nobody has joined it.
  Model* FindModel(const std::string& name);
  const Model* FindModel(const std::string& name) const;

  // What stands for the number. Null: nothing does.
  const Publication* FindPublication(const std::string& model, VersionNumber version) const;
  // Null: nobody holds it (any more).
  Publication* FindPublication(const std::string& model, const PublicationId& id);
  const Publication* FindPublication(const std::string& model, const PublicationId& id) const;
  // R2: neither whole yet, nor of this term: one begins with it.
  bool IsCandidate(const Publication& publication) const;
  // Each group that supersedes publishes something of its own; the first that is whole begins the
  // term. Null: the worker's group has not begun to publish one of that number.
  const Publication* FindCandidate(const WorkerKey& key, VersionNumber version) const;
  bool IsLatest(const Publication& publication) const;

  // What is kept of a model; none: nothing is. (durable.cc)
  std::optional<ModelRow> RowOfModel(const std::string& name) const;

 protected:
  Catalog() = default;
  ~Catalog() = default;

  std::map<std::string, Model> models_;
};

// The answer for a model that is not there.
absl::Status UnknownModel(const std::string& model);
// "the latest is 7", and whether it can be had; null as FindModel says it.
std::string LatestOf(const Model* model);
// What a wait in vain is told: what was asked for, and what there is instead.
std::string NotInTime(const std::string& name, const VersionSelector& selector, const Model* model);

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_CATALOG_H_
