#include "server/realtime/foresight.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "server/request/option_fields.h"

namespace syrinx {
namespace {

bool spoken_alike(const AnswerConfig& a, const AnswerConfig& b) {
  return a.spoken && b.spoken && a.voice == b.voice && a.speed == b.speed && a.format == b.format;
}

}  // namespace

/// The pieces of a draft's text, written on the engine's thread and read on the session's.
class Foresight::Pieces : public Sink {
 public:
  explicit Pieces(std::function<void()> wake) : wake_(std::move(wake)) {}
  void audio(std::span<const float>) override {}
  void text(std::string_view piece, std::span<const ScoredToken>) override {
    const std::lock_guard lock(mutex_);
    if (!wake_) return;
    news_.pieces.emplace_back(piece);
    wake_();
  }
  void finished(const Outcome& outcome) override {
    const std::lock_guard lock(mutex_);
    news_.reason = outcome.reason;
    if (wake_) wake_();
  }
  struct News {
    std::vector<std::string> pieces;
    /// The reason why the draft ended; unset while the draft is being written.
    std::optional<FinishReason> reason;
  };
  News take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(news_, {});
  }
  /// Wakes the session's thread although no new text has arrived.
  void nudge() {
    const std::lock_guard lock(mutex_);
    if (wake_) wake_();
  }
  void detach() {
    const std::lock_guard lock(mutex_);
    wake_ = nullptr;
  }

 private:
  std::mutex mutex_;
  std::function<void()> wake_;
  News news_;
};

Foresight::Foresight(ForesightCast cast)
    : cast_(std::move(cast)), seed_(random_seed()), drafting_(cast_.how.drafts) {}

Foresight::~Foresight() {
  stop_round();
  drop_voice();
  drafting_.give_up();
  if (!cast_.counters) return;
  PredictionCounters& sum = *cast_.counters;
  const DraftCounts& counts = drafting_.counts();
  sum.turns.add();
  if (ready_) sum.ready.add();
  sum.drafts.add(counts.drafts);
  sum.drafted.add(counts.drafted);
  sum.accepted.add(counts.accepted);
  sum.wasted.add(counts.wasted);
}

// ---------------------------------------------------------------------------- the question

void Foresight::hear(bool pauses) {
  changed_ = true;
  pauses_ = pauses;
  draft_on();
}

/// Begins a draft for the known part of the question, if a draft may begin now.
void Foresight::draft_on() {
  if (!changed_ || check_ || asked_s_ > 0 || !drafting_.may_begin(pauses_)) return;
  changed_ = false;
  stop_round();
  BeginAnswer question = cast_.question();
  config_ = std::move(question.config);
  const PipelineInfo& info = cast_.writer->info();
  ChatAbility ability = ChatAbility::of(info);
  ability.find_answer = find_among(std::move(question.answers));
  check_ = ChatCheck::begin(question.body, std::move(ability), cast_.post, cast_.wake);
}

void Foresight::stop_round() {
  check_.reset();
  next_.reset();
  drop_reflection();
  if (pieces_) {
    for (const std::string& piece : pieces_->take().pieces) drafting_.wrote(piece);
    pieces_->detach();
  }
  pieces_.reset();
  if (reading_) cast_.writer->cancel(*std::exchange(reading_, std::nullopt));
  drafting_.end();
}

void Foresight::prepare(ChatCall& call) {
  tools_.emplace(std::move(call.tool_names));
  sentences_ = SentenceStream(cast_.sentence);
  said_.clear();
  met_ = false;
  round_s_ = now_s();
  drafting_.begin();
  pieces_ = std::make_shared<Pieces>(cast_.wake);
  SpeechRequest& request = next_.emplace(std::move(call.request));
  if (request.writing.chat) {
    request.writing.chat =
        std::make_shared<const Chat>(hinted(*request.writing.chat, cast_.how.hint));
  }
  request.terms.client = cast_.client;
  request.sampling.seed = seed_;
  request.terms.background = true;
  const int most = drafting_.most_tokens();
  request.writing.max_tokens =
      request.writing.max_tokens > 0 ? std::min(request.writing.max_tokens, most) : most;
  reflect(request);
}

/// If a draft exists and the rule is "reflection", asks the model whether the draft is right.
void Foresight::reflect(const SpeechRequest& request) try {
  if (cast_.how.rule != DraftRule::kReflection || !request.writing.chat ||
      drafting_.guess().empty())
    return;
  if (!pieces_) pieces_ = std::make_shared<Pieces>(cast_.wake);
  reflection_ = Reflection::begin(
      request, drafting_.guess(), drafting_.guess_is_whole(), cast_.sentence,
      [this](const SpeechRequest& each, std::shared_ptr<Sink> sink) {
        return cast_.writer->submit_soon(each, std::move(sink));
      },
      [pieces = pieces_] { pieces->nudge(); });
  if (cast_.counters && !reflection_->requests().empty()) cast_.counters->reflections.add();
} catch (const std::exception&) {
  drop_reflection();  // without a judgement, the next request verifies the draft from its beginning
}

