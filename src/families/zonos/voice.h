// Voices of Zonos: speaker vectors, from a recording or from a client, single or mixed. Const after
// construction; thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "families/zonos/speaker_encoder.h"
#include "model/request.h"
#include "model/voice.h"

namespace syrinx::zonos {

/// Speaker vectors by name.
using Speakers = std::map<std::string, std::vector<double>>;

/// Returns the vector [width] of a request's voice. Empty for "none". A mix is the weighted average
/// of its vectors, because the model's prefix is linear in them.
Result<std::vector<double>> speaker_vector(const Speakers& speakers, int64_t width,
                                           const SpeechRequest& request);

/// Makes a voice from a client's vector [width].
Result<Voice> voice_of_vector(std::span<const float> vector, int64_t width);

/// Makes an encoder that turns recordings into voices. `load` loads the network, which has 0.4 GB,
/// when the first recording arrives.
std::unique_ptr<VoiceEncoder> make_voices(std::function<std::unique_ptr<SpeakerEncoder>()> load);

}  // namespace syrinx::zonos
