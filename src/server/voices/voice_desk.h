// Fetches voices as data for requests: of the cache, of the store, or encoded by the model, once
// for all requests for the same one. Reading and writing are on a thread of its own, encoding on
// the engine's. Public methods are safe from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "server/models/backend.h"
#include "voices/voices.h"

namespace syrinx {

/// What is kept and what may wait.
struct VoiceDeskOptions {
  size_t cache_bytes = size_t{256} << 20;
  int max_waiting = 256;  ///< fetches that are not done; more get kOverloaded
  RecordingLimits recordings = {.max_bytes = size_t{16} << 20};
  VoiceAliases aliases = {};  ///< what else voices are called here
};

/// The voices of one request on their way. Given up when destroyed: then nothing is encoded for it
/// any more, and `wake` is not called again.
class VoiceFetch {
 public:
  virtual ~VoiceFetch() = default;
  /// Nothing while they are on the way.
  virtual std::optional<Status> status() const = 0;
  /// Puts them into the request; once status() says ok.
  virtual void put(SpeechRequest& request) const = 0;
};

class VoiceDesk {
 public:
  /// `store` may be null.
  explicit VoiceDesk(std::shared_ptr<VoiceStore> store, VoiceDeskOptions options = {});
  /// Cancels what is under way.
  ~VoiceDesk();
  VoiceDesk(const VoiceDesk&) = delete;
  VoiceDesk& operator=(const VoiceDesk&) = delete;

  /// Whose voices are at hand with this model. Borrows from both.
  Speaker speaker(const Backend& backend) const;
  VoiceStore* store() const;
  const RecordingLimits& recordings() const;

  /// Done at once when all is in the cache. `wake` is called when something changed, on any thread,
  /// and must not block.
  std::unique_ptr<VoiceFetch> fetch(std::shared_ptr<Backend> backend, std::vector<VoiceWish> wishes,
                                    uint64_t client, std::function<void()> wake);
  /// Runs `task` on the desk's thread, after what waits there.
  void post(std::function<void()> task);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace syrinx
