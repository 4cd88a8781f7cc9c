#include "families/zonos/state.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <numeric>

#include "base/ascii.h"
#include "families/cut.h"
#include "families/zonos/numbers.h"
#include "io/digest.h"

namespace syrinx::zonos {
namespace {

// The authors' defaults (Zonos:zonos/{model,sampling}.py).
constexpr float kMinP = 0.1f, kRepetitionPenalty = 3.f, kGuidance = 2.f;
constexpr int kPenaltyWindow = 2;
constexpr int64_t kMaxFrames = 86 * 30;  // the model's longest, 30 s

constexpr int64_t kSpareFrames = 430;       // five seconds beyond what the text needs
constexpr int64_t kFramesPerSymbol = 20;    // slow speech: 4.3 symbols a second
constexpr size_t kSegmentBytes = 250;       // about 17 s; longer texts are cut at sentences
constexpr size_t kShortSentence = 60;       // shorter ones are spoken together with the next
constexpr int64_t kMostSymbols = 2000;      // of a segment
constexpr size_t kMostInstructions = 4096;  // bytes
constexpr float kMostGuidance = 100;

Error nothing_to_say() { return {ErrorCode::kInvalid, "there is nothing to say", "input"}; }

/// The authors' make_cond_dict (Zonos:zonos/conditioning.py); what it leaves out is unconditional.
Conditions default_conditions() {
  return {{"emotion", {0.3077, 0.0256, 0.0256, 0.0256, 0.0256, 0.0256, 0.2564, 0.3077}},
          {"fmax", {22050}},
          {"pitch_std", {20}},
          {"speaking_rate", {15}},
          {"ctc_loss", {0}},
          {"speaker_noised", {0}}};
}

/// "1,0.5" as numbers; nothing when it is none.
std::optional<std::vector<double>> parse_numbers(const std::string& text) {
  std::vector<double> out;
  const char* at = text.c_str();
  for (;;) {
    char* end = nullptr;
    const double value = std::strtod(at, &end);
    if (end == at || !(value >= -1e9 && value <= 1e9)) return std::nullopt;
    out.push_back(value);
    if (*end == '\0') return out;
    if (*end != ',') return std::nullopt;
    at = end + 1;
  }
}

DelayPattern pattern_of(const ModelConfig& config) {
  return {DelayPattern::staggered(static_cast<int>(config.codebooks)),
          {config.mask, config.eos, config.mask}};
}

uint64_t hash_of(const PrefixConditioner::Row& row) {
  Digest digest;
  digest.values(std::span(row.vector));
  return digest.key() | uint64_t{1} << 63;  // apart from symbols
}

}  // namespace

State::State(const Frontend& frontend, const SpeechRequest& request)
    : frontend_(frontend),
      conditions_(default_conditions()),
      max_frames_(request.max_frames),
      ignore_stop_(request.ignore_stop),
      spell_numbers_(request.spell_numbers.value_or(true)),
      sayings_(request.sayings),
      lexicon_(request.lexicon),
      text_(kSegmentBytes, request.text_open, kShortSentence),
      streams_(pattern_of(frontend.config)) {
  sampling_.temperature = request.temperature.value_or(1.f);
  sampling_.top_k = request.top_k.value_or(0);
  sampling_.top_p = request.top_p.value_or(1.f);
  sampling_.min_p = request.min_p.value_or(kMinP);
  sampling_.repetition_penalty = request.repetition_penalty.value_or(kRepetitionPenalty);
  sampling_.penalty_window = kPenaltyWindow;
  sampling_.penalty_each = true;
}

Result<std::unique_ptr<Sequence>> State::open(const Frontend& frontend,
                                              const SpeechRequest& request) {
  std::unique_ptr<State> state(new State(frontend, request));
  if (!request.text_in_prompt.value_or(true)) {
    return Error{ErrorCode::kUnsupported, "this model reads its text before it speaks",
                 "text_in_prompt"};
  }
  const float scale = request.guidance.value_or(kGuidance);
  if (!(scale >= 0 && scale <= kMostGuidance)) {
    return Error{ErrorCode::kInvalid, "guidance must lie in 0 to 100", "guidance"};
  }
  if (scale != 1) state->guidance_ = scale;
  for (const Status& status : {state->set_voice(request), state->set_language(request.language),
                               state->set_conditions(request)}) {
    if (!status.ok()) return status.error();
  }
  if (is_blank(request.text) && !request.text_open) return nothing_to_say();
  const Status taken = state->take(request.text, !request.text_open);
  if (!taken.ok()) return taken.error();
  state->begin_segment();
  return std::unique_ptr<Sequence>(std::move(state));
}

Status State::set_voice(const SpeechRequest& request) {
  Result<std::vector<double>> vector =
      speaker_vector(frontend_.speakers, frontend_.speaker_width, request);
  if (!vector) return vector.error();
  if (!vector.value().empty()) conditions_["speaker"] = vector.take();
  return ok_status();
}

Status State::set_language(const std::string& language) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kShort{{{"", "en-us"},
                                                                                 {"auto", "en-us"},
                                                                                 {"en", "en-us"},
                                                                                 {"fr", "fr-fr"},
                                                                                 {"zh", "cmn"},
                                                                                 {"no", "nb"}}};
  language_ = lower_ascii(language);
  for (const auto& [from, to] : kShort) {
    if (language_ == from) {
      language_ = to;
      break;
    }
  }
  const auto found = std::find(languages().begin(), languages().end(), language_);
  if (found == languages().end() || language_ == "ja") {
    return Error{ErrorCode::kUnsupported,
                 language_ == "ja" ? "Japanese needs a reading of its characters that is not there"
                                   : "the language \"" + language +
                                         "\" is not known; it is a code such as en-us, de, fr-fr",
                 "language"};
  }
  conditions_["language_id"] = {static_cast<double>(found - languages().begin())};
  return ok_status();
}

