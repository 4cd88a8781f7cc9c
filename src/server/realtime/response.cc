#include "server/realtime/response.h"

#include <optional>
#include <string_view>
#include <utility>

#include "server/request/wire.h"

namespace syrinx {
namespace {

/// `frames_count`: the model speaks its answers itself, so frames of audio count as tokens.
JsonOut usage_of(const Outcome& outcome, bool frames_count) {
  const int audio = frames_count ? static_cast<int>(outcome.frames) : 0;
  const int out = outcome.completion_tokens + audio;
  const int heard = outcome.heard_tokens, cached_heard = outcome.cached_heard_tokens;
  return {{"total_tokens", outcome.prompt_tokens + out},
          {"input_tokens", outcome.prompt_tokens},
          {"output_tokens", out},
          {"input_token_details",
           {{"text_tokens", outcome.prompt_tokens - heard},
            {"audio_tokens", heard},
            {"image_tokens", 0},
            {"cached_tokens", outcome.cached_tokens},
            {"cached_tokens_details",
             {{"text_tokens", outcome.cached_tokens - cached_heard},
              {"audio_tokens", cached_heard},
              {"image_tokens", 0}}}}},
          {"output_token_details",
           {{"text_tokens", outcome.completion_tokens}, {"audio_tokens", audio}}}};
}

JsonOut with_field(JsonOut fields, const char* name, JsonOut value) {
  fields[name] = std::move(value);
  return fields;
}

JsonOut failure(const ApiError& error) {
  return {{"type", "failed"}, {"error", error_fields(error)}};
}

/// Adds to the part's duration. Also stores the bytes, until the part has too many or is truncated.
void add_audio(ItemPart& part, const std::string& bytes) {
  if (!part.cut) part.audio_s += part.format.seconds(bytes.size());
  part.kept =
      part.kept && !part.cut && part.bytes.size() + bytes.size() <= Conversation::kMaxAudioBytes;
  if (part.kept) {
    part.bytes += bytes;
  } else if (!part.cut) {
    std::string().swap(part.bytes);
  }
}

/// Adds the times of words. Words arrive in the order of the text, and after their text.
void add_words(ItemPart& part, const AnswerNews& news) {
  if (part.cut) return;
  for (const auto& [word, begin_s] : news.words) {
    const size_t after = part.words.empty() ? 0 : part.words.back().first;
    const size_t at = part.text.find(word, after);
    if (at != std::string::npos) part.words.emplace_back(at + word.size(), begin_s);
  }
}

}  // namespace

RealtimeResponse::RealtimeResponse(std::string id, ResponseWish wish, const RealtimeFacts& facts)
    : id_(std::move(id)),
      wish_(std::move(wish)),
      hears_(facts.hears),
      conversation_(joined() ? JsonOut("conv_" + facts.id) : JsonOut()),
      audio_{{"output", output_object(wish_.config, facts, false)}} {}

void RealtimeResponse::send_created(const Conversation& session, RealtimeOutbox& out) const {
  out.send("response.created", {{"response", object("in_progress", {}, {}, session)}});
}

BeginAnswer RealtimeResponse::begin(const Conversation& session) {
  begun_ = true;
  BeginAnswer out = answer_to(wish_.input ? *wish_.input : session, wish_.config, hears_);
  out.response = id_;
  out.foreseen = joined() && answers_session();
  if (!answers_session()) out.items.clear();  // the items are not in the conversation
  return out;
}

bool RealtimeResponse::write(const AnswerNews& news, Conversation& session, RealtimeOutbox& out) {
  const char* status = "completed";
  JsonOut details;
  try {
    if (!news.text.empty() || !news.audio.empty()) begin_message(session, out);
    if (RealtimeItem* item = home(session).find(message_)) {
      continue_message(news, item->parts.front(), out);
    }
    calls_.insert(calls_.end(), news.calls.begin(), news.calls.end());
    if (news.unspoken) out.send_error(*news.unspoken, "");
    if (!news.ends()) return false;
    if (news.error) {
      status = "failed";
      details = failure(*news.error);
    } else if (news.outcome->reason == FinishReason::kLength) {
      status = "incomplete";
      details = {{"type", "incomplete"}, {"reason", "max_output_tokens"}};
    }
    const bool whole = std::string_view(status) == "completed";
    end_message(whole ? "completed" : "incomplete", session, out);
    if (!news.error) send_calls(session, out);
  } catch (const ApiError& error) {  // the conversation is full
    out.ask(StopAnswer{id_});
    status = "failed";
    details = failure(error);
  }
  send_done(status, details, news.outcome.value_or(Outcome{}), session, out);
  return true;
}

void RealtimeResponse::cancel(const char* reason, Conversation& session, RealtimeOutbox& out) {
  if (begun_) out.ask(StopAnswer{id_});
  end_message("incomplete", session, out);
  send_done("cancelled", {{"type", "cancelled"}, {"reason", reason}}, {}, session, out);
}

// ---------------------------------------------------------------------------- items

void RealtimeResponse::add_item(RealtimeItem item, Conversation& session, RealtimeOutbox& out) {
  const RealtimeItem& added = home(session).add(std::move(item));
  items_.push_back(added.id);
  out.send(
      "response.output_item.added",
      {{"response_id", id_}, {"output_index", items_.size() - 1}, {"item", item_object(added)}});
  if (joined()) out.send_item("conversation.item.added", added, session);
}

void RealtimeResponse::end_item(const RealtimeItem& item, const Conversation& session,
                                RealtimeOutbox& out) const {
  out.send(
      "response.output_item.done",
      {{"response_id", id_}, {"output_index", items_.size() - 1}, {"item", item_object(item)}});
  if (joined()) out.send_item("conversation.item.done", item, session);
}

/// Returns the fields that locate the message's part in the response.
JsonOut RealtimeResponse::place() const {
  return {{"response_id", id_},
          {"item_id", message_},
          {"output_index", items_.size() - 1},
          {"content_index", 0}};
}

JsonOut RealtimeResponse::event_part(const std::string& text) const {
  if (wish_.config.spoken) return {{"type", "audio"}, {"transcript", text}};
  return {{"type", "text"}, {"text", text}};
}

void RealtimeResponse::begin_message(Conversation& session, RealtimeOutbox& out) {
  if (!message_.empty()) return;
  RealtimeItem item{.id = out.new_id("item"), .status = "in_progress", .role = "assistant"};
  const std::string id = item.id;
  add_item(std::move(item), session, out);
  message_ = id;
  ItemPart part{.kind = wish_.config.spoken ? ItemPart::kOutputAudio : ItemPart::kOutputText};
  part.format = wish_.config.format;
  part.speed = wish_.config.speed;
  home(session).find(id)->parts.push_back(std::move(part));
  out.send("response.content_part.added", with_field(place(), "part", event_part("")));
}

void RealtimeResponse::continue_message(const AnswerNews& news, ItemPart& part,
                                        RealtimeOutbox& out) {
  const bool spoken = wish_.config.spoken;
  if (!news.text.empty()) {
    if (!part.cut) part.text += news.text;
    out.send(spoken ? "response.output_audio_transcript.delta" : "response.output_text.delta",
             with_field(place(), "delta", news.text));
  }
  if (!news.audio.empty()) {
    sounded_ = true;
    add_audio(part, news.audio);
    out.send("response.output_audio.delta", with_field(place(), "delta", base64(news.audio)));
  }
  if (spoken) part.ids.insert(part.ids.end(), news.ids.begin(), news.ids.end());
  add_words(part, news);
}

void RealtimeResponse::end_message(const char* status, Conversation& session, RealtimeOutbox& out) {
  if (message_.empty()) return;
  RealtimeItem& item = *home(session).find(message_);
  item.status = status;
  ItemPart& part = item.parts.front();
  part.whole = item.status == "completed" && !part.cut;
  if (wish_.config.spoken) {
    out.send("response.output_audio.done", place());
    out.send("response.output_audio_transcript.done", with_field(place(), "transcript", part.text));
  } else {
    out.send("response.output_text.done", with_field(place(), "text", part.text));
  }
  out.send("response.content_part.done", with_field(place(), "part", event_part(part.text)));
  end_item(item, session, out);
  message_.clear();
  session.bound_audio();
}

void RealtimeResponse::send_calls(Conversation& session, RealtimeOutbox& out) {
  for (const ToolCall& call : std::exchange(calls_, {})) {
    RealtimeItem item{
        .id = out.new_id("item"), .kind = RealtimeItem::kCall, .status = "in_progress"};
    item.call_id = out.new_id("call");
    item.name = call.name;
    const std::string id = item.id, call_id = item.call_id;
    add_item(std::move(item), session, out);
    const JsonOut where = {{"response_id", id_},
                           {"item_id", id},
                           {"output_index", items_.size() - 1},
                           {"call_id", call_id}};
    out.send("response.function_call_arguments.delta", with_field(where, "delta", call.arguments));
    out.send("response.function_call_arguments.done",
             with_field(with_field(where, "name", call.name), "arguments", call.arguments));
    RealtimeItem& done = *home(session).find(id);
    done.arguments = call.arguments;
    done.status = "completed";
    end_item(done, session, out);
  }
}

// ---------------------------------------------------------------------------- the whole

void RealtimeResponse::send_done(const char* status, const JsonOut& details, const Outcome& outcome,
                                 const Conversation& session, RealtimeOutbox& out) const {
  const JsonOut usage = usage_of(outcome, hears_ && wish_.config.spoken);
  out.send("response.done", {{"response", object(status, details, usage, session)}});
}

JsonOut RealtimeResponse::object(const char* status, const JsonOut& details, const JsonOut& usage,
                                 const Conversation& session) const {
  JsonOut output = JsonOut::array();
  for (const std::string& id : items_) {
    if (const RealtimeItem* item = home(session).find(id)) output.push_back(item_object(*item));
  }
  return {{"object", "realtime.response"},
          {"id", id_},
          {"status", status},
          {"status_details", details},
          {"output", std::move(output)},
          {"conversation_id", conversation_},
          {"output_modalities", modalities_of(wish_.config)},
          {"max_output_tokens", max_tokens_of(wish_.config)},
          {"audio", audio_},
          {"usage", usage},
          {"metadata", wish_.metadata}};
}

}  // namespace syrinx
