#include "server/dialects/contexts.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

constexpr double kPieceS = 0.4;

/// Whether there is a letter or a digit. Marks and white space alone are skipped, not refused: they
/// are what is left over between the flushes of a language model.
bool speakable(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = utf8_at(text, at);
    if (is_word(point.value)) return true;
    at += point.size;
  }
  return false;
}

ApiError too_much(std::string message) {
  ApiError error = bad_field("text", std::move(message));
  error.code = "text_too_long";
  return error;
}

}  // namespace

SpeechContexts::SpeechContexts(std::shared_ptr<Backend> backend, ContextLimits limits,
                               std::function<void()> wake)
    : backend_(std::move(backend)), limits_(limits), wake_(std::move(wake)) {}

SpeechContexts::~SpeechContexts() {
  for (Context& context : contexts_) {
    for (Utterance& utterance : context.utterances) drop(utterance);
  }
}

// ---------------------------------------------------------------------------- text in

void SpeechContexts::open(const std::string& name, ContextOptions options) {
  if (find(name) != nullptr) return;
  if (static_cast<int>(contexts_.size()) >= limits_.max_contexts) {
    ApiError error = bad_field("context", concat("There are ", limits_.max_contexts,
                                                 " contexts already; close one of them first."));
    error.code = "too_many_contexts";
    events_.push_back({.kind = SpeechEvent::kFailed, .context = name, .error = std::move(error)});
    return;
  }
  Context& context = contexts_.emplace_back();
  context.name = name;
  context.options = std::move(options);
  share_speed(backend_->info(), context.options.call);
  context.sentences = backend_->info().late_text == LateText::kNone || context.options.by_sentence;
  auto voices = std::exchange(context.options.call.voices, {});
  if (voices.empty()) return;
  if (limits_.voices == nullptr) {
    return fail(context, bad_field("voice", "No voices are kept here."));
  }
  context.fetch = limits_.voices->fetch(backend_, std::move(voices), limits_.client, wake_);
}

void SpeechContexts::open_ahead(const std::string& name, ContextOptions options, double ahead_s) {
  if (find(name) != nullptr) return;
  open(name, std::move(options));
  if (Context* context = find(name)) context->ahead_s = ahead_s;
}

std::optional<double> SpeechContexts::release(const std::string& name, const std::string& as) {
  Context* context = find(name);
  if (context == nullptr || !context->ahead_s) return {};
  look_ahead(*context);
  context = find(name);
  if (context == nullptr) {  // it failed just now: as if it had never been
    std::erase_if(events_, [&name](const SpeechEvent& event) { return event.context == name; });
    return {};
  }
  context->ahead_s.reset();
  context->name = as;
  double made_s = 0;
  for (Utterance& utterance : context->utterances) {
    if (!utterance.queue) continue;
    utterance.queue->release();
    backend_->hurry(*utterance.id);
    const double first_s = utterance.queue->first_audio_s();
    if (made_s == 0) made_s = (first_s > 0 ? first_s : now_s()) - utterance.asked_s;
  }
  return made_s;
}

void SpeechContexts::add_text(const std::string& name, std::string_view text) {
  Context* context = find(name);
  if (context == nullptr || context->finishing || text.empty()) return;
  const size_t most = std::min(limits_.max_text_bytes, backend_->info().max_text_bytes);
  if (context->text_bytes + text.size() > most) {
    return fail(*context,
                too_much(concat("More than ", most, " bytes of text wait to be spoken.")));
  }
  context->text_bytes += text.size();
  if (context->sentences) {
    std::vector<SentenceStream::Item> items;
    context->splitter.push(text, items);
    add_sentences(*context, items);
    return;
  }
  Utterance& utterance = growing(*context);
  utterance.text += text;
  if (utterance.id) {
    backend_->append_text(*utterance.id, std::string(text), false);
  } else {
    utterance.speakable = utterance.speakable || speakable(text);
  }
  advance(*context);
}

/// The utterance that takes text: the last one, or a new one.
SpeechContexts::Utterance& SpeechContexts::growing(Context& context) {
  if (context.utterances.empty() || context.utterances.back().closed) {
    context.utterances.emplace_back();
  }
  return context.utterances.back();
}

