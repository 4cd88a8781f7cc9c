// Voices on disk: safetensors files with the facts about the voice in the metadata. Files may come
// from strangers, so their size is bounded before they are read, and every entry is checked. A
// LoadError has the file, the entry, the expected and the found value. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "model/voice.h"

namespace syrinx {

/// Notes about a voice, which do not change its sound.
struct VoiceNotes {
  std::string name = {};
  std::string consent = {};  ///< speaker's consent to cloning, in the words of the client that
                             ///< added the voice
  std::string source = {};   ///< SHA-256 of the recording as WAV; empty: unknown recording
  std::string created = {};  ///< time of creation, as "2026-11-21T18:00:00Z"
};

/// A voice and the notes that are stored with it.
struct VoiceFile {
  Voice voice;
  VoiceNotes notes;
};

inline constexpr size_t kMaxVoiceFileBytes = size_t{16} << 20;

/// Writes a voice file. The file gets its name only when it is complete.
void write_voice_file(const std::string& path, const Voice& voice, const VoiceNotes& notes);
/// Reads and checks a voice file. Throws LoadError.
VoiceFile read_voice_file(const std::string& path);

}  // namespace syrinx
