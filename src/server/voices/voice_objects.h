// Voices and consents as clients are shown them. Free functions; any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "voices/voices.h"

namespace syrinx {

/// A voice that can be asked for.
struct ListedVoice {
  std::string id, name, description;
  bool is_default = false;
  std::optional<StoredVoice> kept = {};  ///< nothing: the model's own
};
/// The model's voices, then the kept ones that it can speak with. `aliases`: then what else they
/// are called, where that is one voice.
std::vector<ListedVoice> list_voices(const Speaker& speaker, bool aliases);

/// As in "uploaded_voices" of vLLM-Omni's list.
nlohmann::ordered_json stored_voice_object(const StoredVoice& voice);
/// As OpenAI's "audio.voice_consent".
nlohmann::ordered_json consent_object(const StoredConsent& consent);

}  // namespace syrinx
