// The voices of a checkpoint: a row for every number of phonemes. Const after load; thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "families/kokoro/config.h"
#include "model/request.h"

namespace syrinx::kokoro {

/// [config.most_phonemes(), 2 config.style].
using VoicePack = std::vector<float>;
using Voices = std::map<std::string, std::shared_ptr<const VoicePack>>;

/// Every voices/NAME.pt of a checkpoint, a tensor f32 [phonemes, 1, 2 style], every
/// voices/NAME.bin, the numbers alone, and every NAME.npy of voices*.bin and voices*.npz, archives
/// of numpy. Throws LoadError for one of another shape, which is a voice of another model, and for
/// one that is not finite.
Voices load_voices(const std::string& dir, const KokoroConfig& config);

/// The voice of a request, or its voices mixed: their mean by weight.
Result<std::shared_ptr<const VoicePack>> voice_of(const Voices& voices, const std::string& usual,
                                                  const SpeechRequest& request);

/// The language that a voice's name begins with ("af_heart": en-us), as espeak-ng names it; empty
/// where it names none.
std::string language_of(const std::string& voice);

}  // namespace syrinx::kokoro
