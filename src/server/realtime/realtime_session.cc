#include "server/realtime/realtime_session.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <utility>

#include "base/ascii.h"
#include "base/check.h"
#include "ears/recogniser.h"
#include "server/realtime/beta_names.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

constexpr int kSamplesAMillisecond = kHearingRate / 1000;
/// A turn that lasts longer ends; in manual mode what is older leaves the buffer.
constexpr size_t kMostSamples = size_t{300} * kHearingRate;
/// Kept beyond the prefix of a turn: what the detector needs to be sure.
constexpr size_t kSpareSamples = kHearingRate;
constexpr size_t kLeastSamples = kHearingRate / 10;
constexpr size_t kMostResponses = 4;
constexpr size_t kMostInput = 256;
constexpr double kPiece_s = 1;
constexpr size_t kMostTyped = size_t{64} << 10;  // bytes

constexpr std::array<std::string_view, 15> kClientEvents = {"session.update",
                                                            "input_audio_buffer.append",
                                                            "input_audio_buffer.commit",
                                                            "input_audio_buffer.clear",
                                                            "input_text_buffer.append",
                                                            "input_text_buffer.replace",
                                                            "input_text_buffer.commit",
                                                            "input_text_buffer.clear",
                                                            "conversation.item.create",
                                                            "conversation.item.retrieve",
                                                            "conversation.item.delete",
                                                            "conversation.item.truncate",
                                                            "response.create",
                                                            "response.cancel",
                                                            "output_audio_buffer.clear"};

int16_t heard_sample(float sample) {
  return static_cast<int16_t>(std::lrintf(std::clamp(sample * 32768.f, -32768.f, 32767.f)));
}

JsonOut null_or(const std::string* text) { return text == nullptr ? JsonOut() : JsonOut(*text); }

ApiError no_item(const char* doing, const char* verb, const std::string& id) {
  return {.message = concat("Error ", doing, " item: the item with id '", id.substr(0, 200),
                            "' does not exist."),
          .param = "item_id",
          .code = concat("item_", verb, "_invalid_item_id")};
}

JsonOut usage_of(const Outcome& outcome, bool spoken_by_itself) {
  const int audio = spoken_by_itself ? static_cast<int>(outcome.frames) : 0;
  const int out = outcome.completion_tokens + audio;
  return {{"total_tokens", outcome.prompt_tokens + out},
          {"input_tokens", outcome.prompt_tokens},
          {"output_tokens", out},
          {"input_token_details",
           {{"text_tokens", outcome.prompt_tokens},
            {"audio_tokens", 0},
            {"image_tokens", 0},
            {"cached_tokens", outcome.cached_tokens},
            {"cached_tokens_details",
             {{"text_tokens", outcome.cached_tokens}, {"audio_tokens", 0}, {"image_tokens", 0}}}}},
          {"output_token_details",
           {{"text_tokens", outcome.completion_tokens}, {"audio_tokens", audio}}}};
}

/// Without what is null in it or in its `audio`.
JsonIn without_nulls(JsonIn object) {
  for (auto at = object.begin(); at != object.end();) {
    at = at->is_null() ? object.erase(at) : std::next(at);
  }
  for (const char* inner : {"audio", "output"}) {
    if (object.contains(inner) && object[inner].is_object()) {
      object[inner] = without_nulls(object[inner]);
    }
  }
  return object;
}

JsonOut error_fields(const ApiError& error) { return JsonOut::parse(error_object(error)); }

}  // namespace

RealtimeEvent read_realtime_event(std::string_view message, bool binary) {
  RealtimeEvent out;
  auto parsed = binary ? std::nullopt : parse_object(message);
  if (!parsed) {
    out.fault = ApiError{.message = "An event must be a JSON object in a text frame.",
                         .code = "invalid_json"};
    return out;
  }
  out.fields = std::move(*parsed);
  out.type = string_at(out.fields, "type").value_or("");
  out.id = string_at(out.fields, "event_id").value_or("");
  if (out.type != "input_audio_buffer.append") return out;
  try {
    const EventFields fields(out.fields);
    auto bytes = base64_decoded(fields.need_text("audio"));
    out.fields.erase("audio");
    if (!bytes) {
      fields.refuse("audio", "Invalid 'audio'. Expected base64-encoded audio bytes.");
    }
    if (bytes->size() > kMaxAppendBytes) {
      fields.refuse("audio", concat("'audio' has ", bytes->size(), " bytes; at most ",
                                    kMaxAppendBytes, " may come at once."));
    }
    out.audio = std::move(*bytes);
  } catch (ApiError& fault) {
    out.fault = std::move(fault);
  }
  return out;
}

RealtimeSession::RealtimeSession(RealtimeFacts facts, bool transcribes) : facts_(std::move(facts)) {
  config_.transcribes = transcribes;
  if (transcribes) config_.transcription.emplace();
  config_.answer.spoken = facts_.speaks;
  config_.predict = facts_.may_predict && facts_.predicts;
  try {
    detector_ = make_detector(config_);
  } catch (const LoadError&) {
    config_.turns.reset();
  }
}

void RealtimeSession::opened(RealtimeActions& out) {
  out_ = &out;
  send("session.created", {{"session", session_object(config_, facts_, "sess_" + facts_.id)}});
}

