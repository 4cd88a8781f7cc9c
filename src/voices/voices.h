// From what a request says of its voice to a voice as data: names of the model and of the store,
// mixes of them, recordings and embeddings that come along. Shared by the command line and the
// server. Free functions and plain data; any thread.
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

/// Further names that an operator gives to voices, or to mixes of them: other vendors' ids, say.
using VoiceAliases = std::map<std::string, std::string, std::less<>>;

/// Whose voices: a model's, those kept beside it, and what else they are called. Borrows all four.
struct Speaker {
  // A model alone is a speaker too.
  Speaker(const PipelineInfo& model,  // NOLINT(google-explicit-constructor)
          const VoiceEncoderInfo* its_encoder = nullptr, const VoiceStore* kept = nullptr,
          const VoiceAliases* also_called = nullptr)
      : info(&model), encoder(its_encoder), store(kept), aliases(also_called) {}
  const PipelineInfo* info;
  const VoiceEncoderInfo* encoder;  ///< null: the model cannot clone
  const VoiceStore* store;          ///< null: none are kept
  const VoiceAliases* aliases;      ///< null: none
};

/// Where a voice as data comes from: one of the three.
struct VoiceSource {
  std::string stored = {};            ///< the id of a voice in the store
  std::string audio = {};             ///< bytes of an audio file
  std::vector<float> embedding = {};  ///< of a speaker, as the model knows them
  std::string text = {}, mode = {};   ///< with `audio`, as in Recording
  bool trim = false;                  ///< of `audio`, as RecordingLimits::trim
  std::shared_ptr<const RecordedAudio> decoded =
      {};  ///< what `audio` is, where it was read already
};

/// A voice that is asked for: one of the model's by its name, or one that must be fetched.
struct VoiceWish {
  std::string own = {};
  std::shared_ptr<const VoiceSource> source = nullptr;
  float weight = 1;
  int turn = -1;  ///< the recording of this turn of RequestText::context; -1: the speaker's own
};

/// The message of "this model cannot clone", with the reason.
Error cannot_clone(const PipelineInfo& info, const char* param);

/// The model's spelling of one of its voices, or nothing.
std::optional<std::string> find_own_voice(const PipelineInfo& info, std::string_view name);
/// Whether the store has a voice that this model can speak with.
bool can_speak_with(const Speaker& speaker, const StoredVoice& voice);
/// What `text` asks for: an alias, "anna", or "anna(2)+ben(1)", of the model's voices first, then
/// of the store's. kNotFound names what there is.
Result<std::vector<VoiceWish>> find_voices(const Speaker& speaker, std::string_view text);

/// A source that was looked up: the voice where it is there already, else what it must be made of
/// and the key under which it is kept.
struct PreparedVoice {
  std::string key = {};
  std::shared_ptr<const Voice> voice = nullptr;  ///< null: encode `recording`
  Recording recording = {};
  std::string recording_hash = {};
};

/// Where voices come from, and what may be done for one.
struct PrepareOptions {
  VoiceCache* cache = nullptr;
  bool quick = false;  ///< only what is in the cache: nothing is decoded and no voice file read
  RecordingLimits limits = {};
  std::function<void(const RecordedAudio&)> heard = {};  ///< what was read, for remarks
  /// Asked with a key that the cache does not have, before anything is read: whether another thread
  /// makes that already. Then there is neither voice nor recording.
  std::function<bool(const std::string& key)> under_way = {};
};

/// Encodes a source without an embedding. With `quick`, no key: not in the cache.
Result<PreparedVoice> prepare_voice(const Speaker& speaker, const VoiceSource& source,
                                    const PrepareOptions& options);
/// Keeps what became of it for the next time.
std::shared_ptr<const Voice> keep_voice(const Speaker& speaker, const PreparedVoice& prepared,
                                        Voice voice, VoiceCache* cache);

/// Keeps a recording under a name, with what the model's encoder made of it.
Result<StoredVoice> add_voice(VoiceStore& store, const VoiceEncoderInfo& encoder,
                              const NewVoice& wish, const RecordedAudio& audio, const Voice& voice);

/// Puts the voices of the wishes into a request, `fetched` for those with a source, in order. The
/// request has the turns that wishes name already, and keeps its voice where none is wished for.
void put_voices(const std::vector<VoiceWish>& wishes,
                std::span<const std::shared_ptr<const Voice>> fetched, SpeechRequest& request);

}  // namespace syrinx