/// "pitch_std=45 emotion=1,0,0,0,0,0,0,0 fmax=none": conditions by name, apart by spaces.
Status State::set_conditions(const SpeechRequest& request) {
  const std::string& text = request.instructions;
  const auto fault = [](const std::string& what) {
    return Error{ErrorCode::kInvalid, what, "instructions"};
  };
  if (text.size() > kMostInstructions) return fault("the instructions are too long");
  for (size_t at = text.find_first_not_of(" \t\n;"); at != text.npos;) {
    const size_t end = std::min(text.find_first_of(" \t\n;", at), text.size());
    const std::string item = text.substr(at, end - at);
    at = text.find_first_not_of(" \t\n;", end);
    const size_t equals = item.find('=');
    const std::string name = item.substr(0, equals);
    const auto& known = frontend_.conditioner.config();
    const auto found = std::find_if(known.begin(), known.end(), [&](const ConditionerConfig& c) {
      return c.name == name && c.kind != ConditionerConfig::kPhonemes && name != "speaker" &&
             name != "language_id";
    });
    if (equals == item.npos || found == known.end()) {
      return fault("expected conditions such as pitch_std=45 or emotion=1,0,0,0,0,0,0,0, got \"" +
                   item + "\"");
    }
    const std::string value = item.substr(equals + 1);
    if (value == "none" && found->learned) {
      conditions_.erase(name);
      continue;
    }
    const auto numbers = parse_numbers(value);
    if (!numbers || static_cast<int64_t>(numbers->size()) != found->inputs) {
      return fault(name + " takes " + std::to_string(found->inputs) + " number" +
                   (found->inputs == 1 ? "" : "s") + ", got \"" + value + "\"");
    }
    for (const double x : *numbers) {
      if (x < found->min || x > found->max) {
        return fault(name + " lies in " + std::to_string(found->min) + " to " +
                     std::to_string(found->max));
      }
    }
    conditions_[name] = *numbers;
  }
  if (auto& emotion = conditions_["emotion"]; !emotion.empty()) {
    const double sum = std::accumulate(emotion.begin(), emotion.end(), 0.0);
    if (!(sum > 0)) return fault("emotion: the numbers must not all be 0");
    for (double& x : emotion) x /= sum;
  }
  return ok_status();
}

/// Of the segment that came last: what the request asks for, and words of its lexicon besides.
std::vector<Saying> State::sayings_in(std::string_view part) const {
  std::vector<Saying> known;
  if (lexicon_) lexicon_->find(part, known);
  return joined(within(sayings_, text_.begin(), static_cast<int64_t>(part.size())),
                std::move(known));
}

Status State::take(std::string_view text, bool last) {
  const Phonemize phonemize = [this](std::string_view plain, std::string_view language) {
    return frontend_.phonemize(spell_numbers_ ? normalize_numbers(plain) : std::string(plain),
                               language);
  };
  text_.push(text, last);
  for (std::string part = text_.next(); !part.empty(); part = text_.next()) {
    const Result<std::string> said = say_phonemes(phonemize, part, language_, sayings_in(part));
    if (!said.ok()) return said.error();
    std::vector<int32_t> ids = symbol_ids(said.value());
    if (static_cast<int64_t>(ids.size()) > kMostSymbols) {
      return Error{ErrorCode::kInvalid,
                   "a sentence has " + std::to_string(ids.size()) + " phonemes, at most " +
                       std::to_string(kMostSymbols) + " can be spoken at once",
                   "input"};
    }
    waiting_.push_back(std::move(ids));
  }
  return ok_status();
}

