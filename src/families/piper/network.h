// The network of a Piper voice (VITS). It turns phoneme ids into frames per id and the prior's
// rows, and streams latent rows to samples. The caller passes the noise, so that a test can use the
// authors' noise.
// Const after construction, shared by threads; a stream is used by one call at a time.
// P: ids of a text; H: hidden width; T: frames; C: latent channels; G: width of a speaker's
// embedding.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "families/piper/duration_predictor.h"
#include "families/piper/generator.h"
#include "families/piper/prior_flow.h"
#include "families/piper/text_encoder.h"

namespace syrinx::piper {

constexpr int kMostIdFrames = 1024;  ///< most frames of one id; longer durations are cut to it

/// A text to be read, and its results.
struct TextJob {
  std::span<const int32_t> ids;
  std::span<const float> noise;      ///< [P, 2], standard normal
  std::span<const float> condition;  ///< DurationPredictor::condition()
  float deviation = 0.8f;            ///< standard deviation of the durations' noise (noise_w)
  float length = 1;                  ///< factor of the frames of each id
  std::vector<int32_t>* durations = nullptr;  ///< Written: [P]; negative: not a number
  std::vector<float>* prior = nullptr;        ///< Written: [P, 2 C]
};

/// The networks of a voice with their weights.
class Network {
 public:
  /// Reads the graph at `path`. `type`: type of the weights, except for the durations' weights,
  /// which are f32. Throws LoadError with the tensor's name and its expected and actual shape.
  explicit Network(const std::string& path, WeightType type = WeightType::kF32);

  int64_t symbols() const { return encoder_->symbols(); }
  int64_t speakers() const { return speakers_.empty() ? 1 : speakers_.view().shape[0]; }
  int64_t latent() const { return latent_; }
  int64_t hop() const { return generator_->hop(); }
  /// Returns the lookahead: samples of frame t are final after frame t + lookahead() was read.
  int64_t lookahead() const { return lookahead_; }
  /// Returns the sum of the speakers' embeddings weighted by `shares`, [G]; empty for a voice of
  /// one speaker.
  std::vector<float> embedding(std::span<const float> shares) const;
  std::vector<float> text_condition(std::span<const float> embedding) const {
    return durations_->condition(embedding);
  }
  int64_t embedding_width() const { return speakers_.empty() ? 0 : speakers_.view().shape[1]; }

  /// Reads texts of several requests at once.
  void read(StepContext& ctx, std::span<TextJob> jobs) const;
  /// Draws one frame: out [C] = mean + noise exp(log deviation) scale; prior [2 C], noise [C].
  void draw(const float* prior, const float* noise, float scale, float* out) const;

  /// One stream of frames.
  struct Stream {
    StreamMemory flow_memory, generator_memory;
    std::vector<float> flow, generator;  ///< conditions of the stream's speaker
    std::vector<float> samples;          ///< final samples that were not taken yet
    bool ended = false;
  };
  Stream open(std::span<const float> embedding) const;
  struct FrameJob {
    Stream* stream = nullptr;
    View latents;       ///< f32 [T, C], the next frames
    bool last = false;  ///< no frame follows in the stream
  };
  /// Appends new samples to Stream::samples. At the end of a stream, every frame has yielded hop()
  /// samples.
  void speak(StepContext& ctx, std::span<const FrameJob> jobs) const;

  struct Bytes {
    size_t encoder, durations, flow, generator;
  };
  Bytes bytes() const;

 private:
  void speak_piece(StepContext& ctx, std::span<const FrameJob> jobs) const;
  void generate(StepContext& ctx, std::span<const FrameJob> jobs) const;

  std::optional<TextEncoder> encoder_;
  std::optional<DurationPredictor> durations_;
  std::optional<PriorFlow> flow_;
  std::optional<Generator> generator_;
  Tensor speakers_;  // [S, G]
  int64_t latent_ = 0, lookahead_ = 0;
};

}  // namespace syrinx::piper
