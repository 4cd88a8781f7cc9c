// The audio formats of the Realtime API: 16-bit PCM at 24 kHz and G.711's two laws at 8 kHz, mono.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audio/resampler.h"
#include "audio/wav.h"

namespace syrinx {

/// The format of audio in a session.
struct RealtimeFormat {
  SampleCoding coding = SampleCoding::kS16;

  int rate_hz() const { return coding == SampleCoding::kS16 ? 24000 : 8000; }
  /// Returns "audio/pcm", "audio/pcmu" or "audio/pcma".
  const char* name() const;
  double seconds(size_t bytes) const {
    return static_cast<double>(bytes) / static_cast<double>(sample_bytes(coding)) / rate_hz();
  }
  bool operator==(const RealtimeFormat&) const = default;
};

/// Returns the format with this name; nothing for other names.
std::optional<RealtimeFormat> realtime_format(std::string_view name);

/// Decodes bytes to samples; ignores an odd byte at the end of PCM.
std::vector<float> samples_of(std::string_view bytes, RealtimeFormat format);

/// Converts a client's audio to samples at kHearingRate while it arrives. The result does not
/// depend on the sizes of the pieces. Not thread-safe.
class InputAudio {
 public:
  explicit InputAudio(RealtimeFormat format = {});
  RealtimeFormat format() const { return format_; }
  /// Converts bytes and appends the samples that are complete.
  void push(std::string_view bytes, std::vector<float>& out);

 private:
  RealtimeFormat format_;
  std::unique_ptr<Resampler> resampler_;
};

/// Appends samples as 16-bit integers, clipped; sessions keep audio in this form.
void keep_samples(std::span<const float> samples, std::vector<int16_t>& out);
/// Converts kept samples to the floats that recognisers take.
std::vector<float> heard_samples(std::span<const int16_t> kept);
/// Converts 16-bit samples at kHearingRate to a format of the API, for clients that fetch audio.
std::string bytes_in(std::span<const int16_t> samples, RealtimeFormat format);

}  // namespace syrinx