/// The next segment's prompt; false when no text waits.
bool State::begin_segment() {
  frames_before_ += std::max(streams_.end_frame(), 0);
  phonemes_.clear();
  if (!waiting_.empty()) {
    phonemes_ = std::move(waiting_.front());
    waiting_.pop_front();
  }
  prefix_ = frontend_.conditioner.rows(phonemes_, conditions_, false);
  if (guidance_) companion_ = frontend_.conditioner.rows(phonemes_, conditions_, true);
  streams_.restart(max_steps() + 1);  // steps then allocate nothing
  return !phonemes_.empty();
}

Status State::append_text(std::string_view text, bool last) {
  if (!text_.open()) {
    return Error{ErrorCode::kInvalid, "the text of this request is complete", "input"};
  }
  const Status taken = take(text, last);
  if (!taken.ok()) return taken;
  // A sentence is certain once a letter after it is there, so what comes last is never nothing.
  if (ready() || begin_segment() || !last) return ok_status();
  return nothing_to_say();
}

int State::max_steps() const {
  const int64_t delay = frontend_.config.codebooks - 1;
  const int64_t room = frontend_.config.max_positions - prompt_rows() - delay;
  const int64_t bound = std::min(
      kMaxFrames, kSpareFrames + kFramesPerSymbol * static_cast<int64_t>(phonemes_.size()));
  const int64_t limit =
      max_frames_ > 0 ? std::max<int64_t>(1, max_frames_ - frames_before_) : bound;
  return static_cast<int>(std::max<int64_t>(1, std::min(limit, room)) + delay);
}

void State::prefix_keys(bool companion, std::vector<uint64_t>& keys) const {
  for (const PrefixConditioner::Row& row : companion ? companion_ : prefix_) {
    keys.push_back(row.phoneme >= 0 ? static_cast<uint64_t>(row.phoneme) : hash_of(row));
  }
}

SampleRule State::rule(int k) const {
  SampleRule rule;
  // A delayed codebook that has no code yet, or none any more: a mark will stand there.
  if (streams_.idle(k)) {
    rule.forced = 0;
    return rule;
  }
  // Only codebook 0 may end, and not before the first frame.
  const bool may_end = k == 0 && streams_.steps() > 0 && !ignore_stop_;
  rule.allowed[0] = {0, static_cast<int32_t>(frontend_.config.codes()) + (may_end ? 1 : 0)};
  rule.ranges = 1;
  return rule;
}

Verdict State::advance(std::span<const int32_t> codes, StepOutput& out) {
  if (!streams_.ending() && codes[0] == frontend_.config.eos) streams_.end_now();
  streams_.push(codes);
  std::array<int32_t, 64> buffer;
  const std::span frame = std::span(buffer).first(codes.size());
  if (streams_.frame(frame)) out.frame(frame);
  if (streams_.cut_at(max_steps())) return cut(end_segment());
  return streams_.done() ? end_segment() : Verdict{};
}

Verdict State::end_segment() {
  if (waiting_.empty() && !text_.open()) return {Verdict::kFinished, FinishReason::kStop};
  begin_segment();
  if (max_frames_ > 0 && frames_before_ >= max_frames_) {
    return {Verdict::kFinished, FinishReason::kLength};
  }
  return {Verdict::kNextSegment, FinishReason::kStop};
}

void State::rows(int first, bool companion, InputRows& out) const {
  const auto& prefix = companion ? companion_ : prefix_;
  for (int i = 0; i < out.count(); ++i) {
    const int pos = first + i;
    if (pos < static_cast<int>(prefix.size())) {
      out.give(i, frontend_.conditioner.vector(prefix[pos]));
      continue;
    }
    const int step = pos - static_cast<int>(prefix.size()) - 1;  // that made the column
    SYRINX_CHECK(step < streams_.steps(), "row ", pos, " of ", prefix.size(), " + 1 + ",
                 streams_.steps());
    const std::span<int32_t> codes = out.ids(i);
    for (size_t k = 0; k < codes.size(); ++k) codes[k] = streams_.at(step, static_cast<int>(k));
  }
}

}  // namespace syrinx::zonos
