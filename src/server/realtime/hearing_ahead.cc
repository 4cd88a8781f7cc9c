#include "server/realtime/hearing_ahead.h"

#include <cmath>
#include <exception>
#include <utility>

#include "ears/recogniser.h"

namespace syrinx {

size_t heard_for_good(const std::optional<PipelineInfo::Stretches>& stretches, size_t samples) {
  constexpr auto kAhead = static_cast<size_t>(PipelineInfo::Stretches::kAhead_s * kHearingRate);
  if (!stretches || samples < kAhead) return 0;
  const auto whole = [](size_t some, double each_s) {
    const auto each = static_cast<size_t>(std::llround(each_s * kHearingRate));
    return each == 0 ? 0 : some / each * each;
  };
  const size_t before = whole(samples - kAhead, stretches->anew_s);
  const size_t good = before + whole(samples - kAhead - before, stretches->each_s);
  return good == 0 ? 0 : good + kAhead;
}

/// Tells from the engine's thread that the request has ended.
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
  void detach() {
    const std::lock_guard lock(mutex_);
    wake_ = nullptr;
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

HearingAhead::~HearingAhead() {
  if (ending_) ending_->detach();
  if (running_) hearer_->cancel(*running_);
}

void HearingAhead::hear() {
  more_ = true;
  begin();
}

void HearingAhead::begin() {
  if (!more_ || check_ || running_) return;
  more_ = false;
  BeginAnswer question = question_();
  ChatAbility ability = ChatAbility::of(hearer_->info());
  ability.find_answer = find_among(std::move(question.answers));
  check_ = ChatCheck::begin(question.body, std::move(ability), post_, wake_);
}

/// What is refused is not asked for: the answer itself will be told why.
void HearingAhead::submit(ChatCall& call) try {
  SpeechRequest& request = call.request;
  request.client = client_;
  request.background = request.text_only = true;
  request.max_tokens = 1;
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
  if (running_) hearer_->hurry(*running_);
}

std::function<bool()> HearingAhead::still_running() const {
  if (!running_) return [] { return false; };
  return [ending = ending_] { return !ending->came(); };
}

}  // namespace syrinx
