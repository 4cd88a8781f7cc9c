#include "bench/meter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/pcm_reader.h"

namespace syrinx {
namespace {

TEST(Meter, TimesAreSinceTheRequestWasDue) {
  Meter meter(100.0, 90.0, 0.01);
  meter.sent(100.5);
  meter.first_byte(101);
  meter.first_byte(102);
  std::vector<int16_t> samples(1600, 100);  // below the level 0.01 of 32768
  meter.audio(102, samples, 16000);
  samples.assign(1600, -100);
  samples[800] = -400;
  meter.audio(102.02, samples, 16000);
  meter.audio(103, samples, 16000);
  meter.end(104);
  const RequestRecord& record = meter.record();
  EXPECT_DOUBLE_EQ(record.due_s, 10);
  EXPECT_DOUBLE_EQ(record.lag_s, 0.5);
  EXPECT_DOUBLE_EQ(*record.first_byte_s, 1);
  EXPECT_DOUBLE_EQ(*record.first_audio_s, 2);
  EXPECT_NEAR(record.silence_s, 0.15, 1e-9);
  EXPECT_NEAR(*record.audible_s, 2.15, 1e-9);  // although its samples arrived at 2.02
  EXPECT_NEAR(record.playback.audio_s, 0.3, 1e-9);
  EXPECT_EQ(record.playback.underruns, 1);
  EXPECT_NEAR(record.playback.max_underrun_s, 0.8, 1e-9);
  EXPECT_DOUBLE_EQ(record.total_s, 4);
  EXPECT_NEAR(record.rtf(), 4 / 0.3, 1e-9);
  EXPECT_TRUE(record.ok());
  EXPECT_NEAR(meter.heard_until(), 103.1, 1e-9);
}

TEST(Meter, NothingButSilenceIsNeverAudible) {
  Meter meter(0, 0, 0.01);
  meter.audio(1, std::vector<float>(100, 0.0099f), 1000);
  meter.end(2);
  EXPECT_FALSE(meter.record().audible_s);
  EXPECT_NEAR(meter.record().silence_s, 0.1, 1e-9);
  EXPECT_TRUE(meter.record().ok());
}

TEST(Meter, NoAudioIsAFailure) {
  Meter meter(0, 0, 0.01);
  meter.first_byte(1);
  meter.end(2);
  EXPECT_EQ(meter.record().failure, Failure::kSilent);
  EXPECT_DOUBLE_EQ(meter.record().rtf(), 0);
}

std::string wav(int rate, uint16_t kind, uint16_t bits, const std::string& extra,
                const std::string& data) {
  const auto u32 = [](uint32_t v) {
    return std::string{char(v & 255), char(v >> 8 & 255), char(v >> 16 & 255), char(v >> 24)};
  };
  const auto u16 = [](uint16_t v) { return std::string{char(v & 255), char(v >> 8)}; };
  return "RIFF" + u32(0xffffffff) + "WAVEfmt " + u32(16) + u16(kind) + u16(1) + u32(rate) +
         u32(rate * 2) + u16(2) + u16(bits) + extra + "data" + u32(0xffffffff) + data;
}

/// Returns the samples read from `bytes` when they arrive in pieces of `step` bytes.
std::vector<int16_t> read_all(PcmReader& reader, const std::string& bytes, size_t step) {
  std::vector<int16_t> samples;
  for (size_t at = 0; at < bytes.size(); at += step) {
    for (int16_t sample : reader.take(std::string_view(bytes).substr(at, step))) {
      samples.push_back(sample);
    }
  }
  return samples;
}

TEST(PcmReader, ReadsBareSamplesInAnyPieces) {
  const std::vector<int16_t> want = {0x0201, -1, -32768 + 0, 0x7978};
  for (size_t step : {1, 2, 3, 4, 5, 100}) {
    PcmReader reader(24000);
    EXPECT_EQ(read_all(reader, std::string("\x01\x02\xff\xff\x00\x80xyz", 9), step), want);
    EXPECT_EQ(reader.rate_hz(), 24000);
    EXPECT_EQ(reader.fault(), "");
  }
}

TEST(PcmReader, ReadsWavThatWasNotAskedFor) {
  const std::string bytes = wav(16000, 1, 16, std::string("LIST\x03\0\0\0abc\0", 12), "\x01\x02");
  for (size_t step : {1, 7, 1000}) {
    PcmReader reader(24000);
    EXPECT_EQ(read_all(reader, bytes, step), std::vector<int16_t>{0x0201}) << step;
    EXPECT_EQ(reader.rate_hz(), 16000);
  }
}

TEST(PcmReader, RefusesWhatItCannotRead) {
  const std::string long_chunk("LIST\xff\xff\xff\x7f", 8);
  for (const std::string& bytes :
       {wav(16000, 3, 32, "", "abcd"), wav(0, 1, 16, "", "ab"), wav(16000, 1, 8, "", "ab"),
        wav(16000, 1, 16, long_chunk, "ab"), std::string("RIFFxxxxAVI LIST")}) {
    PcmReader reader(24000);
    EXPECT_TRUE(read_all(reader, bytes, 5).empty());
    EXPECT_NE(reader.fault(), "");
  }
}

}  // namespace
}  // namespace syrinx
