// The audio encoder of Qwen3-Omni: a recording at 16 kHz to input rows of the language model, 13 a
// second. It has Whisper's log-mel, three 2-D convolutions over each chunk of one second, with
// positions that restart in every chunk, and transformer blocks. In the blocks, a row attends only
// to the rows of its window (8 s as published). A projection follows.
//
// Windows are therefore independent, and their rows are sent as soon as they are
// computed. One exception: the mel is limited to 8 decades below the largest
// value of the whole recording. A window with lower values is exact only if the
// rest of the recording is known not to be louder (see keys()). When the authors
// encode a recording together with longer ones, they pad its short last chunk
// with zeros to a whole second. Here a recording is always encoded as if it were
// alone. Work therefore begins with a search for the largest value; then each
// window is a piece of work. On a GPU, the mel is still computed by the host. Source:
// transformers:src/transformers/models/qwen3_omni_moe, Qwen3OmniMoeAudioEncoder.
// Const after construction, shared by threads. T mel frames, M mel bands, C
// channels of the convolutions, W width, R output rows.
#pragma once

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "audio/mel.h"
#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx {

/// Sizes, from thinker_config.audio_config. Plain data.
struct Qwen3AudioConfig {
  int64_t mels = 128;
  int64_t channels = 480;  ///< C: channels of the convolutions
  int64_t width = 1280, layers = 32, heads = 20, ffn = 5120;
  int64_t chunk = 100;   ///< mel frames of a chunk
  int64_t window = 800;  ///< mel frames of a window; a multiple of `chunk`
  int64_t out = 2048;    ///< width of the rows
  /// Whether a recording shorter than one chunk is padded to a chunk before the convolutions.
  bool fills_first = false;

  /// Reads sizes. Throws LoadError for a value that is missing, out of range or unsupported.
  static Qwen3AudioConfig load(const Config& audio);
};

/// The network with its weights.
class Qwen3AudioTower {
 public:
  static constexpr int kSampleRate = 16000;  ///< Hz

  /// A window of a recording, as the input of encode().
  struct Window {
    int64_t number = 0;  ///< index of the window, from 0
    int64_t length = 0;  ///< number of samples of the whole recording
    float loudest = 0;   ///< largest log-mel value of the recording
    int64_t offset = 0;  ///< index of samples[0] in the recording; a multiple of chunk_samples()
    std::span<const float> samples;  ///< the window and, where it exists, one chunk on each side
  };

  /// The two linears after the blocks: the scope of their tensors, and their names in this scope.
  struct Projection {
    Weights weights;
    const char *first, *second;
  };

  /// `weights` is the scope thinker.audio_tower, which also contains the projection.
  Qwen3AudioTower(const Qwen3AudioConfig& config, const Weights& weights, WeightType type)
      : Qwen3AudioTower(config, weights, {weights, "proj1", "proj2"}, type) {}
  Qwen3AudioTower(const Qwen3AudioConfig& config, const Weights& weights,
                  const Projection& projection, WeightType type);

  const Qwen3AudioConfig& config() const { return config_; }
  /// Returns the number of rows of a recording; 0 if it is too short for a row.
  int64_t count(int64_t samples) const;
  /// Return the number of samples in a chunk, and of chunks in a window.
  int64_t chunk_samples() const { return config_.chunk * mel_.options().hop; }
  int64_t window_chunks() const { return config_.window / config_.chunk; }
  /// Returns the number of rows of window `number` in a recording of `length` samples.
  int64_t window_rows(int64_t number, int64_t length) const;
  /// Returns the largest log-mel value of a recording, and the smallest value of each window.
  MelExtremes extremes(std::span<const float> recording) const;
  /// Returns a key for each window that has a mel frame. Windows with equal keys have equal rows.
  std::vector<uint64_t> keys(std::span<const float> recording, const MelExtremes& extremes) const;
  /// Encodes a window into out [window_rows, out] on the context's device, which is device().
  void encode(StepContext& ctx, const Window& window, const View& out) const;
  size_t bytes() const;
  /// Moves the weights to a GPU.
  void move_to(Device device);
  Device device() const { return positions_.device(); }

 private:
  /// Returns how many rows a chunk of `frames` mel frames yields.
  static int64_t chunk_rows(int64_t frames);
  /// Returns how many rows a recording or window of `frames` mel frames yields.
  int64_t rows_of(int64_t frames) const;
  /// Returns the number of mel frames before a window, and the number of frames in the window.
  std::pair<int64_t, int64_t> window_frames(int64_t number, int64_t length) const;
  View make_mel(StepContext& ctx, const Window& window) const;
  void convolve(StepContext& ctx, const View& mel, const View& out) const;

  Qwen3AudioConfig config_;
  MelSpectrogram mel_;
  std::array<PackedLinear, 3> convs_;  // [C, 9 * number of input channels]
  PackedLinear flatten_;               // maps the values [bands / 8, C] of one time step to a row
  Tensor positions_;                   // [rows of a window, W]
  Decoder blocks_;
  PackedLinear proj1_, proj2_;
};

}  // namespace syrinx
