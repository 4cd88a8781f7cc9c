// A table of the hub's models that have a short name in this program: their repository, the files
// to download, and other models that they need. A table of constants; safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

struct KnownModel {
  std::string name;                       ///< short name that a user gives, e.g. "kokoro"
  std::string repository;                 ///< e.g. "Org/Name"
  std::vector<std::string> include = {};  ///< patterns of the files to download; empty means all
  /// Path of the model's file in the repository. Empty means the whole repository.
  std::string file = {};
  /// Approximate size of the download, without `needs`; 0 if it is unknown.
  int megabytes = 0;
  std::string licence = {};             ///< licence of the weights, as their authors state it
  bool gated = false;                   ///< the hub requires an account that accepted the terms
  std::vector<std::string> needs = {};  ///< names of other models in this table
  /// Page of docs/families that says how to complete the download; "" if it loads unchanged.
  std::string page = {};
};

/// Returns all models of the table by name. "piper:VOICE" represents each published Piper voice.
const std::vector<KnownModel>& known_models();

/// Finds the model with this name. "piper:en_US-lessac-medium" is derived from the voice's name;
/// throws LoadError for a malformed voice name. Empty if the table lacks the name.
std::optional<KnownModel> find_known_model(std::string_view name);

/// Returns the directory or file of a known model in the hub's cache at `cache`. If it is absent,
/// throws a LoadError that names the command to download it.
std::string resolve_known_model(const KnownModel& model, const std::string& cache);

}  // namespace syrinx
