// Whether there is a voice, 10 ms at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace syrinx {

inline constexpr size_t kActivityFrame = 160;  ///< samples at kHearingRate: 10 ms

/// Remembers what it heard before. One thread at a time.
class VoiceActivity {
 public:
  virtual ~VoiceActivity() = default;
  /// The next kActivityFrame samples.
  virtual bool speaks(std::span<const int16_t> frame) = 0;
};

/// WebRTC's detector as Debian has it (libwebrtc-audio-processing1, in Debian 13
/// libwebrtc-audio-processing-1-3), opened when it is first asked
/// for. `strictness` 0 to 3: the higher, the less noise is taken for a voice. Throws LoadError,
/// which names the package, where it is not installed.
std::unique_ptr<VoiceActivity> open_webrtc_activity(int strictness);

}  // namespace syrinx
