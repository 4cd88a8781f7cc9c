// Voices on disk: safetensors files with what is known of the voice in the metadata. Files come
// from strangers too: their size is bounded before anything is read, every entry is checked, and
// faults are LoadErrors naming file, entry, expected and got. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "model/voice.h"

namespace syrinx {

/// Notes kept beside a voice; none of them changes how it sounds.
struct VoiceNotes {
  std::string name = {};
  std::string consent = {};  ///< the speaker's consent to cloning, in the words of the client that
                             ///< added the voice
  std::string source = {};   ///< SHA-256 of the recording as WAV; empty: not made of one
  std::string created = {};  ///< "2026-11-21T18:00:00Z"
};

/// A voice and the notes kept with it.
struct VoiceFile {
  Voice voice;
  VoiceNotes notes;
};

inline constexpr size_t kMaxVoiceFileBytes = size_t{16} << 20;

/// Under its name the file appears whole or not at all.
void write_voice_file(const std::string& path, const Voice& voice, const VoiceNotes& notes);
/// Reads and checks a voice file. Throws LoadError.
VoiceFile read_voice_file(const std::string& path);

}  // namespace syrinx
