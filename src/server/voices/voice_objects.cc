#include "server/voices/voice_objects.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "audio/wav.h"

namespace syrinx {

using nlohmann::ordered_json;

std::vector<ListedVoice> list_voices(const Speaker& speaker, bool aliases) {
  std::vector<ListedVoice> out;
  for (const VoiceInfo& voice : speaker.info->speech.voices) {
    out.push_back(
        {voice.id, voice.id, voice.description, voice.id == speaker.info->speech.default_voice});
  }
  if (speaker.store != nullptr) {
    for (StoredVoice& voice : speaker.store->list()) {
      if (!can_speak_with(speaker, voice) || find_own_voice(*speaker.info, voice.id)) continue;
      out.push_back({voice.id, voice.name, voice.description, false, std::move(voice)});
    }
  }
  if (!aliases || speaker.aliases == nullptr) return out;
  for (size_t i = 0, count = out.size(); i < count; ++i) {
    for (const auto& [alias, voice] : *speaker.aliases) {
      if (voice != out[i].id || alias == voice) continue;
      out.push_back(out[i]);
      out.back().id = alias;
      out.back().is_default = false;
    }
  }
  return out;
}

ordered_json stored_voice_object(const StoredVoice& voice) {
  ordered_json out = {{"id", voice.id},
                      {"name", voice.name},
                      {"consent", voice.consent},
                      {"created_at", voice.created_s}};
  if (voice.recording.empty()) {
    out["file_size"] = 0;
    out["mime_type"] = "application/octet-stream";
    out["embedding_source"] = "direct";
    out["family"] = voice.family;
  } else {
    out["file_size"] = voice.recording_bytes;
    out["mime_type"] = "audio/wav";
    out["embedding_source"] = "audio";
    out["seconds"] = voice.seconds;
  }
  if (!voice.text.empty()) out["ref_text"] = voice.text;
  if (!voice.mode.empty()) out["ref_mode"] = voice.mode;
  if (!voice.description.empty()) out["speaker_description"] = voice.description;
  return out;
}

ordered_json consent_object(const StoredConsent& consent) {
  return {{"object", "audio.voice_consent"},
          {"id", consent.id},
          {"name", consent.name},
          {"language", consent.language},
          {"created_at", consent.created_s}};
}

}  // namespace syrinx
