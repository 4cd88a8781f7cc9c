// The models of one server, by name. The first model is loaded at the start. Others are loaded when
// a request names them, kept for a while after their last use, and unloaded when memory is short. A
// stream keeps the backend that it began with, so unloading and reloading never disturb it. Every
// method is safe from any thread; load(), reload() and sweep() may take long.
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
  std::string name;  ///< the name in requests
  /// Throws LoadError.
  std::function<std::shared_ptr<Backend>()> load;
  std::string trouble = {};  ///< why the model's files cannot be loaded; empty if they can
  /// What is known of the model before it is loaded; null if nothing is.
  std::shared_ptr<const PipelineInfo> facts = {};
};

/// When models are unloaded, and their aliases.
struct ModelTableOptions {
  double keep_s = 600;      ///< seconds without use after which a model is unloaded; 0 means never
  double keep_first_s = 0;  ///< as keep_s, for the first model
  /// Limit on the bytes of weights. Above it, unused models are unloaded. 0 means no limit.
  size_t memory_bytes = 0;
  std::function<void(const std::string& line)> log = {};
  std::map<std::string, std::string, std::less<>> aliases = {};  ///< further names of models
};

class ModelTable {
 public:
  /// Loads the first source at once. Throws LoadError.
  ModelTable(std::vector<ModelSource> sources, ModelTableOptions options);
  /// Makes a table of one loaded model.
  explicit ModelTable(std::shared_ptr<Backend> backend);

  struct Entry {
    std::string name;
    std::shared_ptr<const Backend> backend;  ///< null while it is not loaded
    std::string trouble = {};  ///< why the model's files cannot be loaded; empty if they can
    /// The model's info() when it was last loaded, else ModelSource::facts; null if unknown.
    std::shared_ptr<const PipelineInfo> facts = {};
    /// Its recogniser's info() when it was last loaded; null without a recogniser, or if unknown.
    std::shared_ptr<const RecogniserInfo> hears = {};
  };
  /// Returns the models in the order of the sources.
  std::vector<Entry> list() const;
  /// Returns the first model; null while it is unloaded.
  std::shared_ptr<Backend> first() const;

  /// Finds a model by a client's name: an alias, a name, or else the part of a name after "Org/".
  /// The first model is also found by "" and by vendors' names. Returns null for a known model that
  /// is not loaded. The message of kNotFound lists all models.
  Result<std::shared_ptr<Backend>> find(std::string_view name);
  /// Works like find(), but loads the model if necessary. Tries to load a failed model again only
  /// after some seconds. kOverloaded: memory was short, or the model cannot be loaded (then
  /// retry_after_s is infinite).
  Result<std::shared_ptr<Backend>> load(std::string_view name);

  /// Returns the entry of list() with that name; does not count as a use.
  std::optional<Entry> look_up(std::string_view name) const;

  /// Returns the error for a model for which find() returned null: kOverloaded with the cause.
  Error not_loaded(std::string_view name) const;

  /// Returns the first loaded model that recognises speech, else the first that did when it was
  /// loaded.
  std::optional<Entry> hearer() const;

  /// Loads all loaded models again and replaces them; a model that fails to load stays as it was.
  void reload();
  /// Unloads models that have not been used for too long.
  void sweep(double now_s);

 private:
  struct Slot {
    ModelSource source;
    std::shared_ptr<Backend> backend;
    std::shared_ptr<const RecogniserInfo> hears = {};  // see Entry
    double used_s = 0;
    double failed_s = -1e9;
    Error failure = {};  // why the last load failed or the files are invalid; else an empty message
    size_t bytes = 0;
  };
  Slot* slot(std::string_view name);
  const Slot* slot(std::string_view name) const;
  Entry entry(const Slot& slot) const;
  void put(Slot& slot, std::shared_ptr<Backend> backend);
  /// Removes unused models from slots_, least recently used first, until the rest fits into
  /// memory_bytes. Returns them, because the caller destroys them without the lock.
  std::vector<std::shared_ptr<Backend>> make_room(const Slot* keep);
  void log(const std::string& line) const;

  const ModelTableOptions options_;
  std::mutex loading_;        // one load at a time; taken before mutex_
  mutable std::mutex mutex_;  // protects slots_; held for short times
  std::vector<Slot> slots_;   // as many as sources, always
};

}  // namespace syrinx
