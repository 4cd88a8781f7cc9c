// Downloads a model from the hub into its local cache, in the layout of the hub's own tools:
// blobs/<hash>, snapshots/<commit>/<path> as links to them, refs/<revision>. Every file is compared
// with the hash that the hub states before it appears under its name; a download that was cut goes
// on where it stopped. Faults are LoadErrors. One thread; one process at a time per model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace syrinx {

struct PullOptions {
  std::string endpoint;              ///< of the hub's API, without a slash at the end
  std::string cache;                 ///< as hub_cache()
  std::string token = {};            ///< of a user, for models that need one; sent to the hub only
  std::vector<std::string> include;  ///< patterns like "*.safetensors"; empty: every file
  std::string licence = {};          ///< reported where the hub states none
  bool dry_run = false;              ///< only reports what would be downloaded
  int retries = 5;                   ///< of a transfer, with growing pauses
  double pause_s = 1;                ///< before the first of them
  /// Takes a line for people: first the number of files, their size, what of it is there, and the
  /// licence; then one when a file begins, is there already, or is tried again.
  std::function<void(const std::string& line)> log = {};
  /// Told often while a file comes: how many of its bytes are there.
  std::function<void(const std::string& path, int64_t have, int64_t size)> progress = {};
};

/// $HF_ENDPOINT, or the public hub.
std::string hub_endpoint();
/// $HF_TOKEN, or the file that the hub's own tools keep; empty: none.
std::string hub_token();

/// Downloads "Org/Name" or "Org/Name@revision"; returns the directory of the snapshot. Nothing is
/// downloaded where the disk has too little room, or where the hub asks for an account that
/// accepted the model's terms and there is no token.
std::string pull_model(const std::string& model, const PullOptions& options);

}  // namespace syrinx
