// Models of the hub that this program knows by a short name: where they lie, which of their files
// are read, and what else they need. A table of constants; safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

struct KnownModel {
  std::string name;                       ///< as a user writes it: "kokoro"
  std::string repository;                 ///< "Org/Name"
  std::vector<std::string> include = {};  ///< patterns of the files that are read; empty: all
  std::string file = {};                  ///< path of the model in the repository; empty: all of it
  int megabytes = 0;                      ///< downloaded for it alone, about
  std::string licence = {};               ///< of the weights, as their authors state it
  bool gated = false;                     ///< the hub asks for an account that accepted the terms
  std::vector<std::string> needs = {};    ///< names of other models in this table
};

/// All models of the table by name; "piper:VOICE" stands for each published voice of Piper.
const std::vector<KnownModel>& known_models();

/// The model of this name. "piper:en_US-lessac-medium" is made of the voice's own name; a voice
/// name of another form is a LoadError. Nothing when the table does not have the name.
std::optional<KnownModel> find_known_model(std::string_view name);

/// The directory or file of a known model in the hub's cache at `cache`. LoadError, with the
/// command that downloads it, when it is not there.
std::string resolve_known_model(const KnownModel& model, const std::string& cache);

}  // namespace syrinx
