// One decoder of PocketSphinx: hears one recording after another, and what it makes of one does not
// depend on those before it. Its own program, pocketsphinx_continuous, reads a file in blocks and
// ends an utterance after a block without speech; so does this, and both come to the same words at
// the same times. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ears/pocketsphinx_library.h"
#include "ears/recogniser.h"

namespace syrinx {

class PocketSphinxDecoder {
 public:
  static constexpr size_t kBlock = 2048;  ///< samples, 0.128 s

  /// `model_dir` holds en-us/ (acoustic model), en-us.lm.bin and cmudict-en-us.dict. Takes some
  /// tenths of a second and 100 MB. Throws LoadError.
  PocketSphinxDecoder(std::shared_ptr<const PocketSphinxLibrary> library,
                      const std::string& model_dir);
  ~PocketSphinxDecoder();
  PocketSphinxDecoder(const PocketSphinxDecoder&) = delete;
  PocketSphinxDecoder& operator=(const PocketSphinxDecoder&) = delete;

  /// Begins with a recording, whatever became of the one before.
  void begin();
  /// The next block of it: kBlock samples, fewer only before end(). A segment when an utterance
  /// ended in which something was understood.
  std::optional<TranscriptSegment> hear(std::span<const int16_t> block);
  /// The recording is over; the segment of what was said last.
  std::optional<TranscriptSegment> end();
  /// Returns the hypothesis for the current utterance.
  std::string partial() const;

 private:
  std::optional<TranscriptSegment> end_utterance();

  const std::shared_ptr<const PocketSphinxLibrary> library_;
  PocketSphinxLibrary::Config* config_ = nullptr;
  PocketSphinxLibrary::Decoder* decoder_ = nullptr;
  std::vector<float> first_mean_;  // of the cepstra, before anything was heard
  bool in_utterance_ = false;      // between ps_start_utt() and ps_end_utt()
  bool speaks_ = false;            // a voice, in this utterance
  int64_t utterance_samples_ = 0, samples_ = 0;
};

}  // namespace syrinx
