// Makes voices from recordings: the codec's frames of a recording without its long silences, and
// its loudness. Source: omnivoice 0.2.1, omnivoice/models/omnivoice.py (create_voice_clone_prompt)
// and utils/audio.py (remove_silence), which calls pydub 0.25.1 (silence.py).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "codec/xcodec.h"
#include "families/omnivoice/config.h"
#include "families/omnivoice/state.h"
#include "model/voice.h"

namespace syrinx::omnivoice {

inline constexpr const char* kFamily = "omnivoice";
inline constexpr double kMostSeconds = 60;  ///< longest recording of a voice

/// Cuts the silences of a recording at `rate` Hz, a multiple of 1000: 400 ms stay of those inside,
/// 100 ms at its beginning, 200 ms at its end. Silence is quieter than -50 dBFS for 200 ms. The
/// result has 16 bits and whole milliseconds; it is empty if all is silent.
std::vector<float> without_silence(std::span<const float> samples, int rate);

/// Makes an encoder of voices. `codec` is the scope of the codec's weights, which must outlive it.
std::unique_ptr<VoiceEncoder> make_voices(const Weights& codec, const XCodecConfig& sizes);

/// Reads a voice. Returns an Error if the voice does not fit this model.
Result<Heard> heard_in(const ModelConfig& config, const Voice& voice, double frame_rate);

}  // namespace syrinx::omnivoice
