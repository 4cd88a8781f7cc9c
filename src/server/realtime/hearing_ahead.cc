#include "server/realtime/hearing_ahead.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "ears/recogniser.h"
#include "server/request/wire.h"

namespace syrinx {

size_t heard_for_good(const std::optional<HearingFacts::Stretches>& stretches, size_t samples) {
  constexpr auto kAhead = static_cast<size_t>(HearingFacts::Stretches::kAhead_s * kHearingRate);
  if (!stretches || samples < kAhead) return 0;
  const auto whole = [](size_t some, double each_s) {
    const auto each = static_cast<size_t>(std::llround(each_s * kHearingRate));
    return each == 0 ? 0 : some / each * each;
  };
  const size_t before = whole(samples - kAhead, stretches->anew_s);
  const size_t good = before + whole(samples - kAhead - before, stretches->each_s);
  return good == 0 ? 0 : good + kAhead;
}

/// A sink that reports, from the engine's thread, that the request has ended.
class HearingAhead::Ending : public Sink {
 public:
  explicit Ending(std::function<void()> wake) : wake_(std::move(wake)) {}
  void audio(std::span<const float>) override {}
  void finished(const Outcome&) override {
    const std::lock_guard lock(mutex_);
    came_ = true;
    if (wake_) wake_();
  }
  bool came() const {
    const std::lock_guard lock(mutex_);
    return came_;
  }
  /// Stops this sink from reporting the end of the request.
  void detach() {
    const std::lock_guard lock(mutex_);
    wake_ = nullptr;
    came_ = true;
  }

 private:
  mutable std::mutex mutex_;
  std::function<void()> wake_;
  bool came_ = false;
};

HearingAhead::HearingAhead(std::shared_ptr<Backend> hearer, uint64_t client, PostTask post,
                           std::function<BeginAnswer()> question, std::function<void()> wake)
    : hearer_(std::move(hearer)),
      client_(client),
      post_(std::move(post)),
      question_(std::move(question)),
      wake_(std::move(wake)) {}

HearingAhead::~HearingAhead() { drop(); }

void HearingAhead::drop() {
  check_.reset();
  if (ending_) ending_->detach();
  if (running_) hearer_->cancel(*running_);
  running_.reset();
}

/// Returns the question in the first `messages` messages of a chat request. The last is the turn.
HearingAhead::Question HearingAhead::question_in(const JsonIn& body, size_t messages) {
  Question out{.messages = messages};
  const JsonIn& all = body.at("messages");
  if (messages == 0 || all.size() < messages) return out;
  std::string known = body.contains("tools") ? dump_json(body.at("tools")) : "";
  for (size_t i = 0; i + 1 < messages; ++i) known += dump_json(all[i]);
  out.known = std::hash<std::string>()(known);
  const JsonIn& content = all[messages - 1].at("content");
  if (!content.is_array() || content.empty() || !content[0].contains("input_audio")) return out;
  out.turn = content[0].at("input_audio").at("data").get<std::string>();
  return out;
}

/// Returns whether `body` continues the processed question: its messages before the turn are equal,
/// and its recording begins with the turn's. Recordings are base64 texts of WAV files: the first 60
/// characters hold the header, the last 4 the padding, so both are not compared.
bool HearingAhead::serves(const JsonIn& body) const {
  constexpr size_t kHeader = 60, kPadding = 4;
  const Question now = question_in(body, heard_.messages);
  const size_t size = std::min(now.turn.size(), heard_.turn.size());
  return now.known == heard_.known && size > kHeader + kPadding &&
         now.turn.compare(kHeader, size - kHeader - kPadding, heard_.turn, kHeader,
                          size - kHeader - kPadding) == 0;
}

void HearingAhead::hear() {
  more_ = true;
  if (running_ && !serves(question_().body)) drop();
  begin();
}

void HearingAhead::begin() {
  if (!more_ || check_ || running_) return;
  more_ = false;
  BeginAnswer question = question_();
  heard_ = question_in(question.body, question.body.at("messages").size());
  ChatAbility ability = ChatAbility::of(hearer_->info());
  ability.find_answer = find_among(std::move(question.answers));
  check_ = ChatCheck::begin(question.body, std::move(ability), post_, wake_);
}

/// Submits the request. Ignores a refusal, because the answer itself gets the same error.
void HearingAhead::submit(ChatCall& call) try {
  SpeechRequest& request = call.request;
  request.terms.client = client_;
  request.terms.background = request.writing.text_only = true;
  request.writing.max_tokens = 1;
  ending_ = std::make_shared<Ending>(wake_);
  const auto id = hearer_->submit_soon(request, ending_);
  if (id.ok()) running_ = id.value();
} catch (const std::exception&) {
}

bool HearingAhead::pump() {
  if (check_) {
    auto checked = check_->take();
    if (!checked) return false;
    check_.reset();
    if (auto* call = std::get_if<ChatCall>(&*checked)) submit(*call);
    return true;
  }
  if (!running_ || !ending_->came()) return false;
  running_.reset();
  begin();
  return true;
}

void HearingAhead::finish() {
  more_ = false;
  check_.reset();
  if (!running_) return;
  if (!serves(question_().body)) return drop();
  hearer_->raise_priority(*running_);
}

std::function<bool()> HearingAhead::still_running(const JsonIn& body) {
  if (running_ && !serves(body)) drop();
  if (!running_) return [] { return false; };
  return [ending = ending_] { return !ending->came(); };
}

}  // namespace syrinx
