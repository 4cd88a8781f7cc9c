// Kept voices and consents as clients are shown them. Free functions; any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "voices/voice_store.h"

namespace syrinx {

/// As in "uploaded_voices" of vLLM-Omni's list.
nlohmann::ordered_json stored_voice_object(const StoredVoice& voice);
/// As OpenAI's "audio.voice_consent".
nlohmann::ordered_json consent_object(const StoredConsent& consent);

}  // namespace syrinx
