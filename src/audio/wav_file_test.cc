#include "audio/wav_file.h"

#include <gtest/gtest.h>

#include "audio/wav.h"
#include "base/error.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

std::string wav_bytes(const std::vector<float>& samples, int rate, bool stream = false) {
  std::string bytes = wav_header(rate, stream ? -1 : static_cast<int64_t>(samples.size()));
  append_s16(samples, bytes);
  return bytes;
}

TEST(WavFile, WritesAndReadsBack) {
  const TestDir dir;
  const std::vector<float> samples = {0.f, 0.25f, -1.f, 0.5f};
  write_wav(dir.path("a.wav"), samples, 16000);
  const Wav wav = read_wav(dir.path("a.wav"));
  EXPECT_EQ(wav.rate, 16000u);
  EXPECT_EQ(wav.channels, 1u);
  ASSERT_EQ(wav.samples.size(), samples.size());
  for (size_t i = 0; i < samples.size(); ++i) EXPECT_NEAR(wav.samples[i], samples[i], 1e-4f);
  EXPECT_EQ(parse_wav(wav_bytes(samples, 24000, true) + "x", "s.wav").samples, wav.samples);
  EXPECT_EQ(parse_wav(wav_bytes({}, 8000), "e.wav").samples.size(), 0u);
  EXPECT_THROW(write_wav(dir.path("no/a.wav"), samples, 16000), LoadError);
}

TEST(WavFile, ReadsFloatsAndOtherChunks) {
  const float values[2] = {0.1f, -2.f};
  const std::string file =
      std::string("RIFF\0\0\0\0WAVELIST\3\0\0\0abc\0", 24) +
      std::string("fmt \x10\0\0\0\3\0\2\0\x40\x1f\0\0\0\0\0\0\x08\0\x20\0", 24) +
      std::string("data\x08\0\0\0", 8) + std::string(reinterpret_cast<const char*>(values), 8);
  const Wav wav = parse_wav(file, "f.wav");
  EXPECT_EQ(wav.rate, 8000u);
  EXPECT_EQ(wav.channels, 2u);
  EXPECT_EQ(wav.samples, (std::vector<float>{0.1f, -2.f}));
}

TEST(WavFile, FaultsAreNamed) {
  const std::string valid = wav_bytes(std::vector<float>(4), 24000);
  const auto fault = [&](size_t at, const std::string& with) {
    std::string bytes = valid;
    bytes.replace(at, with.size(), with);
    try {
      parse_wav(bytes, "x.wav");
    } catch (const LoadError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(fault(0, ""), "");
  EXPECT_EQ(fault(0, "RIFX"), "x.wav: expected a WAV file");
  EXPECT_EQ(fault(20, "\7"),
            "x.wav: fmt: expected 16-bit PCM or 32-bit float, got format 7 with "
            "16 bits");
  EXPECT_EQ(fault(22, "\x09"), "x.wav: fmt: expected 1 to 8 channels, got 9");
  EXPECT_EQ(fault(24, std::string(4, '\0')),
            "x.wav: fmt: expected a rate of 1 to 768000 Hz, got 0");
  EXPECT_EQ(fault(40, "\x0a"), "x.wav: data: expected 10 bytes, got 8");
  EXPECT_EQ(fault(40, "\7"), "x.wav: data: expected a multiple of 2 bytes, got 7");
  EXPECT_EQ(fault(36, "dada"), "x.wav: has no data");
}

TEST(WavFileDamage, IsRefusedOrRead) {
  for_each_damage(wav_bytes(std::vector<float>(16, 0.3f), 24000), 20'000, [](const std::string& b) {
    try {
      parse_wav(b, "x.wav");
    } catch (const LoadError&) {
    }
  });
}

}  // namespace
}  // namespace syrinx
