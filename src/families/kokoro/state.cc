#include "families/kokoro/state.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <string>

#include "families/kokoro/speech_stage.h"
#include "text/segment_queue.h"

namespace syrinx::kokoro {
namespace {

/// Returns a copy of a symbol that exists until the program ends. Stores each symbol once.
std::string_view lasting(const std::string& symbol) {
  static std::mutex mutex;
  static std::set<std::string> symbols;
  const std::lock_guard lock(mutex);
  return *symbols.insert(symbol).first;
}

constexpr std::string_view kStresses = "ˈˌ";
/// Frames of 25 ms by which a sound is earlier than the durations say. Measurements of voicing fit
/// phones that are 45 ms earlier; the authors (kokoro:pipeline.py) place words 75 ms earlier.
constexpr int64_t kEarlier = 2;

/// Returns the names of phones and stress marks by their ids. Pauses and spaces have no names.
std::vector<std::string_view> phone_names(const KokoroConfig& config) {
  static const std::string kSilent = ";:,.!?—…\"()“” /";
  std::vector<std::string_view> out(static_cast<size_t>(config.tokens));
  for (const auto& [symbol, id] : config.vocabulary) {
    if (kSilent.find(symbol) == std::string::npos) out[static_cast<size_t>(id)] = lasting(symbol);
  }
  return out;
}

}  // namespace

KokoroState::KokoroState(const SpeechRequest& request, const KokoroConfig& config, Script script,
                         std::shared_ptr<const VoicePack> voice)
    : config_(config),
      script_(std::move(script)),
      voice_(std::move(voice)),
      seed_(request.sampling.seed),
      speed_(request.voice.speed),
      open_(request.say.open),
      max_frames_(request.terms.max_frames),
      repeat_(request.terms.ignore_stop && request.terms.max_frames > 0) {
  if (request.terms.phone_times) phone_names_ = phone_names(config);
  sampling_.temperature = 0;  // the only code is 0, which has no meaning
}

Status KokoroState::begin(const SpeechRequest& request) {
  if (Status fault = script_.push(request.say.text, !open_); !fault.ok()) return fault;
  return next_utterance() || open_ ? ok_status() : nothing_to_say();
}

Status KokoroState::append_text(std::string_view text, bool last) {
  if (!open_) return text_is_complete();
  open_ = !last;
  if (Status fault = script_.push(text, last); !fault.ok()) return fault;
  if (!utterance_.ids.empty() || next_utterance() || !last) return ok_status();
  if (frames_before_ == 0) return nothing_to_say();
  utterance_.ids = {0};  // no utterance follows: one more step, which has only the row of id 0
  return ok_status();
}

bool KokoroState::next_utterance() {
  utterance_ = {};
  if (script_.next(utterance_)) {
    if (repeat_) spoken_.push_back(utterance_);
    return true;
  }
  if (!repeat_ || open_ || spoken_.empty()) return false;
  utterance_ = spoken_[again_++ % spoken_.size()];
  return true;
}

std::span<const float> KokoroState::style() const {
  const auto width = static_cast<size_t>(2 * config_.style);
  const size_t row = static_cast<size_t>(std::max(1, utterance_.phonemes())) - 1;
  return std::span(*voice_).subspan(row * width, width);
}

/// Sends the rows of the first `frames` frames, and the words and phones that begin in them.
void KokoroState::emit(int64_t frames, StepOutput& out) {
  const auto width = static_cast<size_t>(2 * config_.hidden);
  std::vector<float> row(width + kRowParts, 0.f);
  int64_t rise = -1;
  if (utterance_.rise >= 0) {
    rise = std::max<int64_t>(
        0,
        std::accumulate(frames_.begin(), frames_.begin() + utterance_.rise, int64_t{0}) - kEarlier);
  }
  size_t word = 0;
  std::optional<int64_t> stressed_at;  // frame of a stress, which belongs to the next vowel
  for (size_t i = 0, at = 0; i < frames_.size() && static_cast<int64_t>(at) < frames; ++i) {
    const int64_t begin =
        frames_before_ + std::max<int64_t>(0, static_cast<int64_t>(at) - kEarlier);
    for (; word < utterance_.words.size() && utterance_.words[word].place <= static_cast<int>(i);
         ++word) {
      const Utterance::Word& begun = utterance_.words[word];
      out.word({begun.begin, begun.end, begin});
    }
    const auto id = static_cast<size_t>(utterance_.ids[i]);
    if (id < phone_names_.size() && !phone_names_[id].empty()) {
      if (kStresses.find(phone_names_[id]) != kStresses.npos) {
        stressed_at = begin;
      } else {
        out.phone({phone_names_[id], stressed_at.value_or(begin)});
        stressed_at.reset();
      }
    }
    std::copy_n(features_.begin() + static_cast<std::ptrdiff_t>(i * width), width, row.begin());
    for (int32_t n = 0; n < frames_[i] && static_cast<int64_t>(at) < frames; ++n, ++at) {
      row[width + kPhonemes] = at == 0 ? static_cast<float>(utterance_.phonemes()) : 0.f;
      row[width + kRises] = static_cast<int64_t>(at) == rise ? 1.f : 0.f;
      row[width + kFrames] = at == 0 ? static_cast<float>(frames) : 0.f;
      out.row(row);
    }
  }
  frames_before_ += frames;
}

Verdict KokoroState::advance(std::span<const int32_t>, StepOutput& out) {
  int64_t frames = 0;
  for (const int32_t count : frames_) frames += count;
  const int64_t left = max_frames_ > 0 ? max_frames_ - frames_before_ : frames;
  script_.report(out);
  emit(std::min(frames, left), out);
  features_.clear(), frames_.clear();
  if (max_frames_ > 0 && frames >= left) return {Verdict::kFinished, FinishReason::kLength};
  if (next_utterance() || open_) return {Verdict::kNextSegment};
  return {Verdict::kFinished, FinishReason::kStop};
}

}  // namespace syrinx::kokoro
