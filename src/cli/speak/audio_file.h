// An audio file that is written while the audio is generated. One thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "audio/audio_format.h"
#include "audio/encoder.h"
#include "io/file.h"

namespace syrinx {

/// Returns the text after the last dot of a file's name, in lower case; empty without a dot.
std::string ending_of(const std::string& path);
/// Returns the format for the ending of a file's name; WAV for an empty name, a pipe or a device.
/// Throws LoadError for an unknown or missing ending.
AudioFormat format_of_file(const std::string& path);

/// Writes a file that appears under its name only when it is complete. Before finish() it has a
/// temporary name in the same folder, and the destructor removes it. Other targets (the standard
/// output, a pipe, a device) receive the bytes while they are made. Every method throws LoadError
/// when the file cannot be written.
class AudioFile {
 public:
  /// A `path` of "-" means the standard output.
  AudioFile(std::string path, int sample_rate_hz, AudioFormat format = AudioFormat::kWav);

  void write(std::span<const float> samples);
  void finish();

 private:
  void open();
  void put(const std::string& bytes);
  void put_first(const std::string& bytes);
  [[noreturn]] void fail() const;
  const std::string path_;
  std::unique_ptr<Encoder> encoder_;
  bool open_ = false;
  std::optional<NewFile> file_;
  std::FILE* stream_ = nullptr;  // the standard output, used instead of file_
  int64_t begin_ = -1;           // byte in stream_ where the audio begins; -1 if not seekable
};

}  // namespace syrinx
