#include "ears/whisper_loop.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace syrinx {
namespace {

using whisper::Heard;
using whisper::Window;

constexpr double kFrame_s = 0.01, kTimestamp_s = 0.02;
constexpr int kFramesATimestamp = 2;
constexpr auto kTailRows = static_cast<int>(WhisperOptions::kTail_s / kTimestamp_s);
constexpr float kDigitalSilence = 1e-4f;  // three steps of 16-bit samples
constexpr double kWarm = 0.5;  // text sampled at higher temperatures does not serve as context

/// Returns the result of Python's str.strip(), for ASCII.
std::string stripped(const std::string& text) {
  constexpr const char* kBlanks = " \t\n\v\f\r\x1c\x1d\x1e\x1f";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

}  // namespace

double compression_ratio(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::vector<Bytef> out(size);
  const int status =
      compress(out.data(), &size, reinterpret_cast<const Bytef*>(text.data()), text.size());
  SYRINX_CHECK(status == Z_OK, "zlib returned the error ", status);
  return static_cast<double>(text.size()) / static_cast<double>(size);
}

WhisperLoop::WhisperLoop(const whisper::Whisper& model, const WhisperOptions& options)
    : model_(model),
      options_(options),
      recording_(static_cast<int>(model.config().encoder.mels)),
      language_(options.language) {
  SYRINX_CHECK(!options_.temperatures.empty(), "[whisper_loop] the options have no temperature");
  const std::string prompt = stripped(options.prompt);
  if (!prompt.empty()) ids_ = model.tokenizer().encode(" " + prompt, false);
  prompt_size_ = ids_.size();
  if (language_.empty() && !model.generation().multilingual()) language_ = "en";
  if (options_.vad) gate_.emplace(options_.vad);
}

void WhisperLoop::hear(std::span<const float> samples, bool last) {
  recording_.push(samples, last);
  if (gate_) gate_->hear(samples);
}

/// Skips windows of digital silence or without a voice, as if the model had found them silent.
void WhisperLoop::skip_silence() {
  constexpr int64_t kHop = WhisperWindow::kHop;
  while (!asked_ && attempt_ == 0 && seek_ < recording_.frames()) {
    const int64_t end = std::min(seek_ + WhisperWindow::kFrames, recording_.frames());
    if (!recording_.closed() && end < seek_ + WhisperWindow::kFrames) return;
    const bool silent = options_.skips_silence && recording_.within(seek_, end, kDigitalSilence);
    if (!silent && (!gate_ || gate_->speaks(seek_ * kHop, end * kHop))) return;
    seek_ = end;
    recording_.forget(seek_);
  }
}

double WhisperLoop::duration_s() const {
  return static_cast<double>(recording_.samples()) / WhisperWindow::kSampleRate;
}

std::string WhisperLoop::whole() const {
  std::vector<int32_t> text;
  for (size_t i = prompt_size_; i < ids_.size(); ++i)
    if (ids_[i] < model_.generation().end) text.push_back(ids_[i]);
  return model_.tokenizer().decode(text);
}

double WhisperLoop::done_s() const {
  return std::min(static_cast<double>(alignment_ ? window_ : seek_) * kFrame_s, duration_s());
}

/// Returns whether the recording has ended within its first window.
bool WhisperLoop::short_of_a_window() const {
  return recording_.closed() && recording_.frames() < WhisperWindow::kFrames;
}

/// Returns whether a separate request must detect the language. The prompt must not influence the
/// detection. For a short recording, the detection needs silence after the recording, but the
/// window of the transcription must end with the recording.
bool WhisperLoop::finds_language() const {
  return language_.empty() && (!ids_.empty() || (short_of_a_window() && !trimmed()));
}

bool WhisperLoop::trimmed() const {
  return options_.trims && !options_.word_times && !whole_ && short_of_a_window() && seek_ == 0;
}

std::shared_ptr<FamilyTask> WhisperLoop::next(bool patient) {
  if (alignment_) return alignment_;
  skip_silence();
  const int64_t whole = seek_ + WhisperWindow::kFrames + WhisperWindow::kMargin;
  if (through() || (!recording_.closed() && (patient || recording_.frames() < whole))) return {};
  if (!asked_) asked_ = window_of(attempt_);
  return asked_;
}

std::shared_ptr<Window> WhisperLoop::window_of(int attempt) const {
  auto window = std::make_shared<Window>();
  window->audio = recording_.window(seek_);
  window->language = language_;
  window->translate = options_.translate;
  window->timestamps = options_.timestamps;
  if (trimmed()) {
    window->audio.rows =
        std::min(WhisperEncoder::kRows, (window->audio.frames + 1) / 2 + kTailRows);
  }
  if (finds_language()) {
    window->only_language = true;
    window->keep_rows = trimmed() || !short_of_a_window();
    if (!window->keep_rows) window->audio.frames = WhisperWindow::kFrames;
    return window;
  }
  window->rows = rows_;
  window->keep_rows =
      options_.word_times || attempt + 1 < static_cast<int>(options_.temperatures.size());
  window->before.assign(ids_.begin() + static_cast<int64_t>(context_from_), ids_.end());
  window->temperature = options_.temperatures[static_cast<size_t>(attempt)];
  return window;
}

std::vector<std::shared_ptr<Window>> WhisperLoop::ahead() {
  ahead_.clear();
  const auto attempts = static_cast<int>(options_.temperatures.size());
  const int end = attempt_ == 0 ? 1 : attempt_ == 1 ? std::min(3, attempts) : attempts;
  for (int i = attempt_ + 1; asked_ && i < end; ++i) ahead_.push_back(window_of(i));
  return ahead_;
}

bool WhisperLoop::looks_wrong(const Heard& heard, double compression) const {
  const bool unlikely = heard.avg_logprob() < options_.least_logprob;
  if (unlikely && heard.no_speech_prob > options_.most_no_speech) return false;  // silence
  return unlikely || compression > options_.most_compression;
}

bool WhisperLoop::looks_silent(const Heard& heard) const {
  return heard.no_speech_prob > options_.most_no_speech &&
         !(heard.avg_logprob() > options_.least_logprob);
}

std::vector<TranscriptSegment> WhisperLoop::take(int ahead) {
  if (const auto alignment = std::exchange(alignment_, nullptr)) {
    time(heard_words(model_.tokenizer(), *alignment));
    return settle();
  }
  const auto window = std::exchange(asked_, nullptr);
  SYRINX_CHECK(window, "[whisper_loop] take() was called, but next() had requested no window");
  const auto further = std::exchange(ahead_, {});
  std::vector<TranscriptSegment> out = take_window(window);
  // Once an attempt is kept, the later ones are not needed.
  for (int i = 0; attempt_ > 0 && i < ahead; ++i)
    out = take_window(further[static_cast<size_t>(i)]);
  return out;
}

/// Returns the best of a window's attempts when all of them look wrong.
WhisperLoop::Attempt WhisperLoop::best() const {
  if (!options_.keep_best) return failed_.back();
  const auto rank = [&](const Attempt& each) {
    return std::pair(each.compression <= options_.most_compression,
                     each.window->heard.avg_logprob());
  };
  return *std::max_element(failed_.begin(), failed_.end(),
                           [&](const Attempt& a, const Attempt& b) { return rank(a) < rank(b); });
}

std::vector<TranscriptSegment> WhisperLoop::take_window(std::shared_ptr<const Window> asked) {
  if (language_.empty()) language_ = asked->heard.language;
  rows_ = asked->heard.rows;
  if (asked->only_language) return {};
  ++windows_;
  std::vector<int32_t> text;
  for (const int32_t id : asked->heard.ids)
    if (!model_.generation().is_timestamp(id)) text.push_back(id);
  Attempt kept{asked, compression_ratio(stripped(model_.tokenizer().decode(text)))};
  const bool wrong = looks_wrong(asked->heard, kept.compression);
  if (trimmed() && (wrong || looks_silent(asked->heard))) {
    whole_ = true;
    rows_ = nullptr;
    if (options_.language.empty() && model_.generation().multilingual()) language_.clear();
    return {};
  }
  bool silent = false;
  if (wrong) {
    failed_.push_back(kept);
    if (attempt_ + 1 < static_cast<int>(options_.temperatures.size())) {
      ++attempt_;
      return {};
    }
    kept = best();
    silent = options_.keep_best && kept.window->heard.no_speech_prob > options_.most_no_speech;
  }
  attempt_ = 0;
  whole_ = false;
  failed_.clear();
  rows_ = nullptr;
  const Window& window = *kept.window;
  const Heard& heard = window.heard;
  if (silent || looks_silent(heard)) {
    seek_ += window.audio.frames;
    recording_.forget(seek_);
    return {};
  }
  window_ = seek_;
  cut_ = cut(window, kept.compression);
  if (!options_.word_times) return settle();
  alignment_ = alignment_of(window);
  if (alignment_) return {};
  time({});
  return settle();
}

/// Returns the alignment of a window. Returns null if the window has no text to align.
std::shared_ptr<whisper::Alignment> WhisperLoop::alignment_of(const Window& window) const {
  auto out = std::make_shared<whisper::Alignment>();
  for (const TranscriptSegment& segment : cut_.segments) {
    for (const int32_t id : segment.tokens)
      if (id < model_.generation().end) out->text.push_back(id);
  }
  out->rows = window.heard.rows;
  out->frames = window.audio.frames;
  out->language = language_;
  out->translate = options_.translate;
  return out->text.empty() || out->columns() < 1 ? nullptr : out;
}

/// Sets the times of the segments from their words, and moves the next window after the last word.
void WhisperLoop::time(std::vector<HeardWord> words) {
  std::vector<size_t> ids;
  for (const TranscriptSegment& segment : cut_.segments) {
    ids.push_back(static_cast<size_t>(
        std::count_if(segment.tokens.begin(), segment.tokens.end(),
                      [&](int32_t id) { return id < model_.generation().end; })));
  }
  const double begin_s = static_cast<double>(window_) * kFrame_s;
  const double end_s =
      time_segments({cut_.segments, ids, begin_s, last_speech_s_}, std::move(words));
  if (!cut_.to_the_end && end_s > begin_s) seek_ = std::llround(end_s / kFrame_s);
  seek_ = std::max(seek_, window_ + 1);
  last_speech_s_ = end_s;
}

std::vector<TranscriptSegment> WhisperLoop::settle() {
  std::vector<TranscriptSegment> out;
  for (TranscriptSegment& segment : cut_.segments) {
    if (segment.start_s == segment.end_s || stripped(segment.text).empty()) continue;
    ids_.insert(ids_.end(), segment.tokens.begin(), segment.tokens.end());
    out.push_back(std::move(segment));
  }
  if (!options_.condition_on_text || cut_.temperature > kWarm) context_from_ = ids_.size();
  cut_ = {};
  recording_.forget(seek_);
  return out;
}

/// Divides a window into segments, which lie between pairs of timestamps. Text after the last pair
/// is incomplete in this window, so the next window begins at that pair.
WhisperLoop::Cut WhisperLoop::cut(const Window& window, double compression) {
  const whisper::Generation& g = model_.generation();
  const std::vector<int32_t>& ids = window.heard.ids;
  const double begin_s =
      static_cast<double>(seek_ * WhisperWindow::kHop) / WhisperWindow::kSampleRate;
  const auto stretch = [&](size_t begin, size_t end, double start_s, double end_s) {
    TranscriptSegment segment{.start_s = start_s,
                              .end_s = end_s,
                              .text = {},
                              .tokens = {ids.begin() + static_cast<int64_t>(begin),
                                         ids.begin() + static_cast<int64_t>(end)},
                              .window_s = begin_s,
                              .temperature = window.temperature,
                              .avg_logprob = static_cast<float>(window.heard.avg_logprob()),
                              .compression_ratio = static_cast<float>(compression),
                              .no_speech_prob = window.heard.no_speech_prob};
    std::vector<int32_t> text;
    for (const int32_t id : segment.tokens)
      if (id < g.end) text.push_back(id);
    segment.text = model_.tokenizer().decode(text);
    for (size_t i = begin; options_.scores && i < end; ++i) {
      if (ids[i] < g.end)
        segment.pieces.push_back({model_.tokenizer().bytes(ids[i]), window.heard.logprobs[i]});
    }
    return segment;
  };
  const auto time = [&](int32_t id) { return (id - g.timestamps()) * kTimestamp_s; };
  const auto is_time = [&](size_t at) { return g.is_timestamp(ids[at]); };

  const size_t count = ids.size();
  const bool one_at_end = count >= 2 && !is_time(count - 2) && is_time(count - 1);
  Cut out{.segments = {}, .to_the_end = one_at_end, .temperature = window.temperature};
  std::vector<size_t> ends;
  for (size_t i = 1; i < count; ++i)
    if (is_time(i - 1) && is_time(i)) ends.push_back(i);
  if (ends.empty()) {
    double duration_s = window.audio.frames * kFrame_s;
    const auto last =
        std::find_if(ids.rbegin(), ids.rend(), [&](int32_t id) { return g.is_timestamp(id); });
    if (last != ids.rend() && *last != g.timestamps()) duration_s = time(*last);
    out.segments.push_back(stretch(0, count, begin_s, begin_s + duration_s));
    seek_ += window.audio.frames;
    return out;
  }
  if (one_at_end) ends.push_back(count);
  size_t begin = 0;
  for (const size_t end : ends) {
    // As in the authors' code, the first and last ids count as timestamps even if they are text.
    out.segments.push_back(
        stretch(begin, end, begin_s + time(ids[begin]), begin_s + time(ids[end - 1])));
    begin = end;
  }
  // A single timestamp at the end means that no speech follows.
  const int64_t step = one_at_end ? window.audio.frames
                                  : int64_t{ids[begin - 1] - g.timestamps()} * kFramesATimestamp;
  seek_ += step > 0 ? step : window.audio.frames;  // the next window must not be the same
  return out;
}

}  // namespace syrinx