bool RealtimeSession::take(RealtimeEvent event, RealtimeActions& out) {
  out_ = &out;
  try {
    if (event.fault) throw *event.fault;
    if (facts_.beta) {
      from_beta(event.fields);
      event.type = string_at(event.fields, "type").value_or("");
    }
    understand(event);
  } catch (const ApiError& error) {
    send_error(error, event.id);
  } catch (const LoadError& error) {
    send_error({.message = error.what(), .param = "session", .code = "unsupported_value"},
               event.id);
  } catch (const std::exception& error) {
    send_error({.status = 500, .message = "Something went wrong.", .code = "internal_error"},
               event.id);
  }
  return waited_ < waiting_.size();
}

void RealtimeSession::understand(RealtimeEvent& event) {
  const EventFields fields(event.fields);
  const std::string& type = event.type;
  if (type == "input_audio_buffer.append") return append(event);
  if (type == "session.update") return update_session(fields);
  if (type == "input_audio_buffer.commit") return commit_buffer();
  if (type == "input_audio_buffer.clear") return clear_buffer();
  if (type == "input_text_buffer.append") {
    return type_text(typed_ + fields.need_text("text"), fields);
  }
  if (type == "input_text_buffer.replace") return type_text(fields.need_text("text"), fields);
  if (type == "input_text_buffer.commit") return commit_text();
  if (type == "input_text_buffer.clear") return clear_text();
  if (type == "conversation.item.create") return create_item(fields);
  if (type == "conversation.item.retrieve") return retrieve_item(fields);
  if (type == "conversation.item.delete") return delete_item(fields);
  if (type == "conversation.item.truncate") return truncate_item(fields);
  if (type == "response.create") return create_response(fields);
  if (type == "response.cancel") return cancel_response(fields);
  if (fields.need_text("type") == "output_audio_buffer.clear") {
    fields.refuse("type", "'output_audio_buffer.clear' is for WebRTC only.");
  }
  std::string all;
  for (const std::string_view each : kClientEvents)
    all += concat(all.empty() ? "'" : ", '", each, "'");
  fields.refuse("type", concat("Invalid value: '", type.substr(0, 100),
                               "'. Supported values are: ", all, "."));
}

// ---------------------------------------------------------------------------- the session

void RealtimeSession::check_voice(const AnswerConfig& wish, const char* param) const {
  if (wish.voice.empty() || wish.voice == config_.answer.voice || !facts_.refuse_voice) return;
  auto fault = facts_.refuse_voice(wish.voice);
  if (!fault) return;
  fault->param = param;
  throw std::move(*fault);
}

void RealtimeSession::update_session(const EventFields& event) {
  RealtimeConfig config = config_;
  merge_session(event.need_object("session"), facts_, config);
  check_voice(config.answer, "session.audio.output.voice");
  if (sounded_ && config.answer.voice != config_.answer.voice) {
    throw ApiError{.message = "Cannot update a conversation's voice if assistant audio is present.",
                   .param = "session.audio.output.voice",
                   .code = "cannot_update_voice"};
  }
  const auto same = [](const std::optional<TurnDetection>& a,
                       const std::optional<TurnDetection>& b) {
    if (a.has_value() != b.has_value()) return false;
    return !a || (a->semantic == b->semantic && a->threshold == b->threshold &&
                  a->prefix_ms == b->prefix_ms && a->silence_ms == b->silence_ms &&
                  a->eagerness == b->eagerness);
  };
  if (!same(config.turns, config_.turns)) {
    auto detector = make_detector(config);  // may throw
    if (turn_) {
      out_->push_back(DropHearing{*turn_});
      hearings_.erase(*turn_);
      turn_.reset();
    }
    detector_ = std::move(detector);
    detector_from_ = samples_;
  }
  if (config.input != config_.input) input_ = InputAudio(config.input);
  const bool otherwise = config.prediction != config_.prediction;
  config_ = std::move(config);
  if (!config_.predict || otherwise || (!turn_ && typed_.empty())) forget_foreseen();
  send("session.updated", {{"session", session_object(config_, facts_, "sess_" + facts_.id)}});
}

// ---------------------------------------------------------------------------- audio in

std::unique_ptr<TurnDetector> RealtimeSession::make_detector(const RealtimeConfig& config) const {
  if (!config.turns) return nullptr;
  if (!facts_.open_activity) throw LoadError("there is no detector of voices here");
  TurnRules rules{.threshold = config.turns->threshold,
                  .prefix_ms = config.turns->prefix_ms,
                  .silence_ms = config.turns->silence_ms,
                  .melody = config.turns->semantic};
  if (config.turns->semantic) rules.silence_ms = longest_pause_ms(eagerness_of(*config.turns));
  return std::make_unique<TurnDetector>(facts_.open_activity(strictness_of(rules.threshold)),
                                        rules);
}

void RealtimeSession::append(RealtimeEvent& event) {
  if (config_.input.coding == SampleCoding::kS16 && event.audio.size() % 2 != 0) {
    throw ApiError{.message = concat("'audio' has ", event.audio.size(),
                                     " bytes, which are no whole samples of 16 bits."),
                   .param = "audio",
                   .code = "invalid_value"};
  }
  waiting_ = std::move(event.audio);
  waited_ = 0;
  if (config_.input.seconds(waiting_.size()) <= kPiece_s) hear_more(*out_);
}

