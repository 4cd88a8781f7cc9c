// Names of models and voices that other vendors' clients send. Thread-safe free functions.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// Returns whether a name is a model of another vendor (OpenAI, ElevenLabs, Cartesia, Deepgram).
/// Existing clients send such names; they stand for the first model.
bool is_vendor_model(std::string_view name);
/// Returns whether a name is a voice of OpenAI or Deepgram, and so stands for the default voice.
bool is_vendor_voice(std::string_view name);
/// Converts a "lang_code" of Kokoro's servers to a language code: "j" becomes Japanese. Returns
/// other names unchanged.
std::string kokoro_language(std::string_view code);

}  // namespace syrinx