void SpeechContexts::add_sentences(Context& context,
                                   const std::vector<SentenceStream::Item>& items) {
  for (const SentenceStream::Item& item : items) {
    context.utterances.push_back(
        {.text = item.text, .closed = true, .speakable = speakable(item.text)});
  }
  if (static_cast<int>(context.utterances.size()) > limits_.max_utterances) {
    return fail(context, too_much(concat("More than ", limits_.max_utterances,
                                         " sentences wait to be spoken.")));
  }
  advance(context);
}

void SpeechContexts::flush(const std::string& name) {
  Context* context = find(name);
  if (context == nullptr || context->finishing) return;
  close_last(*context);
  context = find(name);  // it may have failed
  if (context == nullptr) return;
  if (static_cast<int>(context->utterances.size()) >= limits_.max_utterances) {
    return fail(*context, too_much(concat("More than ", limits_.max_utterances,
                                          " flushes wait to be spoken.")));
  }
  if (context->utterances.empty() || context->utterances.back().flushes) {
    context->utterances.push_back({.closed = true});  // nothing to speak: only the answer
  }
  context->utterances.back().flushes = true;
}

void SpeechContexts::finish(const std::string& name) {
  Context* context = find(name);
  if (context == nullptr || context->finishing) return;
  close_last(*context);
  context = find(name);
  if (context != nullptr) context->finishing = true;
}

void SpeechContexts::close_last(Context& context) {
  if (context.sentences) {
    std::vector<SentenceStream::Item> items;
    context.splitter.finish(items);
    context.splitter = SentenceStream(SentenceOptions{});
    return add_sentences(context, items);
  }
  if (context.utterances.empty() || context.utterances.back().closed) return;
  Utterance& last = context.utterances.back();
  last.closed = true;
  if (last.id) backend_->append_text(*last.id, "", true);
  advance(context);
}

void SpeechContexts::cancel(const std::string& name) {
  if (Context* context = find(name)) {
    for (Utterance& utterance : context->utterances) drop(utterance);
    forget(name);
  }
  std::erase_if(events_, [&name](const SpeechEvent& event) { return event.context == name; });
}

// ---------------------------------------------------------------------------- the engine

/// Gives the engine what it may have: the first utterance, and the second once the first is heard.
void SpeechContexts::advance(Context& context) {
  if (!has_voice(context)) return;
  bool heard = true;
  for (size_t i = 0; i < std::min<size_t>(2, context.utterances.size()) && heard; ++i) {
    Utterance& utterance = context.utterances[i];
    if (!utterance.queue && utterance.speakable) {
      if (auto error = submit(context, utterance)) return fail(context, std::move(*error));
    }
    heard = utterance.encoder != nullptr || (utterance.closed && !utterance.speakable);
  }
}

/// What nobody wants yet may fail, and then nobody minds.
void SpeechContexts::look_ahead(Context& context) {
  if (context.utterances.empty()) return;
  const std::string name = context.name;
  advance(context);
  if (find(name) == nullptr) return;
  const Utterance& first = context.utterances.front();
  const auto outcome = first.queue ? first.queue->end() : std::nullopt;
  if (!outcome) return;
  if (outcome->reason == FinishReason::kError || outcome->reason == FinishReason::kCancelled) {
    fail(context, to_api_error(outcome->error));
  }
}

/// Whether the context's voice is there; if it cannot be had, the context fails.
bool SpeechContexts::has_voice(Context& context) {
  if (!context.fetch) return true;
  const auto status = context.fetch->status();
  if (!status) return false;
  if (!*status) {
    fail(context, inner_fault(status->error()));
    return false;
  }
  context.fetch->put(context.options.call.request);
  context.fetch.reset();
  return true;
}

