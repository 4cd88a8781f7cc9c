// The models of one server, by name: the first is loaded at the start, others are loaded when
// a request names them, kept for a while after their last use, and let go when memory is short.
// A stream holds on to the backend that it began with, so unloading and reloading disturb no
// stream. Every method is safe from any thread; load(), reload() and sweep() may take long.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "server/models/backend.h"

namespace syrinx {

/// A model that is loaded when a request names it.
struct ModelSource {
  std::string name;  ///< what clients ask for
  /// Throws LoadError.
  std::function<std::shared_ptr<Backend>()> load;
  std::string trouble = {};  ///< why it cannot be loaded as its files are now; empty: not known
  /// What is known of it before it is loaded; null: nothing.
  std::shared_ptr<const PipelineInfo> facts = {};
};

/// When models are let go, and what else they are called.
struct ModelTableOptions {
  double keep_s = 600;      ///< seconds without use after which a model is unloaded; 0: never
  double keep_first_s = 0;  ///< the same of the first model
  size_t memory_bytes = 0;  ///< of weights; past it models out of use are let go; 0: no bound
  std::function<void(const std::string& line)> log = {};
  std::map<std::string, std::string, std::less<>> aliases = {};  ///< what else models are called
};

class ModelTable {
 public:
  /// Loads the first source at once. Throws LoadError.
  ModelTable(std::vector<ModelSource> sources, ModelTableOptions options);
  /// A table of one model that is there already.
  explicit ModelTable(std::shared_ptr<Backend> backend);

  struct Entry {
    std::string name;
    std::shared_ptr<const Backend> backend;  ///< null while it is not loaded
    std::string trouble = {};  ///< why it cannot be loaded as its files are; empty: not known
    /// What is known of the model as it was loaded last, or of its source; null: nothing.
    std::shared_ptr<const PipelineInfo> facts = {};
  };
  /// In the order given.
  std::vector<Entry> list() const;
  /// Null while it is let go.
  std::shared_ptr<Backend> first() const;

  /// The model that a client calls `name`: an alias, one of the names, the last part of one
  /// ("Org/Name" for "Name" and the other way round), or "" and vendors' names for the first. Null:
  /// known, to be loaded. kNotFound names all there are.
  Result<std::shared_ptr<Backend>> find(std::string_view name);
  /// The same, loaded if need be. A model that failed to load is tried again after some seconds.
  /// kOverloaded: it cannot be loaded, and waiting does not help (retry_after_s is infinite), or
  /// memory was short.
  Result<std::shared_ptr<Backend>> load(std::string_view name);

  /// The same without using it: what is in list() under that name.
  std::optional<Entry> look_up(std::string_view name) const;

  /// Why find() gave null for that name: kOverloaded, as load() says it once it was tried.
  Error not_loaded(std::string_view name) const;

  /// The first that is loaded and recognises speech.
  std::optional<Entry> hearer() const;

  /// Loads again what is loaded and puts it in place; what fails to load stays as it was.
  void reload();
  /// Lets go what was not used for too long.
  void sweep(double now_s);

 private:
  struct Slot {
    ModelSource source;
    std::shared_ptr<Backend> backend;
    double used_s = 0;
    double failed_s = -1e9;
    Error failure = {};  // of the last load, or known beforehand; no message: none
    size_t bytes = 0;
  };
  Slot* slot(std::string_view name);
  const Slot* slot(std::string_view name) const;
  Entry entry(const Slot& slot) const;
  void put(Slot& slot, std::shared_ptr<Backend> backend);
  /// Models that may go, least recently used first, until the rest fit; destroyed by the caller.
  std::vector<std::shared_ptr<Backend>> make_room(const Slot* keep);
  void log(const std::string& line) const;

  const ModelTableOptions options_;
  std::mutex loading_;        // one load at a time; taken before mutex_
  mutable std::mutex mutex_;  // of slots_, held shortly
  std::vector<Slot> slots_;   // never grows or shrinks
};

}  // namespace syrinx
