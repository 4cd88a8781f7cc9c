// The voices of a checkpoint: one row for each number of phonemes. Const after load; thread-safe.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "families/kokoro/config.h"

namespace syrinx::kokoro {

/// The rows of a voice, [config.most_phonemes(), 2 config.style].
using VoicePack = std::vector<float>;
using Voices = std::map<std::string, std::shared_ptr<const VoicePack>>;

/// Loads all voices of a checkpoint: voices/NAME.pt (a tensor f32 [phonemes, 1, 2 style]),
/// voices/NAME.bin (only the values), and NAME.npy in voices*.bin and voices*.npz (archives of
/// numpy). Throws LoadError for a voice with another shape, which belongs to another model, or with
/// values that are not finite.
Voices load_voices(const std::string& dir, const KokoroConfig& config);

/// Returns the mean of the voices, weighted by their shares, whose sum is 1.
std::shared_ptr<const VoicePack> mixed(const Voices& voices, std::span<const float> shares);

/// Returns the language that the first letter of a voice's name means ("af_heart": en-us): "ja",
/// "zh", or espeak-ng's name of a language. Empty if the letter means no language.
std::string language_of(const std::string& voice);

}  // namespace syrinx::kokoro
