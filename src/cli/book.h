// `syrinx book`: speaks a whole book into files, a chapter each or all in one, and goes on where it
// was when it is begun again. Main thread.
#pragma once

#include <string>

#include "cli/commands.h"

namespace syrinx {

struct BookOptions {
  LoadOptions load;
  SpeechRequest request;  ///< its text is not used
  VoiceChoice voice;
  std::string text_file;  ///< "-": the standard input
  std::string output;     ///< a file, or a directory; empty: a directory named as the text
  std::string format;     ///< "wav", "mp3", ...; empty: as the output's name ends
  double volume = 1;      ///< as change_volume(); of files that are finished from now on
  bool restart = false;   ///< begin anew, whatever was spoken before
  int jobs = 4;           ///< parts that are spoken at the same time
};

/// Exit code. Throws UsageError and LoadError.
int run_book(const BookOptions& options);

}  // namespace syrinx
