// A loaded model that speaks with a CodecLm followed by a codec. A family derives its pipeline from
// this class, loads the networks in its constructor and describes each request by a SpokenScript.
// Const after construction; thread-safe.
#pragma once

#include <memory>

#include "families/loading/codec_pipeline.h"
#include "families/spoken/codec_lm.h"
#include "families/spoken/spoken_sequence.h"

namespace syrinx {

class SpokenPipeline : public CodecPipeline {
 public:
  Result<Opened> open(const SpeechRequest& request) const override {
    return SpokenSequence::open(spoken_, script(request), request);
  }

  const CodecLm& lm() const { return *lm_; }

 protected:
  /// Returns the script of a request, or an error if the model cannot speak it.
  virtual Result<std::unique_ptr<SpokenScript>> script(const SpeechRequest& request) const = 0;

  /// Makes the graph of the language model and the stages after it (`behind`), which must outlive
  /// the graph. Describes the language model. Offers guidance and inner sampling if spoken_ has
  /// values for them. The family's constructor first sets spoken_, then calls one join().
  void join(std::unique_ptr<CodecLm> lm, std::span<const Link> behind) {
    set_lm(std::move(lm));
    graph_ = chain(*lm_, behind);
  }
  /// Does the same with a codec as the only stage after the model. Describes the codec, too.
  template <typename Codec>
  void join(std::unique_ptr<CodecLm> lm, std::unique_ptr<Codec> codec, ChunkSizes chunks) {
    set_lm(std::move(lm));
    join_codec(*lm_, std::move(codec), chunks, [](const Sequence& sequence) {
      return static_cast<const SpokenSequence&>(sequence).seed();
    });
    info_.speech.late_text = LateText::kSentence;
  }

  SpokenModel spoken_;

 private:
  void set_lm(std::unique_ptr<CodecLm> lm);

  std::unique_ptr<CodecLm> lm_;
};

}  // namespace syrinx
