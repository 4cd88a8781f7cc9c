// Finds the voice that a request describes. The request has the name of a voice of the model or the
// store, a mix of voices, a recording or an embedding. Returns the voice as data. Shared by the
// command line and the server. Free functions and plain data; thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/pipeline.h"
#include "voices/voice_cache.h"
#include "voices/voice_store.h"

namespace syrinx {

/// Additional names that an operator defines for voices or mixes, such as other vendors'
/// ids.
using VoiceAliases = std::map<std::string, std::string, std::less<>>;

/// The voices available to a request: the model's voices, the store's voices, and aliases. Borrows
/// the model, the encoder, the store and the aliases.
struct Speaker {
  // Implicit: a model alone can be used as a Speaker.
  Speaker(const PipelineInfo& model,  // NOLINT(google-explicit-constructor)
          const VoiceEncoderInfo* its_encoder = nullptr, const VoiceStore* kept = nullptr,
          const VoiceAliases* also_called = nullptr)
      : info(&model), encoder(its_encoder), store(kept), aliases(also_called) {}
  const PipelineInfo* info;
  const VoiceEncoderInfo* encoder;  ///< null if the model cannot clone
  const VoiceStore* store;          ///< null without a store
  const VoiceAliases* aliases;      ///< null without aliases
};

/// The source of a voice as data. Exactly one of `stored`, `audio` and `embedding` is set.
struct VoiceSource {
  std::string stored = {};            ///< the id of a voice in the store
  std::string audio = {};             ///< bytes of an audio file
  std::vector<float> embedding = {};  ///< a speaker's embedding in the model's format
  std::string text = {}, mode = {};   ///< for `audio`; see Recording
  bool trim = false;                  ///< for `audio`; see RecordingLimits::trim
  std::shared_ptr<const RecordedAudio> decoded = {};  ///< `audio`, if it is already decoded
};

/// A requested voice: a voice of the model by name, or a source from which it is loaded or made.
struct VoiceWish {
  std::string own = {};
  std::shared_ptr<const VoiceSource> source = nullptr;
  float weight = 1;
  /// Index of the turn in RequestText::context whose `recording` becomes this voice. -1 means the
  /// request's own voice.
  int turn = -1;
};

/// Returns the error "this model cannot clone", with the reason.
Error cannot_clone(const PipelineInfo& info, const char* param);

/// Returns the model's spelling of one of its voices' names; empty for unknown names.
std::optional<std::string> find_own_voice(const PipelineInfo& info, std::string_view name);
/// Returns whether this model can use a voice of the store.
bool can_speak_with(const Speaker& speaker, const StoredVoice& voice);
/// Finds the voices for `text`: an alias, "anna", or "anna(2)+ben(1)". Searches names among the
/// model's voices first, then in the store. kNotFound lists the available voices.
Result<std::vector<VoiceWish>> find_voices(const Speaker& speaker, std::string_view text);

/// Result of looking up a source: the voice if it exists already, otherwise the recording to encode
/// and the key for the result.
struct PreparedVoice {
  std::string key = {};
  std::shared_ptr<const Voice> voice = nullptr;  ///< null if `recording` must be encoded
  Recording recording = {};
  std::string recording_hash = {};
};

/// The cache, and limits of what prepare_voice() may do.
struct PrepareOptions {
  VoiceCache* cache = nullptr;
  bool quick = false;  ///< search only the cache: decode nothing and read no voice file
  RecordingLimits limits = {};
  /// Called with a decoded recording, so that the caller can report remarks about it.
  std::function<void(const RecordedAudio&)> heard = {};
  /// Called with a key that is not in the cache, before anything is read. Returns true if another
  /// thread is already making that voice. The result then has neither voice nor recording.
  std::function<bool(const std::string& key)> under_way = {};
};

/// Looks up a source that is not an embedding. With `quick`, an empty key means that the voice is
/// not in the cache.
Result<PreparedVoice> prepare_voice(const Speaker& speaker, const VoiceSource& source,
                                    const PrepareOptions& options);
/// Stores the encoded voice in the cache and, for a voice of the store, in the store.
std::shared_ptr<const Voice> keep_voice(const Speaker& speaker, const PreparedVoice& prepared,
                                        Voice voice, VoiceCache* cache);

/// Stores a recording under a name, with the voice that the model's encoder made of it.
Result<StoredVoice> add_voice(VoiceStore& store, const VoiceEncoderInfo& encoder,
                              const NewVoice& wish, const RecordedAudio& audio, const Voice& voice);

/// Puts the voices of `wishes` into a request. `fetched` has the voices of wishes with a source, in
/// order. The request must already have the turns to which `wishes` refer. Without a wish for its
/// own voice, the request keeps its voice.
void put_voices(const std::vector<VoiceWish>& wishes,
                std::span<const std::shared_ptr<const Voice>> fetched, SpeechRequest& request);

}  // namespace syrinx
