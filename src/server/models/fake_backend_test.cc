#include "server/models/fake_backend_test.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "model/toy/toy.h"
#include "text/segment_queue.h"

namespace syrinx {
namespace {

constexpr int kFakeRateHz = 24000;
constexpr double kChunkS = 0.08;
constexpr double kMaxUnreadS = 2;

std::chrono::duration<double> seconds(double s) { return std::chrono::duration<double>(s); }

}  // namespace

FakeBackend::FakeBackend(double step_s) : step_s_(step_s) {
  info_.family = "fake";
  info_.model = "fake-1";
  info_.speech.sample_rate = kFakeRateHz;
  info_.speech.voices = {{"low", "a low tone"}, {"High", "a high tone"}};
  info_.speech.default_voice = "low";
  info_.max_text_bytes = 20'000;
  metrics_.stages.emplace_back("ar", "cpu");
}

FakeBackend::~FakeBackend() {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, running] : running_) running.cancelled = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void FakeBackend::clone() {
  toy_ = make_toy_pipeline({.clones = true});
  info_.family = "toy";
  info_.speech.mixes = true;
  voices_ = std::make_unique<VoiceQueue>(*toy_->voice_encoder());
}

const VoiceEncoderInfo* FakeBackend::voice_encoder() const {
  return toy_ ? &toy_->voice_encoder()->info() : nullptr;
}

Result<uint64_t> FakeBackend::encode_voice(Recording recording, uint64_t client, VoiceDone done) {
  if (!voices_) return Backend::encode_voice(std::move(recording), client, std::move(done));
  if (refuse_voices_) {
    return Error{ErrorCode::kOverloaded, "many recordings are waiting", {}, 7};
  }
  if (recording.text == "slow") {
    const std::lock_guard lock(mutex_);
    slow_[next_slow_] = std::move(done);
    changed_.notify_all();
    return next_slow_++;
  }
  return voices_->encode(std::move(recording), client,
                         [this, done = std::move(done)](Result<Voice> voice) {
                           cancelled_ += voice.ok() ? 0 : 1;
                           done(std::move(voice));
                         });
}

void FakeBackend::cancel_voice(uint64_t id) {
  if (voices_) voices_->cancel(id);
  VoiceDone done;
  {
    const std::lock_guard lock(mutex_);
    const auto at = slow_.find(id);
    if (at == slow_.end()) return;
    done = std::move(at->second);
    slow_.erase(at);
  }
  ++cancelled_;
  std::thread([done = std::move(done)] {
    done(Error{ErrorCode::kCancelled, "the encoding was cancelled"});
  }).join();
}

Result<Voice> FakeBackend::voice_of_embedding(std::span<const float> embedding) const {
  return toy_ ? toy_->voice_of_embedding(embedding) : Backend::voice_of_embedding(embedding);
}

const VoiceMetrics* FakeBackend::voice_metrics() const {
  return voices_ ? &voices_->metrics() : nullptr;
}

int64_t FakeBackend::encoded() const {
  return voices_ ? static_cast<int64_t>(voices_->metrics().encoded.value()) : 0;
}
int64_t FakeBackend::cancelled() const { return cancelled_; }

Result<RequestId> FakeBackend::submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) {
  const std::lock_guard lock(mutex_);
  if (request.say.text == "busy") return Error{ErrorCode::kOverloaded, "32 requests are waiting"};
  if (request.say.text == "broken") throw std::runtime_error("the engine is broken");
  last_ = request;
  const auto id = static_cast<RequestId>(++stats_.accepted);
  Running& running = running_[id];
  running.open = request.say.open;
  running.want_s = 0.1 * static_cast<double>(request.say.text.size());
  if (request.say.text.starts_with("endless")) running.want_s = 1e9;
  if (request.say.text == "silent" || request.say.text == "fail early") running.want_s = 0;
  if (request.say.text.starts_with("mute")) running.want_s = 0;
  if (request.say.text == "fail late") running.want_s = 0.4;
  texts_.push_back(request.say.text);
  threads_.emplace_back([this, id, request, sink = std::move(sink)] { run(id, request, *sink); });
  return id;
}

