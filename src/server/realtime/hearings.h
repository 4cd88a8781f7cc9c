// The utterances of a Realtime API session that recognisers process, each under the id of its
// present or future item. Requests the hearing of each utterance and keeps its transcript so far.
// If the client wants transcripts, sends conversation.item.input_audio_transcription.* once the
// item is in the conversation. Each call appends events and actions to its outbox. Not
// thread-safe.
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

  /// Sets how transcripts are sent from now on; an unset `wish` sends none. `partial`: recognisers
  /// report hypotheses, even if these are not sent. `live`: words are sent during the utterance, as
  /// soon as two hypotheses agree. Otherwise words are sent after commit(), when they are final.
  void set_wish(std::optional<TranscriptionWish> wish, bool partial, bool live) {
    wish_ = std::move(wish), partial_ = partial, live_ = live;
  }

  /// Begins the hearing of an item.
  void open(const std::string& item, RealtimeOutbox& out);
  /// Passes more samples of the item, at kHearingRate, to its recogniser.
  void give(const std::string& item, std::vector<float> samples, RealtimeOutbox& out) const;
  /// Reports that the speaker pauses or resumes. Does nothing if the item has no hearing.
  void pause(const std::string& item, bool pauses, RealtimeOutbox& out) const;
  /// Reports that the item's audio is complete. Does nothing if the item has no hearing.
  void finish(const std::string& item, RealtimeOutbox& out) const;
  /// Records that the item is in the conversation. `answer`: the item needs an answer.
  void commit(const std::string& item, bool answer, RealtimeOutbox& out);
  /// Ends the hearing of an item. Does nothing if the item has no hearing.
  void drop(const std::string& item, RealtimeOutbox& out);

  /// Stores news of an item's transcript. Returns false if the item has no hearing.
  bool hear(const std::string& item, const HearingNews& news, RealtimeOutbox& out);
  /// Returns the hypothesis for an item so far; an empty string if the item has no hearing.
  std::string so_far(const std::string& item) const;
  /// Returns whether the recogniser of an item predicts that the speaker has finished, if it can.
  std::optional<bool> done(const std::string& item) const;
  /// Returns the hypotheses of all items, each followed by a line feed.
  std::string all_so_far() const;

  /// If all news of an item have arrived and it is in the conversation: stores and sends its
  /// transcript, ends its hearing, returns whether its words need an answer. Else returns nothing.
  std::optional<bool> end(const std::string& item, Conversation& conversation, RealtimeOutbox& out);

 private:
  struct Hearing {
    std::string settled, partial;    // transcript so far: its final part; the hypothesis after it
    std::string before;              // the previous hypothesis
    bool grows = false;              // every later hypothesis begins with this one
    std::optional<bool> done;        // the newest HearingNews::done
    std::string sent;                // all text that was sent in deltas
    bool committed = false;          // the utterance's item is in the conversation
    bool answer = false;             // the user's words need an answer
    std::optional<HearingNews> end;  // the last news
  };
  void send_event(const char* what, const std::string& item, const JsonOut& fields,
                  RealtimeOutbox& out) const;
  void send_settled(const std::string& item, Hearing& hearing, RealtimeOutbox& out) const;
  void send_end(const std::string& item, const HearingNews& news, RealtimeOutbox& out) const;

  std::optional<TranscriptionWish> wish_;
  bool partial_ = false, live_ = false;
  std::map<std::string, Hearing> hearings_;
};

}  // namespace syrinx
