// From what a user gives as --model to the directory that holds it: a directory as downloaded, or
// "Org/Name" or "Org/Name@revision" in the local cache of the model hub. Nothing is downloaded.
#pragma once

#include <string>

namespace syrinx {

/// The hub's cache directory as its own tools choose it: $HF_HUB_CACHE, $HF_HOME/hub,
/// $XDG_CACHE_HOME/huggingface/hub, ~/.cache/huggingface/hub; empty when no home is known.
std::string hub_cache();

/// The directory of `model`, which holds a file named `marker`. LoadError tells where it looked
/// and what to do. `cache` has the layout models--Org--Name/{refs/main, snapshots/<hash>}.
std::string resolve_model(const std::string& model, const std::string& cache = hub_cache(),
                          const std::string& marker = "config.json");

/// The directory of a part that a model needs and its authors publish apart from it, such as a
/// codec: the folder Name of "Org/Name" inside the model's directory, or else that model in the
/// cache.
std::string resolve_part(const std::string& model_dir, const std::string& part,
                         const std::string& cache = hub_cache(),
                         const std::string& marker = "config.json");

}  // namespace syrinx
