// A recogniser whose writer is a DelayedLm. A family's class derives from it, loads the networks,
// and describes the text beside the rows.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "families/live/delayed_lm.h"
#include "families/live/live_recogniser.h"
#include "families/loading/describe.h"

namespace syrinx {

class DelayedRecogniser : public LiveRecogniser {
 protected:
  /// Returns the text beside the rows for a delay (Hearing::delay).
  virtual DelayedText text_of(int delay) const = 0;
  /// Returns the norms of a delay (StreamRows::mlp_norms); null if they do not depend on it.
  virtual std::shared_ptr<const Tensor> norms_of(int /*delay*/) const { return nullptr; }

  /// Takes the networks and completes the model. `samples`: samples of a row. `delay`: that of all
  /// recordings. `shape`: a description of the encoder, with its bytes.
  template <typename Encoder>
  void join(std::unique_ptr<Encoder> encoder, std::unique_ptr<DelayedLm> lm, int64_t rate,
            int64_t samples, int delay, PartInfo shape) {
    lm_ = std::move(lm);
    const DelayedText text = text_of(delay);
    LiveRecogniser::join({.rate = rate,
                          .frame = encoder->in().width,
                          .row_s = text.row_s,
                          .before = text.before * samples,
                          .after = text.after * samples,
                          .delay = delay,
                          .live_delay = delay},
                         *encoder, encoder->policy(), "lm", *lm_);
    encoder_ = std::move(encoder);
    info_.parts = {std::move(shape),
                   {"language model",
                    concat(describe_decoder(lm_->decoder()), ", ", lm_->decoder().window,
                           " positions, ", lm_->traits().vocab[0], " ids"),
                    lm_->bytes()}};
  }

  std::shared_ptr<const IdTexts> texts_;

 private:
  std::unique_ptr<LiveSequence> sequence(const Hearing& task) const final {
    return std::make_unique<DelayedSequence>(text_of(task.delay), texts_, lm_->open(),
                                             norms_of(task.delay), task);
  }

  std::unique_ptr<const ChunkStage> encoder_;
  std::unique_ptr<const DelayedLm> lm_;
};

/// Returns the texts of a vocabulary's ids from `first` on. Special tokens, and other ids up to
/// `most`, have none.
template <typename Vocabulary>
std::shared_ptr<const IdTexts> id_texts(const Vocabulary& vocabulary, int32_t first, int64_t most) {
  auto out = std::make_shared<IdTexts>(static_cast<size_t>(most));
  for (int32_t id = first; id < std::min<int64_t>(most, vocabulary.size()); ++id) {
    if constexpr (requires { vocabulary.is_special(id); }) {
      if (vocabulary.is_special(id)) continue;
    }
    (*out)[static_cast<size_t>(id)] = vocabulary.bytes(id);
  }
  return out;
}

}  // namespace syrinx
