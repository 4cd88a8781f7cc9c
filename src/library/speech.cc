#include "library/speech.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <utility>

namespace syrinx {
namespace {

int32_t end_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return SYRINX_END_OF_TEXT;
    case FinishReason::kLength:
      return SYRINX_END_OF_LENGTH;
    case FinishReason::kRepetition:
      return SYRINX_END_OF_PATIENCE;
    case FinishReason::kCancelled:
    case FinishReason::kError:
      break;
  }
  return SYRINX_END_EARLY;
}

/// Returns the outcome of a speech that was not submitted.
Outcome not_begun(FinishReason reason, Error error = {}) {
  Outcome out;
  out.reason = reason;
  out.error = std::move(error);
  return out;
}

}  // namespace

SpeechQueue::SpeechQueue(int sample_rate) : sample_rate_(sample_rate) {}

SpeechQueue::~SpeechQueue() {
  if (fd_ >= 0) close(fd_);
}

/// Notifies the reader. Call it with the lock held.
void SpeechQueue::changed() {
  filled_.notify_all();
  const uint64_t one = 1;
  // The write fails only if the counter is at its maximum; the descriptor is readable then.
  if (fd_ >= 0) (void)!write(fd_, &one, sizeof one);
}

void SpeechQueue::audio(std::span<const float> samples) {
  std::lock_guard lock(mutex_);
  samples_.insert(samples_.end(), samples.begin(), samples.end());
  changed();
}

void SpeechQueue::words(std::span<const WordMark> words) {
  std::lock_guard lock(mutex_);
  words_.insert(words_.end(), words.begin(), words.end());
  changed();
}

void SpeechQueue::finished(const Outcome& outcome) {
  std::lock_guard lock(mutex_);
  if (!outcome_) outcome_ = outcome;
  changed();
}

double SpeechQueue::unread_s() const {
  std::lock_guard lock(mutex_);
  return static_cast<double>(samples_.size()) / sample_rate_;
}

bool SpeechQueue::take(double timeout_s, std::vector<float>& samples, std::vector<WordMark>& words,
                       std::optional<Outcome>& end) {
  samples.clear();
  words.clear();
  std::unique_lock lock(mutex_);
  const auto filled = [this] { return this->filled(); };
  if (timeout_s < 0) {
    filled_.wait(lock, filled);
  } else if (!filled_.wait_for(lock, std::chrono::duration<double>(timeout_s), filled)) {
    return false;
  }
  samples.swap(samples_);
  words.swap(words_);
  end = outcome_;
  uint64_t count = 0;
  // Makes the descriptor unreadable until more audio arrives.
  if (fd_ >= 0 && !outcome_) (void)!::read(fd_, &count, sizeof count);
  return true;
}

int SpeechQueue::fd() {
  std::lock_guard lock(mutex_);
  if (fd_ < 0) {
    fd_ = eventfd(filled() ? 1 : 0, EFD_NONBLOCK | EFD_CLOEXEC);
  }
  return fd_;
}

Speech::Speech(std::shared_ptr<LoadedModel> model, double speed)
    : model_(std::move(model)),
      queue_(std::make_shared<SpeechQueue>(model_->info().speech.sample_rate)),
      speed_(speed) {
  if (speed != 1)
    stretch_ = std::make_unique<TimeStretch>(model_->info().speech.sample_rate, speed);
}

Speech::~Speech() { cancel(); }

Result<std::unique_ptr<Speech>> Speech::open(std::shared_ptr<LoadedModel> model,
                                             SpeechRequest request, double speed) {
  std::unique_ptr<Speech> out(new Speech(std::move(model), speed));
  out->open_text_ = request.say.open;
  out->request_ = std::move(request);
  if (out->open_text_ && out->model_->info().speech.late_text == LateText::kNone) {
    out->request_.say.open = false;  // submitted when the text is complete
    return out;
  }
  if (auto status = out->submit(); !status) return status.error();
  return out;
}

Status Speech::submit() {
  auto id = model_->engine().submit(request_, queue_);
  if (!id) return id.error();
  id_ = id.value();
  request_ = {};
  return ok_status();
}

Status Speech::feed(std::string_view text, bool last) {
  std::lock_guard lock(mutex_);
  if (!open_text_) {
    return Error{ErrorCode::kInvalid,
                 "this speech accepts no further text; open it with text_open"};
  }
  open_text_ = !last;
  if (over_) return ok_status();  // drops the text; the reader gets the reason
  if (id_) {
    model_->engine().append_text(*id_, std::string(text), last);
    return ok_status();
  }
  const size_t most = model_->info().max_text_bytes;
  if (request_.say.text.size() + text.size() > most) {
    open_text_ = true;
    return Error{ErrorCode::kInvalid,
                 "the text is longer than the model accepts: " + std::to_string(most) + " bytes"};
  }
  request_.say.text += text;
  if (!last) return ok_status();
  auto status = submit();
  if (!status) queue_->finished(not_begun(FinishReason::kError, status.error()));
  return status;
}

void Speech::cancel() {
  std::lock_guard lock(mutex_);
  if (std::exchange(over_, true)) return;
  if (id_) {
    model_->engine().cancel(*id_);
  } else {
    queue_->finished(not_begun(FinishReason::kCancelled));
  }
}

/// Makes a chunk of the data from the queue; returns false if nothing has arrived.
bool Speech::fill_chunk() {
  const PipelineInfo& info = model_->info();
  made_.clear();
  if (!stretch_) {
    made_.swap(samples_);
  } else {
    stretch_->push(samples_, made_);
    if (ending_ && !std::exchange(flushed_, true)) stretch_->flush(made_);
  }
  words_.clear();
  for (const WordMark& mark : marks_) {
    words_.push_back({.begin = static_cast<size_t>(mark.begin),
                      .end = static_cast<size_t>(mark.end),
                      .at_s = static_cast<double>(mark.frame) / info.speech.frame_rate / speed_});
  }
  chunk_ = {.samples = made_.data(),
            .count = made_.size(),
            .sample_rate = info.speech.sample_rate,
            .reserved = 0,
            .begin_s = static_cast<double>(reported_samples_) / info.speech.sample_rate,
            .words = words_.data(),
            .word_count = words_.size()};
  reported_samples_ += static_cast<int64_t>(made_.size());
  return !made_.empty() || !words_.empty();
}

const syrinx_chunk* Speech::read(double timeout_s) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
  while (!outcome_) {
    if (ending_) {
      outcome_ = std::move(ending_);
      reported_ = {.end = end_of(outcome_->reason),
                   .underruns = outcome_->underruns,
                   .audio_s = outcome_->audio_s,
                   .first_audio_s = outcome_->first_audio_s,
                   .total_s = outcome_->total_s};
      break;
    }
    const std::chrono::duration<double> left = until - std::chrono::steady_clock::now();
    const double wait_s = timeout_s < 0 ? -1 : std::max(0.0, left.count());
    if (!queue_->take(wait_s, samples_, marks_, ending_)) return nullptr;
    if (fill_chunk()) return &chunk_;
  }
  return nullptr;
}

}  // namespace syrinx