void Foresight::drop_reflection() {
  if (!reflection_) return;
  for (const RequestId id : reflection_->requests()) cast_.writer->cancel(id);
  std::exchange(reflection_, nullptr)->forget();
}

bool Foresight::settle(SpeechRequest& request) {
  size_t settled = 0;
  if (reflection_) {
    const auto known = reflection_->settled();
    if (!known) return false;
    settled = *known;
    drop_reflection();
  }
  expect(request, cast_.how, drafting_, settled);
  return true;
}

/// Submits next_; returns false while its predicted text is not ready. Ignores a refusal, because
/// the answer itself gets the same error.
bool Foresight::submit() try {
  if (!settle(*next_)) return false;
  const auto id = cast_.writer->submit_soon(*std::exchange(next_, std::nullopt), pieces_);
  if (id.ok()) {
    reading_ = id.value();
  } else {
    stop_round();
  }
  return true;
} catch (const std::exception&) {
  stop_round();
  return true;
}

bool Foresight::pump() {
  if (check_) {
    auto checked = check_->take();
    if (!checked) return false;
    check_.reset();
    if (auto* call = std::get_if<ChatCall>(&*checked)) prepare(*call);
    if (next_) submit();
    return true;
  }
  if (next_) return submit();
  if (!pieces_) return false;
  Pieces::News news = pieces_->take();
  if (news.pieces.empty() && !news.reason) return false;
  for (const std::string& piece : news.pieces) {
    if (pieces_) read(piece);
  }
  if (news.reason && pieces_) {
    const bool whole = news.reason == FinishReason::kStop;
    if (whole) {
      said_ += tools_->finish().text;
      // The draft's end completes its last sentence, but only a voice with late text speaks it.
      const bool grows = cast_.voices && cast_.voices->takes_late_text();
      if (!met_ && !said_.empty() && grows) meet_sentence(said_);
    }
    reading_.reset();
    pieces_.reset();
    drafting_.end(whole);
  }
  draft_on();
  return true;
}

void Foresight::read(std::string_view piece) {
  drafting_.wrote(piece);
  const std::string text = tools_->push(piece).text;
  said_ += text;
  if (!met_ && !text.empty()) {
    std::vector<SentenceStream::Item> certain;
    sentences_.push(text, certain);
    if (!certain.empty()) {
      const bool grows = cast_.voices && cast_.voices->takes_late_text();
      meet_sentence(grows ? certain.front().text : said_);
    }
  }
  if (drafting_.enough()) stop_round();
}

/// Begins to speak `sentence`, the complete first sentence of the draft, and holds its audio back.
void Foresight::meet_sentence(std::string sentence) {
  met_ = true;
  if (cast_.voices == nullptr || !config_.spoken) return;
  if (ahead_ && ahead_->text == sentence && spoken_alike(ahead_->config, config_)) return;
  drop_voice();
  auto options = cast_.voice(config_);
  if (!std::holds_alternative<ContextOptions>(options)) return;
  ahead_.emplace(Ahead{concat(cast_.name, "_", ++contexts_), std::move(sentence), config_,
                       now_s() - round_s_});
  cast_.voices->open_ahead(ahead_->context, std::move(std::get<ContextOptions>(options)), kAhead_s);
  cast_.voices->add_text(ahead_->context, ahead_->text);
  if (cast_.counters) cast_.counters->spoken_ahead.add();
}

void Foresight::drop_voice() {
  if (!ahead_) return;
  cast_.voices->cancel(ahead_->context);
  ahead_.reset();
  if (cast_.counters) cast_.counters->spoken_in_vain.add();
}

bool Foresight::voice_failed(const std::string& context) {
  if (!ahead_ || ahead_->context != context) return false;
  drop_voice();
  return true;
}

// ---------------------------------------------------------------------------- the answer

void Foresight::begin_answer(SpeechRequest& request) {
  stop_round();
  asked_s_ = now_s();
  request.sampling.seed = seed_;
  drafting_.begin_answer();
  reflect(request);
}

void Foresight::wrote(std::string_view piece) { drafting_.wrote(piece); }

bool Foresight::holds(const AnswerConfig& config) const {
  return ahead_ && spoken_alike(ahead_->config, config);
}

std::optional<bool> Foresight::met(std::string_view text, bool all) const {
  if (!ahead_) return false;
  if (text.starts_with(ahead_->text)) return true;
  const bool may = !all && std::string_view(ahead_->text).starts_with(text);
  return may ? std::nullopt : std::optional(false);
}

std::optional<size_t> Foresight::release(const std::string& as) {
  if (!ahead_) return {};
  const auto made_s = cast_.voices->release(ahead_->context, as);
  if (!made_s) {
    drop_voice();
    return {};
  }
  ready_ = true;
  if (cast_.counters) {
    const double saved_s = ahead_->written_s + *made_s - (now_s() - asked_s_);
    cast_.counters->saved_s.add(std::max(0.0, saved_s));
  }
  const size_t bytes = ahead_->text.size();
  ahead_.reset();
  return bytes;
}

}  // namespace syrinx
