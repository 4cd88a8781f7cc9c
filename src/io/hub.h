// From what a user gives as --model to the directory that holds it: a directory as downloaded, or
// "Org/Name" or "Org/Name@revision" in the local cache of the model hub. Nothing is downloaded.
#pragma once

#include <string>
#include <vector>

namespace syrinx {

/// The hub's cache directory as its own tools choose it: $HF_HUB_CACHE, $HF_HOME/hub,
/// $XDG_CACHE_HOME/huggingface/hub, ~/.cache/huggingface/hub; empty when no home is known.
std::string hub_cache();

/// "Org/Name@revision" taken apart. A revision may hold slashes ("refs/pr/1").
struct HubName {
  std::string organisation, name, revision;
};
/// An empty organisation when the text has another form, or parts that would not stay where they
/// are put as folders.
HubName parse_hub_name(const std::string& model);
/// Where the cache keeps a model: it holds refs/, snapshots/ and blobs/.
std::string hub_folder(const std::string& cache, const HubName& name);

/// The directory of a revision below `root`, a folder as hub_folder() names it; without a revision
/// the one of refs/main, or the only one. Empty when the cache does not have it.
std::string find_snapshot(const std::string& root, const std::string& revision);

/// The directory of `model`, which holds a file named like one of `markers`. LoadError names where
/// it looked and what to do. `cache` has the layout models--Org--Name/{refs/main,
/// snapshots/<hash>}.
std::string resolve_model(const std::string& model, const std::string& cache = hub_cache(),
                          const std::vector<std::string>& markers = {"config.json"});

/// The directory of a part that a model needs and its authors publish apart from it, such as a
/// codec: the folder Name of "Org/Name" inside the model's directory, or else that model in the
/// cache.
std::string resolve_part(const std::string& model_dir, const std::string& part,
                         const std::string& cache = hub_cache(),
                         const std::string& marker = "config.json");

}  // namespace syrinx
