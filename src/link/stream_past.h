// The input of a stream so far: its bundle, its frames, and how they were cut into chunks. With it
// another process can compute the stream again. One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "link/message.h"

namespace syrinx {

class StreamPast {
 public:
  /// `width`: values per frame, 4 bytes each. Keeps at most `most_bytes`. A stream with more input
  /// cannot be computed again.
  StreamPast(std::string bundle, int width, size_t most_bytes);

  const std::string& bundle() const { return bundle_; }
  /// Returns the number of frames of all chunks so far.
  int64_t at() const { return at_; }
  /// Returns whether the whole input was kept.
  bool whole() const { return whole_; }

  /// Adds a chunk that was run. The chunk's new frames begin at frame at().
  void add(const PushedJob& job);
  size_t chunks() const { return cuts_.size(); }
  /// Returns chunk i as added, but without its stream. Its window is a view into this object.
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
  std::string frames_;  // frames from the stream's first frame on
  std::vector<Cut> cuts_;
};

}  // namespace syrinx
