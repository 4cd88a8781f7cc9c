// A session of OpenAI's Realtime API (GA) as a pure state machine: events of the client, and news
// of what hears and answers for it, go in; actions come out. It knows no sockets, no engine and no
// clock but that of the audio, and throws nothing whatever it is fed. One thread at a time.
//
// Events out come in the documented order: speech_started, speech_stopped, committed, item.added,
// item.done; response.created, output_item.added, item.added, content_part.added, deltas, the
// .done events from the inside out (also of what was cancelled), response.done. One response at a
// time is in the conversation; others (`conversation: none`) run beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ears/turns.h"
#include "engine/engine.h"
#include "server/chat/chat_tools.h"
#include "server/realtime/conversation.h"
#include "server/realtime/realtime_config.h"

namespace syrinx {

/// A client's event as it came, read and not yet understood.
struct RealtimeEvent {
  std::string type = {}, id = {};
  JsonIn fields = {};
  std::string audio = {};  ///< of input_audio_buffer.append, decoded
  std::optional<ApiError> fault = {};
};
/// At most so many bytes of audio come at once.
inline constexpr size_t kMaxAppendBytes = size_t{15} << 20;
/// Takes its time where there is much audio; any thread, beside everything.
RealtimeEvent read_realtime_event(std::string_view message, bool binary);

// ---- What a session asks for. Names are of items and responses.

struct SendEvent {
  std::string json;
};
/// An utterance begins to be heard; its samples come with HearSamples, at kHearingRate.
struct OpenHearing {
  std::string item;
  TranscriptionWish wish;
};
struct HearSamples {
  std::string item;
  std::vector<float> samples;
};
/// No more will come. Answered by HearingNews with a result.
struct EndHearing {
  std::string item;
};
/// Nobody wants to know any more; no news follow.
struct DropHearing {
  std::string item;
};
struct BeginAnswer {
  std::string response;
  AnswerConfig config;  ///< without tools and choice, which are in the body
  JsonIn body;          ///< of a chat request: messages, tools, max_completion_tokens
  std::map<std::string, NamedAnswer> answers = {};  ///< that the body names
  bool foreseen = false;  ///< what was foreseen may serve it, and serves no other
};
/// Something is being said or typed, and more of it is known: foreseen() is what would be asked if
/// that were all. An answer to it may be made ahead.
struct Foresee {};
/// There will be no such answer.
struct ForgetForeseen {};
/// No news follow.
struct StopAnswer {
  std::string response;
};
using RealtimeAction = std::variant<SendEvent, OpenHearing, HearSamples, EndHearing, DropHearing,
                                    BeginAnswer, StopAnswer, Foresee, ForgetForeseen>;
using RealtimeActions = std::vector<RealtimeAction>;

// ---- What becomes of it.

struct HearingNews {
  std::vector<std::string> segments = {};   ///< settled
  std::optional<std::string> partial = {};  ///< what seems to be said after them
  std::optional<ApiError> error = {};       ///< the end: it could not be heard
  std::optional<std::string> text = {};     ///< the end: the transcript
  JsonOut usage = {};                       ///< with it
};
struct AnswerNews {
  std::string text = {};
  std::vector<ToolCall> calls = {};
  std::string audio = {};                                  ///< bytes of the answer's format
  std::vector<int32_t> ids = {};                           ///< as Sink::answer_ids()
  std::vector<std::pair<std::string, double>> words = {};  ///< as in `text`; seconds of the answer
  std::optional<Outcome> outcome = {};                     ///< the end
  std::optional<ApiError> error = {};                      ///< the end: it failed
};

struct RealtimeFacts : RealtimeAbility {
  std::string id = {};  ///< what ids are made of
  bool hears = false;   ///< what answers hears by itself: no transcript is waited for
  bool beta = false;    ///< events have the names of the beta, in and out
  /// Why nobody can answer; empty: somebody can.
  std::string no_answer = {};
  /// Checks a voice's name.
  std::function<std::optional<ApiError>(const std::string&)> refuse_voice = {};
  /// A detector of voices by strictness; throws LoadError where there is none.
  std::function<std::unique_ptr<VoiceActivity>(int strictness)> open_activity = {};
};

class RealtimeSession {
 public:
  /// `transcribes`: the session begins as one of the type "transcription".
  RealtimeSession(RealtimeFacts facts, bool transcribes);

  /// The connection stands.
  void opened(RealtimeActions& out);
  /// True: audio of it waits for hear_more(), which must be called until it says false, before the
  /// next event.
  bool take(RealtimeEvent event, RealtimeActions& out);
  bool hear_more(RealtimeActions& out);

  void heard(const std::string& item, const HearingNews& news, RealtimeActions& out);
  void answered(const std::string& response, const AnswerNews& news, RealtimeActions& out);

