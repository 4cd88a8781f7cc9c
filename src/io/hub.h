// Finds the directory of the model that a user names with --model: a directory as downloaded, or
// "Org/Name" or "Org/Name@revision" in the local cache of the model hub. Downloads nothing.
#pragma once

#include <string>
#include <vector>

namespace syrinx {

/// Returns the hub's cache, as its tools choose it: $HF_HUB_CACHE, $HUGGINGFACE_HUB_CACHE (old),
/// $HF_HOME/hub, $XDG_CACHE_HOME/huggingface/hub, ~/.cache/huggingface/hub; empty without $HOME.
std::string hub_cache();

/// The parts of "Org/Name@revision". A revision may contain slashes ("refs/pr/1").
struct HubName {
  std::string organisation, name, revision;
};
/// Parses a name. Returns an empty organisation if the text has another form, or if a part would
/// lead out of the cache's folder (such as "..").
HubName parse_hub_name(const std::string& model);
/// Returns the cache's folder of a model, with refs/, snapshots/ and blobs/.
std::string hub_folder(const std::string& cache, const HubName& name);

/// Returns the directory of a revision below `root`, which is a hub_folder(); it may be missing.
/// Without a revision, returns the one of refs/main, or else the only one; empty if there is none.
std::string find_snapshot(const std::string& root, const std::string& revision);

/// Returns the directory of `model`, which must have a file named in `markers`. A LoadError names
/// the searched places and a remedy. `cache` has the layout models--Org--Name/{refs/main,
/// snapshots/<hash>}.
std::string resolve_model(const std::string& model, const std::string& cache = hub_cache(),
                          const std::vector<std::string>& markers = {"config.json"});

/// Returns the directory of a part that a model needs, such as a codec, if its authors publish the
/// part separately: the folder Name of "Org/Name" in the model's directory, otherwise the model
/// Org/Name in the cache.
std::string resolve_part(const std::string& model_dir, const std::string& part,
                         const std::string& cache = hub_cache(),
                         const std::string& marker = "config.json");

}  // namespace syrinx
