// Carries audio and the times of words from the engine's thread to a connection, as samples: what
// they become on the wire is made where the connection wants it made. audio(), words() and
// finished() are the engine's; everything else is the connection's, on one thread at a time.
// Bounded by the engine, which makes no audio ahead of unread_s().
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/outbox.h"
#include "engine/engine.h"

namespace syrinx {

class AudioQueue : public Sink {
 public:
  /// `wake` is called on the engine's thread when there is something new, until detach().
  /// It must not block and must not call back.
  AudioQueue(int sample_rate_hz, std::function<void()> wake);

  void audio(std::span<const float> samples) override;
  void words(std::span<const WordMark> marks) override;
  void warning(std::string_view text) override;
  void finished(const Outcome& outcome) override;
  double unread_s() const override;

  /// Moves up to `most` samples to the end of `out` and says how many. They count as unread until
  /// written() says that the client took them.
  size_t take(std::vector<float>& out, size_t most);
  void written(size_t samples);
  /// Moves the words that came since the last call to the end of `out`.
  void take_words(std::vector<WordMark>& out);
  /// Moves the warnings that came since the last call, as sentences, to the end of `out`.
  void take_warnings(std::vector<std::string>& out);
  /// The outcome, once the engine is done and all samples were taken.
  std::optional<Outcome> end() const;
  /// Bounds the audio that is made before release(): it has no reader yet.
  void hold(double ahead_s);
  void release();
  /// When the first audio came, on base's clock; 0: none yet.
  double first_audio_s() const;
  /// No further wake; audio that still comes is dropped.
  void detach();

 private:
  struct Sound {
    std::vector<float> samples = {};  ///< not yet taken: [begin, size)
    size_t begin = 0;
    size_t in_flight = 0;  ///< taken, not yet written
    double most_s;         ///< past it the connection takes no more
    double first_audio_s = 0;
    std::vector<WordMark> words = {};        ///< not yet taken
    std::vector<std::string> warnings = {};  ///< not yet taken
    std::optional<Outcome> outcome = {};

    size_t waiting() const { return samples.size() - begin; }
    size_t take(std::vector<float>& out, size_t most);
  };

  const int sample_rate_hz_;
  Outbox<Sound> box_;
};

}  // namespace syrinx
