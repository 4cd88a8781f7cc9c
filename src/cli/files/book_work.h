// The unfinished files of a book: the samples spoken so far and a journal. With them a run can be
// stopped at any moment and continued later. The main thread; faults are LoadErrors; calls that
// write may throw Interrupted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "audio/make_encoder.h"

namespace syrinx {

/// The progress of a book.
struct BookPosition {
  size_t parts = 0;             ///< parts spoken, from the first on
  uint64_t samples = 0;         ///< samples of the unfinished file
  uint64_t all_samples = 0;     ///< samples of the whole book
  size_t cut_short = 0;         ///< parts that reached a bound before their end
  size_t left_out = 0;          ///< parts with words, but none that the voice can speak
  std::vector<uint64_t> marks;  ///< first sample of each chapter in the file
};

/// How the speech of a part ended.
enum class PartEnd {
  kWhole,     ///< with the part's text; also for a part without words
  kCutShort,  ///< at a bound before
  kLeftOut,   ///< the voice can speak none of the part's words
};

/// A chapter's place in a finished file.
struct BookMark {
  std::string title;
  uint64_t sample = 0;
};

/// The two unfinished files of one book.
class BookWork {
 public:
  /// Opens the files PATH.part and PATH.journal, and locks them against other processes. Continues
  /// a journal with the same `fingerprint`. A journal of another book is a LoadError, unless
  /// `restart` is set.
  BookWork(const std::string& path, std::string fingerprint, bool restart);
  ~BookWork();
  BookWork(const BookWork&) = delete;
  BookWork& operator=(const BookWork&) = delete;

  const BookPosition& place() const { return place_; }
  /// Adds a part, which is on disk when the call returns. `begins_chapter` sets a mark before it.
  void add(std::span<const float> samples, bool begins_chapter, PartEnd end);
  /// Writes the samples so far as `file` and begins an empty file. With several marks also writes a
  /// cue sheet.
  void finish_file(const std::string& file, const EncoderOptions& audio,
                   const std::vector<BookMark>& marks);
  /// Begins a new file instead of the present one, which has no samples. Removes an earlier `file`.
  void skip_file(const std::string& file);
  /// Removes both files when the book is complete.
  void finish();

 private:
  BookWork(const std::string& path, std::string fingerprint);
  void open();
  void read_journal();
  void cut_rest();
  void write_journal() const;
  void begin_file();
  std::string part_path_, journal_path_, fingerprint_;
  BookPosition place_;
  int fd_ = -1;
};

/// Returns the text of a cue sheet for a file with marks.
std::string cue_sheet(const std::string& file_name, int sample_rate_hz,
                      const std::vector<BookMark>& marks);

/// Returns a hash of the text (FNV-1a, 64 bits, in hex); not safe against forgery.
std::string fingerprint_of(std::string_view text);

}  // namespace syrinx
