#include "server/realtime/realtime_talk.h"

#include <exception>
#include <utility>

#include "base/ascii.h"
#include "base/check.h"
#include "base/clock.h"
#include "server/dialects/context_options.h"
#include "server/models/vendor_names.h"

namespace syrinx {
namespace {

constexpr size_t kMostBacklog = size_t{256} << 10;
constexpr int kMostVoices = 8;
// Contexts for sentences that are spoken ahead, in addition to kMostVoices.
constexpr int kAheadVoices = 2;
constexpr int kMostSentences =
    4096;  // most unspoken sentences; text models write faster than voices speak

bool ended_badly(const Outcome& outcome) {
  return outcome.reason == FinishReason::kError || outcome.reason == FinishReason::kCancelled;
}

}  // namespace

RealtimeTalk::RealtimeTalk(RealtimeCast cast, std::function<void()> wake)
    : cast_(std::move(cast)),
      wake_(std::move(wake)),
      session_(facts_of(cast_), cast_.transcribes),
      ears_(cast_.ears, cast_.writer, cast_.client, cast_.max_transcript_wait_s, wake_),
      clock_(cast_.turns) {
  if (cast_.speaker && !by_itself()) {
    contexts_.emplace(cast_.speaker,
                      ContextLimits{.max_contexts = kMostVoices + kAheadVoices,
                                    .max_utterances = kMostSentences,
                                    .client = cast_.client,
                                    .voices = cast_.voices},
                      wake_);
  }
  RealtimeActions actions;
  session_.opened(actions);
  carry_out(actions);
}

RealtimeTalk::~RealtimeTalk() {
  for (auto& [id, answer] : answers_) {
    if (answer.queue) answer.queue->detach();
    if (answer.id) cast_.writer->cancel(*answer.id);
  }
}

RealtimeFacts RealtimeTalk::facts_of(const RealtimeCast& cast) const {
  RealtimeFacts facts;
  facts.id = cast.id;
  facts.beta = cast.beta;
  facts.speaks = cast.speaker != nullptr;
  facts.open_activity = cast.open_activity;
  facts.ask_turn_end = cast.ask_turn_end;
  facts.may_predict = cast.predict != PredictWhen::kNever;
  facts.predicts = cast.predict == PredictWhen::kUnlessNot;
  facts.prediction = cast.prediction;
  if (cast.speaker) facts.default_voice = cast.speaker->info().speech.default_voice;
  if (cast.writer) {
    facts.model = cast.writer->info().model;
    facts.hears = cast.writer->info().hearing.seconds > 0 && cast.writer->info().converses;
    if (facts.hears) facts.hears_s = cast.writer->info().hearing.seconds;
    facts.hears_ahead = cast.writer->info().hearing.ahead;
    facts.calls_tools = cast.writer->info().writing.calls_tools;
  } else {
    if (cast.speaker) facts.model = cast.speaker->info().model;
    facts.no_answer =
        "This server cannot answer without a text model; serve one beside the voice "
        "(--model), or use a transcription session.";
  }
  if (cast.speaker && !by_itself()) {
    facts.refuse_voice = [this](const std::string& voice) -> std::optional<ApiError> {
      auto options = voice_options({.voice = voice});
      if (auto* error = std::get_if<ApiError>(&options)) return std::move(*error);
      return {};
    };
  }
  return facts;
}

std::variant<ContextOptions, ApiError> RealtimeTalk::voice_options(
    const AnswerConfig& config) const {
  JsonIn fields = {{"response_format", "pcm"}, {"sample_rate", config.format.rate_hz()}};
  if (!config.voice.empty()) fields["voice"] = config.voice;
  if (config.speed != 1) fields["speed"] = config.speed;
  const Speaker speaker = cast_.voices != nullptr
                              ? cast_.voices->speaker(*cast_.speaker)
                              : Speaker(cast_.speaker->info(), cast_.speaker->voice_encoder());
  auto out = context_options(fields, speaker, cast_.strict);
  if (auto* options = std::get_if<ContextOptions>(&out)) {
    options->call.audio.coding = config.format.coding;
    options->words = cast_.speaker->info().speech.word_times;
    options->ssml = false;  // text that a model writes is not SSML
  }
  return out;
}

// ---------------------------------------------------------------------------- messages in

WireSession::Step RealtimeTalk::read(std::string_view bytes, bool binary) {
  auto event = std::make_shared<RealtimeEvent>(read_realtime_event(bytes, binary));
  return [this, event, begun = false](double) mutable {
    if (closing_) return false;
    RealtimeActions actions;
    const bool more = std::exchange(begun, true) ? session_.hear_more(actions)
                                                 : session_.take(std::move(*event), actions);
    carry_out(actions);
    return more;
  };
}

/// Returns whether too many replies or too much audio wait. The connection then reads no messages.
bool RealtimeTalk::full() const { return backlog_bytes_ > kMostBacklog || ears_.full(); }

size_t RealtimeTalk::max_message_bytes() const {
  return kMaxAppendBytes / 3 * 4 + (size_t{64} << 10);
}

void RealtimeTalk::tick(double, bool stopping) {
  ears_.refuse_late();
  if (stopping && !closing_ && frames_.empty() && session_.quiet()) {
    closing_ = CloseConnection{1001, "the server is stopping"};
  }
}

void RealtimeTalk::carry_out(RealtimeActions& actions) {
  struct {
    RealtimeTalk& talk;
    void operator()(SendEvent& event) {
      talk.backlog_bytes_ += event.json.size();
      talk.frames_.push_back({std::move(event.json)});
      ++talk.frames_made_;
    }
    void operator()(OpenHearing& open) { talk.ears_.open(open); }
    void operator()(HearSamples& more) { talk.ears_.hear(more); }
    void operator()(PauseHearing& pause) { talk.ears_.pause(pause); }
    void operator()(EndHearing& end) { talk.ears_.end(end.item); }
    void operator()(DropHearing& drop) {
      talk.ears_.drop(drop.item);
      talk.clock_.dropped(drop.item);
    }
    void operator()(TurnOver& turn) { talk.clock_.over(turn, now_s()); }
    void operator()(BeginAnswer& begin) { talk.begin_answer(begin); }
    void operator()(StopAnswer& stop) { talk.stop_answer(stop.response); }
    void operator()(Foresee& known) { talk.foresee(known.pauses); }
    void operator()(ForgetForeseen&) { talk.foresight_.reset(); }
    void operator()(HearAhead&) { talk.hear_ahead(); }
    void operator()(HeardAll&) {
      if (talk.ahead_) talk.ahead_->finish();
    }
    void operator()(ForgetHeard&) { talk.ahead_.reset(); }
  } visitor{*this};
  for (RealtimeAction& action : actions) std::visit(visitor, action);
}

// ---------------------------------------------------------------------------- answering

void RealtimeTalk::foresee(bool pauses) {
  if (!foresight_) {
    foresight_ = std::make_unique<Foresight>(
        ForesightCast{.how = session_.prediction(),
                      .writer = cast_.writer,
                      .voices = contexts_ ? &*contexts_ : nullptr,
                      .client = cast_.client,
                      .name = concat("ahead_", ++foresights_),
                      .question = [this] { return session_.foreseen(); },
                      .voice = [this](const AnswerConfig& config) { return voice_options(config); },
                      .post = cast_.post,
                      .wake = wake_,
                      .counters = cast_.predictions,
                      .sentence = cast_.first_sentence});
  }
  foresight_->hear(pauses);
}

void RealtimeTalk::hear_ahead() {
  if (!ahead_) {
    ahead_ = std::make_unique<HearingAhead>(
        cast_.writer, cast_.client, cast_.post, [this] { return session_.heard_so_far(); }, wake_);
  }
  ahead_->hear();
}

void RealtimeTalk::begin_answer(BeginAnswer& begin) {
  Answer& answer = answers_[begin.response];
  ++answered_;
  answer.config = std::move(begin.config);
  if (begin.foreseen) answer.foresight = std::move(foresight_);
  if (begin.foreseen) clock_.begun(begin.response);
  if (begin.foreseen && ahead_) answer.heard_ahead = ahead_->still_running(begin.body);
  if (begin.body["messages"].empty()) {
    answer.error = ApiError{.message =
                                "The response has no input: no item has words, and "
                                "the 'instructions' are empty.",
                            .param = "response",
                            .code = "nothing_to_answer"};
    return wake_();
  }
  const PipelineInfo& info = cast_.writer->info();
  const bool aloud = answer.config.spoken && by_itself();
  if (aloud) {
    const std::string& voice = answer.config.voice;
    begin.body["modalities"] = JsonIn::array({"text", "audio"});
    begin.body["audio"] = {{"format", "pcm16"}, {"voice", is_vendor_voice(voice) ? "" : voice}};
  } else if (answer.config.spoken) {
    auto options = voice_options(answer.config);
    if (auto* error = std::get_if<ApiError>(&options)) {
      answer.error = std::move(*error);
      return wake_();
    }
    if (answer.foresight && answer.foresight->holds(answer.config)) {
      answer.voice = std::move(std::get<ContextOptions>(options));
    } else {
      contexts_->open(begin.response, std::move(std::get<ContextOptions>(options)));
    }
  }
  ChatAbility ability = ChatAbility::of(info);
  ability.find_answer = find_among(std::move(begin.answers));
  ContextWindow window{
      .how = std::move(begin.truncation),
      .room = ContextWindow::room_of(info.writing.positions, answer.config.max_tokens),
      .instructions = begin.instructions,
      .tokens = [writer = cast_.writer](const SpeechRequest& request) {
        return writer->prompt_tokens(request);
      }};
  answer.items = std::move(begin.items);
  answer.check =
      ChatCheck::begin(begin.body, std::move(ability), cast_.post, wake_, std::move(window));
}

void RealtimeTalk::submit(Answer& answer) {
  auto checked = answer.check->take();
  if (!checked) return;
  const size_t left = std::exchange(answer.check, nullptr)->left();
  if (left > 0) answer.heard_ahead = nullptr;  // HearingAhead's request has the removed messages
  if (left > 0 && left <= answer.items.size()) session_.leave_out(answer.items[left - 1]);
  if (auto* error = std::get_if<ApiError>(&*checked)) {
    answer.error = std::move(*error);
    return;
  }
  ChatCall& chat = std::get<ChatCall>(*checked);
  chat.request.terms.client = cast_.client;
  answer.tools.emplace(std::move(chat.tool_names));
  const int rate_hz = cast_.writer->info().speech.sample_rate;
  if (chat.speaks) {
    auto encoder = make_encoder({.format = AudioFormat::kPcm,
                                 .in_rate_hz = rate_hz,
                                 .out_rate_hz = answer.config.format.rate_hz(),
                                 .speed = answer.config.speed,
                                 .coding = answer.config.format.coding});
    if (!encoder) {
      answer.error = inner_fault(encoder.error());
      return;
    }
    answer.encoder = encoder.take();
  }
  answer.request = std::move(chat.request);
  if (answer.foresight) answer.foresight->begin_answer(*answer.request);
}

/// Submits the answer's request; does nothing while the audio is heard ahead or a draft is judged.
void RealtimeTalk::ask(Answer& answer) {
  if (answer.heard_ahead && answer.heard_ahead()) return;
  if (answer.foresight && !answer.foresight->settle(*answer.request)) return;
  answer.queue = std::make_shared<AnswerQueue>(cast_.writer->info().speech.sample_rate, wake_);
  try {
    const SpeechRequest request = *std::exchange(answer.request, std::nullopt);
    const auto accepted = cast_.writer->submit_soon(request, answer.queue);
    if (accepted.ok()) {
      answer.id = accepted.value();
    } else {
      answer.error = inner_fault(accepted.error());
    }
  } catch (const std::exception& error) {
    answer.error = inner_fault({ErrorCode::kInternal, error.what()});
  }
}

void RealtimeTalk::stop_answer(const std::string& id) {
  const auto at = answers_.find(id);
  if (at == answers_.end()) return;
  Answer& answer = at->second;
  if (answer.queue) answer.queue->detach();
  if (answer.id && !answer.outcome) cast_.writer->cancel(*answer.id);
  if (contexts_) contexts_->cancel(id);
  answers_.erase(at);
}

void RealtimeTalk::report(const std::string& id, const AnswerNews& news) {
  if (news.outcome || news.error) stop_answer(id);
  RealtimeActions actions;
  session_.answered(id, news, actions);
  carry_out(actions);
  if (!news.audio.empty()) clock_.sounded(id, frames_made_);
  if (news.ends()) clock_.stopped(id);
}

void RealtimeTalk::fail(const std::string& id, ApiError error) {
  report(id, {.error = std::move(error)});
}

bool RealtimeTalk::pump_answer(const std::string& id) {
  Answer& answer = answers_.at(id);
  if (answer.check) submit(answer);
  if (answer.request) ask(answer);
  if (answer.error) {
    fail(id, *answer.error);
    return true;
  }
  if (!answer.queue || answer.outcome) return false;
  AnswerQueue::News news = answer.queue->take();
  if (news.empty()) return false;
  const bool over = news.outcome.has_value();
  if (over && ended_badly(*news.outcome)) {
    fail(id, news.outcome->reason == FinishReason::kCancelled
                 ? unavailable("The server is stopping.")
                 : inner_fault(news.outcome->error));
    return true;
  }
  if (!news.text.empty()) clock_.wrote(id, now_s());
  if (answer.foresight) answer.foresight->wrote(news.text);
  ToolCallFinder::Found found = answer.tools->push(news.text);
  if (over) {
    answer.outcome = news.outcome;
    ToolCallFinder::Found rest = answer.tools->finish();
    found.text += rest.text;
    found.calls.insert(found.calls.end(), rest.calls.begin(), rest.calls.end());
  }
  AnswerNews out{.text = std::move(found.text), .calls = std::move(found.calls)};
  if (by_itself()) out.ids = std::move(news.ids);
  const bool voiced = answer.config.spoken && !by_itself();
  if (answer.encoder) {
    answer.unwritten += news.samples.size();
    if (!news.samples.empty()) answer.encoder->encode(news.samples, out.audio);
    if (over && news.outcome->audio_s > 0) answer.encoder->flush(out.audio);
  }
  if (voiced) {
    speak(id, answer, out.text, over);
  } else if (over) {
    out.outcome = answer.outcome;
  }
  report(id, out);
  return true;
}

/// Speaks `text`; uses the sentence spoken ahead if the answer begins with it.
void RealtimeTalk::speak(const std::string& id, Answer& answer, const std::string& text,
                         bool over) {
  answer.unspoken += text;
  if (answer.voice) {
    const auto met = answer.foresight->met(answer.unspoken, over);
    if (!met) return;
    const size_t spoken = *met ? answer.foresight->release(id).value_or(0) : 0;
    answer.foresight->drop_voice();
    if (spoken == 0) contexts_->open(id, std::move(*answer.voice));
    answer.voice.reset();
    answer.unspoken.erase(0, spoken);
  }
  contexts_->add_text(id, std::exchange(answer.unspoken, {}));
  if (over) contexts_->finish(id);
}

/// Handles the next event of the voices.
bool RealtimeTalk::pump_voice() {
  if (!contexts_) return false;
  auto event = contexts_->next();
  if (!event) return false;
  const auto at = answers_.find(event->context);
  if (at == answers_.end()) {  // a sentence that was spoken ahead has failed
    if (foresight_) foresight_->voice_failed(event->context);
    for (auto& [id, answer] : answers_) {
      if (answer.foresight) answer.foresight->voice_failed(event->context);
    }
    return true;
  }
  Answer& answer = at->second;
  AnswerNews news;
  switch (event->kind) {
    case SpeechEvent::kAudio:
      news.audio = std::move(event->bytes);
      break;
    case SpeechEvent::kWords:
      for (TimedWord& word : event->words) {
        news.words.emplace_back(std::move(word.text), answer.spoken_s + word.begin_s);
      }
      break;
    case SpeechEvent::kSpoken:
      answer.spoken_s += event->audio_s;
      return true;
    case SpeechEvent::kUnspoken:
      news.unspoken = std::move(event->error);
      break;
    case SpeechEvent::kFinished:
      news.outcome = answer.outcome;
      break;
    case SpeechEvent::kFailed:
      news.error = std::move(event->error);
      break;
    default:
      return true;
  }
  const std::string id = event->context;
  report(id, news);
  return true;
}

ApiError RealtimeTalk::inner_fault(const Error& error) {
  if (error.code == ErrorCode::kInternal) troubles_.push_back(error.message);
  return to_api_error(error);
}

// ---------------------------------------------------------------------------- frames out

/// Processes some of the new results; returns false if no result was new.
bool RealtimeTalk::pump() {
  bool some = false;
  for (const std::string& item : ears_.items()) some = pump_hearing(item) || some;
  std::vector<std::string> names;
  for (const auto& [id, answer] : answers_) names.push_back(id);
  for (const std::string& id : names) {
    if (answers_.contains(id)) some = pump_answer(id) || some;
  }
  if (foresight_) some = foresight_->pump() || some;
  if (ahead_) some = ahead_->pump() || some;
  return pump_voice() || some;
}

bool RealtimeTalk::pump_hearing(const std::string& item) {
  const auto news = ears_.take(item);
  if (!news) return false;
  if (news->ends()) clock_.heard(item, news->text && !trimmed(*news->text).empty(), now_s());
  RealtimeActions actions;
  session_.heard(item, *news, actions);
  carry_out(actions);
  return true;
}

const SendMessage* RealtimeTalk::next(double) {
  while (frames_.empty() && !closing_) {
    if (!pump()) return nullptr;
  }
  if (frames_.empty()) return nullptr;
  current_ = std::move(frames_.front());
  frames_.pop_front();
  ++frames_taken_;
  backlog_bytes_ -= current_.bytes.size();
  return &current_;
}

void RealtimeTalk::written() {
  clock_.written(frames_taken_, now_s());
  if (!frames_.empty()) return;
  if (contexts_) contexts_->written();
  for (auto& [id, answer] : answers_) {
    if (answer.unwritten > 0) answer.queue->written(std::exchange(answer.unwritten, 0));
  }
}

std::vector<std::string> RealtimeTalk::take_troubles() {
  std::vector<std::string> out = std::exchange(troubles_, {});
  for (std::string& trouble : ears_.take_troubles()) out.push_back(std::move(trouble));
  if (!contexts_) return out;
  for (std::string& trouble : contexts_->take_troubles()) out.push_back(std::move(trouble));
  return out;
}

std::string RealtimeTalk::summary() const {
  return concat("heard=", ears_.opened(), ", answers=", answered_);
}

}  // namespace syrinx
