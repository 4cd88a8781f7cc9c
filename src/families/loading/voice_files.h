// Voices in files of a checkpoint, each of which is read when it is first needed. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "families/loading/describe.h"

namespace syrinx {

/// Returns the files with `extension` below `folders` of `dir`, by their names without extension.
/// If names are equal, the file with the first path wins.
std::map<std::string, std::string> files_below(const std::string& dir,
                                               std::initializer_list<const char*> folders,
                                               const char* extension);

/// Voices in files; each is read when a request first names it.
template <typename Voice>
class VoiceFiles {
 public:
  /// Reads a voice. Throws LoadError if the file is not a voice of the model.
  using Read = std::function<Voice(const std::string& path)>;

  VoiceFiles(std::map<std::string, std::string> paths, Read read)
      : paths_(std::move(paths)), read_(std::move(read)) {}

  bool empty() const { return paths_.empty(); }
  bool has(const std::string& name) const { return paths_.contains(name); }
  /// Adds the voices to the facts about a model. The first voice becomes the default.
  void add_to(PipelineInfo& info, const char* description) const {
    for (const auto& [name, path] : paths_) info.speech.voices.push_back({name, description});
    if (!empty()) info.speech.default_voice = paths_.begin()->first;
  }

  /// Returns the voice with that name. Throws LoadError if its file cannot be read.
  std::shared_ptr<const Voice> read(const std::string& name) const {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<const Voice>& voice = known_[name];
    if (!voice) voice = std::make_shared<const Voice>(read_(paths_.at(name)));
    return voice;
  }
  /// Returns the voice that a request names. Returns an Error if the model lacks it, or its file
  /// cannot be read any more.
  Result<std::shared_ptr<const Voice>> find(const PipelineInfo& info, const std::string& name) const
      try {
    if (!has(name)) return unknown_voice(info, name);
    return read(name);
  } catch (const LoadError& fault) {
    return Error{ErrorCode::kInternal, fault.what(), "voice"};
  }

 private:
  const std::map<std::string, std::string> paths_;  // path of each voice, by its name
  const Read read_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const Voice>> known_;
};

}  // namespace syrinx
