#include "audio/recording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "audio/make_encoder.h"
#include "audio/recording_files_test.h"
#include "audio/recording_libav.h"
#include "audio/wav_file.h"
#include "base/fuzzing.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

std::string refusal(const std::string& file, const RecordingLimits& limits = {}) {
  const auto result = read_recording(file, limits);
  if (result) return "";
  EXPECT_EQ(result.error().param, "ref_audio");
  EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
  return result.error().message;
}

TEST(Recording, AnyFormat) {
  const std::vector<float> samples = tone(1.5);
  for (const AudioFormat format : {AudioFormat::kWav, AudioFormat::kFlac, AudioFormat::kMp3,
                                   AudioFormat::kOpus, AudioFormat::kAac}) {
    const auto audio = read_recording(encoded(format, samples));
    ASSERT_TRUE(audio.ok()) << audio_format_name(format) << ": " << audio.error().message;
    EXPECT_NEAR(audio.value().seconds(), 1.5, 0.2) << audio_format_name(format);
    EXPECT_EQ(audio.value().sample_rate, format == AudioFormat::kOpus ? 48000 : kRateHz);
    EXPECT_NEAR(audio.value().level_db, -13.5, 1) << audio_format_name(format);
    EXPECT_EQ(audio.value().clipped, 0);
    EXPECT_TRUE(recording_remarks(audio.value()).empty());
  }
}

TEST(Recording, KeepsBitsAndComesBackFromItsWav) {
  std::vector<float> samples = tone(1);
  for (float& sample : samples) sample = std::rint(sample * 32768) / 32768;
  const std::string file = recording_wav(samples, kRateHz);
  const auto audio = read_recording(file).take();
  EXPECT_EQ(audio.samples, parse_wav(file, "t.wav").samples);
  EXPECT_EQ(audio.format, "wav/pcm_s16le");
  EXPECT_EQ(recording_wav(audio.samples, kRateHz), file);
  EXPECT_EQ(read_recording(encoded(AudioFormat::kFlac, audio.samples)).take().sample_rate, kRateHz);
}

TEST(Recording, IsLeftAsItIs) {
  std::vector<float> samples = tone(1, 0.5, 0.3);
  for (float& sample : samples) sample += 0.05f;  // then they are not multiples of 2^-15
  samples[9000] = 1.25f;
  const auto audio = read_recording(float_wav(samples)).take();
  EXPECT_EQ(audio.samples, samples);
  EXPECT_NEAR(audio.offset, 0.05, 0.01);
  EXPECT_EQ(recording_remarks(audio).size(), 1u);
  // Repeated writing and reading does not change the samples.
  const std::string kept = recording_wav(audio.samples, kRateHz);
  const auto again = read_recording(kept).take();
  EXPECT_EQ(again.samples, samples);
  EXPECT_EQ(recording_wav(again.samples, kRateHz), kept);
  EXPECT_EQ(parse_wav(kept, "t.wav").samples, samples);
}

TEST(Recording, SilenceIsCutAwayWhereAskedFor) {
  EXPECT_NEAR(read_recording(recording_wav(tone(1, 2), kRateHz)).take().seconds(), 5, 0.01);
  const auto audio = read_recording(recording_wav(tone(1, 2), kRateHz), {.trim = true}).take();
  EXPECT_NEAR(audio.seconds(), 1.3, 0.05);
  EXPECT_NEAR(audio.cut_begin_s, 1.85, 0.03);
  EXPECT_NEAR(audio.cut_end_s, 1.85, 0.03);
}

/// In stereo with one side inverted, the mean is silence, so one channel is used.
TEST(Recording, ChannelsThatCancelEachOther) {
  for (const int right : {-8000, -7900, 8000, 0}) {
    std::string data;
    for (int i = 0; i < kRateHz; ++i) {
      const double wave = std::sin(0.05 * i);
      le(data, static_cast<uint16_t>(std::lrint(8000 * wave)), 2);
      le(data, static_cast<uint16_t>(std::lrint(right * wave)), 2);
    }
    const auto got = read_recording(wav(data, 1, 2));
    ASSERT_TRUE(got.ok()) << got.error().message;
    float loudest = 0;
    for (const float sample : got.value().samples) loudest = std::max(loudest, std::abs(sample));
    EXPECT_NEAR(loudest, right < 0 ? 8000 / 32768. : (8000 + right) / 65536., 1e-3) << right;
  }
}

