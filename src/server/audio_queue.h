// Carries audio from the engine's thread to a connection: samples go in, s16le bytes come out.
// audio() and finished() are the engine's; everything else is the connection's, on the io thread.
// Bounded by the engine, which makes no audio ahead of unread_s().
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "engine/engine.h"

namespace syrinx {

class AudioQueue : public Sink {
 public:
  /// `wake` is called on the engine's thread when there is something new, until detach().
  /// It must not block and must not call back.
  AudioQueue(int sample_rate_hz, std::function<void()> wake);

  void audio(std::span<const float> samples) override;
  void finished(const Outcome& outcome) override;
  double unread_s() const override;

  /// Moves up to max_bytes to the end of `out` and says how many. They count as unread until
  /// written() says that the client took them.
  size_t take(std::string& out, size_t max_bytes);
  void written(size_t bytes);
  /// The outcome, once the engine is done and all bytes were taken.
  std::optional<Outcome> end() const;
  /// No further wake; audio that still comes is dropped.
  void detach();

 private:
  const int sample_rate_hz_;
  mutable std::mutex mutex_;
  std::function<void()> wake_;
  std::string bytes_;  // not yet taken: [begin_, size)
  size_t begin_ = 0;
  size_t in_flight_ = 0;  // taken, not yet written
  std::optional<Outcome> outcome_;
};

}  // namespace syrinx
