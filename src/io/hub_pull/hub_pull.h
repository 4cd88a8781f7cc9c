// Downloads a model from the hub into its local cache, in the layout of the hub's own tools:
// blobs/<hash>, snapshots/<commit>/<path> as links to blobs, refs/<revision>. Each file is compared
// with the hub's hash before it gets its name. An interrupted download is resumed. Faults are
// LoadErrors. One thread; one process at a time per model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace syrinx {

struct PullOptions {
  std::string endpoint;    ///< URL of the hub's API, without a slash at the end
  std::string cache;       ///< cache directory; see hub_cache()
  std::string token = {};  ///< a user's token, for models that need it; sent only to the hub
  std::vector<std::string> include;  ///< patterns like "*.safetensors"; empty means every file
  std::string licence = {};          ///< licence to report if the hub states none
  bool dry_run = false;              ///< only report what would be downloaded
  int retries = 5;                   ///< further attempts per transfer, with growing pauses
  double pause_s = 1;                ///< pause before the first retry
  /// Receives lines to show the user. The first line has the number of files, their size, the part
  /// already downloaded, and the licence. Later lines report that a download begins or is retried,
  /// or that a file is already complete.
  std::function<void(const std::string& line)> log = {};
  /// Receives the progress of a file: bytes so far and bytes in total.
  std::function<void(const std::string& path, int64_t have, int64_t size)> progress = {};
};

/// Returns $HF_ENDPOINT, or the public hub.
std::string hub_endpoint();
/// Returns $HF_TOKEN, or the token in the file of the hub's own tools; empty without a token.
std::string hub_token();

/// Downloads "Org/Name" or "Org/Name@revision" and returns the directory of the snapshot. Downloads
/// nothing if the disk has too little space, or if the model is gated and no token is given.
std::string pull_model(const std::string& model, const PullOptions& options);

}  // namespace syrinx