TEST(Recording, ChannelsAreMixed) {
  std::string data;
  for (int i = 0; i < kRateHz; ++i) {
    const int left = i % 80 < 40 ? 8000 : -8000;
    le(data, static_cast<uint16_t>(left), 2);
    le(data, static_cast<uint16_t>(left / 2), 2);
  }
  const auto audio = read_recording(wav(data, 1, 2)).take();
  EXPECT_EQ(audio.samples.size(), static_cast<size_t>(kRateHz));
  EXPECT_FLOAT_EQ(audio.samples[0], 6000.f / 32768.f);
  const auto first = read_recording(wav(data, 1, 2), {.first_channel = true}).take();
  EXPECT_EQ(first.samples.size(), static_cast<size_t>(kRateHz));
  EXPECT_FLOAT_EQ(first.samples[0], 8000.f / 32768.f);
}

TEST(Recording, MeasuresWhatIsWrong) {
  std::vector<float> loud = tone(1, 0, 3);
  for (float& sample : loud) sample = std::clamp(sample, -1.f, 1.f);
  const auto clipped = read_recording(float_wav(loud)).take();
  EXPECT_GT(clipped.clipped, 0.5);
  EXPECT_EQ(recording_remarks(clipped).size(), 1u);
  std::vector<float> shifted = tone(1, 0, 0.1);
  for (float& sample : shifted) sample += 0.25f;
  const auto offset = read_recording(float_wav(shifted)).take();
  EXPECT_NEAR(offset.offset, 0.25, 0.01);
  EXPECT_EQ(recording_remarks(offset).size(), 1u);
  EXPECT_NEAR(offset.level_db, -23, 0.5);  // levels are measured relative to the mean
  EXPECT_EQ(recording_remarks(read_recording(recording_wav(tone(1, 0, 0.005), 8000)).take()).size(),
            2u);
}

TEST(Recording, RefusesInWordsForPeople) {
  EXPECT_EQ(refusal(""), "the recording is empty");
  EXPECT_EQ(refusal(recording_wav(std::vector<float>(kRateHz), kRateHz)),
            "the recording is silent");
  EXPECT_EQ(refusal(recording_wav(tone(1, 0, 0.0004), kRateHz)),
            "the recording is almost silent (-71 dB)");
  EXPECT_EQ(refusal(recording_wav(tone(0.05), kRateHz)),
            "the recording is too short: 0.1 s; at least 0.3 s are needed");
  EXPECT_EQ(refusal(recording_wav(std::vector<float>(1), kRateHz)),
            "the recording is too short: 0 s; at least 0.3 s are needed");
  EXPECT_EQ(refusal(recording_wav(tone(0.05), kRateHz), {.trim = true}),
            "the recording is too short: 0.1 s without the silence at its ends; at least 0.3 s are "
            "needed");
  EXPECT_EQ(refusal(recording_wav(tone(3), kRateHz), {.max_s = 2}),
            "the recording is longer than 2 s");
  EXPECT_EQ(refusal(recording_wav(tone(3), kRateHz), {.max_bytes = 1000}),
            "the recording has 192044 bytes; at most 1000 are allowed");
  EXPECT_EQ(refusal(recording_wav(tone(3), kRateHz), {.max_decode_s = -1}).substr(0, 41),
            "decoding the recording took longer than -");
  std::vector<float> bad = tone(1);
  bad[1600] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(refusal(float_wav(bad)), "the recording has NaN or infinity at 0.1 s");
  bad[1600] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(refusal(float_wav(bad)), "the recording has NaN or infinity at 0.1 s");
  bad[1600] = 1e30f;
  EXPECT_EQ(refusal(float_wav(bad)), "a sample of the recording is 1e+30, above 16");
}

