#include "predict/reflection.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/ascii.h"

namespace syrinx {
namespace {

constexpr int kScores = 20;  // number of scores among which "yes" and "no" are searched
constexpr const char* kQuestion =
    "Is what you said just now a right and fitting beginning of an answer to my message before "
    "it? Say one word, yes or no.";

}  // namespace

/// Receives the single token of a judgement.
class Reflection::Verdict : public Sink {
 public:
  Verdict(std::shared_ptr<Reflection> of, size_t sentence)
      : of_(std::move(of)), sentence_(sentence) {}
  void audio(std::span<const float>) override {}
  void text(std::string_view, std::span<const ScoredToken> tokens) override {
    if (!tokens.empty() && !told_) good_ = says_yes(tokens.front());
    told_ = told_ || !tokens.empty();
  }
  void finished(const Outcome&) override { of_->judged(sentence_, good_); }

 private:
  const std::shared_ptr<Reflection> of_;
  const size_t sentence_;
  bool told_ = false, good_ = false;
};

Chat judging(const Chat& chat, std::string_view beginning) {
  using Json = nlohmann::ordered_json;
  Json messages = Json::parse(chat.messages, nullptr, false);
  if (!messages.is_array()) return chat;  // the model will refuse such a chat
  messages.push_back({{"role", "assistant"}, {"content", std::string(beginning)}});
  messages.push_back({{"role", "user"}, {"content", kQuestion}});
  Chat out = chat;
  out.messages = messages.dump(-1, ' ', false, Json::error_handler_t::replace);
  return out;
}

bool says_yes(const ScoredToken& token) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  float yes = kNever, no = kNever;
  const auto look = [&](const ScoredToken::Choice& choice) {
    const std::string_view word = trimmed(choice.bytes);
    if (same_but_case(word, "yes")) yes = std::max(yes, choice.logprob);
    if (same_but_case(word, "no")) no = std::max(no, choice.logprob);
  };
  look(token.drawn);
  for (const ScoredToken::Choice& choice : token.top) look(choice);
  return yes > kNever && yes >= no;
}

std::shared_ptr<Reflection> Reflection::begin(const SpeechRequest& request,
                                              const std::string& draft, bool whole,
                                              const SentenceOptions& sentence, const Submit& submit,
                                              std::function<void()> over) {
  const std::shared_ptr<Reflection> out(new Reflection);
  std::vector<SentenceStream::Item> items;
  SentenceStream sentences(sentence);
  sentences.push(draft, items);
  if (whole) sentences.finish(items);
  for (const SentenceStream::Item& item : items) {
    if (out->ends_.size() < kMostSentences) out->ends_.push_back(item.place.end);
  }
  out->good_.resize(out->ends_.size());
  out->over_ = std::move(over);
  for (size_t i = 0; i < out->ends_.size(); ++i) {
    SpeechRequest question = request;
    question.writing.chat = std::make_shared<const Chat>(
        judging(*request.writing.chat, std::string_view(draft).substr(0, out->ends_[i])));
    question.writing.expected.clear();
    question.writing.stop.clear();
    question.sampling.temperature = 0.f;
    question.writing.max_tokens = 1;
    question.terms.ignore_stop = true;  // one token is needed, even if it ends the text
    question.writing.top_logprobs = kScores;
    question.writing.text_only = true;
    const auto id = submit(question, std::make_shared<Verdict>(out, i));
    if (id.ok()) {
      out->requests_.push_back(id.value());
      continue;
    }
    const std::lock_guard lock(out->mutex_);
    out->good_[i] = false;
  }
  const std::lock_guard lock(out->mutex_);
  out->begun_ = true;
  if (out->settled_now()) out->over_ = nullptr;
  return out;
}

std::optional<size_t> Reflection::settled_now() const {
  size_t bytes = 0;
  for (size_t i = 0; i < good_.size(); ++i) {
    if (!good_[i]) return {};
    if (!*good_[i]) return bytes;
    bytes = ends_[i];
  }
  return bytes;
}

std::optional<size_t> Reflection::settled() const {
  const std::lock_guard lock(mutex_);
  return settled_now();
}

void Reflection::judged(size_t sentence, bool good) {
  std::function<void()> over;
  {
    const std::lock_guard lock(mutex_);
    good_[sentence] = good;
    if (begun_ && settled_now()) over = std::exchange(over_, nullptr);
  }
  if (over) over();
}

void Reflection::forget() {
  const std::lock_guard lock(mutex_);
  over_ = nullptr;
}

}  // namespace syrinx
