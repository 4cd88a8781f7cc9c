// A WAV file that is written while its audio is being made. One thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

namespace syrinx {

/// Created with the first samples; its header is put right by finish(). Every method throws
/// LoadError when the file cannot be written.
class AudioFile {
 public:
  /// `path` "-" is the standard output, which keeps a header of unknown length.
  AudioFile(std::string path, int sample_rate_hz);
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
  int64_t samples_ = 0;
  std::FILE* file_ = nullptr;
};

}  // namespace syrinx
