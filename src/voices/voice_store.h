// Voices that people keep, in a directory:
//
//   names/ID.json               what is known of a voice; the file is the voice's name
//   recordings/HASH.wav         what it is made of, as it was read; shared by equal recordings
//   encoded/KEY.safetensors     what a model's encoder made of that, made once: KEY is a hash of
//                               the recording, family, encoder version, mode and text
//   consents/ID.json            that a person agreed to be cloned, with a recording of it
//
// A voice is kept as its recording, so any model that can clone may speak with it, now or later;
// one made elsewhere (of a speaker's embedding, or imported) is kept as it is and fits one family.
// Files appear whole or not at all and changes are made under a lock, so several processes may use
// a store. Nothing in it is trusted. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audio/recording.h"
#include "base/error.h"
#include "model/voice.h"
#include "model/voice_file.h"

namespace syrinx {

/// What a client states of a voice that is to be kept.
struct NewVoice {
  std::string name;
  std::string text = {};     ///< what the recording says
  std::string mode = {};     ///< how to clone; empty: the best that the model can
  std::string consent = {};  ///< the person that agreed to being cloned, and how
  std::string description = {};
  bool replace = false;  ///< one of the same name goes
};

/// What is kept of a voice.
struct StoredVoice {
  std::string id = {};  ///< the name as it is asked for: "Anna Bell" is "anna-bell"
  std::string name = {}, text = {}, mode = {}, consent = {}, description = {};
  std::string recording = {};   ///< hash; empty: made elsewhere
  std::string encoded = {};     ///< key of a voice that was made elsewhere; empty otherwise
  std::string family = {};      ///< of that; empty: any that can clone
  double seconds = 0;           ///< of the recording
  int sample_rate = 0;          ///< of the recording, Hz
  int64_t recording_bytes = 0;  ///< of its file
  int64_t created_s = 0;        ///< since 1970
};

/// A person's consent to be cloned.
struct StoredConsent {
  std::string id = {};  ///< "cons_" and hexadecimal digits
  std::string name = {}, language = {}, recording = {};
  int64_t created_s = 0;
};

/// What a store may hold.
struct VoiceStoreLimits {
  size_t max_voices = 1000;
  size_t max_bytes = size_t{2} << 30;  ///< of all files
};

/// What a name is asked for as: ASCII letters small, everything but them, digits, '.', '_' and
/// other scripts' letters a '-'. Empty when nothing is left, or the name is too long or no UTF-8.
std::string voice_id(std::string_view name);

/// Where a voice made of these things is kept: 64 hexadecimal digits.
std::string voice_key(std::string_view recording, const VoiceEncoderInfo& encoder,
                      std::string_view mode, std::string_view text);
/// The hash that names a recording.
std::string recording_hash(const RecordedAudio& audio);

/// One directory of voices. Safe from any thread and beside other processes.
class VoiceStore {
 public:
  /// The directory is made when something is first kept.
  explicit VoiceStore(std::string directory, VoiceStoreLimits limits = {});
  /// SYRINX_VOICES, or syrinx/voices where XDG wants data; empty when there is no such place.
  static std::string default_directory();
  const std::string& directory() const { return directory_; }

  /// In the order of their ids; entries that cannot be read are left out.
  std::vector<StoredVoice> list() const;
  /// By name or id.
  std::optional<StoredVoice> find(std::string_view name) const;

  Result<StoredVoice> add(const NewVoice& wish, const RecordedAudio& audio);
  /// A voice that was made elsewhere.
  Result<StoredVoice> add(const NewVoice& wish, const Voice& voice);
  /// With all that no other name needs.
  Status remove(std::string_view name);

  /// What the voice is made of, to be encoded. Throws LoadError.
  Recording recording(const StoredVoice& voice) const;
  /// As bytes of a WAV file. Throws LoadError.
  std::string recording_file(const StoredVoice& voice) const;
  /// What was kept under the key; null when there is nothing, or nothing that can be read.
  std::shared_ptr<const Voice> load(const std::string& key) const;
  /// Keeps what an encoder made of a recording of this store; without one there is nothing to do.
  void keep(const std::string& key, const std::string& recording, const Voice& voice) const;

  Result<StoredConsent> add_consent(const std::string& name, const std::string& language,
                                    const RecordedAudio& audio);
  std::optional<StoredConsent> find_consent(const std::string& id) const;
  std::vector<StoredConsent> consents() const;
  Status remove_consent(const std::string& id);

 private:
  std::string path(const char* folder, const std::string& file = "") const;
  Result<StoredVoice> add_entry(const NewVoice& wish, StoredVoice entry, const RecordedAudio* audio,
                                const Voice* voice);
  Status check_room(bool replaces, size_t bytes) const;
  void put_recording(const std::string& hash, const RecordedAudio& audio) const;
  void collect() const;
  std::vector<std::string> ids(const char* folder) const;
  std::optional<StoredVoice> read_entry(const std::string& id) const;

  const std::string directory_;
  const VoiceStoreLimits limits_;
};

}  // namespace syrinx
