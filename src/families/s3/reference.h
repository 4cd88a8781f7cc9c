// Computes the features of a recording for the S3 families: speech tokens and mel, which the flow
// continues, and a speaker vector. Const after construction, shared by threads; one thread at a
// time uses a Work. Source: chatterbox:src/chatterbox/models/s3gen/s3gen.py (embed_ref), CosyVoice:
// cosyvoice/cli/frontend.py (frontend_zero_shot).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "audio/mel.h"
#include "codec/cam_plus.h"
#include "codec/s3_flow.h"
#include "codec/s3_tokenizer.h"
#include "families/loading/voice_tensors.h"
#include "model/voice.h"

namespace syrinx {

/// The features of a recording: P tokens; mel [P * ratio, M], or up to `spare` frames more.
struct S3Reference {
  std::vector<int32_t> tokens;
  Tensor mel;
  std::vector<float> speaker;
};

/// Computes features of recordings, for the flow and for the language model.
class S3ReferenceEncoder {
 public:
  static constexpr int kMelRate = 24000;  ///< Hz

  /// The state of one recording that is being encoded.
  class Work {
   public:
    bool done() const { return mel_done_ && tokens_.done() && speaker_.done(); }
    /// Returns the recording's tokens so far, which are complete after done().
    const std::vector<int32_t>& tokens() const { return tokens_.tokens(); }

   private:
    friend class S3ReferenceEncoder;
    S3Tokenizer::Work tokens_;
    CamPlus::Work speaker_;
    std::vector<float> samples_;  // samples at kMelRate
    bool mel_done_ = false;
    std::vector<float> mel_;
  };

  /// `tokenizer`, `speaker`: the scopes of the two networks. `mel_top_hz`: the highest frequency of
  /// the mel.
  S3ReferenceEncoder(const Weights& tokenizer, const Weights& speaker, const S3FlowConfig& flow,
                     double mel_top_hz = 8000);

  const S3Tokenizer& tokenizer() const { return tokenizer_; }
  int64_t ratio() const { return ratio_; }
  /// Begins to encode a recording, which is given at 16 kHz and at 24 kHz.
  Work open(std::span<const float> at_16k, std::span<const float> at_24k) const;
  /// Computes the next piece of an unfinished Work.
  void run(StepContext& ctx, Work& work) const;
  /// Returns the result of a finished Work. The longer of tokens and mel is cut to the length of
  /// the other, but the mel may be up to `spare` frames longer (S3FlowVoice::mel).
  S3Reference take(Work& work, int64_t spare = 0) const;
  /// Like take(), but keeps all tokens: cuts the mel to their length, or repeats its last frame.
  S3Reference take_filled(Work& work) const;
  size_t bytes() const { return tokenizer_.bytes() + speaker_.bytes(); }

 private:
  int64_t ratio_;
  MelSpectrogram mel_;
  S3Tokenizer tokenizer_;
  CamPlus speaker_;
};

/// Stores a reference as tensors of a voice: "tokens" i32 [P], "mel" f32 [P * ratio, M] plus any
/// spare frames, and "speaker_vector" f32.
void put_reference(const S3Reference& reference, Voice& voice);
/// Reads an untrusted voice with the tensors of put_reference(). Returns an Error if they do not
/// fit `flow`. Without "tokens" and "mel", the voice has only a speaker vector.
Result<std::shared_ptr<const S3FlowVoice>> flow_voice(const Voice& voice, const S3Flow& flow);

}  // namespace syrinx
