// A session of OpenAI's Realtime API (GA) as a pure state machine: events of the client, and news
// of what hears and answers for it, go in; actions come out. It knows no sockets, no engine and no
// clock but that of the audio, and throws nothing whatever it is fed. One thread at a time.
//
// What comes in, what is heard and what is answered are values of their own (audio_in.h,
// hearings.h, response.h); here is the order of it all. Events out come in the documented one:
// speech_started, speech_stopped, committed, item.added, item.done; then those of the response
// (response.h). One response at a time is in the conversation; others (`conversation: none`) run
// beside it.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "server/realtime/audio_in.h"
#include "server/realtime/conversation.h"
#include "server/realtime/hearings.h"
#include "server/realtime/idle_timer.h"
#include "server/realtime/realtime_actions.h"
#include "server/realtime/realtime_config.h"
#include "server/realtime/realtime_event.h"
#include "server/realtime/realtime_facts.h"
#include "server/realtime/realtime_outbox.h"
#include "server/realtime/response.h"

namespace syrinx {

class RealtimeSession {
 public:
  /// `transcribes`: the session begins as one of the type "transcription".
  RealtimeSession(RealtimeFacts facts, bool transcribes);

  // Each appends what it asks for to `out`.

  /// The connection stands.
  void opened(RealtimeActions& out);
  /// True: audio of it waits for hear_more(), which must be called until it says false, before the
  /// next event.
  bool take(RealtimeEvent event, RealtimeActions& out);
  bool hear_more(RealtimeActions& out);

  void heard(const std::string& item, const HearingNews& news, RealtimeActions& out);
  void answered(const std::string& response, const AnswerNews& news, RealtimeActions& out);

  /// There was no room for what was said up to this item: it is read no more.
  void leave_out(const std::string& last_item) { conversation_.leave_out(last_item); }

  /// What would be asked if what is known now were all that is said or typed; of no response.
  BeginAnswer foreseen() const;
  /// The same of a turn that goes on, as far as what is said of it stays as it is heard.
  BeginAnswer heard_so_far() const;
  /// How answers are predicted.
  const Prediction& prediction() const { return config_.prediction; }

  /// Nobody speaks, and nothing is heard or answered.
  bool quiet() const;
  /// Bytes of audio that are kept.
  size_t kept_bytes() const { return audio_.kept_bytes(); }

 private:
  using Responses = std::list<RealtimeResponse>;

  // Client events.
  void wish_transcripts();
  void understand(RealtimeEvent& event);
  void update_session(const JsonFields& event);
  void append_audio(std::string bytes);
  void commit_audio(const JsonFields& event);
  void clear_audio(const JsonFields& event);
  void append_text(const JsonFields& event);
  void replace_text(const JsonFields& event);
  void commit_text(const JsonFields& event);
  void clear_text(const JsonFields& event);
  void create_item(const JsonFields& event);
  void bound_audio();
  void hear_part(const std::string& item, ItemPart& part);
  void retrieve_item(const JsonFields& event);
  void delete_item(const JsonFields& event);
  void truncate_item(const JsonFields& event);
  void create_response(const JsonFields& event);
  void cancel_response(const JsonFields& event);
  void clear_output(const JsonFields& event);

  // What is said and typed.
  void hear_piece();
  void begin_turn(int64_t at_ms);
  void end_turn(int64_t at_ms);
  void drop_turn();
  void answer_silence();
  void give_samples(const std::string& item);
  void commit_said(const std::string& id, bool answer);
  bool wants_hearing() const;
  void hear_ahead();
  void forget_ahead();
  bool end_hearing(const std::string& item);
  void type_text(std::string text, const JsonFields& event);

  // What is foreseen and answered.
  bool nobody_speaks() const { return !turn_ && hearings_.empty(); }
  void foresee();
  void forget_foreseen();
  Responses::iterator active();
  void begin_response(ResponseWish wish);
  void begin_waiting();
  void answer_if_due();
  void cancel(Responses::iterator response, const char* reason);
  void end_response(Responses::iterator response);

  const RealtimeFacts facts_;
  RealtimeConfig config_;
  RealtimeOutbox out_;
  Conversation conversation_;
  AudioIn audio_;
  std::optional<std::string> turn_;  // somebody speaks: the item that it will be
  Hearings hearings_;
  size_t ahead_ = 0;      // samples of what is being said that are heard ahead
  std::string typed_;     // of a message that is not committed
  std::string foreseen_;  // of what is said or typed; empty: nothing
  bool due_ = false;      // something was said that nobody has answered
  Responses responses_;   // that run or wait for transcripts
  IdleTimer idle_;
  bool sounded_ = false;  // audio was sent: the voice is fixed
  bool excused_ = false;  // it was said that nobody can answer
};

}  // namespace syrinx
