// Fetches voices as data for requests: from the cache, from the store, or by encoding. Requests for
// the same voice share one encoding. Files are read and written on the desk's thread, recordings
// are encoded by the engine. Public methods are safe from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "server/models/backend.h"
#include "voices/voices.h"

namespace syrinx {

/// Limits, and further names of voices.
struct VoiceDeskOptions {
  size_t cache_bytes = size_t{256} << 20;
  int max_waiting = 256;  ///< most unfinished fetches; further ones get kOverloaded
  RecordingLimits recordings = {.max_bytes = size_t{16} << 20};
  VoiceAliases aliases = {};  ///< further names of voices
};

/// The fetch of one request's voices. Destroying it cancels it: its encodings stop, and `wake` is
/// not called again.
class VoiceFetch {
 public:
  virtual ~VoiceFetch() = default;
  /// Returns the result; nothing while voices are being fetched.
  virtual std::optional<Status> status() const = 0;
  /// Puts the voices into the request; call it once status() is ok.
  virtual void put(SpeechRequest& request) const = 0;
};

class VoiceDesk {
 public:
  /// `store` may be null.
  explicit VoiceDesk(std::shared_ptr<VoiceStore> store, VoiceDeskOptions options = {});
  /// Cancels all fetches.
  ~VoiceDesk();
  VoiceDesk(const VoiceDesk&) = delete;
  VoiceDesk& operator=(const VoiceDesk&) = delete;

  /// Returns the voices that are available with this model. Borrows from the desk and the model.
  Speaker speaker(const Backend& backend) const;
  VoiceStore* store() const;
  const RecordingLimits& recordings() const;

  /// Fetches voices; finishes at once if all voices are in the cache. Calls `wake` on any thread
  /// when the status may have changed; `wake` must not block.
  std::unique_ptr<VoiceFetch> fetch(std::shared_ptr<Backend> backend, std::vector<VoiceWish> wishes,
                                    uint64_t client, std::function<void()> wake);
  /// Queues `task` for the desk's thread.
  void post(std::function<void()> task);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace syrinx
