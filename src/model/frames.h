// The frames that flow along the edges of a graph.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace syrinx {

/// Kinds of frames.
enum class Flow : uint8_t {
  kText,     ///< UTF-8; a frame is a byte
  kIds,      ///< i32, one per frame
  kCodes,    ///< i32 [width] a frame: the codes of a codec
  kRows,     ///< f32 [width] a frame: hidden states, embeddings, latents, spectra
  kSamples,  ///< f32 [width] a frame: width samples of mono audio
};
/// Returns "text", "ids", ...; static storage.
const char* flow_name(Flow flow);

/// The type of an edge's frames.
struct FrameType {
  Flow flow = Flow::kCodes;
  int width = 1;  ///< elements of a frame
  bool operator==(const FrameType&) const = default;
};

/// Frames for a sequence; borrowed for the call. The type decides which span is set.
struct Frames {
  FrameType type;
  int64_t count = 0;
  std::span<const int32_t> ints = {};  ///< [count, width] of kIds and kCodes
  std::span<const float> floats = {};  ///< [count, width] of kRows and kSamples
  std::string_view text = {};          ///< of kText
  bool last = false;                   ///< no more will come
};

}  // namespace syrinx
