#include "voices/voices.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/check.h"
#include "io/digest.h"
#include "io/file.h"
#include "model/voice_mix.h"

namespace syrinx {
namespace {

Error no_such_voice(const Speaker& speaker, std::string_view name) {
  std::string known;
  const auto add = [&](const std::string& id) { known += (known.empty() ? "" : ", ") + id; };
  for (const VoiceInfo& voice : speaker.info->speech.voices) add(voice.id);
  if (known.empty() && !speaker.info->speech.default_voice.empty())
    add(speaker.info->speech.default_voice);
  if (speaker.store != nullptr) {
    for (const StoredVoice& voice : speaker.store->list()) {
      if (can_speak_with(speaker, voice) && !find_own_voice(*speaker.info, voice.id)) {
        add(voice.id);
      }
    }
  }
  return {ErrorCode::kNotFound,
          concat("There is no voice '", shown(name, 80), "'; this model has: ",
                 known.empty() ? "none; give a recording to clone" : known, "."),
          "voice"};
}

Error misfit(const Speaker& speaker, const StoredVoice& stored) {
  if (stored.encoded.empty()) {
    Error error = cannot_clone(*speaker.info, "voice");
    error.message = concat("The voice '", stored.id, "' is a recording: ", error.message);
    return error;
  }
  return {ErrorCode::kUnsupported,
          concat("The voice '", stored.id, "' was made for the family '", stored.family,
                 "'; the model '", speaker.info->model, "' is of the family '",
                 speaker.info->family, "'."),
          "voice"};
}

Result<VoiceWish> find_voice(const Speaker& speaker, std::string_view name) {
  if (const auto own = find_own_voice(*speaker.info, name)) return VoiceWish{.own = *own};
  const auto stored = speaker.store == nullptr ? std::nullopt : speaker.store->find(name);
  if (!stored) return no_such_voice(speaker, name);
  if (!can_speak_with(speaker, *stored)) return misfit(speaker, *stored);
  return VoiceWish{.source = std::make_shared<VoiceSource>(VoiceSource{.stored = stored->id})};
}

/// Returns the mode for a recording: `mode`, or if empty the first mode that fits. Does not check
/// that the encoder has `mode`; check_recording() does.
std::string mode_of(const VoiceEncoderInfo& encoder, const std::string& mode, bool has_text) {
  if (!mode.empty()) return mode;
  for (const VoiceMode& each : encoder.modes) {
    if (!each.needs_text || has_text) return each.name;
  }
  return "";
}

/// Throws LoadError if a file of the voice cannot be read.
Result<PreparedVoice> prepare_entry(const Speaker& speaker,
                                    const std::optional<StoredVoice>& stored,
                                    const VoiceSource& source, const PrepareOptions& options) {
  // Another process removed or replaced the voice meanwhile.
  if (!stored) return no_such_voice(speaker, source.stored);
  if (!can_speak_with(speaker, *stored)) return misfit(speaker, *stored);
  PreparedVoice out;
  out.recording_hash = stored->recording;
  std::string key = stored->encoded;
  if (key.empty()) {
    const std::string mode = mode_of(*speaker.encoder, stored->mode, !stored->text.empty());
    key = voice_key(stored->recording, *speaker.encoder, mode, stored->text);
  }
  if (options.cache != nullptr) out.voice = options.cache->find(key);
  if (!out.voice && !options.quick) {
    if (options.under_way && options.under_way(key)) return out;
    out.voice = speaker.store->load(key);
    if (out.voice && options.cache != nullptr) options.cache->put(key, out.voice);
  }
  if (out.voice || !options.quick) out.key = key;
  if (out.voice || options.quick) return out;
  if (stored->recording.empty()) {
    return Error{ErrorCode::kInternal,
                 concat("the voice '", stored->id, "' cannot be read: its file is damaged"),
                 "voice"};
  }
  out.recording = speaker.store->recording(*stored);
  return out;
}

/// Reads the entry again after a failure, because another process may replace or remove the voice
/// after the entry was read and before its files are read. The new entry may even be equal, if the
/// voice was replaced twice. So only a file that fails repeatedly is reported as damaged.
Result<PreparedVoice> prepare_stored(const Speaker& speaker, const VoiceSource& source,
                                     const PrepareOptions& options) {
  constexpr int kTries = 8;
  for (int tries = 1;; ++tries) {
    try {
      return prepare_entry(speaker, speaker.store->find(source.stored), source, options);
    } catch (const LoadError& error) {
      if (tries == kTries) return Error{ErrorCode::kInternal, error.what(), "voice"};
    }
  }
}

}  // namespace

Error cannot_clone(const PipelineInfo& info, const char* param) {
  return {
      ErrorCode::kUnsupported,
      concat("The model '", info.model, "' cannot clone a voice: ", info.speech.no_cloning, "."),
      param};
}

std::optional<std::string> find_own_voice(const PipelineInfo& info, std::string_view name) {
  for (const VoiceInfo& voice : info.speech.voices) {
    if (voice.id == name) return voice.id;
  }
  const std::string folded = lower_ascii(name);
  for (const VoiceInfo& voice : info.speech.voices) {
    if (lower_ascii(voice.id) == folded) return voice.id;
  }
  if (!name.empty() && name == info.speech.default_voice) return info.speech.default_voice;
  return {};
}

bool can_speak_with(const Speaker& speaker, const StoredVoice& voice) {
  if (!voice.encoded.empty()) return voice.family == speaker.info->family;
  return speaker.encoder != nullptr;
}

Result<std::vector<VoiceWish>> find_voices(const Speaker& speaker, std::string_view text) {
  if (speaker.aliases != nullptr) {
    const auto alias = speaker.aliases->find(text);
    if (alias != speaker.aliases->end()) text = alias->second;
  }
  // A name of the model's own voice may contain these characters, too.
  if (text.find_first_of("+(") == std::string_view::npos || find_own_voice(*speaker.info, text)) {
    auto wish = find_voice(speaker, text);
    if (!wish) return wish.error();
    return std::vector<VoiceWish>{wish.take()};
  }
  auto shares = parse_voice_mix(text);
  if (!shares) return shares.error();
  if (shares.value().size() > 1 && !speaker.info->speech.mixes) {
    return Error{ErrorCode::kUnsupported,
                 concat("The model '", speaker.info->model, "' does not mix voices."), "voice"};
  }
  std::vector<VoiceWish> out;
  for (const NamedShare& share : shares.value()) {
    auto wish = find_voice(speaker, share.name);
    if (!wish) return wish.error();
    out.push_back(wish.take());
    out.back().weight = share.weight;
  }
  return out;
}

Result<PreparedVoice> prepare_voice(const Speaker& speaker, const VoiceSource& source,
                                    const PrepareOptions& options) {
  if (!source.stored.empty()) return prepare_stored(speaker, source, options);
  const VoiceEncoderInfo& encoder = *speaker.encoder;
  const std::string mode = mode_of(encoder, source.mode, !source.text.empty());
  // The key is a hash of the file's bytes. So a recording that is sent with every request is found
  // in the cache before it is decoded.
  const std::string bytes = concat(sha256_hex(source.audio), source.trim ? " trimmed" : "");
  const std::string key = voice_key(bytes, encoder, mode, source.text);
  PreparedVoice out;
  if (options.cache != nullptr) out.voice = options.cache->find(key);
  if (out.voice || !options.quick) out.key = key;
  if (out.voice || options.quick) return out;
  if (options.under_way && options.under_way(key)) return out;
  RecordingLimits limits = options.limits;
  limits.trim = source.trim;
  auto audio = source.decoded ? Result<RecordedAudio>(*source.decoded)
                              : read_recording(source.audio, limits);
  if (!audio) return audio.error();
  if (options.heard) options.heard(audio.value());
  out.recording = {.samples = std::move(audio.value().samples),
                   .sample_rate = audio.value().sample_rate,
                   .text = source.text,
                   .mode = source.mode};
  return out;
}

std::shared_ptr<const Voice> keep_voice(const Speaker& speaker, const PreparedVoice& prepared,
                                        Voice voice, VoiceCache* cache) {
  if (speaker.store != nullptr && !prepared.recording_hash.empty()) {
    try {
      speaker.store->keep(prepared.key, prepared.recording_hash, voice);
    } catch (const LoadError&) {
      // If the store is read-only, the voice is encoded again the next time.
    }
  }
  auto shared = std::make_shared<const Voice>(std::move(voice));
  if (cache != nullptr) cache->put(prepared.key, shared);
  return shared;
}

Result<StoredVoice> add_voice(VoiceStore& store, const VoiceEncoderInfo& encoder,
                              const NewVoice& wish, const RecordedAudio& audio,
                              const Voice& voice) try {
  auto stored = store.add(wish, audio);
  if (!stored) return stored;
  const std::string& recording = stored.value().recording;
  const std::string mode = mode_of(encoder, wish.mode, !wish.text.empty());
  store.keep(voice_key(recording, encoder, mode, wish.text), recording, voice);
  return stored;
} catch (const LoadError& error) {
  return Error{ErrorCode::kInternal, error.what(), "name"};
}

void put_voices(const std::vector<VoiceWish>& wishes,
                std::span<const std::shared_ptr<const Voice>> fetched, SpeechRequest& request) {
  size_t next = 0;
  std::vector<VoiceShare> shares;
  for (const VoiceWish& wish : wishes) {
    VoiceShare share{.voice = wish.own, .data = nullptr, .weight = wish.weight};
    if (wish.source) {
      SYRINX_CHECK(next < fetched.size(), "a voice was not loaded");
      share.data = fetched[next++];
    }
    if (wish.turn >= 0) {
      request.say.context.at(static_cast<size_t>(wish.turn)).recording = std::move(share.data);
    } else {
      shares.push_back(std::move(share));
    }
  }
  if (shares.empty()) return;
  if (shares.size() == 1) {
    request.voice.name = shares[0].voice;
    request.voice.data = shares[0].data;
  } else {
    request.voice.mix = std::move(shares);
  }
}

}  // namespace syrinx
