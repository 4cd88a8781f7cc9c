// Carries samples and word times from the engine's thread to a connection, which encodes them. The
// engine calls audio(), words() and finished(); the connection calls all other functions, on one
// thread at a time. Memory is bounded: the engine pauses while unread_s() is above its limit.
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
  /// Calls `wake` on the engine's thread when audio, words or the outcome arrive, until detach().
  /// `wake` must not block and must not call this object.
  AudioQueue(int sample_rate_hz, std::function<void()> wake);

  void audio(std::span<const float> samples) override;
  void words(std::span<const WordMark> marks) override;
  void warning(std::string_view text) override;
  void answer_ids(std::span<const int32_t> ids) override;
  void finished(const Outcome& outcome) override;
  double unread_s() const override;

  /// Moves up to `most` samples to the end of `out` and returns their number. They count as unread
  /// until written() reports that the client received them.
  size_t take(std::vector<float>& out, size_t most);
  void written(size_t samples);
  /// Moves the words that have arrived since the last call to the end of `out`.
  void take_words(std::vector<WordMark>& out);
  /// Moves the warnings that have arrived since the last call, as sentences, to the end of `out`.
  void take_warnings(std::vector<std::string>& out);
  /// Moves out the ids (Sink::answer_ids) that have arrived since the last call.
  std::vector<int32_t> take_ids();
  /// Returns the outcome when the engine has finished and all samples were taken.
  std::optional<Outcome> end() const;
  /// Until release(), makes the engine pause at `ahead_s` seconds of audio that waits here.
  void hold(double ahead_s);
  void release();
  /// Returns the time at which the first audio arrived, on base's clock; 0 before that.
  double first_audio_s() const;
  /// Stops calling `wake`; drops audio that arrives later.
  void detach();

 private:
  struct Sound {
    std::vector<float> samples = {};  ///< samples [begin, size) are not taken yet
    size_t begin = 0;
    size_t in_flight = 0;  ///< samples that were taken but not yet written
    double most_s;         ///< most seconds of audio before the engine must wait
    double first_audio_s = 0;
    std::vector<WordMark> words = {};        ///< words not taken yet
    std::vector<std::string> warnings = {};  ///< warnings not taken yet
    std::vector<int32_t> ids = {};           ///< ids not taken yet
    std::optional<Outcome> outcome = {};

    size_t waiting() const { return samples.size() - begin; }
    size_t take(std::vector<float>& out, size_t most);
  };

  const int sample_rate_hz_;
  Outbox<Sound> box_;
};

}  // namespace syrinx
