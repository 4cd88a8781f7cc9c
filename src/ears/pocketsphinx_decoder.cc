#include "ears/pocketsphinx_decoder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace syrinx {
namespace {

constexpr int kFrameRate = 100;  // value of the option -frate: frames per second
constexpr int kCepstra = 13;
constexpr size_t kVadFrame = 480;  // samples of a frame of version 5's endpointer, 30 ms
// Without this limit, an utterance without pauses (music, a crowd) would use unlimited memory.
constexpr int64_t kLongestUtterance = 60 * kHearingRate;

/// Removes the number of a pronunciation variant: "read(2)" becomes "read".
std::string spelling(std::string_view word) {
  return std::string(word.substr(0, word.ends_with(')') ? word.rfind('(') : word.npos));
}

/// Returns whether `word` is a mark and not a spoken word: "<s>", "<sil>", "[NOISE]", "++UH++".
bool is_filler(std::string_view word) {
  return word.empty() || word.front() == '<' || word.front() == '[' || word.starts_with("++");
}

}  // namespace

PocketSphinxDecoder::PocketSphinxDecoder(std::shared_ptr<const PocketSphinxLibrary> library,
                                         const std::string& model_dir)
    : library_(std::move(library)) {
  const std::string acoustic = model_dir + "/en-us", language = model_dir + "/en-us.lm.bin",
                    words = model_dir + "/cmudict-en-us.dict";
  // If some of these files are missing, PocketSphinx would end the process.
  for (const std::string& path : {acoustic + "/mdef", acoustic + "/feat.params", language, words}) {
    if (!std::filesystem::exists(path)) {
      throw LoadError(concat(path, " is missing; on Debian: apt install pocketsphinx-en-us"));
    }
  }
  const PocketSphinxLibrary& ps = *library_;
  const auto free_config = ps.version() == 3 ? ps.cmd_ln_free_r : ps.ps_config_free;
  if (ps.version() == 3) {
    config_ = ps.cmd_ln_init(nullptr, ps.ps_args(), 1, "-hmm", acoustic.c_str(), "-lm",
                             language.c_str(), "-dict", words.c_str(), nullptr);
  } else if ((config_ = ps.ps_config_init(nullptr)) != nullptr) {
    ps.ps_config_set_str(config_, "hmm", acoustic.c_str());
    ps.ps_config_set_str(config_, "lm", language.c_str());
    ps.ps_config_set_str(config_, "dict", words.c_str());
  }
  if (config_ != nullptr) decoder_ = ps.ps_init(config_);
  if (decoder_ == nullptr) {
    if (config_ != nullptr) free_config(config_);
    throw LoadError(concat("PocketSphinx cannot use the model in ", model_dir));
  }
  if (ps.version() == 5) {
    first_mean_text_ = ps.ps_get_cmn(decoder_, 0);
    return;
  }
  const PocketSphinxLibrary::Features* features = ps.ps_get_feat(decoder_);
  const PocketSphinxLibrary::CepstralMean* mean =
      features->cepstra == kCepstra ? features->mean : nullptr;
  SYRINX_CHECK(mean != nullptr && mean->width == kCepstra && mean->frames == 0,
               "[pocketsphinx] feat_t has an unexpected layout");
  first_mean_.assign(mean->mean, mean->mean + mean->width);
}

PocketSphinxDecoder::~PocketSphinxDecoder() {
  const PocketSphinxLibrary& ps = *library_;
  if (in_utterance_) ps.ps_end_utt(decoder_);
  if (endpointer_ != nullptr) ps.ps_endpointer_free(endpointer_);
  ps.ps_free(decoder_);
  ps.version() == 3 ? ps.cmd_ln_free_r(config_) : ps.ps_config_free(config_);
}

/// Sets the mean of the cepstra to its value in a new decoder. ps_start_stream() resets only the
/// noise estimate.
void PocketSphinxDecoder::reset_mean() {
  const PocketSphinxLibrary& ps = *library_;
  if (ps.version() == 5) {
    ps.ps_set_cmn(decoder_, first_mean_text_.c_str());
    return;
  }
  PocketSphinxLibrary::CepstralMean& mean = *ps.ps_get_feat(decoder_)->mean;
  std::copy(first_mean_.begin(), first_mean_.end(), mean.mean);
  std::fill_n(mean.sum, mean.width, 0.f);
  mean.frames = 0;
}

void PocketSphinxDecoder::begin() {
  const PocketSphinxLibrary& ps = *library_;
  if (in_utterance_) ps.ps_end_utt(decoder_);
  in_utterance_ = speaks_ = false;
  samples_ = 0;
  reset_mean();
  ps.ps_start_stream(decoder_);
  if (ps.version() == 3) return start_utterance(0);
  frame_.clear();
  if (endpointer_ != nullptr) ps.ps_endpointer_free(endpointer_);
  // A window of 0.3 s, a share of 0.9 of it, and the least strict mode: the program's defaults.
  endpointer_ = ps.ps_endpointer_init(0, 0, 0, kHearingRate, 0);
  SYRINX_CHECK(endpointer_ != nullptr, "[pocketsphinx] cannot make an endpointer");
}

void PocketSphinxDecoder::start_utterance(double start_s) {
  const bool started = library_->ps_start_utt(decoder_) == 0;
  SYRINX_CHECK(started, "[pocketsphinx] cannot begin an utterance");
  in_utterance_ = true;
  utterance_start_s_ = start_s;
  utterance_samples_ = 0;
}

