// Names of models and voices that other vendors' clients send. Free functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// Returns whether a model's name is one of another vendor (OpenAI, ElevenLabs, Cartesia,
/// Deepgram), which existing clients send: it means the first model.
bool is_vendor_model(std::string_view name);
/// Returns whether a voice's name is one of OpenAI or Deepgram: it means the default voice.
bool is_vendor_voice(std::string_view name);
/// Returns the language that a "lang_code" of Kokoro's servers means: a letter there, as "j" for
/// Japanese. Other names stay as they are.
std::string kokoro_language(std::string_view code);

}  // namespace syrinx
