#include "server/realtime/realtime_session.h"

#include <array>
#include <exception>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "server/realtime/beta_names.h"

namespace syrinx {

RealtimeSession::RealtimeSession(RealtimeFacts facts, bool transcribes) : state_(std::move(facts)) {
  RealtimeConfig& config = state_.config;
  config.transcribes = transcribes;
  if (transcribes) config.transcription.emplace();
  config.answer.spoken = state_.facts.speaks;
  config.predict = state_.facts.may_predict && state_.facts.predicts;
  try {
    state_.audio.detect(config.turns);
  } catch (const LoadError&) {
    config.turns.reset();
  }
  wish_transcripts();
}

/// Sets which transcripts are sent. In a transcription session an item gets its id when its turn
/// begins, so deltas are sent during the turn.
void RealtimeSession::wish_transcripts() {
  const RealtimeConfig& config = state_.config;
  const bool live = config.transcribes && config.turns.has_value();
  const bool semantic = config.turns && config.turns->semantic;
  state_.hearings.set_wish(config.transcription, live || semantic, live);
}

void RealtimeSession::opened(RealtimeActions& out) {
  const std::string& id = state_.facts.id;
  state_.out.send("session.created",
                  {{"session", session_object(state_.config, state_.facts, "sess_" + id)}});
  if (!state_.config.transcribes) {
    state_.out.send(
        "conversation.created",
        {{"conversation", {{"id", "conv_" + id}, {"object", "realtime.conversation"}}}});
  }
  state_.out.hand_over(out);
}

bool RealtimeSession::quiet() const {
  return state_.silent() && answers_.empty() && !state_.audio.waits();
}

bool RealtimeSession::take(RealtimeEvent event, RealtimeActions& out) {
  try {
    if (event.fault) throw *event.fault;
    if (state_.facts.beta) {
      from_beta(event.fields);
      event.type = string_at(event.fields, "type").value_or("");
    }
    understand(event);
  } catch (const ApiError& error) {
    state_.out.send_error(error, event.id);
  } catch (const LoadError& error) {
    state_.out.send_error(
        {.message = error.what(), .param = "session", .code = "unsupported_value"}, event.id);
  } catch (const std::exception& error) {
    state_.out.send_error(
        {.status = 500, .message = "Something went wrong.", .code = "internal_error"}, event.id);
  }
  state_.out.hand_over(out);
  return state_.audio.waits();
}

void RealtimeSession::understand(RealtimeEvent& event) {
  using Self = RealtimeSession;
  using Fields = JsonFields;
  struct Known {
    std::string_view type;
    void (*act)(Self& session, const Fields& event);
  };
  static constexpr auto kKnown = std::to_array<Known>({
      {"session.update", [](Self& s, const Fields& e) { s.update_session(e); }},
      {"input_audio_buffer.append", nullptr},  // take() handles it, with its audio
      {"input_audio_buffer.commit", [](Self& s, const Fields&) { s.turns_.commit(); }},
      {"input_audio_buffer.clear", [](Self& s, const Fields&) { s.turns_.clear(); }},
      {"input_text_buffer.append", [](Self& s, const Fields& e) { s.typed_.append(e); }},
      {"input_text_buffer.replace", [](Self& s, const Fields& e) { s.typed_.replace(e); }},
      {"input_text_buffer.commit", [](Self& s, const Fields&) { s.typed_.commit(); }},
      {"input_text_buffer.clear", [](Self& s, const Fields&) { s.typed_.clear(); }},
      {"conversation.item.create", [](Self& s, const Fields& e) { s.items_.create(e); }},
      {"conversation.item.retrieve", [](Self& s, const Fields& e) { s.items_.retrieve(e); }},
      {"conversation.item.delete", [](Self& s, const Fields& e) { s.items_.remove(e); }},
      {"conversation.item.truncate", [](Self& s, const Fields& e) { s.items_.truncate(e); }},
      {"response.create", [](Self& s, const Fields& e) { s.answers_.create(e); }},
      {"response.cancel", [](Self& s, const Fields& e) { s.answers_.cancel(e); }},
      {"output_audio_buffer.clear",
       [](Self&,
          const Fields&
              e) { e.refuse("type", "'output_audio_buffer.clear' is supported only over WebRTC."); }},
  });
  const JsonFields fields(event.fields);
  std::string all;
  for (const Known& known : kKnown) {
    if (known.type == event.type) {
      return known.act == nullptr ? turns_.append(std::move(event.audio))
                                  : known.act(*this, fields);
    }
    all += concat(all.empty() ? "'" : ", '", known.type, "'");
  }
  fields.refuse("type", concat("Invalid value: '", fields.need_text("type").substr(0, 100),
                               "'. Supported values are: ", all, "."));
}

void RealtimeSession::update_session(const JsonFields& event) {
  const RealtimeFacts& facts = state_.facts;
  RealtimeConfig config = state_.config;
  merge_session(event.need_object("session"), facts, config);
  facts.check_voice(config.answer, state_.config.answer, "session.audio.output.voice");
  const auto voice_of = [&facts](const AnswerConfig& answer) {  // the voice that events name
    return answer.voice.empty() ? facts.default_voice : answer.voice;
  };
  if (answers_.sounded() && voice_of(config.answer) != voice_of(state_.config.answer)) {
    throw ApiError{.message = "Cannot update a conversation's voice if assistant audio is present.",
                   .param = "session.audio.output.voice",
                   .code = "cannot_update_voice"};
  }
  if (state_.audio.detect(config.turns)) turns_.drop();
  state_.audio.set_format(config.input);
  const bool otherwise = config.prediction != state_.config.prediction;
  state_.config = std::move(config);
  wish_transcripts();
  if (!state_.config.predict || otherwise || (!state_.turn && state_.typed.empty())) {
    question_.forget();
  }
  state_.out.send("session.updated",
                  {{"session", session_object(state_.config, facts, "sess_" + facts.id)}});
  answers_.answer_if_due();  // an answer may have waited for the end of a turn that was dropped
}

bool RealtimeSession::hear_more(RealtimeActions& out) {
  turns_.hear_piece();
  state_.out.hand_over(out);
  return state_.audio.waits();
}

void RealtimeSession::heard(const std::string& item, const HearingNews& news,
                            RealtimeActions& out) {
  turns_.take(item, news);
  state_.out.hand_over(out);
}

void RealtimeSession::answered(const std::string& response, const AnswerNews& news,
                               RealtimeActions& out) {
  answers_.take(response, news);
  state_.out.hand_over(out);
}

}  // namespace syrinx
