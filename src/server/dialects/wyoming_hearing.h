// The speech of a Wyoming client, from "audio-start" to "audio-stop", on its way to a recogniser.
// One thread, except for `wake`, which the recogniser calls.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audio/resampler.h"
#include "ears/ears.h"
#include "server/models/model_table.h"
#include "server/request/fields.h"
#include "server/transcribe/heard_queue.h"

namespace syrinx {

/// Describes the recognisers of a server: those of `ears`, then those of models that are loaded or
/// were loaded before.
std::vector<RecogniserInfo> wyoming_recognisers(const ModelTable& models, const Ears& ears);

/// A recogniser and the model that owns it.
struct WyomingEar {
  std::shared_ptr<Backend> backend = {};  ///< null if no model of the table owns the recogniser
  std::shared_ptr<Recogniser> recogniser = {};
  std::string model = {};  ///< the model that must be loaded first; empty if there is a recogniser
};

/// Finds the recogniser that a client names; "" means any. Counts as a use of its model. Returns a
/// null recogniser if a model must be loaded first.
Result<WyomingEar> find_wyoming_recogniser(ModelTable& models, const Ears& ears,
                                           std::string_view name);

/// One recording that is recognised while it arrives.
class WyomingHearing {
 public:
  static constexpr double kMaxS = 600;       ///< longest recording
  static constexpr double kMaxAheadS = 120;  ///< most audio that waits for the recogniser

  /// Opens a listener of the recogniser. `language`: a tag such as "en-US"; empty: detected. Keeps
  /// the model loaded until the end.
  static Result<std::unique_ptr<WyomingHearing>> open(WyomingEar ear, std::string_view language,
                                                      std::function<void()> wake);
  ~WyomingHearing() { queue_->detach(); }
  WyomingHearing(const WyomingHearing&) = delete;
  WyomingHearing& operator=(const WyomingHearing&) = delete;

  /// Passes audio of an event "audio-chunk" to the recogniser. `data`: the event's rate, width and
  /// channels; the width must be 2 bytes.
  Status hear(const JsonIn& data, std::string_view pcm);
  void end();
  /// Returns whether hear() must wait, because more than kMaxAheadS wait for the recogniser.
  bool full() const {
    return static_cast<double>(given_) / kHearingRate - queue_->heard_s() > kMaxAheadS;
  }
  HeardQueue::News take() { return queue_->take(); }

 private:
  WyomingHearing(WyomingEar ear, std::function<void()> wake)
      : ear_(std::move(ear)), queue_(std::make_shared<HeardQueue>(std::move(wake))) {}
  void pass_on(std::vector<float>& samples);

  const WyomingEar ear_;  // outlives listener_, which may borrow it
  const std::shared_ptr<HeardQueue> queue_;
  std::unique_ptr<Listener> listener_;
  std::optional<Resampler> resampler_;
  int rate_hz_ = 0;    // rate of the first chunk
  int64_t given_ = 0;  // samples at kHearingRate
};

}  // namespace syrinx
