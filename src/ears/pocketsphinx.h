// PocketSphinx as a Recogniser: American English, words with times and probabilities, partial
// hypotheses during speech. Its text is in small letters, without punctuation and with more wrong
// words than a network's. It needs no download and runs six times as fast as speech. Each recording
// has its own decoder while it is recognised; a few host threads run the decoders in turn.
#pragma once

#include <memory>
#include <string>

#include "ears/recogniser.h"
#include "ears/silero.h"

namespace syrinx {

struct PocketSphinxOptions {
  std::string model_dir = "/usr/share/pocketsphinx/model/en-us";
  int threads = 0;  ///< 0: as many as cores
  /// Recordings that are recognised at once, 100 MB each; 0: twice the threads. At most half of the
  /// places go to recordings of which more samples will come.
  int places = 0;
  int max_waiting = 32;  ///< recordings without a place; open() returns kOverloaded beyond it
  /// In a recording that is not live, stretches of 30 s without a voice are replaced by silence.
  std::shared_ptr<const SileroVad> vad = {};
};

/// Throws LoadError if the library or the model is not installed. Decoders are made when they
/// are first needed and kept. A recogniser outlives its listeners.
std::shared_ptr<Recogniser> open_pocketsphinx(const PocketSphinxOptions& options = {});

}  // namespace syrinx
