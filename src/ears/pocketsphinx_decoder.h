// One decoder of PocketSphinx. It recognises one recording after another; a result does not depend
// on earlier recordings. It ends utterances as PocketSphinx's own programs do. With version 3 an
// utterance ends after a block without speech, as in pocketsphinx_continuous: both give the same
// words at the same times. With version 5 the library's endpointer finds the utterances. One thread
// at a time.
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

  /// `model_dir` contains en-us/ (acoustic model), en-us.lm.bin and cmudict-en-us.dict. Loading
  /// needs some tenths of a second and 100 MB. Throws LoadError.
  PocketSphinxDecoder(std::shared_ptr<const PocketSphinxLibrary> library,
                      const std::string& model_dir);
  ~PocketSphinxDecoder();
  PocketSphinxDecoder(const PocketSphinxDecoder&) = delete;
  PocketSphinxDecoder& operator=(const PocketSphinxDecoder&) = delete;

  /// Begins a new recording, even if the previous recording was not ended.
  void begin();
  /// Processes the next block of the recording: kBlock samples, or fewer directly before end().
  /// Returns a segment if an utterance with words has ended.
  std::optional<TranscriptSegment> hear(std::span<const int16_t> block);
  /// Ends the recording. Returns the segment of the last utterance if it has words.
  std::optional<TranscriptSegment> end();
  /// Returns the present hypothesis for the current utterance.
  std::string partial() const;

 private:
  void reset_mean();
  void start_utterance(double start_s);
  std::optional<TranscriptSegment> hear_in_stream(std::span<const int16_t> block);
  std::optional<TranscriptSegment> hear_frame(std::span<const int16_t> frame);
  std::optional<TranscriptSegment> end_utterance();

  const std::shared_ptr<const PocketSphinxLibrary> library_;
  PocketSphinxLibrary::Config* config_ = nullptr;
  PocketSphinxLibrary::Decoder* decoder_ = nullptr;
  PocketSphinxLibrary::Endpointer* endpointer_ = nullptr;  // finds the speech; version 5
  std::vector<float> first_mean_;                          // initial mean of the cepstra; version 3
  std::string first_mean_text_;                            // the same in version 5, as text
  std::vector<int16_t> frame_;    // samples of an incomplete frame; version 5
  bool in_utterance_ = false;     // between ps_start_utt() and ps_end_utt()
  bool speaks_ = false;           // whether speech was found in this utterance
  double utterance_start_s_ = 0;  // time of the utterance's first frame; 0 in version 3
  int64_t utterance_samples_ = 0, samples_ = 0;
};

}  // namespace syrinx
