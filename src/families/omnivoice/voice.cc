#include "families/omnivoice/voice.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "codec/xcodec_encoder.h"
#include "families/loading/recorded_voice.h"

namespace syrinx::omnivoice {
namespace {

constexpr const char* kLevelName = "level";  // f32 [1], RMS of the recording
// Times in milliseconds.
constexpr int64_t kWindow = 200, kStep = 10, kLead = 100, kTrail = 200;
constexpr int64_t kQuiet = 103;  // largest RMS of silence in 16 bits: -50 dBFS

/// A recording in 16 bits, by the millisecond.
class Milliseconds {
 public:
  Milliseconds(std::span<const float> samples, int rate) : each_(rate / 1000) {
    const double exact = static_cast<double>(samples.size()) / static_cast<double>(each_);
    count_ = static_cast<int64_t>(std::nearbyint(exact));
    samples_.resize(static_cast<size_t>(count_ * each_), 0);
    for (size_t i = 0; i < std::min(samples.size(), samples_.size()); ++i)
      samples_[i] = static_cast<int16_t>(std::clamp(samples[i] * 32768.f, -32768.f, 32767.f));
    index();
  }
  int64_t count() const { return count_; }
  /// Returns whether the milliseconds [begin, end) are silent, or those of them that exist.
  bool silent(int64_t begin, int64_t end) const {
    end = std::min(end, count_);
    if (begin >= end) return true;
    const double mean = static_cast<double>(powers_[end] - powers_[begin]) /
                        static_cast<double>((end - begin) * each_);
    return static_cast<int64_t>(std::sqrt(mean)) <= kQuiet;
  }
  /// Keeps only the given stretches [begin, end).
  void keep(std::span<const std::pair<int64_t, int64_t>> stretches) {
    std::vector<int16_t> kept;
    for (const auto& [begin, end] : stretches) {
      kept.insert(kept.end(), samples_.begin() + begin * each_, samples_.begin() + end * each_);
    }
    samples_ = std::move(kept);
    count_ = std::ssize(samples_) / each_;
    index();
  }
  std::vector<float> floats() const {
    std::vector<float> out(samples_.size());
    std::ranges::transform(samples_, out.begin(),
                           [](int16_t x) { return static_cast<float>(x) / 32768.f; });
    return out;
  }

 private:
  void index() {
    powers_.assign(static_cast<size_t>(count_) + 1, 0);
    for (int64_t ms = 0; ms < count_; ++ms) {
      int64_t sum = 0;
      for (int64_t i = ms * each_; i < (ms + 1) * each_; ++i)
        sum += int64_t{samples_[static_cast<size_t>(i)]} * samples_[static_cast<size_t>(i)];
      powers_[ms + 1] = powers_[ms] + sum;
    }
  }

