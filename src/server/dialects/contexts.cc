#include "server/dialects/contexts.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/clock.h"

namespace syrinx {
namespace {

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
  for (SpeechContext& context : contexts_) context.drop();
}

// ---------------------------------------------------------------------------- text in

void SpeechContexts::open(const std::string& name, ContextOptions options) {
  if (find(name) != nullptr) return;
  if (static_cast<int>(contexts_.size()) >= limits_.max_contexts) {
    ApiError error =
        bad_field("context", concat("At most ", limits_.max_contexts,
                                    " contexts may be open; close one of them first."));
    error.code = "too_many_contexts";
    events_.push_back({.kind = SpeechEvent::kFailed, .context = name, .error = std::move(error)});
    return;
  }
  SpeechContext& context = contexts_.emplace_back();
  context.name = name;
  context.options = std::move(options);
  if (!context.options.backend) context.options.backend = backend_;
  const PipelineInfo& info = context.info();
  share_speed(info, context.options.call);
  context.sentences = info.speech.late_text == LateText::kNone || context.options.by_sentence;
  context.ssml = SsmlStream(context.options.ssml, context.options.bare_ssml);
  auto voices = std::exchange(context.options.call.voices, {});
  if (voices.empty()) return;
  if (limits_.voices == nullptr) {
    return fail(context, bad_field("voice", "This server stores no voices."));
  }
  context.fetch =
      limits_.voices->fetch(context.options.backend, std::move(voices), limits_.client, wake_);
}

void SpeechContexts::open_ahead(const std::string& name, ContextOptions options, double ahead_s) {
  if (find(name) != nullptr) return;
  open(name, std::move(options));
  if (SpeechContext* context = find(name)) context->ahead_s = ahead_s;
}

std::optional<double> SpeechContexts::release(const std::string& name, const std::string& as) {
  SpeechContext* context = find(name);
  if (context == nullptr || !context->ahead_s) return {};
  look_ahead(*context);
  context = find(name);
  if (context == nullptr) {  // the context has just failed
    std::erase_if(events_, [&name](const SpeechEvent& event) { return event.context == name; });
    return {};
  }
  context->ahead_s.reset();
  context->name = as;
  double made_s = 0;
  for (SpokenUtterance& utterance : context->utterances) {
    if (!utterance.queue) continue;
    utterance.queue->release();
    context->options.backend->raise_priority(*utterance.id);
    const double first_s = utterance.queue->first_audio_s();
    if (made_s == 0) made_s = (first_s > 0 ? first_s : now_s()) - utterance.asked_s;
  }
  return made_s;
}

void SpeechContexts::add_text(const std::string& name, std::string_view text) {
  SpeechContext* context = find(name);
  if (context == nullptr || context->finishing || text.empty()) return;
  const size_t most = std::min(limits_.max_text_bytes, context->info().max_text_bytes);
  if (context->text_bytes + text.size() > most) {
    return fail(*context,
                too_much(concat("More than ", most, " bytes of text wait to be spoken.")));
  }
  take(name, context->pieces_of(context->halves.push(text)));
}

/// Adds pieces of text. Returns the context, or null if it has failed.
SpeechContext* SpeechContexts::take(const std::string& name,
                                    std::vector<SsmlStream::Piece> pieces) {
  SpeechContext* context = find(name);
  for (const SsmlStream::Piece& piece : pieces) {
    if (context == nullptr) break;
    if (piece.document) {
      close_plain(*context);
      context = find(name);
      if (context != nullptr) add_document(*context, piece.text);
    } else {
      add_plain(*context, piece.text);
    }
    context = find(name);
  }
  return context;
}

void SpeechContexts::add_document(SpeechContext& context, std::string_view document) {
  auto said = std::make_shared<SpeechRequest>(context.options.call.request);
  said->say.text = document;
  Result<Markup> markup = take_ssml(context.info(), *said);
  if (!markup) return fail(context, to_api_error(markup.error()));
  Markup& read = markup.value();
  for (std::string& warning : read.warnings) warning += '.';
  if (context.options.strict && !read.warnings.empty()) {
    ApiError error = bad_field("input", read.warnings.front());
    error.code = "unsupported_value";
    return fail(context, std::move(error));
  }
  SpokenUtterance& utterance = context.utterances.emplace_back();
  utterance.text = said->say.text;
  utterance.closed = true;
  utterance.speakable = speakable(said->say.text);
  utterance.markup_bytes = document.size() - std::min(document.size(), said->say.text.size());
  utterance.markup = std::move(read);
  utterance.said = std::move(said);
  check_count(context);
}

void SpeechContexts::add_plain(SpeechContext& context, std::string_view text) {
  if (context.sentences) {
    std::vector<SentenceStream::Item> items;
    context.splitter.push(text, items);
    context.append(items);
    return check_count(context);
  }
  SpokenUtterance& utterance = context.growing();
  utterance.text += text;
  if (utterance.id) {
    context.options.backend->append_text(*utterance.id, std::string(text), false);
  } else {
    utterance.speakable = utterance.speakable || speakable(text);
  }
  advance(context);
}

/// Submits further utterances, or fails the context if it has too many.
void SpeechContexts::check_count(SpeechContext& context) {
  if (static_cast<int>(context.utterances.size()) > limits_.max_utterances) {
    return fail(context, too_much(concat("More than ", limits_.max_utterances,
                                         " sentences wait to be spoken.")));
  }
  advance(context);
}

void SpeechContexts::flush(const std::string& name) {
  SpeechContext* context = find(name);
  if (context == nullptr || context->finishing) return;
  context = close_last(name);
  if (context == nullptr) return;
  if (static_cast<int>(context->utterances.size()) >= limits_.max_utterances) {
    return fail(*context, too_much(concat("More than ", limits_.max_utterances,
                                          " flushes wait to be spoken.")));
  }
  if (context->utterances.empty() || context->utterances.back().flushes) {
    context->utterances.push_back({.closed = true});  // has no text; its only effect is kFlushed
  }
  context->utterances.back().flushes = true;
}

void SpeechContexts::finish(const std::string& name) {
  SpeechContext* context = find(name);
  if (context == nullptr || context->finishing) return;
  if (take(name, context->pieces_of(context->halves.finish())) == nullptr) return;
  context = close_last(name);
  if (context != nullptr) context->finishing = true;
}

/// Ends the last utterance. Returns the context unless it has failed.
SpeechContext* SpeechContexts::close_last(const std::string& name) {
  std::vector<SsmlStream::Piece> pieces;
  find(name)->ssml.finish(pieces);
  SpeechContext* context = take(name, std::move(pieces));
  if (context != nullptr) close_plain(*context);
  return find(name);
}

void SpeechContexts::close_plain(SpeechContext& context) {
  if (context.sentences) {
    std::vector<SentenceStream::Item> items;
    context.splitter.finish(items);
    context.splitter = SentenceStream(SentenceOptions{});
    context.append(items);
    return check_count(context);
  }
  if (context.utterances.empty() || context.utterances.back().closed) return;
  SpokenUtterance& last = context.utterances.back();
  last.closed = true;
  if (last.id) context.options.backend->append_text(*last.id, "", true);
  advance(context);
}

void SpeechContexts::cancel(const std::string& name) {
  if (SpeechContext* context = find(name)) {
    context->drop();
    forget(name);
  }
  std::erase_if(events_, [&name](const SpeechEvent& event) { return event.context == name; });
}

// ---------------------------------------------------------------------------- the engine

/// Submits the first utterance to the engine, and the second when the first has audio.
void SpeechContexts::advance(SpeechContext& context) {
  if (!has_voice(context)) return;
  bool heard = true;
  for (size_t i = 0; i < std::min<size_t>(2, context.utterances.size()) && heard; ++i) {
    SpokenUtterance& utterance = context.utterances[i];
    if (!utterance.queue && utterance.speakable) {
      if (auto error = submit(context, utterance)) return fail(context, std::move(*error));
    }
    heard = utterance.encoder != nullptr || (utterance.closed && !utterance.speakable);
  }
}

/// Submits text of a context of open_ahead(). If its first utterance has failed, fails the context.
void SpeechContexts::look_ahead(SpeechContext& context) {
  if (context.utterances.empty()) return;
  const std::string name = context.name;
  advance(context);
  if (find(name) == nullptr) return;
  const SpokenUtterance& first = context.utterances.front();
  const auto outcome = first.queue ? first.queue->end() : std::nullopt;
  if (!outcome) return;
  if (outcome->reason == FinishReason::kError || outcome->reason == FinishReason::kCancelled) {
    fail(context, to_api_error(outcome->error));
  }
}

/// Returns whether the context's voice is available; if it cannot be fetched, the context fails.
bool SpeechContexts::has_voice(SpeechContext& context) {
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

std::optional<ApiError> SpeechContexts::submit(SpeechContext& context,
                                               SpokenUtterance& utterance) try {
  SpeechRequest request = context.options.call.request;
  request.say.text = utterance.text;
  // Complete text is submitted in the same way as incomplete text, so that the speech does not
  // depend on timing. A document of SSML is always complete.
  request.say.open = !utterance.said && (!utterance.closed || !context.sentences);
  if (utterance.said) {
    request.say.sayings = utterance.said->say.sayings;
    request.say.deliveries = utterance.said->say.deliveries;
  }
  request.terms.client = limits_.client;
  request.terms.background = context.ahead_s.has_value();
  Backend& backend = *context.options.backend;
  auto queue = std::make_shared<AudioQueue>(backend.info().speech.sample_rate, wake_);
  if (context.ahead_s) queue->hold(*context.ahead_s);
  utterance.asked_s = now_s();
  const Result<RequestId> id = backend.submit_soon(request, queue);
  if (!id) return inner_fault(id.error());
  utterance.id = id.value();
  utterance.queue = std::move(queue);
  if (utterance.closed && request.say.open) backend.append_text(*utterance.id, "", true);
  ++utterances_;
  return {};
} catch (const std::exception& error) {
  return inner_fault({ErrorCode::kInternal, error.what()});
}

ApiError SpeechContexts::inner_fault(const Error& error) {
  if (error.code == ErrorCode::kInternal) troubles_.push_back(error.message);
  return to_api_error(error);
}

// ---------------------------------------------------------------------------- ends

bool SpeechContexts::quiet() const {
  return events_.empty() && std::ranges::all_of(contexts_, &SpeechContext::silent);
}

SpeechContext* SpeechContexts::find(const std::string& name) {
  const auto at =
      std::find_if(contexts_.begin(), contexts_.end(),
                   [&name](const SpeechContext& context) { return context.name == name; });
  return at == contexts_.end() ? nullptr : &*at;
}

void SpeechContexts::fail(SpeechContext& context, ApiError error) {
  context.drop();
  events_.push_back(
      {.kind = SpeechEvent::kFailed, .context = context.name, .error = std::move(error)});
  forget(std::string(context.name));
}

void SpeechContexts::forget(const std::string& name) {
  contexts_.remove_if([&name](const SpeechContext& context) { return context.name == name; });
}

}  // namespace syrinx
