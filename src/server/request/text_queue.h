// Carries the text of an answer from the engine's thread to a connection. text() and finished() are
// the engine's; everything else is the connection's, on one thread at a time. Bounded by the length
// of an answer.
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
  /// `wake` is called on the engine's thread when there is something new, until detach(). It must
  /// not block and must not call back.
  explicit TextQueue(std::function<void()> wake) : box_(std::move(wake), Parts(1)) {}

  void audio(std::span<const float>) override {}
  void text(std::string_view piece, std::span<const ScoredToken> tokens) override;
  void answer_ids(std::span<const int32_t> ids) override;
  void finished(const Outcome& outcome) override;

  struct News {
    std::string text;
    std::vector<ScoredToken> tokens;
    std::vector<int32_t> ids;        ///< as Sink::answer_ids(); they are no news by themselves
    std::optional<Outcome> outcome;  ///< set with the last of the text
    bool empty() const { return text.empty() && tokens.empty() && !outcome; }
  };
  /// Parts an answer: what comes from here on is returned by a later take().
  void part();
  /// What came since the last call, of one part.
  News take();
  /// No further wake; text that still comes is dropped.
  void detach();

 private:
  using Parts = std::deque<News>;  ///< the last takes what comes
  Outbox<Parts> box_;
};

}  // namespace syrinx