bool RealtimeSession::hear_more(RealtimeActions& out) {
  out_ = &out;
  try {
    const auto most = static_cast<size_t>(kPiece_s * config_.input.rate_hz()) *
                      static_cast<size_t>(sample_bytes(config_.input.coding));
    const std::string_view piece = std::string_view(waiting_).substr(waited_, most);
    waited_ += piece.size();
    std::vector<float> samples;
    input_.push(piece, samples);
    hear_samples(samples);
  } catch (const ApiError& error) {  // the conversation is full
    send_error(error, "");
  }
  if (waited_ < waiting_.size()) return true;
  std::string().swap(waiting_);  // and its memory
  waited_ = 0;
  return false;
}

void RealtimeSession::hear_samples(const std::vector<float>& samples) {
  std::vector<TurnEvent> events;
  for (size_t at = 0; at < samples.size();) {
    const auto into = static_cast<size_t>((samples_ - detector_from_) % kActivityFrame);
    const size_t count = std::min(kActivityFrame - into, samples.size() - at);
    const std::span<const float> slice(samples.data() + at, count);
    std::transform(slice.begin(), slice.end(), std::back_inserter(buffer_), heard_sample);
    at += count;
    samples_ += static_cast<int64_t>(count);
    if (!detector_) continue;
    events.clear();
    detector_->hear(slice, events);
    for (const TurnEvent& event : events) {
      event.kind == TurnEvent::kStarted ? begin_turn(event.at_ms) : end_turn();
    }
    if (turn_ && (buffer_.size() >= kMostSamples || pause_is_the_end())) {
      detector_->reset();
      end_turn();
    }
  }
  give_samples();
  trim_buffer();
}

bool RealtimeSession::pause_is_the_end() const {
  if (!config_.turns->semantic) return false;
  const int64_t pause_ms = detector_->pause_ms();
  if (pause_ms == 0) return false;
  const auto hearing = hearings_.find(*turn_);
  const std::string transcript =
      hearing == hearings_.end() ? "" : hearing->second.settled + hearing->second.partial;
  const Eagerness eagerness = eagerness_of(*config_.turns);
  return pause_ms >= pause_that_ends_ms(eagerness, transcript, detector_->fell());
}

/// Bounded, however long nobody speaks.
void RealtimeSession::trim_buffer() {
  if (turn_) return;
  const size_t most =
      detector_
          ? static_cast<size_t>(config_.turns->prefix_ms * kSamplesAMillisecond) + kSpareSamples
          : kMostSamples;
  if (buffer_.size() < most + kSpareSamples) return;
  buffer_.erase(buffer_.begin(), buffer_.end() - static_cast<std::ptrdiff_t>(most));
}

void RealtimeSession::begin_turn(int64_t at_ms) {
  const int64_t began = detector_from_ + at_ms * kSamplesAMillisecond;
  const int64_t from = samples_ - static_cast<int64_t>(buffer_.size());
  const auto before =
      static_cast<std::ptrdiff_t>(std::clamp<int64_t>(began - from, 0, std::ssize(buffer_)));
  buffer_.erase(buffer_.begin(), buffer_.begin() + before);
  given_ = 0;
  turn_ = new_id("item");
  send("input_audio_buffer.speech_started",
       {{"audio_start_ms", began / kSamplesAMillisecond}, {"item_id", *turn_}});
  if (config_.turns->interrupt_response) {
    if (Response* response = active()) stop_response(*response, "turn_detected");
  }
  if (wants_hearing()) open_hearing(*turn_);
}

void RealtimeSession::end_turn() {
  give_samples();
  const std::string item = *std::exchange(turn_, std::nullopt);
  send("input_audio_buffer.speech_stopped",
       {{"audio_end_ms", samples_ / kSamplesAMillisecond}, {"item_id", item}});
  commit(item, config_.turns->create_response && !config_.transcribes);
}

/// What the turn's hearing does not have yet.
void RealtimeSession::give_samples() {
  if (!turn_ || !hearings_.contains(*turn_) || given_ == buffer_.size()) return;
  HearSamples more{*turn_, {}};
  more.samples.reserve(buffer_.size() - given_);
  for (; given_ < buffer_.size(); ++given_) {
    more.samples.push_back(static_cast<float>(buffer_[given_]) / 32768.f);
  }
  out_->push_back(std::move(more));
}

bool RealtimeSession::wants_hearing() const {
  return !facts_.hears || config_.transcription || (config_.turns && config_.turns->semantic);
}

void RealtimeSession::open_hearing(const std::string& item) {
  hearings_[item] = {};
  out_->push_back(OpenHearing{item, config_.transcription.value_or(TranscriptionWish{})});
}

