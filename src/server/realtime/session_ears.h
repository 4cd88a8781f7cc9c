// What hears for a session of the Realtime API: a recogniser for each utterance, as the client
// wishes, and its news in the words of the session. One thread, but for `wake`.
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
  /// `apart`: recognisers besides the one that `writer` may have; outlive this. Both may be null.
  /// `wake` is called when take() may have something, on any thread. `client` as in SpeechRequest.
  /// `most_wait_s`: predicted time from the end of an utterance to its transcript past which it is
  /// refused, as long as its recogniser hears others first.
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
  /// Refuses utterances that have ended and whose transcripts will be too late after all.
  void refuse_late();

  /// Returns whether too much audio waits for recognisers, so that the caller should send no more.
  bool full() const;
  /// Returns the items of the utterances that have a hearing.
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
    std::string recogniser;              // its name
    std::unique_ptr<Listener> listener;  // null: it could not be opened, or was refused
    std::optional<ApiError> error;
    double given_s = 0;
    bool scores = false;  // as TranscriptionWish
    bool ended = false;
    bool grows = false;   // as RecogniserInfo
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
