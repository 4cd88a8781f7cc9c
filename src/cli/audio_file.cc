#include "cli/audio_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "audio/wav.h"
#include "base/error.h"

namespace syrinx {

AudioFile::AudioFile(std::string path, int sample_rate_hz)
    : path_(std::move(path)), sample_rate_hz_(sample_rate_hz) {}

AudioFile::~AudioFile() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

void AudioFile::open() {
  file_ = path_ == "-" ? stdout : std::fopen(path_.c_str(), "wb");
  if (file_ == nullptr) throw LoadError("cannot write " + path_ + ": " + std::strerror(errno));
  put(wav_header(sample_rate_hz_));
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
  append_s16(samples, bytes);
  put(bytes);
  samples_ += static_cast<int64_t>(samples.size());
}

void AudioFile::finish() {
  if (file_ == nullptr) open();
  if (file_ == stdout) return;
  // A pipe or a device keeps the header of a stream.
  if (std::fseek(file_, 0, SEEK_SET) == 0) put(wav_header(sample_rate_hz_, samples_));
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