/// The buffer becomes an item.
void RealtimeSession::commit(const std::string& id, bool answer) {
  RealtimeItem item{.id = id, .role = "user"};
  const auto hearing = hearings_.find(id);
  ItemPart part{.kind = ItemPart::kInputAudio, .pending = hearing != hearings_.end()};
  part.known = config_.transcription.has_value();
  part.samples = std::move(buffer_);
  buffer_.clear();
  given_ = 0;
  item.parts.push_back(std::move(part));
  const std::string* last = conversation_.last();
  const JsonOut previous = null_or(last);
  if (hearing != hearings_.end()) out_->push_back(EndHearing{id});
  try {
    const RealtimeItem& added = conversation_.add(std::move(item));
    send("input_audio_buffer.committed", {{"previous_item_id", previous}, {"item_id", id}});
    send_item("conversation.item.added", added);
    send_item("conversation.item.done", added);
  } catch (const ApiError&) {
    if (hearing != hearings_.end()) {
      out_->push_back(DropHearing{id});
      hearings_.erase(hearing);
    }
    throw;
  }
  conversation_.bound_audio();
  if (hearing == hearings_.end()) {
    due_ = due_ || answer;
    return answer_if_due();
  }
  hearing->second.committed = true;
  hearing->second.answer = answer;
  tell_segments(id, hearing->second);
  if (hearing->second.end) {
    const HearingNews end = *hearing->second.end;
    end_hearing(id, end);
  } else if (facts_.hears) {
    due_ = due_ || answer;
    answer_if_due();
  }
}

void RealtimeSession::commit_buffer() {
  if (buffer_.size() < kLeastSamples) {
    throw ApiError{
        .message = concat("Error committing input audio buffer: buffer too small. Expected at "
                          "least 100ms of audio, but buffer only has ",
                          buffer_.size() / kSamplesAMillisecond, "ms of audio."),
        .code = "input_audio_buffer_commit_empty"};
  }
  std::string item = turn_ ? *turn_ : new_id("item");
  if (!turn_) {
    given_ = 0;
    if (wants_hearing()) open_hearing(item);
    turn_ = item;
  }
  give_samples();
  turn_.reset();
  if (detector_) detector_->reset();
  commit(item, false);
}

void RealtimeSession::clear_buffer() {
  if (turn_) {
    out_->push_back(DropHearing{*turn_});
    hearings_.erase(*turn_);
    turn_.reset();
  }
  if (detector_) detector_->reset();
  buffer_ = std::vector<int16_t>();
  given_ = 0;
  if (typed_.empty()) forget_foreseen();
  send("input_audio_buffer.cleared", JsonOut::object());
}

// ---------------------------------------------------------------------------- what was said

void RealtimeSession::transcript_event(const char* what, const std::string& item, JsonOut fields) {
  if (!config_.transcription) return;
  JsonOut all = {{"item_id", item}, {"content_index", 0}};
  all.update(fields);
  send(concat("conversation.item.input_audio_transcription.", what).c_str(), std::move(all));
}

void RealtimeSession::tell_segments(const std::string& item, Hearing& hearing) {
  if (!hearing.committed || hearing.told == hearing.settled.size()) return;
  transcript_event("delta", item, {{"delta", hearing.settled.substr(hearing.told)}});
  hearing.told = hearing.settled.size();
}

void RealtimeSession::heard(const std::string& item, const HearingNews& news,
                            RealtimeActions& out) {
  out_ = &out;
  const auto at = hearings_.find(item);
  if (at == hearings_.end()) return;
  Hearing& hearing = at->second;
  for (const std::string& segment : news.segments) {
    // The blank that parts it from the one before.
    hearing.settled += hearing.settled.empty() ? std::string(trimmed(segment)) : segment;
  }
  if (!news.segments.empty()) hearing.partial.clear();
  if (news.partial) hearing.partial = news.partial->empty() ? "" : " " + *news.partial;
  tell_segments(item, hearing);
  if (!news.text && !news.error) return foresee();
  if (hearing.committed) return end_hearing(item, news);
  hearing.end = news;
}

void RealtimeSession::end_hearing(const std::string& item, const HearingNews& news) {
  const Hearing hearing = std::move(hearings_.extract(item).mapped());
  RealtimeItem* said = conversation_.find(item);
  if (said != nullptr) {
    for (ItemPart& part : said->parts) {
      if (!part.pending) continue;
      part.pending = false;
      part.text = news.text.value_or(hearing.settled);
    }
    if (news.text) {
      transcript_event("completed", item, {{"transcript", *news.text}, {"usage", news.usage}});
    } else if (config_.transcription) {
      transcript_event("failed", item, {{"error", error_fields(*news.error)}});
    } else {
      send_error(*news.error, "");
    }
    const bool words = news.text && !trimmed(*news.text).empty();
    if (hearing.answer && !facts_.hears && words) due_ = true;
  }
  begin_waiting();
  answer_if_due();
  if (!turn_ && hearings_.empty() && typed_.empty()) forget_foreseen();  // it was a cough
}

// ---------------------------------------------------------------------------- what comes next

std::string RealtimeSession::heard_so_far(const std::string& item) const {
  const auto at = hearings_.find(item);
  if (at == hearings_.end()) return {};
  return std::string(trimmed(at->second.settled + at->second.partial));
}

void RealtimeSession::foresee() {
  const bool answers =
      config_.predict && !config_.transcribes && facts_.no_answer.empty() && !facts_.hears;
  if (!answers || active() != nullptr) return;
  const bool by_itself = config_.turns && config_.turns->create_response;
  std::string said;
  for (const auto& [item, hearing] : hearings_) {
    const std::string text = by_itself ? heard_so_far(item) : "";
    if (!text.empty()) said += text + '\n';
  }
  said += trimmed(typed_);
  if (said.empty() || said == foreseen_) return;
  foreseen_ = std::move(said);
  out_->push_back(Foresee{});
}

