// A loaded model that speaks with a CodecLm followed by a codec. A family derives its pipeline from
// this class, loads the networks in its constructor and describes each request by a SpokenScript.
// Const after construction; thread-safe.
#pragma once

#include <memory>

#include "families/loading/describe.h"
#include "families/loading/loaded_pipeline.h"
#include "families/spoken/codec_lm.h"
#include "families/spoken/spoken_sequence.h"

namespace syrinx {

class SpokenPipeline : public LoadedPipeline {
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
  void join(std::unique_ptr<CodecLm> lm, std::span<const Link> behind);
  /// Calls the other join() with a codec as the only stage after the model. Describes the codec.
  void join(std::unique_ptr<CodecLm> lm, std::unique_ptr<ChunkStage> codec, const CodecInfo& info,
            ChunkPolicy policy);

  SpokenModel spoken_;

 private:
  std::unique_ptr<CodecLm> lm_;
  std::unique_ptr<ChunkStage> stage_;
};

}  // namespace syrinx
