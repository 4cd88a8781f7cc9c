// Voices and consents as JSON for clients. Thread-safe free functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "voices/voices.h"

namespace syrinx {

/// A voice that requests may name.
struct ListedVoice {
  std::string id, name, description;
  bool is_default = false;
  std::optional<StoredVoice> kept = {};  ///< the stored voice; unset for a voice of the model
};
/// Returns the model's voices, then the stored voices that the model can use. With `aliases`, also
/// returns the aliases of single voices.
std::vector<ListedVoice> list_voices(const Speaker& speaker, bool aliases);

/// Returns a voice as in "uploaded_voices" of vLLM-Omni's list.
nlohmann::ordered_json stored_voice_object(const StoredVoice& voice);
/// Returns a consent as OpenAI's "audio.voice_consent".
nlohmann::ordered_json consent_object(const StoredConsent& consent);

}  // namespace syrinx