void RealtimeSession::forget_foreseen() {
  if (!std::exchange(foreseen_, {}).empty()) out_->push_back(ForgetForeseen{});
}

BeginAnswer RealtimeSession::foreseen() const {
  BeginAnswer out = asking(config_.answer, conversation_);
  JsonIn& messages = out.body["messages"];
  messages = conversation_.messages(config_.answer.instructions, facts_.hears,
                                    [this](const std::string& id) { return heard_so_far(id); });
  const std::string said = turn_ ? heard_so_far(*turn_) : "";
  for (const std::string& known : {said, std::string(trimmed(typed_))}) {
    if (!known.empty()) messages.push_back({{"role", "user"}, {"content", known}});
  }
  return out;
}

// ---------------------------------------------------------------------------- what is typed

/// The message as far as it is typed; no reply, however often.
void RealtimeSession::type_text(std::string text, const EventFields& event) {
  if (text.size() > kMostTyped) {
    event.refuse("text", concat("A message may have ", kMostTyped, " bytes while it is typed."),
                 "input_text_buffer_too_long");
  }
  typed_ = std::move(text);
  if (trimmed(typed_).empty() && !turn_ && hearings_.empty()) return forget_foreseen();
  foresee();
}

/// The message has ended and becomes an item; response.create asks for its answer.
void RealtimeSession::commit_text() {
  const std::string text(trimmed(typed_));
  if (text.empty()) {
    throw ApiError{.message = "Error committing input text buffer: it is empty.",
                   .code = "input_text_buffer_commit_empty"};
  }
  RealtimeItem item{.id = new_id("item"), .role = "user"};
  item.parts.push_back({.kind = ItemPart::kInputText, .text = text});
  const RealtimeItem& added = conversation_.add(std::move(item));
  typed_.clear();
  send("input_text_buffer.committed",
       {{"previous_item_id", null_or(conversation_.previous(added.id))}, {"item_id", added.id}});
  send_item("conversation.item.added", added);
  send_item("conversation.item.done", added);
}

void RealtimeSession::clear_text() {
  typed_.clear();
  if (!turn_ && hearings_.empty()) forget_foreseen();
  send("input_text_buffer.cleared", JsonOut::object());
}

// ---------------------------------------------------------------------------- items

void RealtimeSession::create_item(const EventFields& event) {
  RealtimeItem item = read_item(event.need_object("item"), config_.input);
  if (item.id.empty()) item.id = new_id("item");
  const auto sounds = std::count_if(item.parts.begin(), item.parts.end(),
                                    [](const ItemPart& part) { return part.pending; });
  if (sounds > 1) {
    event.need_object("item").refuse("content", "A message may hold one part of audio.");
  }
  const RealtimeItem& added = conversation_.add(std::move(item), event.text("previous_item_id"));
  send_item("conversation.item.added", added);
  send_item("conversation.item.done", added);
  if (sounds == 0) return;
  RealtimeItem& said = *conversation_.find(added.id);
  ItemPart& part = *std::find_if(said.parts.begin(), said.parts.end(),
                                 [](const ItemPart& each) { return each.pending; });
  part.known = config_.transcription.has_value();
  if (!wants_hearing()) {
    part.pending = false;
    return;
  }
  open_hearing(said.id);
  hearings_[said.id].committed = true;
  HearSamples all{said.id, {}};
  for (const int16_t sample : part.samples) {
    all.samples.push_back(static_cast<float>(sample) / 32768.f);
  }
  out_->push_back(std::move(all));
  out_->push_back(EndHearing{said.id});
  conversation_.bound_audio();
}

void RealtimeSession::retrieve_item(const EventFields& event) {
  const std::string id = event.need_text("item_id");
  const RealtimeItem* item = conversation_.find(id);
  if (item == nullptr) throw no_item("retrieving", "retrieve", id);
  send("conversation.item.retrieved", {{"item", item_object(*item, true, config_.input)}});
}

void RealtimeSession::delete_item(const EventFields& event) {
  const std::string id = event.need_text("item_id");
  const RealtimeItem* item = conversation_.find(id);
  if (item == nullptr) throw no_item("deleting", "delete", id);
  if (item->status == "in_progress") {
    throw ApiError{.message = "Error deleting item: it is still being written; cancel first.",
                   .param = "item_id",
                   .code = "item_delete_in_progress"};
  }
  if (hearings_.erase(id) > 0) out_->push_back(DropHearing{id});
  conversation_.remove(id);
  send("conversation.item.deleted", {{"item_id", id}});
  begin_waiting();
}

