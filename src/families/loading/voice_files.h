// Voices in files of a checkpoint, each of which is read when it is first needed. Thread-safe.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "families/family.h"
#include "families/loading/describe.h"
#include "io/file.h"

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
  /// Adds the voices to the facts about a model. The default is the first one of `usual` that
  /// exists, else the first voice.
  void add_to(PipelineInfo& info, const char* description,
              std::initializer_list<const char*> usual = {}) const {
    for (const auto& [name, path] : paths_) info.speech.voices.push_back({name, description});
    if (empty()) return;
    const auto found = std::ranges::find_if(usual, [&](const char* name) { return has(name); });
    info.speech.default_voice = found == usual.end() ? paths_.begin()->first : *found;
  }
  /// Does the same for a model that has no other voices. Reads the default voice, so that a file of
  /// another model is refused now. Without files, random weights get a voice that `random` makes,
  /// and other weights throw LoadError: `folder` "has no voice; `remedy`".
  void publish(const LoadSpec& spec, PipelineInfo& info, std::initializer_list<const char*> usual,
               const std::function<Voice()>& random, const char* folder,
               const std::string& remedy) {
    if (empty()) {
      if (!spec.dummy) load_fault(join_path(spec.dir, folder), "", "has no voice; " + remedy);
      known_[kRandom] = std::make_shared<const Voice>(random());
      paths_.emplace(kRandom, "");
    }
    add_to(info, known_.empty() ? "a published voice" : "random numbers", usual);
    read(info.speech.default_voice);
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
  Result<std::shared_ptr<const Voice>> find(const PipelineInfo& info,
                                            const RequestVoice& asked) const try {
    if (asked.data) return Error{ErrorCode::kUnsupported, info.speech.no_cloning, "voice"};
    const std::string& name = asked.name.empty() ? info.speech.default_voice : asked.name;
    if (!has(name)) return unknown_voice(info, name);
    return read(name);
  } catch (const LoadError& fault) {
    return Error{ErrorCode::kInternal, fault.what(), "voice"};
  }

 private:
  static constexpr const char* kRandom = "default";
  std::map<std::string, std::string> paths_;  // path of each voice, by its name
  const Read read_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const Voice>> known_;
};

}  // namespace syrinx
