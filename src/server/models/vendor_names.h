// What clients of other vendors call models and voices, whatever is served. Free functions; any
// thread.
#pragma once

#include <string_view>

namespace syrinx {

/// Whether a model's name is one of another vendor's (OpenAI's, ElevenLabs', Cartesia's,
/// Deepgram's), which existing clients ask for: it means the first model.
bool is_vendor_model(std::string_view name);
/// The same for voices, of OpenAI and Deepgram: they mean the default voice.
bool is_vendor_voice(std::string_view name);

}  // namespace syrinx
