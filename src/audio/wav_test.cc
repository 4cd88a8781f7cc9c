#include "audio/wav.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

TEST(Wav, HeaderIsAsTheFormatWants) {
  const WavHeader header = wav_header(24000, 3);
  const std::string want(
      "RIFF\x2a\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\xc0\x5d\0\0\x80\xbb\0\0\2\0\x10\0data\6\0\0\0", 44);
  EXPECT_EQ(std::string(header.begin(), header.end()), want);
  const WavHeader stream = wav_stream_header(24000);
  EXPECT_EQ(std::memcmp(stream.data() + 4, "\xff\xff\xff\xff", 4), 0);
  EXPECT_EQ(std::memcmp(stream.data() + 40, "\xff\xff\xff\xff", 4), 0);
  EXPECT_EQ(std::memcmp(stream.data() + 8, header.data() + 8, 32), 0);
  EXPECT_THROW(wav_header(24000, uint64_t{1} << 32), InternalError);
}

TEST(Wav, ConvertsWithRoundingAndClipping) {
  EXPECT_EQ(to_s16(0.f), 0);
  EXPECT_EQ(to_s16(0.5f), 16384);
  EXPECT_EQ(to_s16(1.f), 32767);
  EXPECT_EQ(to_s16(-1.f), -32768);
  EXPECT_EQ(to_s16(7.f), 32767);
  EXPECT_EQ(to_s16(-7.f), -32768);
  EXPECT_EQ(to_s16(0.6f / 32768), 1);
  EXPECT_EQ(to_s16(-0.6f / 32768), -1);
  EXPECT_EQ(to_s16(0.4f / 32768), 0);
  EXPECT_EQ(to_s16(32766.7f / 32768), 32767);
  EXPECT_EQ(to_s16(std::nanf("")), 0);
  EXPECT_EQ(to_s16(INFINITY), 32767);
  EXPECT_EQ(to_s16(-INFINITY), -32768);
}

TEST(Wav, WritesAndReadsBack) {
  const TestDir dir;
  const std::vector<float> samples = {0.f, 0.25f, -1.f, 0.5f};
  write_wav(dir.path("a.wav"), samples, 16000);
  const Wav wav = read_wav(dir.path("a.wav"));
  EXPECT_EQ(wav.rate, 16000u);
  EXPECT_EQ(wav.channels, 1u);
  EXPECT_EQ(wav.samples, samples);
  const WavHeader header = wav_stream_header(24000);
  const Wav stream =
      parse_wav(std::string(header.begin(), header.end()) + s16_bytes(samples) + "x", "s.wav");
  EXPECT_EQ(stream.samples, samples);
  EXPECT_EQ(parse_wav(wav_file({}, 8000), "e.wav").samples.size(), 0u);
  EXPECT_THROW(write_wav(dir.path("no/a.wav"), samples, 16000), LoadError);
}

TEST(Wav, ReadsFloatsAndOtherChunks) {
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

TEST(Wav, FaultsAreNamed) {
  const std::string valid = wav_file(std::vector<float>(4), 24000);
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

TEST(WavDamage, IsRefusedOrRead) {
  for_each_damage(wav_file(std::vector<float>(16, 0.3f), 24000), 20'000, [](const std::string& b) {
    try {
      parse_wav(b, "x.wav");
    } catch (const LoadError&) {
    }
  });
}

}  // namespace
}  // namespace syrinx