  int64_t each_ = 1, count_ = 0;
  std::vector<int16_t> samples_;
  std::vector<int64_t> powers_;  // sums of squares before each millisecond
};

using Stretches = std::vector<std::pair<int64_t, int64_t>>;

/// Returns the silent stretches.
Stretches silences(const Milliseconds& sound) {
  Stretches out;
  const int64_t last = sound.count() - kWindow;
  int64_t before = 0;  // the silent window before
  const auto look = [&](int64_t at) {
    if (!sound.silent(at, at + kWindow)) return;
    if (out.empty() || (at != before + kStep && at > before + kWindow)) {
      out.emplace_back(at, 0);
    }
    out.back().second = at + kWindow;
    before = at;
  };
  for (int64_t at = 0; at <= last; at += kStep) look(at);
  if (last > 0 && last % kStep != 0) look(last);
  return out;
}

/// Returns the stretches to keep: sound, with kWindow of silence on both sides.
Stretches kept_stretches(const Milliseconds& sound) {
  Stretches out;
  const Stretches silent = silences(sound);
  const int64_t all = sound.count();
  int64_t at = 0;
  for (const auto& [begin, end] : silent) {
    if (begin > 0) out.emplace_back(at, begin);
    at = end;
  }
  if (at < all) out.emplace_back(at, all);
  for (auto& [begin, end] : out) begin -= kWindow, end += kWindow;
  for (size_t i = 0; i + 1 < out.size(); ++i) {
    if (out[i + 1].first < out[i].second)
      out[i].second = out[i + 1].first = (out[i].second + out[i + 1].first) / 2;
  }
  for (auto& [begin, end] : out) begin = std::max<int64_t>(0, begin), end = std::min(end, all);
  return out;
}

using Encoder = std::unique_ptr<XCodecEncoder>;

Pieces hear(const Encoder& encoder, RecordedVoice& recorded) {
  recorded.resample(encoder->sample_rate(), Resampling::kHann);
  double power = 0;
  for (const float x : recorded.samples) power += double{x} * x;
  const auto level =
      static_cast<float>(std::sqrt(power / static_cast<double>(recorded.samples.size())));
  if (level > 0 && level < kLevel)
    for (float& x : recorded.samples) x = x * kLevel / level;
  co_await PieceEnd();
  std::vector<float> sound = without_silence(recorded.samples, encoder->sample_rate());
  if (std::ssize(sound) < 2 * XCodecEncoder::kLeast)
    sound = recorded.samples;  // nearly all is silent
  sound.resize(sound.size() - sound.size() % static_cast<size_t>(encoder->hop()));
  co_await PieceEnd();
  Tensor codes;
  for (Pieces p = encoder->run(recorded.ctx_slot(), sound, codes); !p.done(); p.next()) {
    co_await PieceEnd();
  }
  recorded.voice.tensors.emplace(kVoiceCodes, std::move(codes));
  recorded.keep(kLevelName, std::span(&level, 1));
}

}  // namespace

std::vector<float> without_silence(std::span<const float> samples, int rate) {
  Milliseconds sound(samples, rate);
  sound.keep(kept_stretches(sound));
  int64_t begin = 0, end = sound.count();
  while (begin < end && sound.silent(begin, begin + kStep)) begin += kStep;
  begin = std::max<int64_t>(0, std::min(begin, end) - kLead);
  int64_t quiet = 0;  // milliseconds of silence at the end
  while (quiet < end - begin && sound.silent(std::max(begin, end - quiet - kStep), end - quiet))
    quiet += kStep;
  end -= std::max<int64_t>(0, std::min(quiet, end - begin) - kTrail);
  const std::pair<int64_t, int64_t> whole{begin, end};
  sound.keep(std::span(&whole, 1));
  return sound.floats();
}

std::unique_ptr<VoiceEncoder> make_voices(const Weights& codec, const XCodecConfig& sizes) {
  const auto load = [codec, sizes] {
    Encoder encoder;
    codec.build([&] { encoder = std::make_unique<XCodecEncoder>(sizes, codec); });
    return encoder;
  };
  VoiceEncoderInfo info{.family = kFamily,
                        .version = "1",
                        .modes = {{"in-context", true}},
                        .min_s = 1,
                        .max_s = kMostSeconds};
  return std::make_unique<RecordedVoices<Encoder>>(std::move(info), load, hear);
}

Result<Heard> heard_in(const ModelConfig& config, const Voice& voice, double frame_rate) {
  const auto most = static_cast<int64_t>(kMostSeconds * frame_rate) + 1;
  Result<std::vector<int32_t>> codes =
      voice_codes(voice, config.codebooks, most, config.codes(), config.codes());
  if (!codes) return codes.error();
  const Tensor* level = voice.find(kLevelName);
  const bool sound = level && level->dtype() == DType::kF32 && level->shape().count() == 1 &&
                     std::isfinite(level->f32()[0]) && level->f32()[0] >= 0;
  if (!sound) return foreign_voice(concat("it needs \"", kLevelName, "\" f32 [1]"));
  return Heard{with_stop(voice.text), codes.take(), level->f32()[0]};
}

}  // namespace syrinx::omnivoice
