// Encodes and decodes every format. Length, delay and sound must match the input.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "audio/decode_test.h"
#include "audio/make_encoder.h"
#include "audio/wav.h"
#include "audio/wav_file.h"

namespace syrinx {
namespace {

/// Returns a chirp. It reveals shifted, missing or repeated parts.
std::vector<float> sound(int count, int rate_hz) {
  std::vector<float> out(count);
  for (int i = 0; i < count; ++i) {
    const double t = static_cast<double>(i) / rate_hz;
    out[i] = static_cast<float>(0.4 * std::sin(2 * std::numbers::pi * (200 + 400 * t) * t));
  }
  return out;
}

std::string encode(const EncoderOptions& options, const std::vector<float>& samples,
                   unsigned cut_seed = 0) {
  auto made = make_encoder(options);
  if (!made) {
    ADD_FAILURE() << made.error().message;
    return {};
  }
  const auto encoder = made.take();
  std::string out;
  std::mt19937 random(cut_seed);
  for (size_t at = 0; at < samples.size();) {
    const size_t part =
        cut_seed == 0 ? samples.size() : std::min<size_t>(1 + random() % 3000, samples.size() - at);
    encoder->encode(std::span(samples).subspan(at, part), out);
    at += part;
  }
  encoder->flush(out);
  return out;
}

/// Returns the similarity of two signals over `count` samples: 1 if they are equal up to a factor.
double likeness(std::span<const float> a, std::span<const float> b, size_t count) {
  double ab = 0, aa = 1e-12, bb = 1e-12;
  for (size_t i = 0; i < count; ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

struct Case {
  AudioFormat format;
  int in_rate_hz;
  int samples;
};

class EveryFormat : public testing::TestWithParam<Case> {};

TEST_P(EveryFormat, DecodesToTheSameSoundOfExactLength) {
  const Case c = GetParam();
  const auto in = sound(c.samples, c.in_rate_hz);
  const EncoderOptions options{.format = c.format, .in_rate_hz = c.in_rate_hz};
  const std::string bytes = encode(options, in);
  const int rate = make_encoder(options).value()->rate_hz();
  const DecodedAudio got = decode_audio(bytes);
  EXPECT_EQ(got.rate_hz, rate);
  const auto want_samples =
      static_cast<size_t>((int64_t{c.samples} * rate + c.in_rate_hz / 2) / c.in_rate_hz);
  const size_t frame = c.format == AudioFormat::kMp3 ? 1152 : 1024;
  size_t priming = 0;
  if (c.format == AudioFormat::kM4a) {
    EXPECT_NE(bytes.find("elst"), std::string::npos);
  }
  // ADTS declares neither priming nor padding. Fragments of M4A declare the priming, which FFmpeg 7
  // removes and FFmpeg 5 does not.
  if (c.format == AudioFormat::kAac || c.format == AudioFormat::kM4a) {
    const bool left_out = c.format == AudioFormat::kM4a && got.samples.size() < want_samples + 1024;
    priming = left_out ? 0 : 1024;
    EXPECT_GE(got.samples.size(), want_samples + priming);
    EXPECT_LT(got.samples.size(), want_samples + priming + frame);
  } else if (c.format == AudioFormat::kMp3) {
    EXPECT_GE(got.samples.size(), want_samples);
    EXPECT_LT(got.samples.size(), want_samples + 2 * frame);
  } else {
    EXPECT_EQ(got.samples.size(), want_samples);
  }
  const auto want = sound(static_cast<int>(want_samples), rate);
  const std::span<const float> heard = std::span<const float>(got.samples).subspan(priming);
  ASSERT_GE(heard.size(), want.size());
  EXPECT_GT(likeness(heard, want, want.size()), 0.99);
  // The beginning and the end must match, too.
  const size_t edge = std::min<size_t>(want.size(), rate / 20);
  EXPECT_GT(likeness(heard, want, edge), 0.95);
  EXPECT_GT(likeness(heard.subspan(want.size() - edge), std::span(want).last(edge), edge), 0.95);
}

INSTANTIATE_TEST_SUITE_P(
    Audio, EveryFormat,
    testing::Values(Case{AudioFormat::kMp3, 24000, 48001}, Case{AudioFormat::kMp3, 16000, 30000},
                    Case{AudioFormat::kMp3, 44100, 60000}, Case{AudioFormat::kMp3, 48000, 96000},
                    Case{AudioFormat::kMp3, 25000, 50000}, Case{AudioFormat::kOpus, 24000, 48001},
                    Case{AudioFormat::kOpus, 16000, 30011}, Case{AudioFormat::kOpus, 48000, 70000},
                    Case{AudioFormat::kOpus, 22050, 44100}, Case{AudioFormat::kOpus, 44100, 44100},
                    Case{AudioFormat::kAac, 24000, 48001}, Case{AudioFormat::kAac, 16000, 30000},
                    Case{AudioFormat::kAac, 44100, 88200}, Case{AudioFormat::kM4a, 24000, 48001},
                    Case{AudioFormat::kM4a, 44100, 88200}, Case{AudioFormat::kM4a, 16000, 900},
                    Case{AudioFormat::kFlac, 24000, 48001}, Case{AudioFormat::kFlac, 16000, 7},
                    Case{AudioFormat::kFlac, 44100, 60000}, Case{AudioFormat::kWav, 24000, 48001},
                    Case{AudioFormat::kWav, 22050, 3}),
    [](const auto& test) {
      return std::string(audio_format_name(test.param.format)) + "_" +
             std::to_string(test.param.in_rate_hz) + "_" + std::to_string(test.param.samples);
    });

/// Reads a big-endian number of four bytes.
size_t big_endian_at(const std::string& bytes, size_t at) {
  size_t out = 0;
  for (size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<uint8_t>(bytes.at(at + i));
  return out;
}

TEST(Encoder, LengthsArePutRightInFiles) {
  const auto in = sound(12'345, 16000);
  for (const AudioFormat format :
       {AudioFormat::kWav, AudioFormat::kFlac, AudioFormat::kMp3, AudioFormat::kPcm}) {
    for (const int rate : {16000, 24000}) {
      const auto encoder =
          make_encoder({.format = format, .in_rate_hz = 16000, .out_rate_hz = rate}).take();
      std::string bytes;
      encoder->encode(in, bytes);
      encoder->flush(bytes);
      const std::string first = encoder->first_bytes();
      if (format == AudioFormat::kPcm) {
        EXPECT_EQ(first, "");
        continue;
      }
      ASSERT_LT(first.size(), bytes.size());
      EXPECT_NE(bytes.substr(0, first.size()), first) << "it was known from the start?";
      const size_t samples = decode_audio(bytes).samples.size();
      bytes.replace(0, first.size(), first);
      if (format == AudioFormat::kMp3) {  // MP3 also declares the padding of the last frame
        EXPECT_GT(samples, in.size() * static_cast<size_t>(rate) / 16000 + 100);
        EXPECT_EQ(decode_audio(bytes).samples.size(), (in.size() * rate + 8000) / 16000);
        EXPECT_EQ(big_endian_at(bytes, bytes.find("Info") + 12), bytes.size());
        continue;
      }
      EXPECT_EQ(decode_audio(bytes).samples.size(), samples);
      if (format == AudioFormat::kWav) {
        EXPECT_EQ(first, wav_header(rate, static_cast<int64_t>(samples)));
      } else {
        EXPECT_EQ(static_cast<uint8_t>(bytes[24]) << 8 | static_cast<uint8_t>(bytes[25]), samples);
      }
    }
  }
}

/// Returns the bytes of a file of samples: the stream with its final first bytes.
std::string file_of(const EncoderOptions& options, const std::vector<float>& samples) {
  const auto encoder = make_encoder(options).take();
  std::string bytes;
  encoder->encode(samples, bytes);
  encoder->flush(bytes);
  const std::string first = encoder->first_bytes();
  return bytes.replace(0, first.size(), first);
}

TEST(Encoder, FilesHaveLabelsAndChapters) {
  const auto in = sound(60'000, 24000);
  const AudioLabels labels{.title = "A Title",
                           .album = "\u00c4n Album",
                           .author = "An Author",
                           .track = 2,
                           .chapters = {{"One", 0, 1.25}, {"Zw\u00f6lf", 1.25, 2.5}}};
  for (const AudioFormat format :
       {AudioFormat::kM4a, AudioFormat::kMp3, AudioFormat::kOpus, AudioFormat::kFlac}) {
    const EncoderOptions plain{.format = format, .in_rate_hz = 24000};
    EncoderOptions labelled = plain;
    labelled.labels = labels;
    const DecodedAudio got = decode_audio(file_of(labelled, in));
    EXPECT_EQ(got.labels.title, labels.title) << audio_format_name(format);
    EXPECT_EQ(got.labels.album, labels.album) << audio_format_name(format);
    EXPECT_EQ(got.labels.author, labels.author) << audio_format_name(format);
    ASSERT_EQ(got.labels.chapters.size(), 2u) << audio_format_name(format);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(got.labels.chapters[i].title, labels.chapters[i].title);
      EXPECT_NEAR(got.labels.chapters[i].begin_s, labels.chapters[i].begin_s, 0.002);
      EXPECT_NEAR(got.labels.chapters[i].end_s, labels.chapters[i].end_s, 0.05);
    }
    const auto scale = static_cast<size_t>(got.rate_hz / 24000);
    // FFmpeg 5 plays the whole last frame of an M4A.
    const size_t rest = format == AudioFormat::kM4a ? 1024 : 1;
    EXPECT_GE(got.samples.size(), scale * in.size()) << audio_format_name(format);
    EXPECT_LT(got.samples.size(), scale * in.size() + rest) << audio_format_name(format);
    EXPECT_GT(likeness(got.samples, sound(static_cast<int>(scale) * 60'000, got.rate_hz),
                       scale * in.size()),
              0.99);
    EXPECT_TRUE(decode_audio(encode(plain, in)).labels.chapters.empty());
  }
}

TEST(Encoder, ALabelledM4aMayBeLong) {
  // A minute's index is larger than the muxer's buffer.
  const auto in = sound(60 * 24000, 24000);
  EncoderOptions options{.format = AudioFormat::kM4a, .in_rate_hz = 24000};
  options.labels = AudioLabels{.title = "A Title", .chapters = {{"One", 0, 59}, {"Two", 59, 60}}};
  const DecodedAudio got = decode_audio(file_of(options, in));
  EXPECT_EQ(got.labels.chapters.size(), 2u);
  ASSERT_GE(got.samples.size(), in.size());
  EXPECT_GT(likeness(got.samples, in, in.size()), 0.99);
}

TEST(Encoder, Mp3HasAtMost255Chapters) {
  EncoderOptions options{.format = AudioFormat::kMp3, .in_rate_hz = 24000};
  options.labels = AudioLabels{.title = "A Title"};
  const auto in = sound(60'000, 24000);
  for (size_t count = 255; count <= 256; ++count) {
    options.labels->chapters.assign(count, {"One", 0, 1.25});
    const DecodedAudio got = decode_audio(file_of(options, in));
    EXPECT_EQ(got.labels.title, "A Title");
    EXPECT_EQ(got.labels.chapters.size(), count == 255 ? 255u : 0u);
  }
}

TEST(Encoder, HowAStreamIsCutChangesNothing) {
  const auto in = sound(60'000, 24000);
  for (const AudioFormat format : {AudioFormat::kMp3, AudioFormat::kOpus, AudioFormat::kAac,
                                   AudioFormat::kFlac, AudioFormat::kWav, AudioFormat::kPcm}) {
    for (const int rate : {0, 16000}) {
      for (const double speed : {1.0, 1.3}) {
        const EncoderOptions options{
            .format = format, .in_rate_hz = 24000, .out_rate_hz = rate, .speed = speed};
        const std::string whole = encode(options, in);
        EXPECT_FALSE(whole.empty());
        EXPECT_TRUE(encode(options, in, 1) == whole) << audio_format_name(format) << " " << rate;
        EXPECT_TRUE(encode(options, in, 2) == whole) << audio_format_name(format) << " " << rate;
      }
    }
  }
}

TEST(Encoder, FlacIsLossless) {
  const auto in = sound(20'000, 24000);
  const std::string pcm = encode({.format = AudioFormat::kWav, .in_rate_hz = 24000}, in);
  const DecodedAudio flac =
      decode_audio(encode({.format = AudioFormat::kFlac, .in_rate_hz = 24000}, in));
  const DecodedAudio wav = decode_audio(pcm);
  EXPECT_TRUE(flac.samples == wav.samples);
}

TEST(Encoder, ResamplesPcmToAnyRate) {
  const auto in = sound(16'000, 16000);
  for (const int rate : {8000, 24000, 48000}) {
    const EncoderOptions options{
        .format = AudioFormat::kWav, .in_rate_hz = 16000, .out_rate_hz = rate};
    const Wav got = parse_wav(encode(options, in), "test");
    EXPECT_EQ(got.rate, static_cast<uint32_t>(rate));
    ASSERT_EQ(got.samples.size(), static_cast<size_t>(rate));
    EXPECT_GT(likeness(got.samples, sound(rate, rate), rate), 0.999) << rate;
  }
}

/// Returns the zero crossings per second in the middle of the samples.
double pitch(std::span<const float> samples, int rate_hz) {
  int crossings = 0;
  const auto middle = samples.subspan(samples.size() / 4, samples.size() / 2);
  for (size_t i = 1; i < middle.size(); ++i) crossings += (middle[i - 1] < 0) != (middle[i] < 0);
  return crossings / 2.0 * rate_hz / static_cast<double>(middle.size());
}

TEST(Encoder, SpeedKeepsThePitch) {
  std::vector<float> in(48'000);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<float>(0.4 * std::sin(2 * std::numbers::pi * 220 * i / 24000));
  }
  for (const double speed : {0.25, 0.5, 0.9, 1.5, 2.0, 4.0}) {
    const EncoderOptions options{.format = AudioFormat::kWav, .in_rate_hz = 24000, .speed = speed};
    const Wav got = parse_wav(encode(options, in), "test");
    EXPECT_NEAR(static_cast<double>(got.samples.size()), 48'000 / speed, 48'000 / speed * 0.03)
        << speed;
    EXPECT_NEAR(pitch(got.samples, 24000), 220, 4) << speed;
  }
}

TEST(Encoder, FirstBytesComeEarly) {
  for (const AudioFormat format : {AudioFormat::kMp3, AudioFormat::kOpus, AudioFormat::kAac,
                                   AudioFormat::kFlac, AudioFormat::kWav, AudioFormat::kPcm}) {
    const auto encoder = make_encoder({.format = format, .in_rate_hz = 24000}).take();
    std::string out;
    encoder->encode(sound(24000 / 5, 24000), out);  // 0.2 s of sound
    EXPECT_GT(out.size(), 500u) << audio_format_name(format);
  }
}

TEST(Encoder, OddInput) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float big = std::numeric_limits<float>::infinity();
  for (const AudioFormat format : {AudioFormat::kMp3, AudioFormat::kOpus, AudioFormat::kAac,
                                   AudioFormat::kFlac, AudioFormat::kWav}) {
    for (const double speed : {1.0, 2.0}) {
      std::vector<float> in(5000, nan);
      std::fill(in.begin(), in.begin() + 2000, big);
      std::fill(in.begin() + 2000, in.begin() + 3000, -big);
      const EncoderOptions options{.format = format, .in_rate_hz = 24000, .speed = speed};
      EXPECT_FALSE(encode(options, in).empty());
      encode(options, {});            // without samples
      encode(options, {0.5f, 0.5f});  // shorter than a frame
    }
  }
}

TEST(Encoder, Refusals) {
  const auto rate =
      make_encoder({.format = AudioFormat::kMp3, .in_rate_hz = 24000, .out_rate_hz = 23000});
  ASSERT_FALSE(rate.ok());
  EXPECT_EQ(rate.error().param, "sample_rate");
  EXPECT_NE(rate.error().message.find("22050"), std::string::npos);
  for (const double speed : {0.2, 4.1, std::nan("")}) {
    const auto made = make_encoder({.in_rate_hz = 24000, .speed = speed});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().param, "speed");
  }
}

TEST(Encoder, Names) {
  EXPECT_EQ(audio_format("ogg"), AudioFormat::kOpus);
  EXPECT_EQ(audio_format("mp3"), AudioFormat::kMp3);
  EXPECT_FALSE(audio_format("tape").has_value());
  EXPECT_STREQ(mime_type(AudioFormat::kMp3), "audio/mpeg");
}

}  // namespace
}  // namespace syrinx
