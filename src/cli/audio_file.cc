#include "cli/audio_file.h"

#include <sys/stat.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

#include "audio/wav.h"
#include "base/error.h"

namespace syrinx {

AudioFormat format_of_file(const std::string& path) {
  const size_t dot = path.rfind('.'), slash = path.rfind('/');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) {
    return AudioFormat::kWav;
  }
  std::string ending = path.substr(dot + 1);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (const auto format = audio_format(ending)) return *format;
  for (const char* other : {"m4a", "mp4", "webm", "wma", "aif", "aiff", "caf", "au"}) {
    if (ending != other) continue;
    throw LoadError("cannot write ." + ending + " files; known are wav, flac, mp3, opus, aac, pcm");
  }
  return AudioFormat::kWav;
}

AudioFile::AudioFile(std::string path, int sample_rate_hz, AudioFormat format)
    : path_(std::move(path)), sample_rate_hz_(sample_rate_hz), format_(format) {
  auto encoder = make_encoder({.format = format, .in_rate_hz = sample_rate_hz});
  if (!encoder) throw LoadError(encoder.error().message);
  encoder_ = encoder.take();
}

AudioFile::~AudioFile() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

void AudioFile::open() {
  file_ = path_ == "-" ? stdout : std::fopen(path_.c_str(), "wb");
  if (file_ == nullptr) throw LoadError("cannot write " + path_ + ": " + std::strerror(errno));
}

void AudioFile::put(const std::string& bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size() ||
      std::fflush(file_) != 0) {
    throw LoadError("cannot write " + path_ + ": " + std::strerror(errno));
  }
}

void AudioFile::write(std::span<const float> samples) {
  if (file_ == nullptr) open();
  std::string bytes;
  encoder_->encode(samples, bytes);
  put(bytes);
  samples_ += static_cast<int64_t>(samples.size());
}

void AudioFile::finish() {
  if (file_ == nullptr) open();
  std::string rest;
  encoder_->flush(rest);
  put(rest);
  if (file_ == stdout) return;
  // A pipe or a device keeps the header of a stream.
  if (format_ == AudioFormat::kWav && std::fseek(file_, 0, SEEK_SET) == 0) {
    put(wav_header(sample_rate_hz_, samples_));
  }
  if (std::fclose(std::exchange(file_, nullptr)) != 0) {
    throw LoadError("cannot write " + path_ + ": " + std::strerror(errno));
  }
}

void AudioFile::discard() {
  if (file_ == nullptr || file_ == stdout) return;
  struct stat status {};
  const bool regular = fstat(fileno(file_), &status) == 0 && S_ISREG(status.st_mode);
  std::fclose(std::exchange(file_, nullptr));
  if (regular) std::remove(path_.c_str());
}

}  // namespace syrinx
