// Detects whether audio contains a voice, 10 ms at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace syrinx {

inline constexpr size_t kActivityFrame = 160;  ///< samples at kHearingRate: 10 ms

/// A voice detector. Its result may depend on earlier frames. One thread at a time.
class VoiceActivity {
 public:
  virtual ~VoiceActivity() = default;
  /// Processes the next kActivityFrame samples, and returns whether they contain a voice.
  virtual bool speaks(std::span<const int16_t> frame) = 0;
};

/// Opens WebRTC's detector from its Debian package (libwebrtc-audio-processing1, in Debian 13
/// libwebrtc-audio-processing-1-3). The library is loaded at first use. `strictness` is 0 to 3; a
/// higher value mistakes less noise for a voice. Throws LoadError if the package is not installed;
/// its text names the package.
std::unique_ptr<VoiceActivity> open_webrtc_activity(int strictness);

}  // namespace syrinx
