#include "audio/make_encoder.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "audio/encoder_libav.h"
#include "audio/resampler.h"
#include "audio/time_stretch.h"
#include "audio/volume.h"
#include "base/check.h"

namespace syrinx {
namespace {

/// Encodes to raw samples, with or without a WAV header.
class PcmEncoder : public Encoder {
 public:
  PcmEncoder(int rate_hz, bool header, SampleCoding coding)
      : rate_hz_(rate_hz), header_(header), coding_(coding) {}
  int rate_hz() const override { return rate_hz_; }
  bool cheap() const override { return true; }
  void encode(std::span<const float> samples, std::string& out) override {
    begin(out);
    append_samples(samples, coding_, out);
    samples_ += static_cast<int64_t>(samples.size());
  }
  void flush(std::string& out) override { begin(out); }
  std::string first_bytes() const override {
    return header_ ? wav_header(rate_hz_, samples_, coding_) : std::string();
  }

 private:
  void begin(std::string& out) {
    if (header_ && !std::exchange(begun_, true)) out += wav_header(rate_hz_, -1, coding_);
  }
  const int rate_hz_;
  const bool header_;
  const SampleCoding coding_;
  bool begun_ = false;
  int64_t samples_ = 0;
};

/// Changes volume, speed and rate, then passes the samples to the actual encoder.
class ConvertingEncoder : public Encoder {
 public:
  ConvertingEncoder(const EncoderOptions& options, int rate_hz, std::unique_ptr<Encoder> encoder)
      : encoder_(std::move(encoder)), volume_(options.volume) {
    if (options.speed != 1) {
      stretch_ = std::make_unique<TimeStretch>(options.in_rate_hz, options.speed);
    }
    if (rate_hz != options.in_rate_hz) {
      resampler_ = std::make_unique<Resampler>(options.in_rate_hz, rate_hz);
    }
  }
  int rate_hz() const override { return encoder_->rate_hz(); }
  bool cheap() const override { return !stretch_ && !resampler_ && encoder_->cheap(); }

  void encode(std::span<const float> samples, std::string& out) override {
    if (volume_ != 1) {
      change_volume(samples, volume_, louder_);
      samples = louder_;
    }
    if (stretch_) {
      stretched_.clear();
      stretch_->push(samples, stretched_);
      samples = stretched_;
    }
    resample(samples, out);
  }

  void flush(std::string& out) override {
    if (stretch_) {
      stretched_.clear();
      stretch_->flush(stretched_);
      resample(stretched_, out);
    }
    if (resampler_) {
      resampled_.clear();
      resampler_->flush(resampled_);
      if (!resampled_.empty()) encoder_->encode(resampled_, out);
    }
    encoder_->flush(out);
  }
  std::string first_bytes() const override { return encoder_->first_bytes(); }

 private:
  void resample(std::span<const float> samples, std::string& out) {
    if (resampler_) {
      resampled_.clear();
      resampler_->push(samples, resampled_);
      samples = resampled_;
    }
    if (!samples.empty()) encoder_->encode(samples, out);
  }

  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<TimeStretch> stretch_;
  std::unique_ptr<Resampler> resampler_;
  const double volume_;
  std::vector<float> louder_, stretched_, resampled_;  // kept to reuse their memory
};

bool by_hand(AudioFormat format) {
  return format == AudioFormat::kWav || format == AudioFormat::kPcm;
}

/// Returns the rate of the encoder; empty if the format does not support the requested rate.
std::optional<int> choose_rate(const EncoderOptions& options) {
  const int want = options.out_rate_hz > 0 ? options.out_rate_hz : options.in_rate_hz;
  const std::span<const int> known =
      by_hand(options.format) ? std::span<const int>() : libav_rates(options.format);
  if (known.empty()) return want;
  const auto at = std::lower_bound(known.begin(), known.end(), want);
  if (at != known.end() && *at == want) return want;
  if (options.out_rate_hz > 0) return {};
  return at == known.end() ? known.back() : *at;
}

std::string rate_list(AudioFormat format) {
  std::string out;
  for (const int rate : libav_rates(format))
    out += (out.empty() ? "" : ", ") + std::to_string(rate);
  return out;
}

}  // namespace

std::string content_type(const EncoderOptions& options, int rate_hz) {
  std::string type = mime_type(options.format);
  if (options.format != AudioFormat::kPcm) return type;
  if (options.coding == SampleCoding::kMulaw) type = "audio/PCMU";
  if (options.coding == SampleCoding::kAlaw) type = "audio/PCMA";
  type += concat("; rate=", rate_hz, "; channels=1");
  if (options.coding == SampleCoding::kF32) type += "; encoding=pcm_f32le";
  return type;
}

Result<std::unique_ptr<Encoder>> make_encoder(const EncoderOptions& options) {
  if (!(options.speed >= TimeStretch::kMinSpeed && options.speed <= TimeStretch::kMaxSpeed)) {
    return Error{ErrorCode::kInvalid, "'speed' must be between 0.25 and 4.", "speed"};
  }
  if (!(options.volume >= kMinVolume && options.volume <= kMaxVolume)) {
    return Error{ErrorCode::kInvalid, "'volume' must be between 0.1 and 4.", "volume"};
  }
  if (!has_media() && options.speed != 1)
    return Error{ErrorCode::kUnsupported, "this build has no libsonic and cannot change the speed.",
                 "speed"};
  const std::optional<int> rate = choose_rate(options);
  if (rate && !has_media() && *rate != options.in_rate_hz) {
    return Error{ErrorCode::kUnsupported,
                 concat("this build has no FFmpeg and cannot change the sample rate of ",
                        options.in_rate_hz, " Hz."),
                 "sample_rate"};
  }
  if (!rate) {
    return Error{ErrorCode::kInvalid,
                 concat(audio_format_name(options.format), " does not support a sample rate of ",
                        options.out_rate_hz, " Hz; use ", rate_list(options.format), "."),
                 "sample_rate"};
  }
  std::unique_ptr<Encoder> encoder;
  if (by_hand(options.format)) {
    encoder =
        std::make_unique<PcmEncoder>(*rate, options.format == AudioFormat::kWav, options.coding);
  } else {
    auto made = make_libav_encoder(options.format, *rate, options.labels);
    if (!made) return made.error();
    encoder = made.take();
  }
  const bool plain = options.speed == 1 && options.volume == 1 && *rate == options.in_rate_hz;
  if (plain) return encoder;
  return std::unique_ptr<Encoder>(
      std::make_unique<ConvertingEncoder>(options, *rate, std::move(encoder)));
}

}  // namespace syrinx
