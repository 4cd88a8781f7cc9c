#include "audio/recording.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "audio/decode_helper.h"
#include "audio/recording_libav.h"
#include "audio/wav.h"
#include "base/check.h"
#include "io/file.h"

namespace syrinx {
namespace {

constexpr double kFrameS = 0.02;        // seconds per frame whose level is measured
constexpr size_t kLoudFrames = 15;      // frames (0.3 s) that must reach the recording's level
constexpr double kSilenceBelowDb = 40;  // frames this far below the recording's level are silent
constexpr double kSilenceDb = -65;      // frames below this level are always silent
constexpr double kMarginS = 0.15;       // seconds of silence kept at both ends
constexpr float kMaxValue = 16;         // a float file with larger values is not audio
constexpr float kFullScale = 0.999f;    // smallest magnitude of a clipped sample
constexpr int kClippedRun = 3;          // smallest number of consecutive clipped samples
constexpr double kClippedRemark = 0.001, kQuietDb = -40, kOffsetRemark = 0.02;

double decibels(double value) {
  return value > 0 ? 20 * std::log10(value) : -std::numeric_limits<double>::infinity();
}

std::string tenths(double value) { return concat(std::round(value * 10) / 10); }

/// Returns the root mean square of each frame around `offset`; the last frame may be shorter.
std::vector<double> frame_levels(std::span<const float> samples, size_t frame, double offset) {
  std::vector<double> out;
  for (size_t begin = 0; begin < samples.size(); begin += frame) {
    const size_t end = std::min(samples.size(), begin + frame);
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += std::pow(samples[i] - offset, 2);
    out.push_back(std::sqrt(sum / static_cast<double>(end - begin)));
  }
  return out;
}

double clipped_share(std::span<const float> samples) {
  size_t clipped = 0, run = 0;
  const auto end_run = [&] {
    if (run >= kClippedRun) clipped += run;
    run = 0;
  };
  for (const float sample : samples) {
    if (std::fabs(sample) >= kFullScale) {
      ++run;
    } else {
      end_run();
    }
  }
  end_run();
  return static_cast<double>(clipped) / static_cast<double>(samples.size());
}

double mean(std::span<const float> samples) {
  double sum = 0;
  for (const float sample : samples) sum += sample;
  return sum / static_cast<double>(samples.size());
}

/// Returns whether a sample is k / 32768 with a 16-bit integer k.
bool fits_16_bits(float sample) {
  const float scaled = sample * 32768.f;
  return scaled == std::rint(scaled) && scaled >= -32768.f && scaled <= 32767.f;
}

/// Removes silent frames at both ends, except a margin.
void trim(RecordedAudio& audio, const std::vector<double>& levels, size_t frame) {
  const double silence_db = std::max(audio.level_db - kSilenceBelowDb, kSilenceDb);
  const auto sounds = [&](double level) { return decibels(level) > silence_db; };
  const auto first = std::find_if(levels.begin(), levels.end(), sounds);
  const auto last = std::find_if(levels.rbegin(), levels.rend(), sounds);
  const auto margin = static_cast<size_t>(kMarginS * audio.sample_rate);
  const size_t size = audio.samples.size();
  const size_t begin = static_cast<size_t>(first - levels.begin()) * frame;
  const size_t end = std::min(size, static_cast<size_t>(levels.rend() - last) * frame + margin);
  const size_t from = begin - std::min(begin, margin);
  audio.cut_begin_s = static_cast<double>(from) / audio.sample_rate;
  audio.cut_end_s = static_cast<double>(size - end) / audio.sample_rate;
  audio.samples.erase(audio.samples.begin() + static_cast<std::ptrdiff_t>(end),
                      audio.samples.end());
  audio.samples.erase(audio.samples.begin(),
                      audio.samples.begin() + static_cast<std::ptrdiff_t>(from));
}

}  // namespace

Result<RecordedAudio> read_recording(std::string_view file, const RecordingLimits& limits) {
  auto decoded = decode_file(file, limits);
  if (!decoded) return decoded.error();
  RecordedAudio audio{.samples = std::move(decoded.value().samples),
                      .sample_rate = decoded.value().sample_rate,
                      .format = std::move(decoded.value().format)};
  for (const float sample : audio.samples) {
    if (std::fabs(sample) > kMaxValue) {
      return bad_audio(concat("a sample of the recording is ", sample, ", above ", kMaxValue));
    }
  }
  audio.clipped = clipped_share(audio.samples);
  audio.offset = mean(audio.samples);
  const auto frame = std::max<size_t>(1, static_cast<size_t>(kFrameS * audio.sample_rate));
  const std::vector<double> levels = frame_levels(audio.samples, frame, audio.offset);
  std::vector<double> sorted = levels;
  const size_t louder = std::min(kLoudFrames - 1, sorted.size() / 2);
  const auto loud = sorted.begin() + static_cast<std::ptrdiff_t>(louder);
  std::nth_element(sorted.begin(), loud, sorted.end(), std::greater<>());
  audio.level_db = decibels(*loud);
  const auto too_short = [&] {
    return bad_audio(concat("the recording is too short: ", tenths(audio.seconds()), " s",
                            limits.trim ? " without the silence at its ends" : "", "; at least ",
                            limits.min_s, " s are needed"));
  };
  if (std::isinf(audio.level_db)) {
    return audio.seconds() < limits.min_s ? too_short() : bad_audio("the recording is silent");
  }
  if (audio.level_db < limits.min_level_db) {
    return bad_audio(
        concat("the recording is almost silent (", std::round(audio.level_db), " dB)"));
  }
  if (limits.trim) trim(audio, levels, frame);
  if (audio.seconds() < limits.min_s) return too_short();
  return audio;
}

Result<RecordedAudio> read_recording_file(const std::string& path, const RecordingLimits& limits) {
  return read_recording(read_file(path, limits.max_bytes), limits);
}

std::vector<std::string> recording_remarks(const RecordedAudio& audio) {
  std::vector<std::string> out;
  if (audio.clipped > kClippedRemark) {
    out.push_back(
        concat(tenths(100 * audio.clipped),
               " % of the recording is clipped; a quieter recording makes a cleaner voice"));
  }
  if (audio.level_db < kQuietDb) {
    out.push_back(concat("the recording is quiet (", std::round(audio.level_db),
                         " dB); its noise will be audible"));
  }
  if (std::fabs(audio.offset) > kOffsetRemark) {
    out.emplace_back("the recording's samples are not centred on zero, which may change the voice");
  }
  if (audio.sample_rate < 16000) {
    out.push_back(concat("the recording has only ", audio.sample_rate,
                         " samples per second; the voice will sound dull"));
  }
  return out;
}

std::string recording_wav(std::span<const float> samples, int sample_rate) {
  const bool narrow = std::all_of(samples.begin(), samples.end(), fits_16_bits);
  const SampleCoding coding = narrow ? SampleCoding::kS16 : SampleCoding::kF32;
  std::string out = wav_header(sample_rate, static_cast<int64_t>(samples.size()), coding);
  out.reserve(out.size() + static_cast<size_t>(sample_bytes(coding)) * samples.size());
  for (const float sample : samples) {  // append_samples() would clip them and scale by 32767
    const uint32_t bits = narrow ? static_cast<uint32_t>(std::lrintf(sample * 32768.f))
                                 : std::bit_cast<uint32_t>(sample);
    for (int64_t byte = 0; byte < sample_bytes(coding); ++byte) {
      out += static_cast<char>(bits >> 8 * byte & 0xFF);
    }
  }
  return out;
}

std::unique_ptr<Decoding> start_decoding(std::string_view file, const RecordingLimits& limits) {
  return limits.helper == nullptr ? decode_here(file, limits) : limits.helper->decode(file, limits);
}

Result<DecodedFile> decode_file(std::string_view file, const RecordingLimits& limits) {
  const std::unique_ptr<Decoding> decoding = start_decoding(file, limits);
  DecodedFile out;
  // The file is read as one piece, so that one deadline applies to all of it.
  const Result<bool> more = decoding->read(std::numeric_limits<size_t>::max(), out.samples);
  if (!more) return more.error();
  out.sample_rate = decoding->sample_rate();
  out.format = decoding->format();
  return out;
}

struct RecordingReader::Impl {
  std::unique_ptr<Decoding> decoding;
};

RecordingReader::RecordingReader(std::string_view file, const RecordingLimits& limits)
    : impl_(new Impl{start_decoding(file, limits)}) {}
RecordingReader::~RecordingReader() = default;

Result<bool> RecordingReader::read(size_t count, std::vector<float>& out) {
  return impl_->decoding->read(count, out);
}

double RecordingReader::claimed_s() const { return impl_->decoding->claimed_s(); }

int RecordingReader::sample_rate() const { return impl_->decoding->sample_rate(); }

}  // namespace syrinx
