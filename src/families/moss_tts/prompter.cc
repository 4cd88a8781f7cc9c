#include "families/moss_tts/prompter.h"

#include <algorithm>

#include "base/ascii.h"

namespace syrinx::moss_tts {
namespace {

constexpr std::string_view kSystem =
    "<|im_start|>system\n"
    "You are a highly expressive text-to-speech (TTS) engine developed by Mosi Intelligence. \n"
    "You possess natural language understanding, emotional modeling, and multi-style speech "
    "generation capabilities, allowing you to generate the corresponding speech based on the text "
    "given in the assistant.<|im_end|>\n";
constexpr std::string_view kVoice =
    "<|im_start|>context\n"
    "The assistant section should be synthesized using the following voice timbre:";

}  // namespace

Prompter::Prompter(const ModelConfig& config, Tokenizer tokenizer)
    : config_(config), tokenizer_(std::move(tokenizer)) {
  tokenizer_.need_id(kBegin);
  tokenizer_.need_id(kEnd);
}

void Prompter::write_row(int32_t text, std::span<const int32_t> frame,
                         std::span<int32_t> ids) const {
  ids[0] = text;
  if (frame.empty()) {
    std::ranges::fill(ids.subspan(1), config_.pad_code);
  } else {
    std::ranges::copy(frame, ids.begin() + 1);
  }
}

void Prompter::add_text(int32_t id, Prompt& out) const { write_row(id, {}, out.add_row(id)); }

void Prompter::add_fixed(std::string_view text, Prompt& out) const {
  for (const int32_t id : tokenizer_.encode(text, true)) add_text(id, out);
}

/// Adds one row per frame, first beside the ids of `text`, then beside `pad`.
void Prompter::add_frames(std::span<const int32_t> frames, std::span<const int32_t> text,
                          int32_t pad, Prompt& out) const {
  const auto width = static_cast<size_t>(config_.codebooks);
  for (size_t t = 0; t * width < frames.size(); ++t) {
    const int32_t id = t < text.size() ? text[t] : pad;
    write_row(id, frames.subspan(t * width, width), out.add_row(id));
  }
}

void Prompter::begin_frames(Prompt& out) const {
  out.row(out.size() - 1)[1] = config_.begin_code();
}

void Prompter::add_system(std::span<const int32_t> voice, Prompt& out) const {
  add_fixed(kSystem, out);
  if (voice.empty()) return;
  add_fixed(kVoice, out);
  add_frames(voice, {}, config_.audio_pad, out);
  add_fixed("<|im_end|>\n", out);
}

void Prompter::add_user(const HeardTurn& turn, Prompt& out) const {
  add_fixed("<|im_end|>\n<|im_start|>user\n", out);
  const std::vector<int32_t> text = ids(trimmed(turn.text));
  const size_t ahead = turn.codes.empty() ? text.size() : std::min(kAhead, text.size());
  for (const int32_t id : std::span(text).first(ahead)) add_text(id, out);
  if (turn.codes.empty()) return;
  begin_frames(out);
  const auto rest = std::span<const int32_t>(text).subspan(ahead);
  add_frames(turn.codes, rest, config_.text_pad, out);
  // Adds the row with the end code, and one row for each text id that is left after the frames.
  const size_t frames = turn.codes.size() / static_cast<size_t>(config_.codebooks);
  for (size_t t = frames; t < std::max(rest.size(), frames + 1); ++t) {
    add_text(t < rest.size() ? rest[t] : config_.text_pad, out);
    if (t == frames) out.row(out.size() - 1)[1] = config_.end_code();
  }
}

void Prompter::add_head(bool first, Prompt& out) const {
  if (!first) add_fixed("<|im_end|>\n", out);
  add_fixed("<|im_start|>assistant\n", out);
}

/// Adds the rows of the model's own turn, without a row for the end and without text after frames.
void Prompter::add_own(const HeardTurn& turn, bool first, Prompt& out) const {
  add_head(first, out);
  const std::vector<int32_t> text = ids(turn.text);
  const size_t ahead = std::min(kAhead, text.size());
  for (const int32_t id : std::span(text).first(ahead)) add_text(id, out);
  begin_frames(out);
  add_frames(turn.codes, std::span(text).subspan(ahead), config_.text_pad, out);
}

}  // namespace syrinx::moss_tts
