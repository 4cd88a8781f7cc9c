// A store of users' voices in a directory:
//
//   names/ID.json               the properties of a voice
//   recordings/HASH.wav         the decoded recording of a voice or consent; equal ones share it
//   encoded/KEY.safetensors     the voice that a model's encoder made of a recording; KEY is a hash
//                               of the recording, family, encoder version, mode and text
//   consents/ID.json            a person's consent to be cloned, and the recording of the consent
//
// A voice is stored as its recording, so that any model that can clone may use it, now or later. A
// voice from a speaker's embedding, or an imported voice, is stored as data and fits one family.
// Files are complete or absent, and changes are made under a lock, so several processes may use a
// store. The contents of its files are validated, not trusted. Thread-safe.
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

/// Properties of a voice to be stored, as a client states them.
struct NewVoice {
  std::string name;
  std::string text = {};     ///< the words of the recording
  std::string mode = {};     ///< how to clone; empty means the model's best mode
  std::string consent = {};  ///< the person that agreed to be cloned, and how
  std::string description = {};
  bool replace = false;  ///< replace a voice with the same name
};

/// The stored properties of a voice.
struct StoredVoice {
  std::string id = {};  ///< derived from the name: "Anna Bell" becomes "anna-bell"
  std::string name = {}, text = {}, mode = {}, consent = {}, description = {};
  std::string recording = {};   ///< hash; empty if the voice has no recording
  std::string encoded = {};     ///< key of the data if there is no recording; otherwise empty
  std::string family = {};      ///< family of `encoded`; empty if there is a recording
  double seconds = 0;           ///< length of the recording in seconds
  int sample_rate = 0;          ///< sample rate of the recording in Hz
  int64_t recording_bytes = 0;  ///< bytes of the recording's file
  int64_t created_s = 0;        ///< time of creation, seconds since 1970
};

/// A person's consent to be cloned.
struct StoredConsent {
  std::string id = {};  ///< begins with "cons_", followed by hexadecimal digits
  std::string name = {}, language = {}, recording = {};
  int64_t created_s = 0;
};

/// Limits of a store.
struct VoiceStoreLimits {
  size_t max_voices = 1000;
  size_t max_bytes = size_t{2} << 30;  ///< most bytes of all files
};

/// Returns the id for a name: ASCII letters in lower case; digits, '.', '_' and letters of other
/// scripts unchanged; '-' for each run of other characters, but not at the ends. Empty if nothing
/// remains, or if the name is too long or not UTF-8.
std::string voice_id(std::string_view name);

/// Returns the key of a voice made from these inputs: 64 hexadecimal digits.
std::string voice_key(std::string_view recording, const VoiceEncoderInfo& encoder,
                      std::string_view mode, std::string_view text);
/// Returns the hash that is the name of a recording.
std::string recording_hash(const RecordedAudio& audio);

/// A directory of voices. Safe from any thread and with other processes.
class VoiceStore {
 public:
  /// The first stored voice creates the directory.
  explicit VoiceStore(std::string directory, VoiceStoreLimits limits = {});
  /// Returns SYRINX_VOICES, or syrinx/voices in XDG's data directory; empty if neither is known.
  static std::string default_directory();
  const std::string& directory() const { return directory_; }

  /// Returns the voices in the order of their ids, without unreadable entries.
  std::vector<StoredVoice> list() const;
  /// Finds a voice by name or id.
  std::optional<StoredVoice> find(std::string_view name) const;

  Result<StoredVoice> add(const NewVoice& wish, const RecordedAudio& audio);
  /// Adds a voice as data: made from an embedding, or imported.
  Result<StoredVoice> add(const NewVoice& wish, const Voice& voice);
  /// Removes a voice, and all files that no other voice needs.
  Status remove(std::string_view name);

  /// Returns the recording of a voice, to encode it. Throws LoadError.
  Recording recording(const StoredVoice& voice) const;
  /// Returns the recording as bytes of a WAV file. Throws LoadError.
  std::string recording_file(const StoredVoice& voice) const;
  /// Returns the encoded voice stored under the key; null if it is absent or unreadable.
  std::shared_ptr<const Voice> load(const std::string& key) const;
  /// Stores a voice that was encoded from a recording of this store. Does nothing if the recording
  /// is not stored.
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
