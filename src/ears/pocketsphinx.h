// PocketSphinx as a Recogniser: American English, words with times and probabilities, partial
// hypotheses during speech. Its text is in lower case without punctuation, with more wrong words
// than a network's. It needs no download and runs six times faster than real time. Each recording
// has a decoder while it is recognised; a few host threads run the decoders in turn.
#pragma once

#include <memory>
#include <string>

#include "ears/recogniser.h"
#include "ears/silero.h"

namespace syrinx {

struct PocketSphinxOptions {
  std::string model_dir = "/usr/share/pocketsphinx/model/en-us";
  int threads = 0;  ///< number of host threads; 0 means one per core
  /// Limit of recordings recognised at the same time, 100 MB each; 0 means twice the threads.
  /// Unfinished recordings get at most half of the places.
  int places = 0;
  int max_waiting = 32;  ///< limit of recordings without a place; then open() returns kOverloaded
  /// Detector for recordings that are not live: silence replaces stretches of 30 s without a voice.
  std::shared_ptr<const SileroVad> vad = {};
};

/// Throws LoadError if the library or the model is not installed. Decoders are made when they are
/// first needed, and are kept. A recogniser must outlive its listeners.
std::shared_ptr<Recogniser> open_pocketsphinx(const PocketSphinxOptions& options = {});

}  // namespace syrinx
