#include "predict/turn.h"

#include <limits>
#include <utility>

#include "base/check.h"
#include "text/silent_text.h"

namespace syrinx {

/// Receives the text that the model writes in a round.
class Turn::Draft : public Sink {
 public:
  Draft(std::shared_ptr<Turn> turn, int round) : turn_(std::move(turn)), round_(round) {}
  void audio(std::span<const float>) override {}
  void text(std::string_view piece, std::span<const ScoredToken>) override {
    const std::lock_guard lock(turn_->mutex_);
    turn_->read(round_, piece);
  }
  void finished(const Outcome& outcome) override {
    const std::lock_guard lock(turn_->mutex_);
    turn_->end_reading(round_, outcome);
  }

 private:
  const std::shared_ptr<Turn> turn_;
  const int round_;
};

/// Receives the audio of one voice. The client may never receive this audio.
class Turn::Voice : public Sink {
 public:
  Voice(std::shared_ptr<Turn> turn, int number) : turn_(std::move(turn)), number_(number) {}
  void audio(std::span<const float> samples) override {
    const std::lock_guard lock(turn_->mutex_);
    turn_->hear_audio(number_, samples);
  }
  void finished(const Outcome& outcome) override {
    const std::lock_guard lock(turn_->mutex_);
    turn_->end_voice(number_, outcome);
  }
  double unread_s() const override {
    const std::lock_guard lock(turn_->mutex_);
    return turn_->unheard_s(number_);
  }

