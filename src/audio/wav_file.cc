#include "audio/wav_file.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "audio/wav.h"
#include "base/check.h"
#include "base/error.h"
#include "io/file.h"

namespace syrinx {
namespace {

static_assert(std::endian::native == std::endian::little, "WAV data is little-endian");

constexpr uint32_t kUnknownSize = 0xffffffff;
constexpr uint32_t kMaxRate = 768'000;  // Hz
constexpr uint32_t kMaxWavChannels = 8;
constexpr uint16_t kPcm = 1, kFloat = 3, kExtensible = 0xfffe;

/// Reads chunk by chunk; checks every access.
class Reader {
 public:
  Reader(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  Wav read() {
    if (bytes_.size() < 12 || bytes_.substr(0, 4) != "RIFF" || bytes_.substr(8, 4) != "WAVE")
      fail("", "expected a WAV file");
    for (size_t at = 12;;) {
      if (bytes_.size() - at < 8) fail("", channels_ ? "has no data" : "has no format");
      const auto name = bytes_.substr(at, 4);
      const auto size = number<uint32_t>(at + 4);
      at += 8;
      const size_t left = bytes_.size() - at;
      if (name == "data") return data(bytes_.substr(at, std::min<size_t>(size, left)), size, left);
      if (size > left)
        fail("chunk " + shown(name), concat("expected ", size, " bytes, got ", left));
      if (name == "fmt ") format(bytes_.substr(at, size));
      at += size + std::min<size_t>(size % 2, left - size);  // chunks begin at even offsets
    }
  }

 private:
  [[noreturn]] void fail(const std::string& entry, const std::string& what) const {
    load_fault(path_, entry, what);
  }

  template <typename T>
  T number(size_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }

  void format(std::string_view chunk) {
    if (chunk.size() < 16) fail("fmt", concat("expected 16 bytes, got ", chunk.size()));
    const size_t at = chunk.data() - bytes_.data();
    kind_ = number<uint16_t>(at);
    channels_ = number<uint16_t>(at + 2);
    rate_ = number<uint32_t>(at + 4);
    bits_ = number<uint16_t>(at + 14);
    if (kind_ == kExtensible && chunk.size() >= 26) kind_ = number<uint16_t>(at + 24);
    if (!(kind_ == kPcm && bits_ == 16) && !(kind_ == kFloat && bits_ == 32))
      fail("fmt", concat("expected 16-bit PCM or 32-bit float, got format ", kind_, " with ", bits_,
                         " bits"));
    if (channels_ < 1 || channels_ > kMaxWavChannels)
      fail("fmt", concat("expected 1 to ", kMaxWavChannels, " channels, got ", channels_));
    if (rate_ < 1 || rate_ > kMaxRate)
      fail("fmt", concat("expected a rate of 1 to ", kMaxRate, " Hz, got ", rate_));
  }

  Wav data(std::string_view body, uint32_t size, size_t left) const {
    if (!channels_) fail("data", "comes before the format");
    if (size != kUnknownSize && size > left)
      fail("data", concat("expected ", size, " bytes, got ", left));
    const size_t frame = channels_ * bits_ / 8;
    if (size != kUnknownSize && body.size() % frame)
      fail("data", concat("expected a multiple of ", frame, " bytes, got ", body.size()));
    Wav wav{rate_, channels_, {}};
    wav.samples.resize(body.size() / frame * channels_);
    const size_t at = body.data() - bytes_.data();
    for (size_t i = 0; i < wav.samples.size(); ++i)
      wav.samples[i] = kind_ == kFloat ? number<float>(at + 4 * i)
                                       : static_cast<float>(number<int16_t>(at + 2 * i)) / 32768.f;
    return wav;
  }

  std::string_view bytes_;
  const std::string& path_;
  uint16_t kind_ = 0, bits_ = 0;
  uint32_t channels_ = 0, rate_ = 0;
};

}  // namespace

void write_wav(const std::string& path, std::span<const float> samples, int sample_rate_hz) {
  std::string bytes = wav_header(sample_rate_hz, static_cast<int64_t>(samples.size()));
  append_s16(samples, bytes);
  NewFile file(path);
  file.append(bytes.data(), bytes.size());
  file.commit();
}

Wav parse_wav(std::string_view bytes, const std::string& path) {
  return Reader(bytes, path).read();
}

Wav read_wav(const std::string& path, size_t limit) {
  return parse_wav(read_file(path, limit), path);
}

}  // namespace syrinx