void RealtimeSession::truncate_item(const EventFields& event) {
  const std::string id = event.need_text("item_id");
  const int64_t index = event.need_integer("content_index", 0, 1 << 20);
  const int64_t end_ms = event.need_integer("audio_end_ms", 0, int64_t{1} << 40);
  RealtimeItem* item = conversation_.find(id);
  if (item == nullptr) throw no_item("truncating", "truncate", id);
  if (item->kind != RealtimeItem::kMessage || item->role != "assistant") {
    event.refuse("item_id", "Only assistant message items can be truncated.");
  }
  if (index >= std::ssize(item->parts) ||
      item->parts[static_cast<size_t>(index)].kind != ItemPart::kOutputAudio) {
    event.refuse("content_index", "There is no audio at this content_index.");
  }
  ItemPart& part = item->parts[static_cast<size_t>(index)];
  if (!truncate_part(part, static_cast<double>(end_ms) / 1000)) {
    event.refuse("audio_end_ms", concat("Audio content of ", std::llround(1000 * part.audio_s),
                                        "ms is already shorter than ", end_ms, "ms."));
  }
  send("conversation.item.truncated",
       {{"item_id", id}, {"content_index", index}, {"audio_end_ms", end_ms}});
}

// ---------------------------------------------------------------------------- responses

RealtimeSession::Response* RealtimeSession::active() {
  const auto at = std::find_if(responses_.begin(), responses_.end(),
                               [](const Response& each) { return each.joined; });
  return at == responses_.end() ? nullptr : &*at;
}

void RealtimeSession::create_response(const EventFields& event) {
  if (config_.transcribes) {
    event.refuse("type", "A transcription session does not answer.");
  }
  if (!facts_.no_answer.empty()) {
    throw ApiError{.message = facts_.no_answer, .param = "model", .code = "no_text_model"};
  }
  Response response{.config = config_.answer};
  if (const auto fields = event.object("response")) {
    const JsonIn given = without_nulls(fields->json());  // what is null is the session's
    merge_response(EventFields(given, "response."), facts_, response.config);
    check_voice(response.config, "response.audio.output.voice");
    response.joined = fields->choice("conversation", {"auto", "none"}).value_or("auto") == "auto";
    if (const auto metadata = fields->object("metadata")) response.metadata = metadata->json();
    if (const JsonIn* input = fields->list("input")) {
      if (input->size() > kMostInput) fields->refuse("input", "'input' has at most 256 items.");
      response.input.emplace();
      for (size_t i = 0; i < input->size(); ++i) {
        if (!(*input)[i].is_object()) fields->refuse("input", "An item must be an object.");
        const EventFields item((*input)[i], concat("response.input[", i, "]."));
        RealtimeItem read;
        if (item.text("type") == "item_reference") {
          const std::string id = item.need_text("id");
          const RealtimeItem* known = conversation_.find(id);
          if (known == nullptr) throw no_item("referencing", "reference", id);
          read = *known;
        } else {
          read = read_item(item, config_.input);
        }
        if (read.pending() && !facts_.hears) {
          item.refuse("content", "Audio in 'input' is not heard here; create an item of it first.",
                      "unsupported_value");
        }
        for (ItemPart& part : read.parts) part.pending = false;
        read.id = concat("input_", i);
        response.input->add(std::move(read));
      }
    }
  }
  if (const Response* running = active(); response.joined && running != nullptr) {
    throw ApiError{
        .message = concat("Conversation already has an active response in progress: ", running->id,
                          ". Wait until the response is finished before creating a new "
                          "one."),
        .code = "conversation_already_has_active_response"};
  }
  if (responses_.size() >= kMostResponses) {
    throw ApiError{.status = 429,
                   .message = concat("At most ", kMostResponses, " responses run at a time."),
                   .code = "too_many_responses"};
  }
  if (response.joined && !response.input) due_ = false;
  begin_response(std::move(response));
}

void RealtimeSession::cancel_response(const EventFields& event) {
  const auto id = event.text("response_id");
  const auto at = std::find_if(responses_.begin(), responses_.end(), [&](const Response& each) {
    return id ? each.id == *id : each.joined;
  });
  if (at == responses_.end()) {
    throw ApiError{.message = "Cancellation failed: no active response found",
                   .code = "response_cancel_not_active"};
  }
  due_ = due_ && !at->joined;
  stop_response(*at, "client_cancelled");
}

void RealtimeSession::begin_response(Response response) {
  response.id = new_id("resp");
  Response& begun = responses_.emplace_back(std::move(response));
  send("response.created", {{"response", response_object(begun, "in_progress", {}, {})}});
  begin_waiting();
}

/// Responses wait for the transcripts of what they answer.
void RealtimeSession::begin_waiting() {
  for (Response& response : responses_) {
    const bool waits = !response.input && !facts_.hears && conversation_.pending();
    if (!response.begun && !waits) begin_answer(response);
  }
}

void RealtimeSession::begin_answer(Response& response) {
  response.begun = true;
  BeginAnswer begin = asking(response.config, response.input ? *response.input : conversation_);
  begin.response = response.id;
  begin.foreseen = response.joined && !response.input;
  if (begin.foreseen) foreseen_.clear();
  out_->push_back(std::move(begin));
}

BeginAnswer RealtimeSession::asking(const AnswerConfig& config, const Conversation& context) const {
  // Thoughts would be said aloud, before the answer that somebody waits for.
  JsonIn body = {{"messages", context.messages(config.instructions, facts_.hears)},
                 {"chat_template_kwargs", {{"enable_thinking", false}}}};
  if (!config.tools.empty()) {
    body["tools"] = chat_tools_of(config.tools);
    body["tool_choice"] = config.tool_choice;
  }
  if (config.max_tokens > 0) body["max_completion_tokens"] = config.max_tokens;
  if (config.temperature) body["temperature"] = *config.temperature;
  BeginAnswer out{"", config, std::move(body), context.answers()};
  out.config.tools = out.config.tool_choice = {};
  return out;
}

