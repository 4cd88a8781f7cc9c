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
  config_ = ps.cmd_ln_init(nullptr, ps.ps_args(), 1, "-hmm", acoustic.c_str(), "-lm",
                           language.c_str(), "-dict", words.c_str(), nullptr);
  if (config_ != nullptr) decoder_ = ps.ps_init(config_);
  if (decoder_ == nullptr) {
    if (config_ != nullptr) ps.cmd_ln_free_r(config_);
    throw LoadError(concat("PocketSphinx cannot use the model in ", model_dir));
  }
  const PocketSphinxLibrary::Features* features = ps.ps_get_feat(decoder_);
  const PocketSphinxLibrary::CepstralMean* mean =
      features->cepstra == kCepstra ? features->mean : nullptr;
  SYRINX_CHECK(mean != nullptr && mean->width == kCepstra && mean->frames == 0,
               "[pocketsphinx] feat_t has an unexpected layout");
  first_mean_.assign(mean->mean, mean->mean + mean->width);
}

PocketSphinxDecoder::~PocketSphinxDecoder() {
  if (in_utterance_) library_->ps_end_utt(decoder_);
  library_->ps_free(decoder_);
  library_->cmd_ln_free_r(config_);
}

void PocketSphinxDecoder::begin() {
  const PocketSphinxLibrary& ps = *library_;
  if (in_utterance_) ps.ps_end_utt(decoder_);
  // ps_start_stream() resets the noise estimate, but not the mean of the cepstra. So this code sets
  // that mean to its value in a new decoder.
  PocketSphinxLibrary::CepstralMean& mean = *ps.ps_get_feat(decoder_)->mean;
  std::copy(first_mean_.begin(), first_mean_.end(), mean.mean);
  std::fill_n(mean.sum, mean.width, 0.f);
  mean.frames = 0;
  ps.ps_start_stream(decoder_);
  const bool started = ps.ps_start_utt(decoder_) == 0;
  SYRINX_CHECK(started, "[pocketsphinx] cannot begin an utterance");
  in_utterance_ = true;
  speaks_ = false;
  utterance_samples_ = samples_ = 0;
}

std::optional<TranscriptSegment> PocketSphinxDecoder::hear(std::span<const int16_t> block) {
  SYRINX_CHECK(in_utterance_ && block.size() <= kBlock, "unexpected block of ", block.size(),
               " samples");
  if (block.empty()) return {};
  const PocketSphinxLibrary& ps = *library_;
  ps.ps_process_raw(decoder_, block.data(), block.size(), 0, 0);
  samples_ += static_cast<int64_t>(block.size());
  const bool speech = ps.ps_get_in_speech(decoder_) != 0;
  if (speech) speaks_ = true;
  if (speaks_) utterance_samples_ += static_cast<int64_t>(block.size());
  if (!speaks_ || (speech && utterance_samples_ < kLongestUtterance)) return {};
  auto out = end_utterance();
  const bool started = ps.ps_start_utt(decoder_) == 0;
  SYRINX_CHECK(started, "[pocketsphinx] cannot begin an utterance");
  in_utterance_ = true;
  return out;
}

std::optional<TranscriptSegment> PocketSphinxDecoder::end() {
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
    return std::min(static_cast<double>(frame) / kFrameRate, audio_s);
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
