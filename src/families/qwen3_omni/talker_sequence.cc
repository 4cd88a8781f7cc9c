#include "families/qwen3_omni/talker_sequence.h"

#include <algorithm>

#include "base/check.h"

namespace syrinx::qwen3_omni {
namespace {

constexpr int32_t kNotWritten = -1;  // replaces the thinker's first id until it has arrived

}  // namespace

TalkerSequence::TalkerSequence(const ModelConfig& config, std::span<const int32_t> ids,
                               int32_t speaker, const SampleParams& sampling, int max_frames,
                               bool ignore_stop)
    : config_(config),
      sampling_(sampling),
      ignore_stop_(ignore_stop),
      prompt_(talker_prompt(config, ids, speaker, kNotWritten)) {
  // Maps positions of the thinker to numbers of the rows that were sent.
  std::vector<int32_t> sent;
  for (size_t pos = 0; pos < ids.size(); ++pos)
    if (ids[pos] == config.text.audio) sent.push_back(static_cast<int32_t>(pos));
  rows_announced_ = std::ssize(sent);
  for (size_t i = 0; i < prompt_.size(); ++i) {
    if (prompt_[i].heard < 0) continue;
    const auto at = std::lower_bound(sent.begin(), sent.end(), prompt_[i].heard);
    prompt_[i].heard = static_cast<int32_t>(at - sent.begin());
    places_.push_back(static_cast<int32_t>(i));
  }
  const int64_t room = config.talker.max_positions - prompt_rows();
  const int64_t wish = max_frames > 0 ? max_frames : kMostFrames;
  max_steps_ = static_cast<int>(std::max<int64_t>(1, std::min(wish, room)));
  // Memory is reserved here, so that steps allocate nothing.
  firsts_.reserve(static_cast<size_t>(max_steps_));
  codes_.reserve(static_cast<size_t>(max_steps_ * config.codec.codebooks));
}

int TalkerSequence::known_rows() const {
  for (const int32_t place : places_)
    if (prompt_[static_cast<size_t>(place)].heard >= rows_heard()) return place;
  return prompt_rows() - (written_.empty() && !ended_ ? 1 : 0);
}

bool TalkerSequence::ready() const {
  if (known_rows() < prompt_rows()) return false;
  // The input of frame f's step is the row of frame f - 1.
  return frames() == 0 || talker_text(config_.text, written_, ended_, frames() - 1).has_value();
}

void TalkerSequence::prefix_keys(bool, std::vector<uint64_t>& keys) const {
  for (const TalkerRow& row : prompt_) {
    if (row.text < 0) return;  // this row's text comes later
    keys.push_back(uint64_t{static_cast<uint32_t>(row.text)} << 32 |
                   static_cast<uint32_t>(row.codec));
  }
}

SampleRule TalkerSequence::rule(int k) const {
  SampleRule rule;
  if (k > 0) return rule;
  rule.allowed[rule.ranges++] = {0, static_cast<int32_t>(config_.talker.audio_codes())};
  const int32_t end = config_.talker.codec.eos;
  if (!ignore_stop_) rule.allowed[rule.ranges++] = {end, end + 1};
  return rule;
}

Verdict TalkerSequence::advance(std::span<const int32_t> codes, StepOutput& out) {
  // Ends without a frame if the thinker has written nothing.
  if (codes[0] == config_.talker.codec.eos || written_.empty())
    return {Verdict::kFinished, FinishReason::kStop};
  out.frame(codes);
  codes_.insert(codes_.end(), codes.begin(), codes.end());
  firsts_.push_back(codes[0]);
  return {};
}

Status TalkerSequence::take(int port, const Frames& frames) {
  if (port == kHearing) {
    rows_.insert(rows_.end(), frames.floats.begin(), frames.floats.end());
    SYRINX_CHECK(rows_heard() <= rows_announced_, "[talker] got ", rows_heard(),
                 " rows, announced ", rows_announced_);
    return ok_status();
  }
  if (port != kText) return Sequence::take(port, frames);
  written_.insert(written_.end(), frames.ints.begin(), frames.ints.end());
  ended_ = ended_ || frames.last;
  if (!written_.empty()) prompt_.back().text = written_.front();
  if (written_.empty() && ended_) prompt_.back().text = config_.text.tts_eos;
  return ok_status();
}

void TalkerSequence::rows(int first, bool, InputRows& out) const {
  for (int i = 0; i < out.count(); ++i) {
    const int pos = first + i;
    GivenRow heard;
    if (pos < prompt_rows()) {
      prompt_row(pos, out.ids(i), heard);
    } else {
      frame_row(pos - prompt_rows(), out.ids(i));
    }
    if (!heard.empty()) out.give(i, heard);
  }
}

void TalkerSequence::prompt_row(int pos, std::span<int32_t> ids, GivenRow& heard) const {
  const TalkerRow& row = prompt_[static_cast<size_t>(pos)];
  ids.front() = row.codec;
  SYRINX_CHECK(row.heard >= 0 ? row.heard < rows_heard() : row.text >= 0, "[talker] row ", pos,
               " has not arrived");
  if (row.heard < 0) {
    ids.back() = row.text;
    return;
  }
  const auto width = static_cast<size_t>(config_.talker.thinker_hidden);
  heard = std::span(rows_).subspan(static_cast<size_t>(row.heard) * width, width);
}

void TalkerSequence::frame_row(int64_t frame, std::span<int32_t> ids) const {
  const int64_t width = std::ssize(ids) - 1;
  SYRINX_CHECK(frame < frames(), "[talker] no frame ", frame, " of ", frames());
  std::copy_n(codes_.begin() + frame * width, width, ids.begin());
  const std::optional<int32_t> text = talker_text(config_.text, written_, ended_, frame);
  SYRINX_CHECK(text.has_value(), "[talker] the text beside frame ", frame, " has not arrived");
  ids.back() = *text;
}

}  // namespace syrinx::qwen3_omni
