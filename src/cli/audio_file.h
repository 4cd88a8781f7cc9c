// An audio file that is written while its audio is being made. One thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "audio/encoder.h"

namespace syrinx {

/// The format that a file's name asks for: its ending, or WAV when it has none that means audio.
/// Throws LoadError for endings of audio that cannot be written.
AudioFormat format_of_file(const std::string& path);

/// Created with the first samples; the header of a WAV file is put right by finish(). Every method
/// throws LoadError when the file cannot be written.
class AudioFile {
 public:
  /// `path` "-" is the standard output, where WAV keeps a header of unknown length.
  AudioFile(std::string path, int sample_rate_hz, AudioFormat format = AudioFormat::kWav);
  ~AudioFile();
  AudioFile(const AudioFile&) = delete;
  AudioFile& operator=(const AudioFile&) = delete;

  void write(std::span<const float> samples);
  void finish();
  /// Removes what was written: nobody shall take half a text for all of it.
  void discard();

 private:
  void open();
  void put(const std::string& bytes);
  std::string path_;
  int sample_rate_hz_;
  AudioFormat format_;
  std::unique_ptr<Encoder> encoder_;
  int64_t samples_ = 0;
  std::FILE* file_ = nullptr;
};

}  // namespace syrinx
