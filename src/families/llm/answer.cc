#include "families/llm/answer.h"

#include <algorithm>

#include "base/check.h"

namespace syrinx::llm {
namespace {

constexpr int kMostScores = 20;           // the limit of OpenAI's API
constexpr int64_t kReservedSteps = 4096;  // steps for which memory is reserved at the start

/// The largest number of guesses: from earlier ids, and from the expected text.
constexpr size_t kMostGuesses = 10, kMostExpected = 31;
/// The number of newest ids that are searched for guesses.
constexpr size_t kLookBack = 16384;
/// The number of consecutive equal ids that a match needs. A single id matches by chance too often,
/// and more than four ids do not improve the guess.
constexpr size_t kLeastAlike = 2, kMostAlike = 4;

/// Finds the longest run in `ids` that equals the end of `said`, or the last of several. Returns
/// the index of the id after it. Returns 0 if nothing matches.
size_t look_up(std::span<const int32_t> ids, std::span<const int32_t> said) {
  const size_t first = ids.size() > kLookBack ? ids.size() - kLookBack : 0;
  size_t best = 0, most = kLeastAlike - 1;
  for (size_t end = ids.size(); end-- > first + 1 && most < kMostAlike;) {
    if (ids[end - 1] != said.back()) continue;
    const size_t longest = std::min({kMostAlike, end, said.size()});
    size_t alike = 1;
    while (alike < longest && ids[end - 1 - alike] == said[said.size() - 1 - alike]) ++alike;
    if (alike > most) best = end, most = alike;
  }
  return best;
}

/// Returns the ids before the first id that is not below `known`.
std::vector<int32_t> known_ids(std::vector<int32_t> ids, int32_t known) {
  ids.erase(std::find_if(ids.begin(), ids.end(), [=](int32_t id) { return id >= known; }),
            ids.end());
  return ids;
}

/// Returns how many whole ids the first `bytes` bytes of their text contain.
size_t ids_within(const Tokenizer& tokenizer, std::span<const int32_t> ids, size_t bytes) {
  size_t count = 0, used = 0;
  for (; count < ids.size(); ++count) {
    used += tokenizer.bytes(ids[count]).size();
    if (used > bytes) break;
  }
  return count;
}

Error refused(const char* what, const char* param) {
  return {ErrorCode::kUnsupported, what, param};
}

}  // namespace

Answer::Answer(const ModelConfig& config, const Generation& generation, const Tokenizer& tokenizer,
               const SpeechRequest& request, std::vector<int32_t> prompt)
    : generation_(generation),
      tokenizer_(tokenizer),
      ids_known_(static_cast<int32_t>(std::min<int64_t>(tokenizer.size(), config.vocab))),
      ignore_stop_(request.terms.ignore_stop),
      scores_(std::min(request.writing.top_logprobs, kMostScores)),
      sampling_(generation.sampling),
      ids_(std::move(prompt)),
      known_(ids_.size()),
      prompt_rows_(static_cast<int>(ids_.size())),
      expected_(known_ids(tokenizer.encode(request.writing.expected), ids_known_)),
      instead_(known_ids(tokenizer.encode(request.writing.expected_instead), ids_known_)),
      among_(request.writing.expected_among),
      settled_(ids_within(tokenizer, expected_, request.writing.expected_settled)),
      jacobi_(std::min(request.writing.jacobi, static_cast<int>(kMostExpected))),
      text_(request.writing.stop, tokenizer.spells_bytes(),
            request.writing.chat != nullptr && tokenizer.drops_blank()) {
  SampleParams& s = sampling_;
  s.temperature = request.sampling.temperature.value_or(s.temperature);
  s.top_k = request.sampling.top_k.value_or(s.top_k);
  s.top_p = request.sampling.top_p.value_or(s.top_p);
  s.min_p = request.sampling.min_p.value_or(s.min_p);
  s.repetition_penalty = request.sampling.repetition_penalty.value_or(s.repetition_penalty);
  const int64_t room = config.max_positions - prompt_rows_;
  const int64_t wish = request.writing.max_tokens > 0 ? request.writing.max_tokens
                       : request.terms.max_frames > 0 ? request.terms.max_frames
                                                      : room;
  max_steps_ = static_cast<int>(std::max<int64_t>(1, std::min(wish, room)));
  ids_.reserve(ids_.size() + kMostExpected +
               static_cast<size_t>(std::min<int64_t>(max_steps_, kReservedSteps)));
  guess();
}

Result<std::unique_ptr<Answer>> Answer::open(const ModelConfig& config,
                                             const Generation& generation, const Prompter& prompter,
                                             const SpeechRequest& request) {
  auto prompt = request.writing.chat ? prompter.of_chat(*request.writing.chat)
                                     : prompter.of_text(request.say.text);
  if (!prompt.ok()) return prompt.error();
  for (const int32_t id : prompt.value()) {
    if (id < config.vocab) continue;
    return Error{ErrorCode::kUnsupported, "the text has a token that the model does not know",
                 request.writing.chat ? "messages" : "prompt"};
  }
  auto out = std::unique_ptr<Answer>(
      new Answer(config, generation, prompter.tokenizer(), request, prompt.take()));
  if (!request.writing.chat) return out;
  if (Status fault = out->shape(prompter, *request.writing.chat); !fault) return fault.error();
  return out;
}

/// Sets the form of an answer that must be JSON. Such an answer has no guesses, because the rules
/// of its form are known only for the next step.
Status Answer::shape(const Prompter& prompter, const Chat& chat) {
  if (chat.must_call.empty() && chat.schema.empty()) return ok_status();
  auto forms = chat.must_call.empty() ? prompter.json_of(chat) : prompter.calls_of(chat);
  if (!forms.ok()) return forms.error();
  for (const AnswerForm::One& one : forms.value()) {
    if (std::any_of(one.begins.begin(), one.begins.end(),
                    [&](int32_t id) { return id >= ids_known_; }))
      return refused("a tool's name has a token that the model does not know", "tool_choice");
  }
  form_ = AnswerForm(forms.take(), prompter.masks(ids_known_));
  if (form_.too_many())
    return refused("the names of the tools differ in too many tokens; name one tool",
                   "tool_choice");
  ids_.resize(known_);
  return ok_status();
}

void Answer::prefix_keys(bool, std::vector<uint64_t>& keys) const {
  for (const int32_t id : prompt_ids()) keys.push_back(static_cast<uint64_t>(id));
}

void Answer::step_keys(bool /*companion*/, std::vector<uint64_t>& keys) const {
  for (const int32_t id : history(0).subspan(static_cast<size_t>(prompt_rows_)))
    keys.push_back(static_cast<uint64_t>(id));
}

/// Returns the rule for the id after `guesses` guesses, as if the model had sampled these ids.
SampleRule Answer::rule_behind(int guesses) const {
  SampleRule rule;
  rule.allowed[rule.ranges++] = {0, ids_known_};
  const auto now = static_cast<size_t>(steps()), at = now + static_cast<size_t>(guesses);
  if (!form_.any_text()) {
    form_.restrict(std::span(ids_).subspan(static_cast<size_t>(prompt_rows_), at), rule);
    return rule;
  }
  if (alike_ < now || at >= expected_.size() || (among_ <= 1 && at >= settled_)) return rule;
  if (!std::equal(&expected_[now], &expected_[at], draft().begin())) return rule;
  if (at < settled_) {
    rule.forced = expected_[at];
  } else {
    rule.wanted = expected_[at], rule.wanted_among = among_;
  }
  return rule;
}

void Answer::rows(int first, bool, InputRows& out) const {
  for (int i = 0; i < out.count(); ++i) out.ids(i)[0] = id_at(first + i);
}

Verdict Answer::advance(std::span<const int32_t> codes, StepOutput& out) {
  const int32_t id = codes[0];
  take_id(id);
  const auto& ends = generation_.ends;
  if (!ignore_stop_ && std::binary_search(ends.begin(), ends.end(), id)) {
    tell(text_.finish(), out);
    return {Verdict::kFinished, FinishReason::kStop};
  }
  const int64_t begin = text_.known();
  std::string bytes = tokenizer_.is_special(id) ? "" : tokenizer_.bytes(id);
  const auto whole = form_.take(
      std::span(ids_).subspan(static_cast<size_t>(prompt_rows_), static_cast<size_t>(steps())),
      bytes);
  if (whole) bytes.resize(*whole);
  std::string piece = text_.push(bytes);
  hold(id, begin, out.scores());
  if (whole) piece += text_.finish();
  if (whole || text_.stopped()) {
    tell(std::move(piece), out);
    return {Verdict::kFinished, FinishReason::kStop};
  }
  const bool full = static_cast<int>(known_) - prompt_rows_ >= max_steps_;
  if (full) piece += text_.finish();
  tell(std::move(piece), out);
  if (full) return {Verdict::kFinished, FinishReason::kLength};
  return {};
}

/// Adds an id. If the guesses are wrong or used up, searches for new ones.
void Answer::take_id(int32_t id) {
  const auto at = static_cast<size_t>(steps());
  if (alike_ == at && at < expected_.size() && expected_[at] == id) ++alike_;
  if (expected_at_ < expected_.size() && expected_[expected_at_] == id) {
    ++expected_at_;
  } else if (!expected_.empty()) {
    expected_at_ = expected_.size();  // no position until look_up() finds one again
  }
  if (known_ < ids_.size() && ids_[known_] == id) {
    ++known_;
  } else {
    ids_.resize(known_++);
    ids_.push_back(id);
  }
  if (known_ == ids_.size()) guess();
}

/// Guesses the next ids of the expected answer, of the other one if the answer begins like it, or
/// those of the expected answer behind a match of the newest ids.
bool Answer::guess_expected() {
  if (guess_from(expected_, expected_at_)) return true;
  if (begins_as(instead_)) return guess_from(instead_, static_cast<size_t>(steps()));
  if (const size_t found = look_up(expected_, ids_); found > 0) expected_at_ = found;
  return guess_from(expected_, expected_at_);
}

/// Guesses the ids of `text` from index `at` on. Returns false if there are none.
bool Answer::guess_from(std::span<const int32_t> text, size_t at) {
  if (at >= text.size()) return false;
  const auto guessed = text.subspan(at, std::min(kMostExpected, text.size() - at));
  ids_.insert(ids_.end(), guessed.begin(), guessed.end());
  return true;
}

/// Returns whether `text` has more ids than the answer so far, and begins with it.
bool Answer::begins_as(std::span<const int32_t> text) const {
  const auto so_far = std::span(ids_).subspan(static_cast<size_t>(prompt_rows_),
                                              static_cast<size_t>(steps()));
  return so_far.size() < text.size() && std::ranges::equal(so_far, text.first(so_far.size()));
}

void Answer::guess() {
  if (!form_.any_text()) return;
  if (guess_expected()) return;
  if (jacobi_ > 0) return fill_block();
  const size_t from = look_up(ids_, ids_);
  const size_t end = std::min(from + kMostGuesses, known_);
  for (size_t at = from; from > 0 && at < end; ++at) ids_.push_back(ids_[at]);
}

/// Fills the open positions of a block with ids of the prompt and answer. PredGen's code chooses
/// them at random. Here they are a fixed function of the ids, because any guess is allowed.
void Answer::fill_block() {
  uint64_t at = known_;
  while (ids_.size() < known_ + static_cast<size_t>(jacobi_)) {
    at = at * 6364136223846793005u + 1442695040888963407u;
    ids_.push_back(ids_[(at >> 33) % known_]);
  }
}

/// Makes one iteration of Jacobi decoding: each guess becomes the id that the row before it
/// yielded. An id is kept only if the model itself sampled it, so the text is the same as without
/// guesses.
void Answer::missed(std::span<const int32_t> codes) {
  if (jacobi_ == 0 || !form_.any_text() || expected_at_ < expected_.size()) return;
  ids_.resize(known_);
  const auto kept = std::min(codes.size(), static_cast<size_t>(jacobi_));
  ids_.insert(ids_.end(), codes.begin(), codes.begin() + static_cast<std::ptrdiff_t>(kept));
  fill_block();
}

void Answer::hold(int32_t id, int64_t begin, const StepScores* scores) {
  if (scores == nullptr) return;
  Held held{begin, std::max(begin, text_.known()), {}};
  const auto choice = [&](const ScoredId& scored) {
    return ScoredToken::Choice{tokenizer_.bytes(scored.id), scored.logprob};
  };
  held.token.drawn = {tokenizer_.bytes(id), scores->drawn.logprob};
  for (const ScoredId& each : scores->top) held.token.top.push_back(choice(each));
  held_.push_back(std::move(held));
}

/// Sends text, and the tokens whose text begins in it.
void Answer::tell(std::string text, StepOutput& out) {
  if (!text.empty()) out.text(text);
  while (!held_.empty()) {
    const Held& first = held_.front();
    if (first.begin >= text_.told() && (first.end > first.begin || text_.stopped())) break;
    out.token(std::move(held_.front().token));
    held_.pop_front();
  }
}

}  // namespace syrinx::llm
