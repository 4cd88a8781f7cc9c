// Rows of a prompt that are an id of text or a frame of codes, as CSM's and Fish Speech's are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/digest.h"

namespace syrinx {

/// An id of text, or else frame number `frame` of the frames that go with the prompt.
struct PromptRow {
  int32_t id = -1;
  int64_t frame = -1;
};

/// Keys of the rows (Sequence::prefix_keys); `frames` [T, C].
inline void append_keys(std::span<const PromptRow> rows, std::span<const int32_t> frames,
                        int64_t codebooks, std::vector<uint64_t>& keys) {
  constexpr uint64_t kFrameKey = uint64_t{1} << 63;  // no id of text
  for (const PromptRow& row : rows) {
    if (row.frame < 0) {
      keys.push_back(static_cast<uint64_t>(row.id));
      continue;
    }
    Digest digest;
    digest.values(frames.subspan(static_cast<size_t>(row.frame * codebooks),
                                 static_cast<size_t>(codebooks)));
    keys.push_back(digest.key() | kFrameKey);
  }
}

}  // namespace syrinx
