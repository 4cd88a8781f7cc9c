// What an audio file states about its contents. Plain data.
#pragma once

#include <string>
#include <vector>

namespace syrinx {

/// A chapter of an audio file: [begin_s, end_s) in seconds.
struct AudioChapter {
  std::string title;
  double begin_s = 0, end_s = 0;
};

/// Tags and chapters of an audio file; UTF-8. Empty values are left out.
struct AudioLabels {
  std::string title = {}, album = {}, author = {};
  int track = 0;                            ///< number of the file in its album; 0: none
  std::vector<AudioChapter> chapters = {};  ///< an MP3 with more than 255 gets none
};

}  // namespace syrinx
