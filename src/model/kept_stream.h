// The stream of a chunk stage between two turns of a conversation. The audio of the next turn then
// continues that of the turn before: the codec does not begin anew.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "model/stage.h"

namespace syrinx {

/// Owned by the conversation; at most one unfinished request may have it. A request takes the
/// contents when it is opened, and puts them back when its stream has ended. If the request ends
/// earlier, e.g. by a cancel, the contents are lost: the codec of the next turn begins anew.
/// Thread-safe.
class KeptStream {
 public:
  struct Past {
    /// Null before the first turn, and after drop(): then the stage must run `codes` again.
    std::unique_ptr<StreamState> stream = {};
    std::vector<int32_t> codes = {};  ///< frames of all turns of the stream, [T, C]
  };

  /// Moves the contents out. A stream of another stage than `stage` is destroyed: its model was
  /// loaded again, or replaced.
  Past take(const ChunkStage& stage) {
    const std::lock_guard lock(mutex_);
    if (stage_ != &stage) past_.stream.reset();
    return std::exchange(past_, {});
  }
  /// Puts a stream of `stage` back. The stage's owner calls drop() before the stage ends.
  void put(Past past, const ChunkStage& stage) {
    const std::lock_guard lock(mutex_);
    past_ = std::move(past);
    stage_ = &stage;
  }
  /// Destroys the stream, to free its memory. The codes stay, so the audio of the next turn is the
  /// same, but comes later.
  void drop() {
    const std::lock_guard lock(mutex_);
    past_.stream.reset();
  }
  /// Returns whether it has a stream.
  bool holds() const {
    const std::lock_guard lock(mutex_);
    return past_.stream != nullptr;
  }

 private:
  mutable std::mutex mutex_;
  Past past_;
  const ChunkStage* stage_ = nullptr;  // the stage of past_.stream
};

}  // namespace syrinx
