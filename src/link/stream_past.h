// What a stream was given so far, so that another process can compute it again when the one that
// held it is gone: the bundle, the frames, and how they were cut. Values; one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "link/message.h"

namespace syrinx {

class StreamPast {
 public:
  /// Frames of `width` values of 4 bytes. At most `most_bytes` are kept; what grows beyond that
  /// cannot be computed again.
  StreamPast(std::string bundle, int width, size_t most_bytes);

  const std::string& bundle() const { return bundle_; }
  /// Frames that were fresh.
  int64_t at() const { return at_; }
  /// Whether all of it is here.
  bool whole() const { return whole_; }

  /// A chunk that begins at() was made.
  void add(const PushedJob& job);
  size_t chunks() const { return cuts_.size(); }
  /// The chunk as it was, but for its stream; its window is a view into this.
  PushedJob chunk(size_t i) const;

 private:
  struct Cut {
    int64_t at;
    uint32_t left, fresh, ahead;
    bool last;
  };
  std::string bundle_;
  size_t frame_bytes_, most_bytes_;
  int64_t at_ = 0;
  bool whole_ = true;
  std::string frames_;  // from the first on
  std::vector<Cut> cuts_;
};

}  // namespace syrinx
