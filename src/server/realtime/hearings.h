// What is being said in a session of the Realtime API and heard by a recogniser, by the names of
// the items that it is or will be: asks for each hearing, knows its transcript so far, and sends it
// by conversation.item.input_audio_transcription.*, where a client wants that, and once the item is
// in the conversation. Every call is given where events and wishes go. One thread at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/realtime/conversation.h"
#include "server/realtime/realtime_outbox.h"

namespace syrinx {

class Hearings {
 public:
  bool empty() const { return hearings_.empty(); }
  bool contains(const std::string& item) const { return hearings_.contains(item); }

  /// Sets how the client wants transcripts, from now on; nothing: they are not sent. `partial`:
  /// hypotheses are wanted, sent or not. `live`: deltas come while it is said, of the words on
  /// which two hypotheses agree; else when its item is in the conversation.
  void set_wish(std::optional<TranscriptionWish> wish, bool partial, bool live) {
    wish_ = std::move(wish), partial_ = partial, live_ = live;
  }

  /// It begins to be said.
  void open(const std::string& item, RealtimeOutbox& out);
  /// More of it, at kHearingRate.
  void give(const std::string& item, std::vector<float> samples, RealtimeOutbox& out) const;
  /// Its speaker pauses, or goes on. Nothing happens where it is not heard.
  void pause(const std::string& item, bool pauses, RealtimeOutbox& out) const;
  /// All of it was said. Nothing happens where it is not heard.
  void finish(const std::string& item, RealtimeOutbox& out) const;
  /// The item is in the conversation; `answer`: one is wanted.
  void commit(const std::string& item, bool answer, RealtimeOutbox& out);
  /// Ends its hearing. Nothing happens where it is not heard.
  void drop(const std::string& item, RealtimeOutbox& out);

  /// Takes news in. False: it is not heard.
  bool hear(const std::string& item, const HearingNews& news, RealtimeOutbox& out);
  /// What seems to be said by now; empty: nothing, or it is not heard.
  std::string so_far(const std::string& item) const;
  /// That of all that are said, each with the end of a line.
  std::string all_so_far() const;

  /// Where its news have ended and its item is in the conversation: writes the transcript there and
  /// sends it; it is heard no more. Whether words were said that want an answer; nothing: not yet.
  std::optional<bool> end(const std::string& item, Conversation& conversation, RealtimeOutbox& out);

 private:
  struct Hearing {
    std::string settled, partial;    // of its transcript so far
    std::string before;              // the hypothesis before this one
    std::string told;                // by deltas, joined
    bool committed = false;          // its item is in the conversation
    bool answer = false;             // an answer is wanted
    std::optional<HearingNews> end;  // it came
  };
  void tell(const char* what, const std::string& item, const JsonOut& fields,
            RealtimeOutbox& out) const;
  void tell_sure(const std::string& item, Hearing& hearing, RealtimeOutbox& out) const;
  void tell_end(const std::string& item, const HearingNews& news, RealtimeOutbox& out) const;

  std::optional<TranscriptionWish> wish_;
  bool partial_ = false, live_ = false;
  std::map<std::string, Hearing> hearings_;
};

}  // namespace syrinx