TEST(Recording, RefusesWhatIsNoRecording) {
  const std::string data(4 * kRateHz, '\x11');
  EXPECT_EQ(refusal(wav(data, 1, 1, 1)),
            "the recording has 1 samples per second; expected 4000 to 192000");
  EXPECT_EQ(refusal(wav(data, 1, 64)), "the recording has 64 channels; expected 1 to 8");
  EXPECT_NE(refusal(wav(data, 0x7777)), "");  // an unknown coding
  const std::string unknown = refusal("Call me Ishmael. Some years ago, never mind how long.\n");
  EXPECT_TRUE(unknown.starts_with("unsupported audio format")) << unknown;
  EXPECT_EQ(refusal(std::string(100'000, 'a')), unknown);
  // These formats would open other files.
  const TestDir dir;
  const std::string other = dir.write("secret.wav", recording_wav(tone(1), kRateHz));
  EXPECT_EQ(refusal("#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nfile://" + other + "\n"),
            unknown);
  EXPECT_EQ(refusal("ffconcat version 1.0\nfile '" + other + "'\n"), unknown);
  EXPECT_EQ(refusal("v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=audio 9 RTP/AVP 0\n"),
            unknown);
}

TEST(Recording, RefusesIncompleteFilesAsSuch) {
  // The index of a labelled M4A is at its end.
  const auto encoder = make_encoder({.format = AudioFormat::kM4a,
                                     .in_rate_hz = kRateHz,
                                     .labels = AudioLabels{.title = "A Title"}})
                           .take();
  std::string m4a;
  encoder->encode(tone(2), m4a);
  for (const std::string& part : {m4a, encoded(AudioFormat::kOpus, tone(2)).substr(0, 60),
                                  encoded(AudioFormat::kFlac, tone(2)).substr(0, 30)}) {
    EXPECT_EQ(refusal(part), "the recording is damaged or incomplete");
  }
}

/// A file that claims ten hours is read for its true length. A file that really has ten hours is
/// refused at the limit.
TEST(Recording, TenHours) {
  std::string data;
  for (const float sample : tone(1)) {
    le(data, static_cast<uint16_t>(std::lrint(sample * 32767)), 2);
  }
  const int64_t claimed = int64_t{36000} * kRateHz * 2;
  const auto audio = read_recording(wav(data, 1, 1, kRateHz, 16, claimed));
  ASSERT_TRUE(audio.ok()) << audio.error().message;
  EXPECT_NEAR(audio.value().seconds(), 1, 0.01);
  const std::string zeros = encoded(AudioFormat::kFlac, std::vector<float>(size_t{600} * kRateHz));
  EXPECT_LT(zeros.size(), size_t{600'000});
  EXPECT_EQ(refusal(zeros), "the recording is longer than 300 s");
}

TEST(Recording, CutFilesAreTakenAsFarAsTheyGo) {
  for (const AudioFormat format : {AudioFormat::kWav, AudioFormat::kFlac, AudioFormat::kMp3,
                                   AudioFormat::kOpus, AudioFormat::kAac}) {
    const std::string whole = encoded(format, tone(2));
    const auto half = read_recording(whole.substr(0, whole.size() / 2));
    ASSERT_TRUE(half.ok()) << audio_format_name(format) << ": " << half.error().message;
    EXPECT_NEAR(half.value().seconds(), 1, 0.3) << audio_format_name(format);
    EXPECT_NE(refusal(whole.substr(0, 10)), "");
  }
}

/// Returns all samples of a reader, `step` at a time.
Result<std::vector<float>> read_in_pieces(const std::string& file, size_t count,
                                          const RecordingLimits& limits = {}) {
  RecordingReader reader(file, limits);
  std::vector<float> out;
  while (true) {
    const Result<bool> more = reader.read(count, out);
    if (!more) return more.error();
    if (!more.value()) break;
  }
  EXPECT_EQ(reader.read(count, out).take(), false);
  EXPECT_GT(reader.sample_rate(), 0);
  EXPECT_GE(reader.claimed_s(), 0);
  return out;
}

TEST(RecordingReader, PiecesAreTheWhole) {
  for (const AudioFormat format : {AudioFormat::kWav, AudioFormat::kFlac, AudioFormat::kMp3,
                                   AudioFormat::kOpus, AudioFormat::kAac}) {
    const std::string file = encoded(format, tone(2));
    const auto whole = decode_file(file, {});
    ASSERT_TRUE(whole.ok());
    for (const size_t count : {size_t{1}, size_t{5000}, size_t{1} << 30}) {
      const auto pieces = read_in_pieces(file, count);
      ASSERT_TRUE(pieces.ok());
      EXPECT_EQ(pieces.value(), whole.value().samples) << audio_format_name(format);
    }
    const auto half = read_in_pieces(file.substr(0, file.size() / 2), 4000);
    ASSERT_TRUE(half.ok());
    EXPECT_NEAR(static_cast<double>(half.value().size()),
                static_cast<double>(whole.value().samples.size()) / 2, 0.3 * 48000);
  }
}

TEST(RecordingReader, RefusesWhatIsNoRecording) {
  for (const std::string& file : {std::string(), std::string("nothing"), std::string(5000, 'a'),
                                  wav(""), encoded(AudioFormat::kMp3, tone(1)).substr(0, 10)}) {
    EXPECT_FALSE(read_in_pieces(file, 1000).ok());
  }
  // A silent recording is valid. max_s limits its whole length, not the length of each piece.
  const std::string zeros = encoded(AudioFormat::kFlac, std::vector<float>(size_t{20} * kRateHz));
  EXPECT_EQ(read_in_pieces(zeros, 1000).take().size(), size_t{20} * kRateHz);
  EXPECT_EQ(read_in_pieces(zeros, 1000, {.max_s = 19}).error().message,
            "the recording is longer than 19 s");
}

/// Damaged files of every kind must be read or refused, within the limits. SYRINX_FUZZ_INPUTS is
/// the number of files.
TEST(RecordingFuzz, DamagedFiles) {
  const int runs = std::max(1, fuzz_inputs(1500) / 5);
  const std::vector<float> samples = tone(0.35, 0, 0.3, 8000);
  int taken = 0, refused = 0;
  for (const AudioFormat format : {AudioFormat::kWav, AudioFormat::kFlac, AudioFormat::kMp3,
                                   AudioFormat::kOpus, AudioFormat::kAac}) {
    auto encoder = make_encoder({.format = format, .in_rate_hz = 8000}).take();
    std::string valid;
    encoder->encode(samples, valid);
    encoder->flush(valid);
    std::mt19937 random(11);
    for (int run = 0; run < runs; ++run) {
      std::string file = valid;
      for (uint32_t change = 0; change <= random() % 6; ++change) {
        // Half of the changes are in the header, where they have most effect.
        const size_t at =
            random() % (random() % 2 == 0 ? std::min<size_t>(64, file.size()) : file.size());
        switch (random() % 4) {
          case 0:
            file[at] = static_cast<char>(random());
            break;
          case 1:
            file[at] = static_cast<char>(random() % 2 == 0 ? 0xff : 0);
            break;
          case 2:
            file.resize(std::max<size_t>(1, at));
            break;
          default:
            file.insert(at, file.substr(random() % file.size(), random() % 64));
        }
      }
      const auto pieces = read_in_pieces(file, 1 + random() % 5000, {.max_s = 10});
      if (pieces) {
        EXPECT_LE(pieces.value().size(), size_t{10} * 192'000);
      }
      const auto audio = read_recording(file, {.max_s = 10, .max_decode_s = 5});
      EXPECT_TRUE(pieces.ok() || !audio.ok());
      audio.ok() ? ++taken : ++refused;
      if (!audio) continue;
      EXPECT_LE(audio.value().seconds(), 10);
      EXPECT_GE(audio.value().seconds(), 0.3);
      for (const float sample : audio.value().samples) ASSERT_LE(std::fabs(sample), 16);
    }
  }
  EXPECT_GT(taken, runs);  // enough files are still recognised to test the decoders
  EXPECT_GT(refused, runs / 4);
}

}  // namespace
}  // namespace syrinx
