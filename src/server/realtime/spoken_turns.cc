#include "server/realtime/spoken_turns.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "ears/recogniser.h"
#include "server/realtime/hearing_ahead.h"

namespace syrinx {
namespace {

constexpr size_t kLeastMilliseconds = 100;  // shortest audio in ms that a client may commit

}  // namespace

void SpokenTurns::append(std::string bytes) {
  if (session_.config.input.coding == SampleCoding::kS16 && bytes.size() % 2 != 0) {
    throw ApiError{.message = concat("'audio' has ", bytes.size(),
                                     " bytes; 16-bit samples need an even number."),
                   .param = "audio",
                   .code = "invalid_value"};
  }
  session_.audio.append(std::move(bytes));
  if (session_.audio.waiting_s() <= AudioIn::kPiece_s) hear_piece();
}

void SpokenTurns::hear_piece() try {
  const std::vector<float> piece = session_.audio.next_piece();
  std::span<const float> rest = piece;
  const auto said = [this] {
    return session_.turn ? session_.hearings.so_far(*session_.turn) : "";
  };
  const auto done = [this] {
    return session_.turn ? session_.hearings.done(*session_.turn) : std::nullopt;
  };
  while (const auto turn = session_.audio.hear(rest, said(), done())) {
    try {
      hear(*turn);
      // The conversation is full; the remaining audio is still processed.
    } catch (const ApiError& error) {
      session_.out.send_error(error, "");
    }
  }
  if (session_.turn) give_samples(*session_.turn);
  hear_ahead();
  answer_silence();
  session_.audio.forget_old();
} catch (const ApiError& error) {  // the conversation is full
  session_.out.send_error(error, "");
}

void SpokenTurns::hear(const TurnEvent& turn) {
  switch (turn.kind) {
    case TurnEvent::kStarted:
      return begin(turn.at_ms);
    case TurnEvent::kStopped:
      return end(turn.at_ms);
    case TurnEvent::kPaused:
    case TurnEvent::kResumed:
      give_samples(*session_.turn);
      session_.hearings.pause(*session_.turn, turn.kind == TurnEvent::kPaused, session_.out);
  }
}

void SpokenTurns::begin(int64_t at_ms) {
  session_.turn = session_.out.new_id("item");
  session_.idle.silenced(session_.audio.now_ms());
  session_.out.send("input_audio_buffer.speech_started",
                    {{"audio_start_ms", at_ms}, {"item_id", *session_.turn}});
  if (session_.config.turns->interrupt_response) answers_.interrupt();
  if (session_.wants_hearing()) session_.hearings.open(*session_.turn, session_.out);
}

void SpokenTurns::end(int64_t at_ms) {
  const std::string item = *std::exchange(session_.turn, std::nullopt);
  const int64_t now_ms = session_.audio.now_ms();
  session_.idle.stirred(now_ms);
  give_samples(item);
  const bool answers = session_.config.turns->create_response && !session_.config.transcribes;
  session_.out.ask(TurnOver{.item = item,
                            .silence_ms = now_ms - session_.audio.last_voice_ms(),
                            .heard = session_.hearings.contains(item),
                            .answers = answers});
  session_.out.send("input_audio_buffer.speech_stopped",
                    {{"audio_end_ms", at_ms}, {"item_id", item}});
  become_item(item, answers);
}

/// Requests HearAhead when more of the turn can be processed while the user still speaks.
void SpokenTurns::hear_ahead() {
  const RealtimeFacts& facts = session_.facts;
  const bool answers = facts.hears && !session_.config.transcribes && facts.no_answer.empty();
  if (!answers || session_.audio.waits() || (session_.config.turns && !session_.turn)) return;
  const size_t good = heard_for_good(facts.hears_ahead, session_.audio.kept());
  if (good <= ahead_) return;
  ahead_ = good;
  session_.out.ask(HearAhead{});
}

void SpokenTurns::forget_ahead() {
  if (std::exchange(ahead_, 0) > 0) session_.out.ask(ForgetHeard{});
}

BeginAnswer SpokenTurns::heard_so_far() const {
  const auto said = session_.audio.samples().first(std::min(ahead_, session_.audio.kept()));
  BeginAnswer out = answer_to(session_.conversation, session_.config.answer, true);
  out.body["messages"].push_back(said_message(said));
  return out;
}

/// When the silence has lasted `idle_timeout_ms`, makes an item of it and begins an answer.
void SpokenTurns::answer_silence() {
  const RealtimeConfig& config = session_.config;
  const int idle_ms = config.turns ? config.turns->idle_ms : 0;
  const auto since = session_.idle.since();
  const int64_t now_ms = session_.audio.now_ms();
  if (idle_ms == 0 || !since || !session_.silent() || !session_.facts.no_answer.empty() ||
      config.transcribes || session_.answering || now_ms - *since < idle_ms)
    return;
  session_.audio.keep_from(*since);
  session_.idle.stirred(now_ms);
  const std::string item = session_.out.new_id("item");
  session_.out.send("input_audio_buffer.timeout_triggered",
                    {{"audio_start_ms", *since}, {"audio_end_ms", now_ms}, {"item_id", item}});
  if (session_.wants_hearing()) session_.hearings.open(item, session_.out);
  give_samples(item);
  become_item(item, false);
  answers_.begin({.config = config.answer});
}

void SpokenTurns::drop() {
  forget_ahead();
  if (!session_.turn) return;
  session_.hearings.drop(*std::exchange(session_.turn, std::nullopt), session_.out);
}

/// Passes the turn's new samples to its recogniser.
void SpokenTurns::give_samples(const std::string& item) {
  if (!session_.hearings.contains(item)) return;
  session_.hearings.give(item, session_.audio.give(), session_.out);
}

/// Makes an item of the turn's audio.
void SpokenTurns::become_item(const std::string& id, bool answer) {
  RealtimeOutbox& out = session_.out;
  Conversation& conversation = session_.conversation;
  const bool heard = session_.hearings.contains(id);
  RealtimeItem item{.id = id, .role = "user"};
  item.parts.push_back({.kind = ItemPart::kInputAudio,
                        .pending = heard,
                        .known = session_.config.transcription.has_value(),
                        .samples = session_.audio.take()});
  if (std::exchange(ahead_, 0) > 0) out.ask(HeardAll{});
  const JsonOut previous = null_or(conversation.last());
  session_.hearings.finish(id, out);
  try {
    const RealtimeItem& added = conversation.add(std::move(item));
    out.send("input_audio_buffer.committed", {{"previous_item_id", previous}, {"item_id", id}});
    out.send_whole_item(added, conversation);
  } catch (const ApiError&) {
    session_.hearings.drop(id, out);
    throw;
  }
  session_.bound_audio();
  if (heard) {
    session_.hearings.commit(id, answer, out);
    end_hearing(id);  // does nothing unless the recogniser ended before the commit
    if (!session_.facts.hears) return;
  }
  if (answer) answers_.want();
  answers_.answer_if_due();
}

void SpokenTurns::commit() {
  const size_t ms = session_.audio.kept() / (kHearingRate / 1000);
  if (ms < kLeastMilliseconds) {
    throw ApiError{
        .message = concat("Error committing input audio buffer: buffer too small. Expected at "
                          "least 100ms of audio, but buffer only has ",
                          ms, "ms of audio."),
        .code = "input_audio_buffer_commit_empty"};
  }
  const bool begun = session_.turn.has_value();
  const std::string item =
      begun ? *std::exchange(session_.turn, std::nullopt) : session_.out.new_id("item");
  if (!begun && session_.wants_hearing()) session_.hearings.open(item, session_.out);
  give_samples(item);
  become_item(item, false);
}

void SpokenTurns::clear() {
  drop();
  session_.audio.take();
  if (session_.typed.empty()) question_.forget();
  session_.out.send("input_audio_buffer.cleared", JsonOut::object());
  answers_.answer_if_due();
}

void SpokenTurns::take(const std::string& item, const HearingNews& news) {
  if (!session_.hearings.hear(item, news, session_.out)) return;
  if (news.ends()) {
    end_hearing(item);
  } else {
    question_.foresee();
  }
}

/// Handles the transcript of an item once it is complete.
void SpokenTurns::end_hearing(const std::string& item) {
  const auto wants_answer = session_.hearings.end(item, session_.conversation, session_.out);
  if (!wants_answer) return;
  if (*wants_answer && !session_.facts.hears) answers_.want();
  answers_.begin_waiting();
  answers_.answer_if_due();
  if (session_.silent() && session_.typed.empty())
    question_.forget();  // a sound without words, such as a cough
}

}  // namespace syrinx