 private:
  const std::shared_ptr<Turn> turn_;
  const int number_;
};

Turn::Turn(std::shared_ptr<Service> writer, std::shared_ptr<Service> speaker, TurnOptions options,
           std::shared_ptr<Audience> audience)
    : writer_(std::move(writer)),
      speaker_(std::move(speaker)),
      options_(std::move(options)),
      audience_(std::move(audience)),
      drafting_(options_.prediction.drafts),
      sentences_(options_.sentence) {}

std::shared_ptr<Turn> Turn::begin(std::shared_ptr<Service> writer, std::shared_ptr<Service> speaker,
                                  TurnOptions options, std::shared_ptr<Audience> audience) {
  const PipelineInfo &writes = writer->info(), &speaks = speaker->info();
  if (!writes.writes) throw LoadError(concat("'", writes.model, "' does not answer messages"));
  if (speaks.speech.late_text == LateText::kNone) {
    throw LoadError(concat("'", speaks.model, "' cannot speak a text that is still being written"));
  }
  return std::shared_ptr<Turn>(
      new Turn(std::move(writer), std::move(speaker), std::move(options), std::move(audience)));
}

// ---------------------------------------------------------------------------- the question

void Turn::hear(Chat known, bool pauses) {
  const std::lock_guard lock(mutex_);
  if (asked_ || over_ || !options_.predict) return;
  next_ = Next{drafted_chat(known, options_.prediction.hint), question_of(known)};
  pauses_ = pauses;
  draft_on();
}

void Turn::ask(Chat question) {
  const std::lock_guard lock(mutex_);
  if (asked_ || over_) return;
  asked_ = true;
  if (drafts_for(question)) return answer_with_draft();
  stop_reading();
  drafting_.begin_answer();
  read_on(question, false);
}

/// Returns whether the text of this round is the beginning of the answer to `question`. A question
/// with a hint is another one.
bool Turn::drafts_for(const Chat& question) const {
  return (reading_ || whole_) && *asking_.writing.chat == question;
}

/// Makes the round's draft the answer: sends its text, and begins its voice.
void Turn::answer_with_draft() {
  drafting_.begin_answer_with_draft();
  if (reading_) writer_->raise_priority(*reading_);
  const std::string& text = drafting_.written();
  if (!text.empty()) audience_->text(text);
  if (!first_ && may_speak()) first_ = text;
  if (first_) meet_sentence();
  if (whole_) return end_answer();
  if (first_) give_text();
}

void Turn::cancel() {
  const std::lock_guard lock(mutex_);
  fail({ErrorCode::kCancelled, "the turn was cancelled"});
}

/// Begins a draft for the newest question if a new round may begin.
void Turn::draft_on() {
  if (asked_ || over_ || !next_) return;
  if (drafts_for(next_->chat)) return next_.reset();
  const bool at_once = first_ || pauses_ || ends_within_word(known_, next_->known);
  if (!drafting_.may_begin(at_once)) return;
  stop_reading();
  drafting_.begin();
  const Next next = *std::exchange(next_, std::nullopt);
  known_ = next.known;
  read_on(next.chat, true);
}

/// Stops the round, and makes its text the guess of the next round.
void Turn::stop_reading() {
  if (reading_) writer_->cancel(*std::exchange(reading_, std::nullopt));
  drop_reflection();
  drafting_.end();
  first_.reset();
  whole_ = false;
  sentences_ = SentenceStream(options_.sentence);
  ++round_;
}

void Turn::drop_reflection() {
  if (!reflection_) return;
  for (const RequestId id : reflection_->requests()) writer_->cancel(id);
  std::exchange(reflection_, nullptr)->forget();
}

/// Submits the request that continues the draft. With reflection, waits for its result first.
void Turn::read_on(const Chat& chat, bool background) {
  const Prediction& how = options_.prediction;
  asking_ = options_.answer;
  asking_.writing.chat = std::make_shared<const Chat>(chat);
  asking_.terms.background = background;
  if (how.rule != DraftRule::kReflection || drafting_.guess().empty()) return submit(0);
  reflection_ = Reflection::begin(
      asking_, drafting_.guess(), drafting_.guess_is_whole(), options_.sentence,
      [this](const SpeechRequest& request, std::shared_ptr<Sink> sink) {
        return writer_->submit_soon(request, std::move(sink));
      },
      [turn = shared_from_this(), round = round_] {
        const std::lock_guard lock(turn->mutex_);
        turn->judged(round);
      });
  reflections_ += reflection_->requests().empty() ? 0 : 1;
  judged(round_);
}

void Turn::judged(int round) {
  if (round != round_ || over_ || !reflection_) return;
  const auto settled = reflection_->settled();
  if (!settled) return;
  drop_reflection();
  submit(*settled);
}

void Turn::submit(size_t settled) {
  expect(asking_, options_.prediction, drafting_, settled);
  const auto id =
      writer_->submit_soon(asking_, std::make_shared<Draft>(shared_from_this(), round_));
  if (id.ok()) {
    reading_ = id.value();
  } else if (asking_.terms.background) {
    drafting_.end();  // the engine refused it: other requests have precedence
  } else {
    fail(id.error());
  }
}

// ---------------------------------------------------------------------------- the answer

void Turn::read(int round, std::string_view piece) {
  if (round != round_ || over_) return;
  drafting_.wrote(piece);
  if (asked_) {
    audience_->text(piece);
  } else {
    audience_->draft(drafting_.written());
  }
  if (!first_) {
    std::vector<SentenceStream::Item> certain;
    sentences_.push(piece, certain);
    if (!certain.empty()) {
      first_ = std::move(certain.front().text);
      meet_sentence();
    }
  }
  if (!first_ && may_speak()) {
    first_ = drafting_.written();
    meet_sentence();
  }
  if (first_) give_text();
  if (drafting_.enough()) stop_reading();
  draft_on();
}

void Turn::end_reading(int round, const Outcome& outcome) {
  if (round != round_ || over_) return;
  reading_.reset();
  const bool failed =
      outcome.reason == FinishReason::kError || outcome.reason == FinishReason::kCancelled;
  if (asked_ && failed) return fail(outcome.error);
  if (asked_) return end_answer();
  whole_ = outcome.reason == FinishReason::kStop;
  if (whole_) meet_text();
  drafting_.end(whole_);
  draft_on();
}

/// Ends the text of the answer.
void Turn::end_answer() {
  meet_text();
  written_ = true;
  if (spoken_ && !spoken_->heard) drop_voice();  // the answer does not use this voice
  give_text();
  end_if_over();
}

/// Speaks a whole text that has no complete sentence.
void Turn::meet_text() {
  if (first_ || drafting_.written().empty()) return;
  first_ = drafting_.written();
  meet_sentence();
}

/// Returns whether a new voice can begin with the words so far: it takes words, and the sentence
/// that was spoken ahead will not be used soon. The answer's request must expect that sentence, so
/// that few steps verify it, and the answer must not differ from it.
bool Turn::may_speak() const {
  if (!asked_ || speaker_->info().speech.late_text != LateText::kToken) return false;
  const std::string_view answer = drafting_.written();
  if (content_of(answer) != TextContent::kWords) return false;
  if (!spoken_) return true;
  // More text than the sentence may be needed until the sentence's end is certain.
  const std::string_view ahead = spoken_->text;
  if (!asking_.writing.expected.starts_with(ahead)) return true;
  return !ahead.starts_with(answer) && !answer.starts_with(ahead);
}

/// Runs when the first sentence of the answer or a draft is complete, or when a voice may begin
/// with its first words. Speaks this text, or uses the voice that has already spoken it.
void Turn::meet_sentence() {
  const bool known = spoken_ && spoken_->text == *first_;
  if (!known) {
    drop_voice();
    spoken_ = std::make_unique<Spoken>();
    Spoken& spoken = *spoken_;
    spoken.text = *first_;
    spoken.number = ++voices_;
    spoken.given = first_->size();
    SpeechRequest request = options_.voice;
    request.say.text = *first_;
    request.say.open = true;
    request.terms.background = !asked_;
    const auto id =
        speaker_->submit_soon(request, std::make_shared<Voice>(shared_from_this(), spoken.number));
    if (!id.ok()) {
      spoken_.reset();
      if (asked_) fail(id.error());
      return;
    }
    spoken.id = id.value();
    spoken_ahead_ += asked_ ? 0 : 1;
  }
  if (!asked_) return;
  if (known) speaker_->raise_priority(spoken_->id);
  ready_ = known;
  spoken_->heard = true;
  if (!spoken_->samples.empty()) audience_->audio(spoken_->samples);
  spoken_->samples.clear();
}

/// Sends the newly written text to the voice whose audio the client receives.
void Turn::give_text() {
  if (!asked_ || over_ || !spoken_ || !spoken_->heard || spoken_->ended) return;
  const std::string& answer = drafting_.written();
  const bool more = spoken_->given < answer.size();
  if (!more && !written_) return;
  speaker_->append_text(spoken_->id, answer.substr(spoken_->given), written_);
  spoken_->given = answer.size();
}

// ---------------------------------------------------------------------------- the voice

void Turn::hear_audio(int number, std::span<const float> samples) {
  if (!spoken_ || spoken_->number != number || over_) return;
  if (spoken_->heard) return audience_->audio(samples);
  spoken_->samples.insert(spoken_->samples.end(), samples.begin(), samples.end());
}

/// Returns the client's unread seconds. Without a client: 0, or a huge number at `ahead_s` or more.
double Turn::unheard_s(int number) const {
  if (!spoken_ || spoken_->number != number) return 0;
  if (spoken_->heard) return audience_->unread_s();
  const double made_s =
      static_cast<double>(spoken_->samples.size()) / speaker_->info().speech.sample_rate;
  return made_s >= options_.ahead_s ? std::numeric_limits<double>::max() : 0;
}

void Turn::end_voice(int number, const Outcome& outcome) {
  if (!spoken_ || spoken_->number != number || over_) return;
  spoken_->ended = true;
  if (spoken_->heard && is_nothing_to_say(outcome.error)) {
    audience_->unspoken(outcome.error);
  } else if (!outcome.error.message.empty() || outcome.reason == FinishReason::kCancelled) {
    if (spoken_->heard) return fail(outcome.error);
    ++spoken_in_vain_;
    spoken_.reset();
    return;
  }
  end_if_over();
}

void Turn::drop_voice() {
  if (!spoken_) return;
  if (!spoken_->ended) speaker_->cancel(spoken_->id);
  ++spoken_in_vain_;
  spoken_.reset();
}

// ---------------------------------------------------------------------------- the end

void Turn::fail(Error error) {
  if (std::exchange(over_, true)) return;
  if (reading_) writer_->cancel(*reading_);
  drop_reflection();
  if (spoken_ && !spoken_->ended) speaker_->cancel(spoken_->id);
  if (error.message.empty()) error = {ErrorCode::kCancelled, "the turn was cancelled"};
  drafting_.give_up();
  if (spoken_ && !spoken_->heard) ++spoken_in_vain_;
  audience_->done(error, counts());
}

void Turn::end_if_over() {
  if (over_ || !written_ || (spoken_ && !spoken_->ended)) return;
  over_ = true;
  drafting_.end();
  audience_->done({}, counts());
}

TurnCounts Turn::counts() const {
  return {{drafting_.counts()}, reflections_, spoken_ahead_, spoken_in_vain_, ready_};
}

}  // namespace syrinx