std::optional<TranscriptSegment> PocketSphinxDecoder::hear(std::span<const int16_t> block) {
  SYRINX_CHECK(block.size() <= kBlock, "unexpected block of ", block.size(), " samples");
  if (block.empty()) return {};
  samples_ += static_cast<int64_t>(block.size());
  if (library_->version() == 3) return hear_in_stream(block);
  frame_.insert(frame_.end(), block.begin(), block.end());
  std::optional<TranscriptSegment> out;  // a block is too short for the ends of two utterances
  size_t at = 0;
  for (; at + kVadFrame <= frame_.size(); at += kVadFrame) {
    auto segment = hear_frame(std::span(frame_).subspan(at, kVadFrame));
    if (segment) out = std::move(segment);
  }
  frame_.erase(frame_.begin(), frame_.begin() + static_cast<ptrdiff_t>(at));
  return out;
}

/// Processes a block with version 3, which reports whether the block has speech.
std::optional<TranscriptSegment> PocketSphinxDecoder::hear_in_stream(
    std::span<const int16_t> block) {
  const PocketSphinxLibrary& ps = *library_;
  SYRINX_CHECK(in_utterance_, "unexpected block of a recording that has ended");
  ps.ps_process_raw(decoder_, block.data(), block.size(), 0, 0);
  const bool speech = ps.ps_get_in_speech(decoder_) != 0;
  if (speech) speaks_ = true;
  if (speaks_) utterance_samples_ += static_cast<int64_t>(block.size());
  if (!speaks_ || (speech && utterance_samples_ < kLongestUtterance)) return {};
  auto out = end_utterance();
  start_utterance(0);
  return out;
}

/// Processes a frame with version 5, whose endpointer returns the frames of speech, some frames
/// late.
std::optional<TranscriptSegment> PocketSphinxDecoder::hear_frame(std::span<const int16_t> frame) {
  const PocketSphinxLibrary& ps = *library_;
  SYRINX_CHECK(endpointer_ != nullptr, "unexpected frame of a recording that has ended");
  const int16_t* speech = ps.ps_endpointer_process(endpointer_, frame.data());
  if (speech == nullptr) return {};
  if (!in_utterance_) start_utterance(ps.ps_endpointer_speech_start(endpointer_));
  speaks_ = true;
  ps.ps_process_raw(decoder_, speech, frame.size(), 0, 0);
  utterance_samples_ += static_cast<int64_t>(frame.size());
  const bool goes_on = ps.ps_endpointer_in_speech(endpointer_) != 0;
  if (goes_on && utterance_samples_ < kLongestUtterance) return {};
  const double end_s = utterance_start_s_ + static_cast<double>(utterance_samples_) / kHearingRate;
  auto out = end_utterance();
  if (goes_on) start_utterance(end_s);
  return out;
}

std::optional<TranscriptSegment> PocketSphinxDecoder::end() {
  const PocketSphinxLibrary& ps = *library_;
  if (endpointer_ != nullptr) {
    size_t count = 0;
    const int16_t* rest =
        ps.ps_endpointer_end_stream(endpointer_, frame_.data(), frame_.size(), &count);
    if (in_utterance_ && rest != nullptr) ps.ps_process_raw(decoder_, rest, count, 0, 0);
    ps.ps_endpointer_free(std::exchange(endpointer_, nullptr));
  }
  return in_utterance_ ? end_utterance() : std::nullopt;
}

std::string PocketSphinxDecoder::partial() const {
  if (!in_utterance_ || !speaks_) return {};
  const char* text = library_->ps_get_hyp(decoder_, nullptr);
  return text == nullptr ? "" : text;
}

std::optional<TranscriptSegment> PocketSphinxDecoder::end_utterance() {
  const PocketSphinxLibrary& ps = *library_;
  ps.ps_end_utt(decoder_);
  in_utterance_ = false;
  utterance_samples_ = 0;
  if (!std::exchange(speaks_, false)) return {};
  const char* text = ps.ps_get_hyp(decoder_, nullptr);
  if (text == nullptr || *text == '\0') return {};
  TranscriptSegment out{.text = std::string(" ") + text, .tokens = {}};
  const double audio_s = static_cast<double>(samples_) / kHearingRate;
  const auto time_s = [&](int frame) {
    return std::min(utterance_start_s_ + static_cast<double>(frame) / kFrameRate, audio_s);
  };
  PocketSphinxLibrary::LogMath* const logmath = ps.ps_get_logmath(decoder_);
  double logprobs = 0;
  for (auto* at = ps.ps_seg_iter(decoder_); at != nullptr; at = ps.ps_seg_next(at)) {
    const std::string word = spelling(ps.ps_seg_word(at));
    if (is_filler(word)) continue;
    int first = 0, last = 0;
    ps.ps_seg_frames(at, &first, &last);
    const double probability =
        ps.logmath_exp(logmath, ps.ps_seg_prob(at, nullptr, nullptr, nullptr));
    out.words.push_back({.start_s = time_s(first),
                         .end_s = time_s(last + 1),
                         .word = word,
                         .probability = static_cast<float>(std::clamp(probability, 0.0, 1.0))});
    const double logprob = std::log(std::clamp(probability, 1e-6, 1.0));
    out.pieces.push_back({" " + word, static_cast<float>(logprob)});
    logprobs += logprob;
  }
  if (out.words.empty()) return {};
  out.start_s = out.words.front().start_s;
  out.end_s = out.words.back().end_s;
  out.avg_logprob = static_cast<float>(logprobs / static_cast<double>(out.words.size()));
  return out;
}

}  // namespace syrinx
