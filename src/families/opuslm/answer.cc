#include "families/opuslm/answer.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "families/cut.h"
#include "families/opuslm/voice.h"

namespace syrinx::opuslm {
namespace {

constexpr int kWordsTopK = 30;      // espnet:espnet2/speechlm/inference_utils.py; temperature 1
constexpr int64_t kLeastWords = 1;  // from egs2/opuslm_sft_v1/speechlm1/conf/decode_general.yaml

Error unsupported(const char* what, const char* param) {
  return {ErrorCode::kUnsupported, what, param};
}

/// Returns the sampling of words: greedy as in decode_general.yaml, unless the request sets one.
SampleParams of_words(const SpeechRequest& request) {
  const bool draws = request.sampling.temperature || request.sampling.top_k ||
                     request.sampling.top_p || request.sampling.min_p;
  return asked({.temperature = draws ? 1.f : 0.f, .top_k = kWordsTopK}, request);
}

}  // namespace

Answer::Answer(const ModelConfig& config, const SpokenModel& spoken, const Prompter& prompter,
               std::unique_ptr<SpokenScript> script, const SpeechRequest& request,
               std::vector<Heard> heard)
    : config_(config),
      spoken_(spoken),
      prompter_(prompter),
      script_(std::move(script)),
      speech_(spoken.sampling_of(request)),
      words_(of_words(request)),
      guidance_(spoken.guidance_of(request)),
      max_frames_(request.terms.max_frames),
      max_tokens_(request.writing.max_tokens),
      ignore_stop_(request.terms.ignore_stop),
      aloud_(request.writing.chat && !request.writing.text_only),
      heard_(std::move(heard)),
      written_(request.writing.stop),
      rows_(config),
      prompt_(spoken.tables),
      steps_(spoken.pattern) {}

Result<std::unique_ptr<Sequence>> Answer::open(const ModelConfig& config, const SpokenModel& spoken,
                                               const Prompter& prompter,
                                               Result<std::unique_ptr<SpokenScript>> script,
                                               const SpeechRequest& request,
                                               std::vector<Heard> heard) {
  if (!script) return script.error();
  std::unique_ptr<Answer> answer(
      new Answer(config, spoken, prompter, script.take(), request, std::move(heard)));
  if (const Status begun = answer->begin(request); !begun.ok()) return begun.error();
  return std::unique_ptr<Sequence>(std::move(answer));
}

Status Answer::begin(const SpeechRequest& request) {
  Result<Rows> rows = request.task ? recognition(request) : conversation(request);
  if (!rows) return rows.error();
  const char* param = request.task ? "frames" : "messages";
  if (const Status fault = prompter_.fits(rows.value().count(), param); !fault) return fault;
  begin_phase(rows.take(), false);
  said_.reserve(static_cast<size_t>(max_steps()));
  return ok_status();
}

Result<Rows> Answer::conversation(const SpeechRequest& request) const {
  if (aloud_ && !config_.dialogue) {
    return unsupported(
        "this model answers messages only with text; it speaks only texts to read aloud",
        "modalities");
  }
  const Result<std::vector<int32_t>> voice = voice_ids(config_, prompter_, request);
  if (!voice) return voice.error();
  std::vector<int64_t> frames;
  for (const Heard& each : heard_) frames.push_back(each.frames);
  return prompter_.conversation(*request.writing.chat, aloud_, voice.value(), frames);
}

Result<Rows> Answer::recognition(const SpeechRequest& request) const {
  const auto* hearing = dynamic_cast<const Hearing*>(request.task.get());
  if (!hearing) return unsupported("this model has no such task", "task");
  if (!heard_.empty() && hearing->frames.empty()) {
    return prompter_.recognition(heard_.front().frames);
  }
  const Result<std::vector<int32_t>> ids = prompter_.ids_of(hearing->frames, "frames");
  if (!ids) return ids.error();
  return prompter_.recognition(ids.value());
}

void Answer::begin_phase(Rows rows, bool speaking) {
  speaking_ = speaking;
  rows_ = std::move(rows);
  prompt_ = rows_.delayed();
  steps_.restart(max_steps());
}

Status Answer::take(int port, const Frames& frames) {
  if (port != kHearing) return Sequence::take(port, frames);
  std::vector<int32_t> codes;
  for (const float code : frames.floats) codes.push_back(static_cast<int32_t>(code));
  if (!codes.empty()) {
    Result<std::vector<int32_t>> ids = prompter_.ids_of(codes, "recordings");
    if (!ids) return ids.error();
    rows_.tell(ids.value());
    prompt_ = rows_.delayed();  // known rows run before later rows are filled in
  }
  SYRINX_CHECK(!frames.last || rows_.known() == rows_.count(), "[opuslm] only ", rows_.known(),
               " of ", rows_.count(), " rows came");
  return ok_status();
}

int Answer::max_steps() const {
  const int64_t room = std::max<int64_t>(1, config_.max_positions - prompt_rows());
  if (!speaking_) {
    const int64_t wish = max_tokens_ > 0 ? max_tokens_ : room;
    return static_cast<int>(std::min(wish, room));
  }
  const int64_t tail = spoken_.pattern.tail();
  const int64_t limit = max_frames_ > 0
                            ? max_frames_
                            : spoken_.spare_steps + spoken_.steps_per_id * std::ssize(said_);
  return static_cast<int>(std::clamp<int64_t>(limit + tail, 1 + tail, std::max(room, 1 + tail)));
}

void Answer::prefix_keys(bool companion, std::vector<uint64_t>& keys) const {
  const auto known = static_cast<size_t>(rows_.hears() ? rows_.first_heard() : rows_.count());
  if (companion) {
    keys.insert(keys.end(), known, static_cast<uint64_t>(config_.ids.pad));
  } else {
    prompt_.append_keys(keys);
    keys.resize(known);
  }
}

SampleRule Answer::rule(int k) const {
  if (speaking_) return next_rule(spoken_, *script_, steps_, k, ignore_stop_);
  SampleRule rule;
  if (k > 0) {
    rule.forced = 0;  // the forced code is a pad
    return rule;
  }
  const auto allow = [&](int32_t begin, int32_t count) {
    rule.allowed[static_cast<size_t>(rule.ranges++)] = {begin, begin + count};
  };
  if (!ignore_stop_ && steps_.steps() >= kLeastWords) allow(config_.ids.end, 1);
  allow(config_.ids.text, 1);  // ESPnet's mask allows this id
  allow(config_.first_code, config_.words);
  return rule;
}

Verdict Answer::advance(std::span<const int32_t> codes, StepOutput& out) {
  if (speaking_) return speak(codes, out);
  steps_.push(codes);
  return write(codes[0], out);
}

Verdict Answer::write(int32_t choice, StepOutput& out) {
  const auto tell = [&](std::string_view text) {
    if (!text.empty()) out.text(text);
  };
  if (choice == config_.ids.end) {
    tell(written_.finish());
    return end_words();
  }
  const int32_t id = config_.id_of(0, choice);
  said_.push_back(id);
  tell(written_.push(prompter_.bytes(id)));
  if (written_.stopped()) {
    forget_stop();
    return said_.empty() ? Verdict{Verdict::kFinished, FinishReason::kStop} : end_words();
  }
  if (steps_.steps() < max_steps()) return {};
  tell(written_.finish());
  cut_ = true;
  return end_words();
}

/// Removes ids that contain a part of the stop string: they are neither sent nor spoken.
void Answer::forget_stop() {
  int64_t bytes = 0;
  const auto reaches_it = [&](int32_t id) {
    bytes += std::ssize(prompter_.bytes(id));
    return bytes > written_.told();
  };
  said_.erase(std::find_if(said_.begin(), said_.end(), reaches_it), said_.end());
}

/// Begins the speech of the words if the client requests speech and positions are left.
Verdict Answer::end_words() {
  const FinishReason reason = cut_ ? FinishReason::kLength : FinishReason::kStop;
  if (!aloud_) return {Verdict::kFinished, reason};
  Rows rows = std::move(rows_);
  prompter_.answered(rows, said_);
  prompter_.answer(rows, true);
  if (!prompter_.fits(rows.count(), "").ok()) return {Verdict::kFinished, FinishReason::kLength};
  const int before = prompt_rows() + static_cast<int>(std::ssize(said_));
  begin_phase(std::move(rows), true);
  return {Verdict::kNextSegment, FinishReason::kStop, before};
}

Verdict Answer::speak(std::span<const int32_t> codes, StepOutput& out) {
  script_->ends(steps_, codes);
  steps_.push(codes);
  std::array<int32_t, SpokenSequence::kMostStreams> buffer;
  const std::span frame = std::span(buffer).first(codes.size());
  if (steps_.frame(frame)) script_->emit(steps_, frame, out);
  const Verdict end{Verdict::kFinished, cut_ ? FinishReason::kLength : FinishReason::kStop};
  if (steps_.cut_at(max_steps())) return cut(end);
  return steps_.done() ? end : Verdict{};
}

void Answer::rows(int first, bool companion, InputRows& out) const {
  for (int i = 0; i < out.count(); ++i) row(first + i, companion, out.ids(i));
}

void Answer::row(int pos, bool companion, std::span<int32_t> ids) const {
  const int step = pos - prompt_rows();
  if (companion && (step < 0 || !speaking_)) {
    std::ranges::fill(ids, config_.ids.pad);
  } else if (step < 0) {
    std::ranges::copy(std::as_const(prompt_).row(pos), ids.begin());
  } else {
    SYRINX_CHECK(step < steps_.steps(), "row ", pos, " of ", prompt_rows(), " + ", steps_.steps());
    std::array<int32_t, SpokenSequence::kMostStreams> choices;
    for (size_t s = 0; s < ids.size(); ++s) choices[s] = steps_.at(step, static_cast<int>(s));
    script_->step_row(step, std::span(choices).first(ids.size()), ids);
  }
}

}  // namespace syrinx::opuslm
