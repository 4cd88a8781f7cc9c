// The name that families include until they include loading/recorded_voice.h themselves, and voices
// of a codec that the family loads itself.
#pragma once

#include "families/loading/recorded_voice.h"

namespace syrinx {

/// Voices that are the frames of the codec that `codec` returns when a recording is opened.
template <typename Codec>
class CodeVoices : public RecordedVoices<const Codec*> {
 public:
  CodeVoices(VoiceEncoderInfo info, int rate, std::function<const Codec&()> codec)
      : RecordedVoices<const Codec*>(
            std::move(info), [codec = std::move(codec)] { return &codec(); },
            [rate](const Codec* const& found, RecordedVoice& recorded) {
              return hear_frames_at(*found, rate, recorded);
            }) {}
};

}  // namespace syrinx