std::optional<ApiError> SpeechContexts::submit(Context& context, Utterance& utterance) try {
  SpeechRequest request = context.options.call.request;
  request.text = utterance.text;
  // Text that is complete already is given like text that is not, so that speech does not depend on
  // which came first.
  request.text_open = !utterance.closed || !context.sentences;
  request.client = limits_.client;
  request.background = context.ahead_s.has_value();
  auto queue = std::make_shared<AudioQueue>(backend_->info().sample_rate, wake_);
  if (context.ahead_s) queue->hold(*context.ahead_s);
  utterance.asked_s = now_s();
  const Result<RequestId> id = backend_->submit_soon(request, queue);
  if (!id) return inner_fault(id.error());
  utterance.id = id.value();
  utterance.queue = std::move(queue);
  if (utterance.closed && request.text_open) backend_->append_text(*utterance.id, "", true);
  ++utterances_;
  return {};
} catch (const std::exception& error) {
  return inner_fault({ErrorCode::kInternal, error.what()});
}

ApiError SpeechContexts::inner_fault(const Error& error) {
  if (error.code == ErrorCode::kInternal) troubles_.push_back(error.message);
  return to_api_error(error);
}

// ---------------------------------------------------------------------------- audio out

std::optional<SpeechEvent> SpeechContexts::next() {
  for (size_t turns = contexts_.size(); events_.empty() && turns > 0; --turns) {
    contexts_.splice(contexts_.end(), contexts_, contexts_.begin());
    if (auto event = next_of(contexts_.back())) return event;
  }
  if (events_.empty()) return {};
  SpeechEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

std::optional<SpeechEvent> SpeechContexts::next_of(Context& context) {
  if (context.ahead_s) {
    look_ahead(context);
    return {};
  }
  while (!context.utterances.empty()) {
    Utterance& first = context.utterances.front();
    if (!first.queue && first.speakable) {
      const std::string name = context.name;
      advance(context);
      if (find(name) == nullptr) return {};  // it failed; the event is queued
      if (!first.queue) return {};           // its voice is on the way
    }
    if (first.queue) return audio_of(context, first);
    if (!first.closed) return {};
    const bool flushes = first.flushes;
    context.text_bytes -= std::min(context.text_bytes, first.text.size());
    context.utterances.pop_front();
    if (flushes) return SpeechEvent{.kind = SpeechEvent::kFlushed, .context = context.name};
  }
  if (!context.finishing) return {};
  SpeechEvent event{.kind = SpeechEvent::kFinished, .context = context.name};
  forget(event.context);
  return event;
}

std::optional<SpeechEvent> SpeechContexts::audio_of(Context& context, Utterance& utterance) {
  const int rate_hz = backend_->info().sample_rate;
  if (auto event = words_of(context, utterance, false)) return event;
  samples_.clear();
  const size_t count = utterance.queue->take(samples_, static_cast<size_t>(kPieceS * rate_hz));
  if (count == 0) {
    if (const auto outcome = utterance.queue->end()) return end_of(context, utterance, *outcome);
    return {};
  }
  taken_.emplace_back(utterance.queue, count);
  utterance.audio_s += static_cast<double>(count) / rate_hz;
  SpeechEvent audio{.kind = SpeechEvent::kAudio, .context = context.name};
  const bool begins = utterance.encoder == nullptr;
  if (begins) {
    auto encoder = make_encoder(context.options.call.audio);
    if (!encoder) {
      fail(context, inner_fault(encoder.error()));
      return {};
    }
    utterance.encoder = encoder.take();
  }
  utterance.encoder->encode(samples_, audio.bytes);
  audio.rate_hz = utterance.encoder->rate_hz();
  if (!begins) return audio;
  SpeechEvent start{.kind = SpeechEvent::kStarted,
                    .context = context.name,
                    .rate_hz = audio.rate_hz,
                    .text = utterance.closed ? utterance.text : ""};
  events_.push_back(std::move(audio));
  advance(context);  // the next one may begin
  return start;
}

/// Words whose end is known: that of the last one is the audio's.
std::optional<SpeechEvent> SpeechContexts::words_of(Context& context, Utterance& utterance,
                                                    bool all) {
  if (!context.options.words) return {};
  utterance.queue->take_words(utterance.marks);
  const double speed = context.options.call.audio.speed;
  SpeechEvent event{.kind = SpeechEvent::kWords, .context = context.name};
  event.words =
      take_finished_words(utterance.text, utterance.marks, backend_->info().frame_rate * speed,
                          utterance.audio_s / speed, all);
  if (event.words.empty()) return {};
  return event;
}

/// Each phone lasts until the next one begins, the last one until the audio ends.
std::optional<SpeechEvent> SpeechContexts::phones_of(const Context& context, const Outcome& outcome,
                                                     double audio_s) const {
  const SpeechCall& call = context.options.call;
  if (!call.request.phone_times || outcome.phones.empty()) return {};
  SpeechEvent event{.kind = SpeechEvent::kPhones, .context = context.name};
  for (const PhoneMark& mark : outcome.phones) {
    const double begin_s =
        static_cast<double>(mark.frame) / backend_->info().frame_rate / call.audio.speed;
    if (!event.words.empty()) event.words.back().end_s = begin_s;
    event.words.push_back(
        {.text = std::string(mark.phone), .begin_s = begin_s, .end_s = std::max(begin_s, audio_s)});
  }
  return event;
}

/// Pops the utterance. Queues the rest of its audio and what follows it; returns the first of that.
SpeechEvent SpeechContexts::end_of(Context& context, Utterance& utterance, const Outcome& outcome) {
  const std::string name = context.name;
  if (outcome.reason == FinishReason::kError || outcome.reason == FinishReason::kCancelled) {
    const bool stopped = outcome.reason == FinishReason::kCancelled;
    fail(context, stopped ? unavailable("The server is stopping.") : inner_fault(outcome.error));
    SpeechEvent event = std::move(events_.back());
    events_.pop_back();
    return event;
  }
  SpeechEvent spoken{.kind = SpeechEvent::kSpoken,
                     .context = name,
                     .audio_s = utterance.audio_s / context.options.call.audio.speed};
  auto last_words = words_of(context, utterance, true);
  auto phones = phones_of(context, outcome, spoken.audio_s);
  SpeechEvent rest{.kind = SpeechEvent::kAudio, .context = name};
  if (utterance.encoder) {
    utterance.encoder->flush(rest.bytes);
    rest.rate_hz = utterance.encoder->rate_hz();
  }
  const bool flushes = utterance.flushes;
  drop(utterance);  // past its length bound the engine may still be at work
  context.text_bytes -= std::min(context.text_bytes, utterance.text.size());
  context.utterances.pop_front();
  if (flushes) events_.push_front({.kind = SpeechEvent::kFlushed, .context = name});
  events_.push_front(std::move(spoken));
  if (phones) events_.push_front(std::move(*phones));
  if (!rest.bytes.empty()) events_.push_front(std::move(rest));
  if (last_words) events_.push_front(std::move(*last_words));
  SpeechEvent first = std::move(events_.front());
  events_.pop_front();
  return first;
}

void SpeechContexts::written() {
  for (const auto& [queue, samples] : taken_) queue->written(samples);
  taken_.clear();
}

// ---------------------------------------------------------------------------- ends

bool SpeechContexts::quiet() const {
  const auto silent = [](const Context& context) {
    return context.utterances.empty() ||
           (context.utterances.size() == 1 && !context.utterances.front().queue &&
            !context.utterances.front().closed);
  };
  return events_.empty() && std::all_of(contexts_.begin(), contexts_.end(), silent);
}

SpeechContexts::Context* SpeechContexts::find(const std::string& name) {
  const auto at = std::find_if(contexts_.begin(), contexts_.end(),
                               [&name](const Context& context) { return context.name == name; });
  return at == contexts_.end() ? nullptr : &*at;
}

void SpeechContexts::drop(Utterance& utterance) {
  if (utterance.queue) utterance.queue->detach();
  if (utterance.id) backend_->cancel(*utterance.id);
}

void SpeechContexts::fail(Context& context, ApiError error) {
  for (Utterance& utterance : context.utterances) drop(utterance);
  events_.push_back(
      {.kind = SpeechEvent::kFailed, .context = context.name, .error = std::move(error)});
  forget(std::string(context.name));
}

void SpeechContexts::forget(const std::string& name) {
  contexts_.remove_if([&name](const Context& context) { return context.name == name; });
}

}  // namespace syrinx
