// PocketSphinx behind the interface of recognisers: American English, words with times and
// probabilities, what seems to be said while one speaks; in small letters, without punctuation and
// with more wrong words than a network makes, but without a download and six times as fast as
// speech. Each recording has a decoder while it is heard; a few host threads run them in turn.
#pragma once

#include <memory>
#include <string>

#include "ears/recogniser.h"
#include "ears/silero.h"

namespace syrinx {

struct PocketSphinxOptions {
  std::string model_dir = "/usr/share/pocketsphinx/model/en-us";
  int threads = 0;  ///< 0: as many as cores
  /// Recordings that are heard at once, 100 MB each; 0: twice the threads. Half of them at most are
  /// for recordings of which more will come.
  int places = 0;
  int max_waiting = 32;  ///< for a place; past it open() says kOverloaded
  /// In a recording that is not live, stretches of 30 s without a voice are heard as silence.
  std::shared_ptr<const SileroVad> vad = {};
};

/// Throws LoadError where the library or the model is not installed. Decoders are made when they
/// are first needed and kept. A recogniser outlives its listeners.
std::shared_ptr<Recogniser> open_pocketsphinx(const PocketSphinxOptions& options = {});

}  // namespace syrinx
