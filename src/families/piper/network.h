// The network of a Piper voice (VITS). It turns phoneme ids into frames per id and
// the prior's rows, and converts latent rows to samples in a stream. The caller
// passes the noise, so that a test can use the authors' noise. Const after
// construction, shared by threads; one call at a time uses a stream. P: ids of a
// text; H: hidden width; T: frames; C: latent channels; G: width of a speaker's
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

constexpr int kMostIdFrames = 1024;  ///< most frames of one id; longer durations are limited to it

/// A text for read(), and its results.
struct TextJob {
  std::span<const int32_t> ids;
  std::span<const float> noise;      ///< [P, 2], standard normal
  std::span<const float> condition;  ///< DurationPredictor::condition()
  float deviation = 0.8f;            ///< standard deviation of the durations' noise (noise_w)
  float length = 1;                  ///< factor for the number of frames per id
  std::vector<int32_t>* durations = nullptr;  ///< output [P]; negative: the network yielded NaN
  std::vector<float>* prior = nullptr;        ///< output [P, 2 C]
};

/// The networks of a voice, with their weights.
class Network {
 public:
  /// Reads the graph at `path`. `type`: type of the weights, except those of the durations, which
  /// are f32. Throws LoadError with the tensor's name, its expected and its actual shape.
  explicit Network(const std::string& path, WeightType type = WeightType::kF32);

  int64_t symbols() const { return encoder_->symbols(); }
  int64_t speakers() const { return speakers_.empty() ? 1 : speakers_.view().shape[0]; }
  int64_t latent() const { return latent_; }
  int64_t hop() const { return generator_->hop(); }
  /// Returns the lookahead: samples of frame t are final once frame t + lookahead() was processed.
  int64_t lookahead() const { return lookahead_; }
  /// Returns the sum [G] of the speakers' embeddings, weighted by `shares`. Empty for a voice with
  /// one speaker.
  std::vector<float> embedding(std::span<const float> shares) const;
  std::vector<float> text_condition(std::span<const float> embedding) const {
    return durations_->condition(embedding);
  }
  int64_t embedding_width() const { return speakers_.empty() ? 0 : speakers_.view().shape[1]; }

  /// Computes durations and priors for texts of several requests at once.
  void read(StepContext& ctx, std::span<TextJob> jobs) const;
  /// Draws one frame: out [C] = mean + noise exp(log deviation) scale. prior [2 C], noise [C].
  void draw(const float* prior, const float* noise, float scale, float* out) const;

  /// One stream of frames.
  struct Stream {
    StreamMemory flow_memory, generator_memory;
    std::vector<float> flow, generator;  ///< vectors that the stream's speaker adds
    std::vector<float> samples;          ///< final samples that were not fetched yet
    bool ended = false;
  };
  Stream open(std::span<const float> embedding) const;
  struct FrameJob {
    Stream* stream = nullptr;
    View latents;       ///< f32 [T, C] in host memory, the next frames
    bool last = false;  ///< no frame follows in the stream
  };
  /// Appends new samples to Stream::samples; on a GPU, waits for them. When a stream has ended,
  /// every frame has yielded hop() samples.
  void speak(StepContext& ctx, std::span<const FrameJob> jobs) const;

  /// Moves flow and generator to a GPU, for streams opened afterwards. read() stays on the CPU.
  void move_to(Device device);
  /// Returns the device of flow and generator.
  Device device() const { return generator_->device(); }

  struct Bytes {
    size_t encoder, durations, flow, generator;
  };
  Bytes bytes() const;

 private:
  void speak_pieces(StepContext& ctx, std::span<const FrameJob> jobs) const;
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