  /// What would be asked if what is known now were all that is said or typed; of no response.
  BeginAnswer foreseen() const;
  /// How answers are predicted.
  const Prediction& prediction() const { return config_.prediction; }

  /// Nobody speaks, and nothing is heard or answered.
  bool quiet() const;
  /// Bytes of audio that are kept.
  size_t kept_bytes() const;

 private:
  /// An utterance that is being heard.
  struct Hearing {
    std::string settled, partial;    // of its transcript so far
    size_t told = 0;                 // bytes of `settled`
    bool committed = false;          // its item is in the conversation
    bool answer = false;             // an answer is wanted
    std::optional<HearingNews> end;  // it came before the item
  };
  struct Response {
    std::string id = {};
    AnswerConfig config = {};
    JsonIn metadata = {};
    bool joined = true;                      // its items are in the session's conversation
    std::optional<Conversation> input = {};  // what is read instead of that
    Conversation made = {};                  // its items, where they are in no conversation
    bool begun = false;                      // the answer was asked for
    std::vector<std::string> output = {};    // items
    std::string message = {};                // the item that is being written
    std::vector<ToolCall> calls = {};        // to be told after it
  };

  // Client events.
  void understand(RealtimeEvent& event);
  void update_session(const EventFields& event);
  void append(RealtimeEvent& event);
  void commit_buffer();
  void clear_buffer();
  void type_text(std::string text, const EventFields& event);
  void commit_text();
  void clear_text();
  void create_item(const EventFields& event);
  void retrieve_item(const EventFields& event);
  void delete_item(const EventFields& event);
  void truncate_item(const EventFields& event);
  void create_response(const EventFields& event);
  void cancel_response(const EventFields& event);
  void check_voice(const AnswerConfig& wish, const char* param) const;

  // Audio in.
  std::unique_ptr<TurnDetector> make_detector(const RealtimeConfig& config) const;
  void hear_samples(const std::vector<float>& samples);
  void begin_turn(int64_t at_ms);
  void end_turn();
  void give_samples();
  bool pause_is_the_end() const;
  void commit(const std::string& id, bool answer);
  void trim_buffer();
  bool wants_hearing() const;
  void open_hearing(const std::string& item);
  void tell_segments(const std::string& item, Hearing& hearing);
  void end_hearing(const std::string& item, const HearingNews& news);
  void transcript_event(const char* what, const std::string& item, JsonOut fields);

  // Responses.
  BeginAnswer asking(const AnswerConfig& config, const Conversation& context) const;
  std::string heard_so_far(const std::string& item) const;
  void foresee();
  void forget_foreseen();
  void begin_response(Response response);
  void begin_answer(Response& response);
  void begin_waiting();
  void answer_if_due();
  void begin_message(Response& response);
  void end_message(Response& response, const char* status);
  void add_words(ItemPart& part, const AnswerNews& news) const;
  void tell_calls(Response& response, const char* status);
  void announce(Response& response, RealtimeItem item);
  void item_done(Response& response, const RealtimeItem& item, size_t index);
  void end_response(const Response& response, const char* status, const JsonOut& details,
                    const Outcome& outcome);
  void stop_response(Response& response, const char* reason);
  Response* active();
  Conversation& home(Response& response) { return response.joined ? conversation_ : response.made; }
  JsonOut response_object(const Response& response, const char* status, const JsonOut& details,
                          const JsonOut& usage);

  // Events out.
  void send(const char* type, JsonOut fields);
  void send_error(const ApiError& error, const std::string& event_id);
  void send_item(const char* type, const RealtimeItem& item);
  std::string new_id(const char* kind);

  const RealtimeFacts facts_;
  RealtimeConfig config_;
  RealtimeActions* out_ = nullptr;  // of the call that runs
  uint64_t ids_ = 0;
  Conversation conversation_;
  std::list<Response> responses_;  // that run or wait for transcripts
  bool sounded_ = false;           // audio was sent: the voice is fixed
  bool excused_ = false;           // it was said that nobody can answer

  InputAudio input_;
  std::string waiting_;  // bytes of an append
  size_t waited_ = 0;    // of them, those that were heard
  std::unique_ptr<TurnDetector> detector_;
  int64_t detector_from_ = 0;                // samples of the session before it
  std::vector<int16_t> buffer_;              // what was heard and not committed; its end is now
  size_t given_ = 0;                         // of it, what the turn's hearing has
  int64_t samples_ = 0;                      // of the session
  std::optional<std::string> turn_;          // somebody speaks: the item that it will be
  std::map<std::string, Hearing> hearings_;  // by item
  bool due_ = false;                         // something was said that nobody has answered
  std::string typed_;                        // of a message that is not committed
  std::string foreseen_;                     // of what is said or typed; empty: nothing
};

}  // namespace syrinx