/// Answers what was said, once it is all known and nobody speaks.
void RealtimeSession::answer_if_due() {
  if (!due_ || turn_ || active() != nullptr) return;
  if (!facts_.hears && conversation_.pending()) return;
  due_ = false;
  if (facts_.no_answer.empty()) {
    return begin_response({.config = config_.answer});
  }
  if (std::exchange(excused_, true)) return;
  send_error({.message = facts_.no_answer, .param = "model", .code = "no_text_model"}, "");
}

void RealtimeSession::answered(const std::string& id, const AnswerNews& news,
                               RealtimeActions& out) {
  out_ = &out;
  const auto at = std::find_if(responses_.begin(), responses_.end(),
                               [&](const Response& each) { return each.id == id; });
  if (at == responses_.end()) return;
  Response& response = *at;
  const bool spoken = response.config.spoken;
  const char* status = "completed";
  JsonOut details;
  try {
    if (!news.text.empty() || !news.audio.empty()) begin_message(response);
    RealtimeItem* item = home(response).find(response.message);
    const size_t index = response.output.size() - 1;
    const auto delta = [&](const char* type, std::string value) {
      send(type, {{"response_id", response.id},
                  {"item_id", response.message},
                  {"output_index", index},
                  {"content_index", 0},
                  {"delta", std::move(value)}});
    };
    if (!news.text.empty()) {
      ItemPart& part = item->parts.front();
      if (!part.cut) part.text += news.text;
      delta(spoken ? "response.output_audio_transcript.delta" : "response.output_text.delta",
            news.text);
    }
    if (!news.audio.empty()) {
      ItemPart& part = item->parts.front();
      sounded_ = true;
      if (!part.cut) part.audio_s += part.format.seconds(news.audio.size());
      part.kept = part.kept && !part.cut &&
                  part.bytes.size() + news.audio.size() <= Conversation::kMaxAudioBytes;
      if (part.kept) {
        part.bytes += news.audio;
      } else if (!part.cut) {
        std::string().swap(part.bytes);
      }
      delta("response.output_audio.delta", base64(news.audio));
    }
    if (item != nullptr && spoken) {
      std::vector<int32_t>& ids = item->parts.front().ids;
      ids.insert(ids.end(), news.ids.begin(), news.ids.end());
    }
    if (item != nullptr) add_words(item->parts.front(), news);
    response.calls.insert(response.calls.end(), news.calls.begin(), news.calls.end());
    if (!news.outcome && !news.error) return;
    if (news.error) {
      status = "failed";
      details = {{"type", "failed"}, {"error", error_fields(*news.error)}};
    } else if (news.outcome->reason == FinishReason::kLength) {
      status = "incomplete";
      details = {{"type", "incomplete"}, {"reason", "max_output_tokens"}};
    }
    const bool whole = std::string_view(status) == "completed";
    end_message(response, whole ? "completed" : "incomplete");
    if (!news.error) tell_calls(response, "completed");
  } catch (const ApiError& error) {  // the conversation is full
    out_->push_back(StopAnswer{response.id});
    status = "failed";
    details = {{"type", "failed"}, {"error", error_fields(error)}};
  }
  const Response ended = std::move(response);
  responses_.erase(at);
  end_response(ended, status, details, news.outcome.value_or(Outcome{}));
  answer_if_due();
}

/// A new item of the response.
void RealtimeSession::announce(Response& response, RealtimeItem item) {
  const std::string id = item.id;
  const RealtimeItem& added = home(response).add(std::move(item));
  response.output.push_back(id);
  send("response.output_item.added", {{"response_id", response.id},
                                      {"output_index", response.output.size() - 1},
                                      {"item", item_object(added)}});
  if (response.joined) send_item("conversation.item.added", added);
}

void RealtimeSession::item_done(Response& response, const RealtimeItem& item, size_t index) {
  send("response.output_item.done",
       {{"response_id", response.id}, {"output_index", index}, {"item", item_object(item)}});
  if (response.joined) send_item("conversation.item.done", item);
}

void RealtimeSession::begin_message(Response& response) {
  if (!response.message.empty()) return;
  const bool spoken = response.config.spoken;
  RealtimeItem item{.id = new_id("item"), .status = "in_progress", .role = "assistant"};
  const std::string id = item.id;
  announce(response, std::move(item));
  response.message = id;
  ItemPart part{.kind = spoken ? ItemPart::kOutputAudio : ItemPart::kOutputText};
  part.format = response.config.format;
  home(response).find(id)->parts.push_back(std::move(part));
  const JsonOut empty = spoken ? JsonOut{{"type", "audio"}, {"transcript", ""}}
                               : JsonOut{{"type", "text"}, {"text", ""}};
  send("response.content_part.added", {{"response_id", response.id},
                                       {"item_id", id},
                                       {"output_index", response.output.size() - 1},
                                       {"content_index", 0},
                                       {"part", empty}});
}

