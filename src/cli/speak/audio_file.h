// An audio file that is written while its audio is being made. One thread.
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

/// What follows the last dot of a file's name, in lower case; "" where nothing does.
std::string ending_of(const std::string& path);
/// The format that a file's name asks for by its ending. Without a name, and where a pipe or a
/// device has it, WAV. Throws LoadError for endings that mean nothing here, and for a file without
/// one.
AudioFormat format_of_file(const std::string& path);

/// Under its name the file appears whole, with its true length, or not at all; until finish() it
/// grows beside that name, and an object that ends earlier takes it along. What is not a regular
/// file (the standard output, a pipe, a device) gets the bytes as they are made. Every method
/// throws LoadError when the file cannot be written.
class AudioFile {
 public:
  /// `path` "-" is the standard output.
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
  std::FILE* stream_ = nullptr;  // the standard output, instead of file_
  int64_t begin_ = -1;           // where it began, if one can go back there
};

}  // namespace syrinx
