// Whisper's encoder: 30 seconds of log-mel at 16 kHz to rows for cross-attention in a decoder, 50 a
// second. It has two convolutions, a table of positions, and blocks in which every row attends to
// all rows. The input is a whole window, as in the authors' transcribe(): mel frames that the
// recording lacks are zeros, after the logarithm. A window may also end after some of these zeros
// (WhisperWindow::rows), which needs less time and changes the remaining rows slightly.
//
// The work is divided into pieces: the mel, the convolutions, then each block. On a GPU, the mel is
// still computed by the host.
// Source: whisper:whisper/{audio,model}.py; names of transformers:src/transformers/models/whisper.
// Const after construction, shared by threads; a Work is used by one call at a time.
// M mel bands, W width, N = 1500 rows.
#pragma once

#include <span>

#include "audio/mel.h"
#include "io/json.h"
#include "kernels/conv.h"
#include "nn/decoder.h"

namespace syrinx {

/// Sizes, from config.json. Plain data.
struct WhisperEncoderConfig {
  int64_t mels = 80;
  int64_t width = 384, layers = 4, heads = 6, ffn = 1536;

  /// Reads sizes. Throws LoadError for a value that is missing, out of range or unsupported.
  static WhisperEncoderConfig load(const Config& root);
};

/// Returns the config of Whisper's encoder blocks, with their names. Keys have no bias.
DecoderConfig whisper_blocks(int64_t layers, int64_t width, int64_t heads, int64_t ffn);

/// A window of a recording. The authors compute the mel of the whole recording and then cut windows
/// out of it, so samples beyond a window's ends affect the window.
struct WhisperWindow {
  static constexpr int kSampleRate = 16000;  ///< Hz
  static constexpr int kHop = 160;           ///< samples between two mel frames
  static constexpr int kFrames = 3000;       ///< mel frames of a window
  static constexpr int kMargin = 2;  ///< frames on each side that affect the window's frames

  /// [(kFrames + 2 * kMargin) * kHop] samples, beginning `lead` frames before the window.
  std::vector<float> samples;
  int lead = 0;    ///< frames before the window: kMargin, or fewer at the recording's beginning
  int frames = 0;  ///< number of the window's frames in the recording, in [0, kFrames]
  int rows = kFrames / 2;  ///< number of first rows that the encoder computes; 2 * rows >= frames
  float loudest = 0;       ///< largest log-mel value of the whole recording
};

/// A recording that arrives piece by piece and is processed window by window. Frames are counted
/// from the beginning of the recording. One thread at a time.
class WhisperRecording {
 public:
  explicit WhisperRecording(int mels) : mel_(whisper_mel(mels)) {}
  /// Appends samples at 16 kHz; `last`: no samples follow.
  void push(std::span<const float> samples, bool last = false);
  bool closed() const { return closed_; }
  /// Return the number of whole frames so far (of the authors' mel), and the number of samples.
  int64_t frames() const { return samples() / WhisperWindow::kHop; }
  int64_t samples() const { return dropped_ + std::ssize(samples_); }
  /// Returns the window that begins at frame `first`, which must be at least the frame last passed
  /// to forget(). Before the recording ends, the result assumes that nothing louder follows.
  WhisperWindow window(int64_t first) const;
  /// Returns whether no sample of frames [first, end) is larger than `peak`.
  bool within(int64_t first, int64_t end, float peak) const;
  /// Drops samples that only windows before frame `first` need.
  void forget(int64_t first);

 private:
  void look(std::span<const float> from_dropped, int64_t end);

  MelSpectrogram mel_;
  std::vector<float> samples_;
  int64_t dropped_ = 0;  // number of dropped samples, a multiple of kHop
  int64_t seen_ = 0;     // number of frames that loudest_ covers
  float loudest_ = -10;  // largest log-mel value so far; at first, the value of silence
  bool closed_ = false;
};

/// The encoder with its weights.
class WhisperEncoder {
 public:
  static constexpr int kRows = WhisperWindow::kFrames / 2;

  /// The work on one window, with its state between calls. R = WhisperWindow::rows.
  class Work {
   public:
    bool done() const { return pieces_ > 0 && piece_ == pieces_; }
    int left() const { return pieces_ - piece_; }
    /// Returns the rows [R, W], on the encoder's device. They are complete when the work is done;
    /// on a GPU, also synchronize() must have returned.
    const View& rows() const { return rows_.view(); }

   private:
    friend class WhisperEncoder;
    int piece_ = 0, pieces_ = 0;
    int lead_ = 0, frames_ = 0;
    int64_t all_ = 0;  // R: rows of the window
    float loudest_ = 0;
    Tensor mel_;   // [1 + 2 R + 1, M], bordered by zero rows; in host memory
    Tensor rows_;  // [R, W]
  };

  /// `weights` is the scope model.encoder.
  WhisperEncoder(const WhisperEncoderConfig& config, const Weights& weights, WeightType type);

  const WhisperEncoderConfig& config() const { return config_; }
  /// Opens the work on `window`. run() receives the samples of the window.
  Work open(const WhisperWindow& window) const;
  /// Runs the next piece of a work that is not done. Only the first piece reads `samples`.
  void run(StepContext& ctx, Work& work, std::span<const float> samples) const;
  int pieces() const { return static_cast<int>(config_.layers) + 3; }
  size_t bytes() const;
  /// Moves the weights to a GPU. Works opened afterwards run there.
  void move_to(Device device);
  Device device() const { return conv1_.device(); }

 private:
  void make_mel(Work& work, std::span<const float> samples) const;
  void convolve(StepContext& ctx, Work& work) const;

  WhisperEncoderConfig config_;
  MelSpectrogram mel_;
  PackedConv1d conv1_, conv2_;
  Tensor positions_;  // [N, W]
  Decoder blocks_;
};

}  // namespace syrinx
