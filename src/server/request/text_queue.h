// Carries the text of an answer from the engine's thread to a connection. The engine calls text()
// and finished(); the connection calls everything else, on one thread at a time. Bounded by the
// length of an answer.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/outbox.h"
#include "engine/engine.h"

namespace syrinx {

class TextQueue : public Sink {
 public:
  /// Calls `wake` on the engine's thread when text or the outcome arrives, until detach(). `wake`
  /// must not block and must not call this object.
  explicit TextQueue(std::function<void()> wake) : box_(std::move(wake), Parts(1)) {}

  void audio(std::span<const float>) override {}
  void text(std::string_view piece, std::span<const ScoredToken> tokens) override;
  void answer_ids(std::span<const int32_t> ids) override;
  void finished(const Outcome& outcome) override;

  struct News {
    std::string text;
    std::vector<ScoredToken> tokens;
    std::vector<int32_t> ids;        ///< see Sink::answer_ids(); ids without text are not reported
    std::optional<Outcome> outcome;  ///< set with the last text
    bool empty() const { return text.empty() && tokens.empty() && !outcome; }
  };
  /// Begins a new part of the answer: a later take() returns it separately.
  void part();
  /// Returns the text of one part that has arrived since the last call.
  News take();
  /// Stops calling `wake`; drops text that arrives later.
  void detach();

 private:
  using Parts = std::deque<News>;  ///< the last element receives new text
  Outbox<Parts> box_;
};

}  // namespace syrinx
