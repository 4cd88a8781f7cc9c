// The recognisers of a session of the Realtime API: one for each utterance, with the client's
// settings. Converts their results to HearingNews. Not thread-safe; calls `wake` on any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ears/ears.h"
#include "server/models/backend.h"
#include "server/realtime/realtime_actions.h"
#include "server/transcribe/heard_queue.h"

namespace syrinx {

class SessionEars {
 public:
  /// `apart`: recognisers besides that of `writer`. `apart` must outlive this object; both may be
  /// null. `wake` is called on any thread when take() may return news. `client`: as in
  /// SpeechRequest. An utterance is refused if other utterances would delay its transcript by more
  /// than `most_wait_s` after its end.
  SessionEars(const Ears* apart, std::shared_ptr<Backend> writer, uint64_t client,
              double most_wait_s, std::function<void()> wake);
  ~SessionEars();
  SessionEars(const SessionEars&) = delete;
  SessionEars& operator=(const SessionEars&) = delete;

  void open(const OpenHearing& open);
  // These functions do nothing if the hearing of the utterance has ended.
  void hear(const HearSamples& more);
  void pause(const PauseHearing& pause);
  void end(const std::string& item);
  void drop(const std::string& item);
  /// Refuses ended utterances whose transcripts turn out to be too late.
  void refuse_late();

  /// Returns whether too much audio waits for recognisers, so that the caller should send no more.
  bool full() const;
  /// Returns the item ids of the utterances that are being recognised.
  std::vector<std::string> items() const;
  /// Returns the news of an utterance, if any. The last news ends its hearing.
  std::optional<HearingNews> take(const std::string& item);

  /// Returns the internal errors since the last call, for the log.
  std::vector<std::string> take_troubles();
  /// Returns the number of utterances so far.
  int opened() const { return opened_; }

 private:
  struct Hearing {
    std::shared_ptr<HeardQueue> queue;
    std::string recogniser;              // name of the recogniser
    std::unique_ptr<Listener> listener;  // null if it could not be opened or was refused
    std::optional<ApiError> error;
    double given_s = 0;
    bool scores = false;  // see TranscriptionWish
    bool ended = false;
    bool grows = false;  // see RecogniserInfo
  };
  Result<std::shared_ptr<Recogniser>> recogniser(const std::string& name) const;
  Status listen(const TranscriptionWish& wish, Hearing& hearing) const;
  void refuse(Hearing& hearing, const Error& error);
  bool refuse_if_late(Hearing& hearing);

  const Ears* const apart_;
  const std::shared_ptr<Backend> writer_;
  const uint64_t client_;
  const double most_wait_s_;
  const std::function<void()> wake_;
  std::map<std::string, Hearing> hearings_;
  std::vector<std::string> troubles_;
  int opened_ = 0;
};

}  // namespace syrinx
