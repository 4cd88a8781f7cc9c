#include "families/pocket_tts/state.h"

#include <algorithm>
#include <cmath>

#include "families/cut.h"

namespace syrinx::pocket_tts {
namespace {

constexpr int64_t kMostIdsOfAChunk = 512;

}  // namespace

State::State(const ModelConfig& config, const TextReader& reader, const FlowLm& lm,
             std::shared_ptr<const VoiceRows> voice, const SpeechRequest& request)
    : config_(config),
      lm_(lm),
      voice_(std::move(voice)),
      text_(
          {.most_ids = kMostIdsOfAChunk}, request.say.open,
          [this, &reader](std::string_view chunk, int64_t) -> Result<std::vector<int32_t>> {
            TextReader::Ids read = reader.read(std::string(chunk));
            if (!read.ids.empty()) tails_.push_back(read.tail);
            return std::move(read.ids);
          },
          [&reader](std::string_view text, int64_t, bool) {
            return reader.chunks(std::string(text));
          }),
      seed_(request.sampling.seed),
      noise_scale_(std::sqrt(request.sampling.temperature.value_or(config.temperature))),
      ignore_stop_(request.terms.ignore_stop),
      max_frames_(request.terms.max_frames) {
  greedy_.temperature = 0;
}

Result<std::unique_ptr<Sequence>> State::open(const ModelConfig& config, const TextReader& reader,
                                              const FlowLm& lm,
                                              std::shared_ptr<const VoiceRows> voice,
                                              const SpeechRequest& request) {
  std::unique_ptr<State> state(new State(config, reader, lm, std::move(voice), request));
  if (Status fault = state->text_.begin(request.say.text); !fault) return fault.error();
  state->begin_chunk();
  return std::unique_ptr<Sequence>(std::move(state));
}

Status State::append_text(std::string_view text, bool last) {
  if (Status taken = text_.append(text, last); !taken) return taken;
  if (ready() || begin_chunk() || !last) return ok_status();
  return nothing_to_say();
}

/// Begins the next chunk with its prompt. Returns false if no text waits.
bool State::begin_chunk() {
  steps_before_ += steps_;
  steps_ = 0, end_step_ = -1;
  said_.clear();
  ids_.clear();
  if (text_.empty()) return false;
  ids_ = text_.next();
  tail_ = tails_.front();
  tails_.pop_front();
  const double seconds = static_cast<double>(std::ssize(ids_)) / kIdsPerSecond + kSpareSeconds;
  auto limit = static_cast<int64_t>(std::ceil(seconds * config_.frame_rate()));
  if (max_frames_ > 0) limit = std::max<int64_t>(1, max_frames_ - steps_before_);
  max_steps_ = static_cast<int>(std::min(limit, ModelConfig::kMostPositions - prompt_rows()));
  // Memory is reserved here, so that steps allocate nothing.
  said_.reserve(static_cast<size_t>(max_steps_ * config_.latent));
  return true;
}

Verdict State::end_chunk() {
  const bool more = !text_.empty() || text_.open();
  if (!more) return {Verdict::kFinished, FinishReason::kStop};
  if (max_frames_ > 0 && steps() >= max_frames_) return {Verdict::kFinished, FinishReason::kLength};
  begin_chunk();
  // As in the authors' code, each chunk is decoded with a new decoder state.
  return {.next = Verdict::kNextSegment, .kept = voice_rows(), .new_streams = true};
}

void State::rows(int first, bool, InputRows& out) const {
  for (int i = 0; i < out.count(); ++i) {
    const int pos = first + i - voice_rows();
    const auto count = static_cast<int>(std::ssize(ids_));
    if (pos < 0) {
      out.give(i, voice_->row(first + i));
    } else if (pos < count) {
      out.ids(i)[0] = ids_[static_cast<size_t>(pos)];
    } else if (pos == count) {
      out.give(i, lm_.first_latent());
    } else {
      SYRINX_CHECK(pos - count <= steps_, "latent ", pos - count, " of ", steps_);
      out.give(i, std::span(said_).subspan(static_cast<size_t>((pos - count - 1) * config_.latent),
                                           static_cast<size_t>(config_.latent)));
    }
  }
}

void State::prefix_keys(bool, std::vector<uint64_t>& keys) const {
  if (voice_) keys.insert(keys.end(), voice_->keys.begin(), voice_->keys.end());
  keys.insert(keys.end(), ids_.begin(), ids_.end());
}

SampleRule State::rule(int) const {
  SampleRule rule;
  if (ignore_stop_) rule.allowed[0] = {0, 1}, rule.ranges = 1;
  return rule;
}

Verdict State::advance(std::span<const int32_t> codes, StepOutput& out) {
  if (codes[0] == 1 && end_step_ < 0 && steps_ >= kStepsBeforeEnd) end_step_ = steps_;
  if (end_step_ >= 0 && tail_ == 0) return end_chunk();
  out.row(out.values());
  said_.insert(said_.end(), out.values().begin(), out.values().end());
  ++steps_;
  if (end_step_ >= 0 && steps_ >= end_step_ + tail_) return end_chunk();
  return steps_ < max_steps_ ? Verdict{} : cut(end_chunk());
}

}  // namespace syrinx::pocket_tts