void RealtimeSession::end_message(Response& response, const char* status) {
  if (response.message.empty()) return;
  RealtimeItem& item = *home(response).find(response.message);
  item.status = status;
  ItemPart& part = item.parts.front();
  part.whole = item.status == "completed" && !part.cut;
  const JsonOut where = {{"response_id", response.id},
                         {"item_id", item.id},
                         {"output_index", response.output.size() - 1},
                         {"content_index", 0}};
  const auto with = [&](const char* name, const JsonOut& value) {
    JsonOut out = where;
    out[name] = value;
    return out;
  };
  if (response.config.spoken) {
    send("response.output_audio.done", where);
    send("response.output_audio_transcript.done", with("transcript", part.text));
    send("response.content_part.done",
         with("part", {{"type", "audio"}, {"transcript", part.text}}));
  } else {
    send("response.output_text.done", with("text", part.text));
    send("response.content_part.done", with("part", {{"type", "text"}, {"text", part.text}}));
  }
  item_done(response, item, response.output.size() - 1);
  response.message.clear();
  conversation_.bound_audio();
}

void RealtimeSession::tell_calls(Response& response, const char* status) {
  for (const ToolCall& call : std::exchange(response.calls, {})) {
    RealtimeItem item{.id = new_id("item"), .kind = RealtimeItem::kCall, .status = "in_progress"};
    item.call_id = new_id("call");
    item.name = call.name;
    const std::string id = item.id, call_id = item.call_id;
    announce(response, std::move(item));
    const size_t index = response.output.size() - 1;
    JsonOut where = {{"response_id", response.id},
                     {"item_id", id},
                     {"output_index", index},
                     {"call_id", call_id}};
    JsonOut delta = where;
    delta["delta"] = call.arguments;
    send("response.function_call_arguments.delta", std::move(delta));
    where["name"] = call.name;
    where["arguments"] = call.arguments;
    send("response.function_call_arguments.done", std::move(where));
    RealtimeItem& done = *home(response).find(id);
    done.arguments = call.arguments;
    done.status = status;
    item_done(response, done, index);
  }
}

/// Words come in the order of the text, after it.
void RealtimeSession::add_words(ItemPart& part, const AnswerNews& news) const {
  if (part.cut) return;
  for (const auto& [word, begin_s] : news.words) {
    const size_t after = part.words.empty() ? 0 : part.words.back().first;
    const size_t at = part.text.find(word, after);
    if (at != std::string::npos) part.words.emplace_back(at + word.size(), begin_s);
  }
}

void RealtimeSession::stop_response(Response& response, const char* reason) {
  if (response.begun) out_->push_back(StopAnswer{response.id});
  end_message(response, "incomplete");
  const Response ended = std::move(response);
  responses_.remove_if([&](const Response& each) { return &each == &response; });
  end_response(ended, "cancelled", {{"type", "cancelled"}, {"reason", reason}}, {});
}

void RealtimeSession::end_response(const Response& response, const char* status,
                                   const JsonOut& details, const Outcome& outcome) {
  send("response.done",
       {{"response", response_object(response, status, details,
                                     usage_of(outcome, facts_.hears && response.config.spoken))}});
  foresee();  // what was typed meanwhile
}

JsonOut RealtimeSession::response_object(const Response& response, const char* status,
                                         const JsonOut& details, const JsonOut& usage) {
  JsonOut output = JsonOut::array();
  for (const std::string& id : response.output) {
    const RealtimeItem* item =
        (response.joined ? conversation_ : const_cast<Response&>(response).made).find(id);
    if (item != nullptr) output.push_back(item_object(*item));
  }
  return {{"object", "realtime.response"},
          {"id", response.id},
          {"status", status},
          {"status_details", details},
          {"output", std::move(output)},
          {"conversation_id", response.joined ? JsonOut("conv_" + facts_.id) : JsonOut()},
          {"output_modalities", modalities_of(response.config)},
          {"max_output_tokens", max_tokens_of(response.config)},
          {"audio", {{"output", output_object(response.config, facts_, false)}}},
          {"usage", usage},
          {"metadata", response.metadata}};
}

// ---------------------------------------------------------------------------- events out

void RealtimeSession::send(const char* type, JsonOut fields) {
  JsonOut event = {{"type", type}, {"event_id", new_id("event")}};
  event.update(fields);
  if (facts_.beta && !to_beta(event)) return;
  out_->push_back(SendEvent{dump_json(event)});
}

void RealtimeSession::send_error(const ApiError& error, const std::string& event_id) {
  JsonOut fields = error_fields(error);
  fields["event_id"] = event_id.empty() ? JsonOut() : JsonOut(event_id.substr(0, 512));
  send("error", {{"error", std::move(fields)}});
}

void RealtimeSession::send_item(const char* type, const RealtimeItem& item) {
  send(type, {{"previous_item_id", null_or(conversation_.previous(item.id))},
              {"item", item_object(item)}});
}

std::string RealtimeSession::new_id(const char* kind) {
  return concat(kind, "_", facts_.id, "_", ++ids_);
}

bool RealtimeSession::quiet() const {
  return !turn_ && responses_.empty() && hearings_.empty() && waited_ == waiting_.size();
}

size_t RealtimeSession::kept_bytes() const {
  return buffer_.capacity() * sizeof(int16_t) + waiting_.capacity();
}

}  // namespace syrinx
