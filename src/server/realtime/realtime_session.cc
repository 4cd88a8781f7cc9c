#include "server/realtime/realtime_session.h"

#include <algorithm>
#include <array>
#include <exception>
#include <span>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/check.h"
#include "ears/recogniser.h"
#include "server/realtime/beta_names.h"
#include "server/realtime/hearing_ahead.h"
#include "server/realtime/item_events.h"

namespace syrinx {
namespace {

constexpr size_t kLeastMilliseconds = 100;  // of audio that is committed
constexpr size_t kMostResponses = 4;
constexpr size_t kMostTyped = size_t{64} << 10;  // bytes

}  // namespace

RealtimeSession::RealtimeSession(RealtimeFacts facts, bool transcribes)
    : facts_(std::move(facts)),
      out_(facts_.id, facts_.beta),
      audio_(facts_.open_activity, facts_.ask_turn_end) {
  config_.transcribes = transcribes;
  if (transcribes) config_.transcription.emplace();
  config_.answer.spoken = facts_.speaks;
  config_.predict = facts_.may_predict && facts_.predicts;
  try {
    audio_.detect(config_.turns);
  } catch (const LoadError&) {
    config_.turns.reset();
  }
  wish_transcripts();
}

/// In a transcription session an item is named when its turn begins, and deltas may come from then
/// on.
void RealtimeSession::wish_transcripts() {
  const bool live = config_.transcribes && config_.turns.has_value();
  const bool semantic = config_.turns && config_.turns->semantic;
  hearings_.set_wish(config_.transcription, live || semantic, live);
}

void RealtimeSession::opened(RealtimeActions& out) {
  out_.send("session.created", {{"session", session_object(config_, facts_, "sess_" + facts_.id)}});
  if (!config_.transcribes) {
    out_.send(
        "conversation.created",
        {{"conversation", {{"id", "conv_" + facts_.id}, {"object", "realtime.conversation"}}}});
  }
  out_.hand_over(out);
}

bool RealtimeSession::quiet() const {
  return nobody_speaks() && responses_.empty() && !audio_.waits();
}

// ---------------------------------------------------------------------------- client events

bool RealtimeSession::take(RealtimeEvent event, RealtimeActions& out) {
  try {
    if (event.fault) throw *event.fault;
    if (facts_.beta) {
      from_beta(event.fields);
      event.type = string_at(event.fields, "type").value_or("");
    }
    understand(event);
  } catch (const ApiError& error) {
    out_.send_error(error, event.id);
  } catch (const LoadError& error) {
    out_.send_error({.message = error.what(), .param = "session", .code = "unsupported_value"},
                    event.id);
  } catch (const std::exception& error) {
    out_.send_error({.status = 500, .message = "Something went wrong.", .code = "internal_error"},
                    event.id);
  }
  out_.hand_over(out);
  return audio_.waits();
}

void RealtimeSession::understand(RealtimeEvent& event) {
  using Self = RealtimeSession;
  struct Known {
    std::string_view type;
    void (Self::*act)(const JsonFields&);
  };
  static constexpr auto kKnown = std::to_array<Known>({
      {"session.update", &Self::update_session},
      {"input_audio_buffer.append", nullptr},  // it has more than fields
      {"input_audio_buffer.commit", &Self::commit_audio},
      {"input_audio_buffer.clear", &Self::clear_audio},
      {"input_text_buffer.append", &Self::append_text},
      {"input_text_buffer.replace", &Self::replace_text},
      {"input_text_buffer.commit", &Self::commit_text},
      {"input_text_buffer.clear", &Self::clear_text},
      {"conversation.item.create", &Self::create_item},
      {"conversation.item.retrieve", &Self::retrieve_item},
      {"conversation.item.delete", &Self::delete_item},
      {"conversation.item.truncate", &Self::truncate_item},
      {"response.create", &Self::create_response},
      {"response.cancel", &Self::cancel_response},
      {"output_audio_buffer.clear", &Self::clear_output},
  });
  const JsonFields fields(event.fields);
  std::string all;
  for (const Known& known : kKnown) {
    if (known.type == event.type) {
      return known.act == nullptr ? append_audio(std::move(event.audio))
                                  : (this->*known.act)(fields);
    }
    all += concat(all.empty() ? "'" : ", '", known.type, "'");
  }
  fields.refuse("type", concat("Invalid value: '", fields.need_text("type").substr(0, 100),
                               "'. Supported values are: ", all, "."));
}

void RealtimeSession::update_session(const JsonFields& event) {
  RealtimeConfig config = config_;
  merge_session(event.need_object("session"), facts_, config);
  facts_.check_voice(config.answer, config_.answer, "session.audio.output.voice");
  const auto voice_of = [this](const AnswerConfig& answer) {  // as it is told
    return answer.voice.empty() ? facts_.default_voice : answer.voice;
  };
  if (sounded_ && voice_of(config.answer) != voice_of(config_.answer)) {
    throw ApiError{.message = "Cannot update a conversation's voice if assistant audio is present.",
                   .param = "session.audio.output.voice",
                   .code = "cannot_update_voice"};
  }
  if (audio_.detect(config.turns)) drop_turn();
  audio_.set_format(config.input);
  const bool otherwise = config.prediction != config_.prediction;
  config_ = std::move(config);
  wish_transcripts();
  if (!config_.predict || otherwise || (!turn_ && typed_.empty())) forget_foreseen();
  out_.send("session.updated", {{"session", session_object(config_, facts_, "sess_" + facts_.id)}});
  answer_if_due();  // the turn that it waited for may be gone
}

void RealtimeSession::clear_output(const JsonFields& event) {
  event.refuse("type", "'output_audio_buffer.clear' is for WebRTC only.");
}

// ---------------------------------------------------------------------------- what is said

void RealtimeSession::append_audio(std::string bytes) {
  if (config_.input.coding == SampleCoding::kS16 && bytes.size() % 2 != 0) {
    throw ApiError{.message = concat("'audio' has ", bytes.size(),
                                     " bytes, which are no whole samples of 16 bits."),
                   .param = "audio",
                   .code = "invalid_value"};
  }
  audio_.append(std::move(bytes));
  if (audio_.waiting_s() <= AudioIn::kPiece_s) hear_piece();
}

bool RealtimeSession::hear_more(RealtimeActions& out) {
  hear_piece();
  out_.hand_over(out);
  return audio_.waits();
}

void RealtimeSession::hear_piece() try {
  const std::vector<float> piece = audio_.next_piece();
  std::span<const float> rest = piece;
  const auto said = [this] { return turn_ ? hearings_.so_far(*turn_) : ""; };
  while (const auto turn = audio_.hear(rest, said())) {
    try {
      switch (turn->kind) {
        case TurnEvent::kStarted:
          begin_turn(turn->at_ms);
          break;
        case TurnEvent::kStopped:
          end_turn(turn->at_ms);
          break;
        case TurnEvent::kPaused:
        case TurnEvent::kResumed:
          give_samples(*turn_);
          hearings_.pause(*turn_, turn->kind == TurnEvent::kPaused, out_);
      }
    } catch (const ApiError& error) {  // the conversation is full; the rest is heard all the same
      out_.send_error(error, "");
    }
  }
  if (turn_) give_samples(*turn_);
  hear_ahead();
  answer_silence();
  audio_.forget_old();
} catch (const ApiError& error) {  // the conversation is full
  out_.send_error(error, "");
}

void RealtimeSession::begin_turn(int64_t at_ms) {
  turn_ = out_.new_id("item");
  idle_.silenced(audio_.now_ms());
  out_.send("input_audio_buffer.speech_started", {{"audio_start_ms", at_ms}, {"item_id", *turn_}});
  const auto running = active();
  if (config_.turns->interrupt_response && running != responses_.end()) {
    cancel(running, "turn_detected");
  }
  if (wants_hearing()) hearings_.open(*turn_, out_);
}

void RealtimeSession::end_turn(int64_t at_ms) {
  const std::string item = *std::exchange(turn_, std::nullopt);
  idle_.stirred(audio_.now_ms());
  give_samples(item);
  const bool answers = config_.turns->create_response && !config_.transcribes;
  out_.ask(TurnOver{.item = item,
                    .silence_ms = audio_.now_ms() - audio_.last_voice_ms(),
                    .heard = hearings_.contains(item),
                    .answers = answers});
  out_.send("input_audio_buffer.speech_stopped", {{"audio_end_ms", at_ms}, {"item_id", item}});
  commit_said(item, answers);
}

/// Of a model that hears by itself, as much of what is said as will stay as it is.
void RealtimeSession::hear_ahead() {
  const bool answers = facts_.hears && !config_.transcribes && facts_.no_answer.empty();
  if (!answers || audio_.waits() || (config_.turns && !turn_)) return;
  const size_t good = heard_for_good(facts_.hears_ahead, audio_.kept());
  if (good <= ahead_) return;
  ahead_ = good;
  out_.ask(HearAhead{});
}

void RealtimeSession::forget_ahead() {
  if (std::exchange(ahead_, 0) > 0) out_.ask(ForgetHeard{});
}

BeginAnswer RealtimeSession::heard_so_far() const {
  const auto said = audio_.samples().first(std::min(ahead_, audio_.kept()));
  BeginAnswer out = answer_to(conversation_, config_.answer, true);
  out.body["messages"].push_back(said_message(said));
  return out;
}

/// Nobody has said anything for as long as the session allows: that is a turn, too.
void RealtimeSession::answer_silence() {
  const int idle_ms = config_.turns ? config_.turns->idle_ms : 0;
  const auto since = idle_.since();
  if (idle_ms == 0 || !since || !nobody_speaks() || !facts_.no_answer.empty() ||
      config_.transcribes || active() != responses_.end() || audio_.now_ms() - *since < idle_ms)
    return;
  audio_.keep_from(*since);
  idle_.stirred(audio_.now_ms());
  const std::string item = out_.new_id("item");
  out_.send("input_audio_buffer.timeout_triggered",
            {{"audio_start_ms", *since}, {"audio_end_ms", audio_.now_ms()}, {"item_id", item}});
  if (wants_hearing()) hearings_.open(item, out_);
  give_samples(item);
  commit_said(item, false);
  begin_response({.config = config_.answer});
}

/// Nobody wants to know what was said in it.
void RealtimeSession::drop_turn() {
  forget_ahead();
  if (turn_) hearings_.drop(*std::exchange(turn_, std::nullopt), out_);
}

/// What the turn's hearing does not have yet.
void RealtimeSession::give_samples(const std::string& item) {
  if (hearings_.contains(item)) hearings_.give(item, audio_.give(), out_);
}

bool RealtimeSession::wants_hearing() const {
  return !facts_.hears || config_.transcription || (config_.turns && config_.turns->semantic);
}

/// What was said becomes an item.
void RealtimeSession::commit_said(const std::string& id, bool answer) {
  const bool heard = hearings_.contains(id);
  RealtimeItem item{.id = id, .role = "user"};
  item.parts.push_back({.kind = ItemPart::kInputAudio,
                        .pending = heard,
                        .known = config_.transcription.has_value(),
                        .samples = audio_.take()});
  if (std::exchange(ahead_, 0) > 0) out_.ask(HeardAll{});
  const JsonOut previous = null_or(conversation_.last());
  hearings_.finish(id, out_);
  try {
    const RealtimeItem& added = conversation_.add(std::move(item));
    out_.send("input_audio_buffer.committed", {{"previous_item_id", previous}, {"item_id", id}});
    out_.send_whole_item(added, conversation_);
  } catch (const ApiError&) {
    hearings_.drop(id, out_);
    throw;
  }
  bound_audio();
  if (heard) {
    hearings_.commit(id, answer, out_);
    end_hearing(id);  // that nobody understood it may be known already
    if (!facts_.hears) return;
  }
  due_ = due_ || answer;
  answer_if_due();
}

void RealtimeSession::commit_audio(const JsonFields&) {
  const size_t ms = audio_.kept() / (kHearingRate / 1000);
  if (ms < kLeastMilliseconds) {
    throw ApiError{
        .message = concat("Error committing input audio buffer: buffer too small. Expected at "
                          "least 100ms of audio, but buffer only has ",
                          ms, "ms of audio."),
        .code = "input_audio_buffer_commit_empty"};
  }
  const bool begun = turn_.has_value();
  const std::string item = begun ? *std::exchange(turn_, std::nullopt) : out_.new_id("item");
  if (!begun && wants_hearing()) hearings_.open(item, out_);
  give_samples(item);
  commit_said(item, false);
}

void RealtimeSession::clear_audio(const JsonFields&) {
  drop_turn();
  audio_.take();
  if (typed_.empty()) forget_foreseen();
  out_.send("input_audio_buffer.cleared", JsonOut::object());
  answer_if_due();
}

void RealtimeSession::heard(const std::string& item, const HearingNews& news,
                            RealtimeActions& out) {
  if (!hearings_.hear(item, news, out_)) return;
  if (news.ends()) {
    end_hearing(item);
  } else {
    foresee();
  }
  out_.hand_over(out);
}

/// The transcript of an item is whole; false: not yet.
bool RealtimeSession::end_hearing(const std::string& item) {
  const auto wants_answer = hearings_.end(item, conversation_, out_);
  if (!wants_answer) return false;
  due_ = due_ || (*wants_answer && !facts_.hears);
  begin_waiting();
  answer_if_due();
  if (nobody_speaks() && typed_.empty()) forget_foreseen();  // it was a cough
  return true;
}

// ---------------------------------------------------------------------------- what is typed

void RealtimeSession::append_text(const JsonFields& event) {
  type_text(typed_ + event.need_text("text"), event);
}

void RealtimeSession::replace_text(const JsonFields& event) {
  type_text(event.need_text("text"), event);
}

/// The message as far as it is typed; no reply, however often.
void RealtimeSession::type_text(std::string text, const JsonFields& event) {
  if (text.size() > kMostTyped) {
    event.refuse("text", concat("A message may have ", kMostTyped, " bytes while it is typed."),
                 "input_text_buffer_too_long");
  }
  typed_ = std::move(text);
  if (trimmed(typed_).empty() && nobody_speaks()) return forget_foreseen();
  foresee();
}

/// The message has ended and becomes an item; response.create asks for its answer.
void RealtimeSession::commit_text(const JsonFields&) {
  const std::string text(trimmed(typed_));
  if (text.empty()) {
    throw ApiError{.message = "Error committing input text buffer: it is empty.",
                   .code = "input_text_buffer_commit_empty"};
  }
  RealtimeItem item{.id = out_.new_id("item"), .role = "user"};
  item.parts.push_back({.kind = ItemPart::kInputText, .text = text});
  const RealtimeItem& added = conversation_.add(std::move(item));
  typed_.clear();
  out_.send(
      "input_text_buffer.committed",
      {{"previous_item_id", null_or(conversation_.previous(added.id))}, {"item_id", added.id}});
  out_.send_whole_item(added, conversation_);
}

void RealtimeSession::clear_text(const JsonFields&) {
  typed_.clear();
  if (nobody_speaks()) forget_foreseen();
  out_.send("input_text_buffer.cleared", JsonOut::object());
}

// ---------------------------------------------------------------------------- items

void RealtimeSession::create_item(const JsonFields& event) {
  RealtimeItem item = read_item(event.need_object("item"), config_.input);
  if (item.kind == RealtimeItem::kOutput && !conversation_.has_call(item.call_id)) {
    throw ApiError{.message = concat("No call in this conversation has the call_id '",
                                     item.call_id.substr(0, 100), "'."),
                   .param = "item.call_id",
                   .code = "invalid_value"};
  }
  if (item.id.empty()) item.id = out_.new_id("item");
  if (item.id == turn_ || hearings_.contains(item.id)) throw taken_id(item.id);
  const auto pending = [](const ItemPart& part) { return part.pending; };
  const auto sounds = std::count_if(item.parts.begin(), item.parts.end(), pending);
  if (sounds > 1) {
    event.need_object("item").refuse("content", "A message may hold one part of audio.");
  }
  RealtimeItem& added = conversation_.add(std::move(item), event.text("previous_item_id"));
  out_.send_whole_item(added, conversation_);
  if (sounds > 0) {
    hear_part(added.id, *std::find_if(added.parts.begin(), added.parts.end(), pending));
  }
  bound_audio();
}

void RealtimeSession::bound_audio() {
  conversation_.bound_audio();
  conversation_.hear_newest(facts_.hears_s);
}

/// A recording that a client put into an item.
void RealtimeSession::hear_part(const std::string& item, ItemPart& part) {
  part.known = config_.transcription.has_value();
  part.pending = wants_hearing();
  if (!part.pending) return;
  hearings_.open(item, out_);
  hearings_.commit(item, false, out_);
  hearings_.give(item, heard_samples(part.samples), out_);
  hearings_.finish(item, out_);
}

void RealtimeSession::retrieve_item(const JsonFields& event) {
  out_.send("conversation.item.retrieved",
            syrinx::retrieve_item(event, conversation_, config_.input));
}

void RealtimeSession::delete_item(const JsonFields& event) {
  const JsonOut deleted = syrinx::delete_item(event, conversation_);
  hearings_.drop(deleted["item_id"].get<std::string>(), out_);
  out_.send("conversation.item.deleted", deleted);
  begin_waiting();
  answer_if_due();
}

void RealtimeSession::truncate_item(const JsonFields& event) {
  out_.send("conversation.item.truncated", syrinx::truncate_item(event, conversation_));
  idle_.silenced(audio_.now_ms());
}

// ---------------------------------------------------------------------------- what comes next

void RealtimeSession::foresee() {
  const bool answers =
      config_.predict && !config_.transcribes && facts_.no_answer.empty() && !facts_.hears;
  if (!answers || active() != responses_.end()) return;
  const bool by_itself = config_.turns && config_.turns->create_response;
  std::string said = by_itself ? hearings_.all_so_far() : "";
  said += trimmed(typed_);
  if (said.empty() || said == foreseen_) return;
  foreseen_ = std::move(said);
  out_.ask(Foresee{});
}

void RealtimeSession::forget_foreseen() {
  if (!std::exchange(foreseen_, {}).empty()) out_.ask(ForgetForeseen{});
}

BeginAnswer RealtimeSession::foreseen() const {
  BeginAnswer out = answer_to(conversation_, config_.answer, facts_.hears);
  JsonIn& messages = out.body["messages"];
  messages = conversation_.messages(config_.answer.instructions, facts_.hears,
                                    [this](const std::string& id) { return hearings_.so_far(id); });
  const std::string said = turn_ ? hearings_.so_far(*turn_) : "";
  for (const std::string& known : {said, std::string(trimmed(typed_))}) {
    if (!known.empty()) messages.push_back({{"role", "user"}, {"content", known}});
  }
  return out;
}

// ---------------------------------------------------------------------------- responses

/// The one that is in the conversation; else the end.
RealtimeSession::Responses::iterator RealtimeSession::active() {
  return std::find_if(responses_.begin(), responses_.end(),
                      [](const RealtimeResponse& each) { return each.joined(); });
}

void RealtimeSession::create_response(const JsonFields& event) {
  if (config_.transcribes) event.refuse("type", "A transcription session does not answer.");
  if (!facts_.no_answer.empty()) {
    throw ApiError{.message = facts_.no_answer, .param = "model", .code = "no_text_model"};
  }
  ResponseWish wish = read_response_wish(event, config_, facts_, conversation_);
  if (const auto running = active(); wish.joined && running != responses_.end()) {
    throw ApiError{.message = concat(
                       "Conversation already has an active response in progress: ", running->id(),
                       ". Wait until the response is finished before creating a new "
                       "one."),
                   .code = "conversation_already_has_active_response"};
  }
  if (responses_.size() >= kMostResponses) {
    throw ApiError{.status = 429,
                   .message = concat("At most ", kMostResponses, " responses run at a time."),
                   .code = "too_many_responses"};
  }
  if (wish.joined && !wish.input) due_ = false;
  begin_response(std::move(wish));
}

void RealtimeSession::cancel_response(const JsonFields& event) {
  const auto id = event.text("response_id");
  const auto at = std::find_if(
      responses_.begin(), responses_.end(),
      [&](const RealtimeResponse& each) { return id ? each.id() == *id : each.joined(); });
  if (at == responses_.end()) {
    throw ApiError{.message = "Cancellation failed: no active response found",
                   .code = "response_cancel_not_active"};
  }
  due_ = due_ && !at->joined();
  cancel(at, "client_cancelled");
}

void RealtimeSession::cancel(Responses::iterator response, const char* reason) {
  response->cancel(reason, conversation_, out_);
  end_response(response);
}

void RealtimeSession::end_response(Responses::iterator response) {
  if (response->joined()) idle_.answered(audio_.now_ms());
  responses_.erase(response);
  foresee();  // what was typed meanwhile
}

void RealtimeSession::begin_response(ResponseWish wish) {
  responses_.emplace_back(out_.new_id("resp"), std::move(wish), facts_)
      .tell_created(conversation_, out_);
  begin_waiting();
}

/// Responses wait for the transcripts of what they answer.
void RealtimeSession::begin_waiting() {
  for (RealtimeResponse& response : responses_) {
    const bool waits = response.answers_session() && !facts_.hears && conversation_.pending();
    if (response.begun() || waits) continue;
    BeginAnswer begin = response.begin(conversation_);
    begin.truncation = config_.truncation;
    if (begin.foreseen) {  // it reads all that was said: nothing else is due
      foreseen_.clear();
      due_ = false;
    }
    out_.ask(std::move(begin));
  }
}

/// Answers what was said, once it is all known and nobody speaks.
void RealtimeSession::answer_if_due() {
  if (!due_ || turn_ || active() != responses_.end()) return;
  if (!facts_.hears && conversation_.pending()) return;
  due_ = false;
  if (facts_.no_answer.empty()) return begin_response({.config = config_.answer});
  if (std::exchange(excused_, true)) return;
  out_.send_error({.message = facts_.no_answer, .param = "model", .code = "no_text_model"}, "");
}

void RealtimeSession::answered(const std::string& id, const AnswerNews& news,
                               RealtimeActions& out) {
  const auto at = std::find_if(responses_.begin(), responses_.end(),
                               [&](const RealtimeResponse& each) { return each.id() == id; });
  if (at == responses_.end()) return;
  if (!news.audio.empty() && at->joined()) {
    idle_.sounded(audio_.now_ms(), at->format().seconds(news.audio.size()));
  }
  const bool over = at->write(news, conversation_, out_);
  sounded_ = sounded_ || at->sounded();
  if (over) {
    end_response(at);
    answer_if_due();
  }
  out_.hand_over(out);
}

}  // namespace syrinx
