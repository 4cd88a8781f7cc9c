#include "cli/speak/audio_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

#include "audio/make_encoder.h"
#include "base/error.h"

namespace syrinx {
namespace {

/// Returns the position in a stream to a regular file; -1 for other streams and in append mode.
int64_t place_in(std::FILE* stream) {
  struct stat status {};
  const int fd = fileno(stream);
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return -1;
  return (fcntl(fd, F_GETFL) & O_APPEND) != 0 ? -1 : lseek(fd, 0, SEEK_CUR);
}

/// Returns whether the path is a pipe or a device, whose name does not state a format.
bool is_special(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

}  // namespace

std::string ending_of(const std::string& path) {
  const size_t dot = path.rfind('.'), slash = path.rfind('/');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return "";
  std::string ending = path.substr(dot + 1);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending;
}

AudioFormat format_of_file(const std::string& path) {
  const std::string ending = ending_of(path);
  if (const auto format = audio_format(ending)) return *format;
  if (ending.empty() && (path.empty() || path == "-" || is_special(path))) return AudioFormat::kWav;
  const std::string why = ending.empty() ? "its name must end with a format, e.g. " + path + ".wav"
                                         : "unknown format '" + ending + "'";
  throw LoadError("cannot write " + path + ": " + why +
                  "; use wav, flac, mp3, opus, ogg, aac, m4a, m4b or pcm (--format allows any "
                  "file name)");
}

AudioFile::AudioFile(std::string path, int sample_rate_hz, AudioFormat format)
    : path_(std::move(path)) {
  auto encoder = make_encoder({.format = format, .in_rate_hz = sample_rate_hz});
  if (!encoder) throw LoadError(encoder.error().message);
  encoder_ = encoder.take();
}

void AudioFile::fail() const {
  throw LoadError(std::string("cannot write to the standard output: ") + std::strerror(errno));
}

void AudioFile::open() {
  if (std::exchange(open_, true)) return;
  if (path_ == "-") {
    stream_ = stdout;
    begin_ = place_in(stream_);
  } else {
    file_.emplace(path_);
  }
}

void AudioFile::put(const std::string& bytes) {
  if (file_) return file_->append(bytes.data(), bytes.size());
  if (std::fwrite(bytes.data(), 1, bytes.size(), stream_) != bytes.size() ||
      std::fflush(stream_) != 0) {
    fail();
  }
}

/// Overwrites the first bytes of the target if the target is seekable.
void AudioFile::put_first(const std::string& bytes) {
  if (file_) return file_->overwrite(0, bytes.data(), bytes.size());
  if (begin_ < 0) return;
  const ssize_t done = pwrite(fileno(stream_), bytes.data(), bytes.size(), begin_);
  if (done != static_cast<ssize_t>(bytes.size())) fail();
}

void AudioFile::write(std::span<const float> samples) {
  open();
  std::string bytes;
  encoder_->encode(samples, bytes);
  put(bytes);
}

void AudioFile::finish() {
  open();
  std::string rest;
  encoder_->flush(rest);
  put(rest);
  if (const std::string first = encoder_->first_bytes(); !first.empty()) put_first(first);
  if (file_) file_->commit();
}

}  // namespace syrinx