void FakeBackend::run(RequestId id, const SpeechRequest& request, Sink& sink) {
  Outcome outcome;
  const double pitch_hz =
      (request.voice.name == "High" ? 440 : 110) + static_cast<double>(request.sampling.seed % 97);
  std::vector<float> chunk(static_cast<size_t>(kChunkS * kFakeRateHz));
  for (size_t at = 0; info_.speech.word_times && at < request.say.text.size();) {
    const size_t end = std::min(request.say.text.find(' ', at), request.say.text.size());
    const auto frame =
        static_cast<int64_t>(0.1 * static_cast<double>(at) * info_.speech.frame_rate);
    if (end > at) {
      outcome.words.push_back({static_cast<int64_t>(at), static_cast<int64_t>(end), frame});
    }
    at = end + 1;
  }
  if (!outcome.words.empty()) sink.words(outcome.words);
  if (request.say.text.starts_with("warn")) sink.warning("the voice has no sound for U+0263");
  for (int64_t at = 0; wants_more(id, outcome.audio_s); at += static_cast<int64_t>(chunk.size())) {
    if (!pace(id, sink)) {
      outcome.reason = FinishReason::kCancelled;
      return end(id, sink, outcome);
    }
    for (size_t i = 0; i < chunk.size(); ++i) {
      const auto t = static_cast<double>(at + static_cast<int64_t>(i)) / kFakeRateHz;
      chunk[i] = static_cast<float>(0.3 * std::sin(2 * M_PI * pitch_hz * t));
    }
    const std::array<int32_t, 2> codes{static_cast<int32_t>(outcome.frames), 7};
    if (request.say.kept) sink.answer_ids(codes);
    sink.audio(chunk);
    outcome.audio_s += kChunkS;
    ++outcome.frames;
  }
  if (request.say.text.starts_with("fail")) {
    outcome.reason = FinishReason::kError;
    outcome.error = {ErrorCode::kInternal, "a secret of the inside"};
  }
  if (request.say.text.starts_with("mute")) {
    outcome.reason = FinishReason::kError;
    outcome.error = nothing_to_say();
  }
  end(id, sink, outcome);
}

bool FakeBackend::wants_more(RequestId id, double audio_s) {
  std::unique_lock lock(mutex_);
  const Running& running = running_[id];
  changed_.wait(lock,
                [&] { return running.cancelled || !running.open || audio_s < running.want_s; });
  return running.cancelled || audio_s < running.want_s;
}

void FakeBackend::append_text(RequestId id, std::string text, bool last) {
  const std::lock_guard lock(mutex_);
  const auto at = running_.find(id);
  if (at == running_.end()) return;
  at->second.want_s += 0.1 * static_cast<double>(text.size());
  at->second.open = !last;
  texts_[id - 1] += text;
  changed_.notify_all();
}

std::vector<std::string> FakeBackend::texts() const {
  const std::lock_guard lock(mutex_);
  return texts_;
}

bool FakeBackend::pace(RequestId id, const Sink& sink) {
  std::unique_lock lock(mutex_);
  ++stats_.ar_steps;
  const bool& cancelled = running_[id].cancelled;
  changed_.wait_for(lock, seconds(step_s_), [&] { return cancelled; });
  while (!cancelled && sink.unread_s() > kMaxUnreadS) changed_.wait_for(lock, seconds(0.005));
  max_unread_s_ = std::max(max_unread_s_, sink.unread_s());
  return !cancelled;
}

void FakeBackend::end(RequestId id, Sink& sink, Outcome outcome) {
  sink.finished(outcome);
  const std::lock_guard lock(mutex_);
  running_.erase(id);
  ++stats_.finished;
  changed_.notify_all();
}

void FakeBackend::cancel(RequestId id) {
  const std::lock_guard lock(mutex_);
  if (const auto at = running_.find(id); at != running_.end()) at->second.cancelled = true;
  changed_.notify_all();
}

EngineStats FakeBackend::stats() const {
  const std::lock_guard lock(mutex_);
  EngineStats stats = stats_;
  stats.requests = static_cast<int>(running_.size());
  return stats;
}

SpeechRequest FakeBackend::last_request() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

int64_t FakeBackend::steps() const {
  const std::lock_guard lock(mutex_);
  return stats_.ar_steps;
}

double FakeBackend::max_unread_s() const {
  const std::lock_guard lock(mutex_);
  return max_unread_s_;
}

bool FakeBackend::wait_idle(double timeout_s) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, seconds(timeout_s), [this] { return running_.empty(); });
}

}  // namespace syrinx
