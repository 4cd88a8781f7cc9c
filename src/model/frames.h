// The frames that flow along the edges of a graph.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace syrinx {

/// Kinds of frames.
enum class Flow : uint8_t {
  kText,     ///< UTF-8; a byte is a frame
  kIds,      ///< i32; an id is a frame
  kCodes,    ///< i32 [width] for each frame: the codes of a codec
  kRows,     ///< f32 [width] for each frame: hidden states, embeddings, latents, spectra
  kSamples,  ///< f32 [width] for each frame: `width` samples of mono audio
};
/// Returns the name of a kind: "text", "ids", ...; static storage.
const char* flow_name(Flow flow);

/// The type of an edge's frames.
struct FrameType {
  Flow flow = Flow::kCodes;
  int width = 1;  ///< number of elements of a frame
  bool operator==(const FrameType&) const = default;
};

/// Frames for a sequence, borrowed for one call. The type decides which of the spans is set.
struct Frames {
  FrameType type;
  int64_t count = 0;
  std::span<const int32_t> ints = {};  ///< [count, width], set for kIds and kCodes
  std::span<const float> floats = {};  ///< [count, width], set for kRows and kSamples
  std::string_view text = {};          ///< set for kText
  bool last = false;                   ///< no more frames will come
};

}  // namespace syrinx
