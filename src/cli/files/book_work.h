// The unfinished files of a book: what was spoken so far and a journal of it, so that the program
// may be ended at any moment and goes on where it was. The main thread; faults are LoadErrors, and
// what writes may throw Interrupted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "audio/make_encoder.h"

namespace syrinx {

/// How far a book is.
struct BookPlace {
  size_t parts = 0;             ///< spoken, from the first on
  uint64_t samples = 0;         ///< of the file that is being made
  uint64_t all_samples = 0;     ///< of the whole book
  size_t cut_short = 0;         ///< parts that reached a bound before their end
  std::vector<uint64_t> marks;  ///< sample at which each chapter in the file begins
};

/// A chapter's place in a finished file.
struct BookMark {
  std::string title;
  uint64_t sample = 0;
};

/// The two unfinished files of one book.
class BookWork {
 public:
  /// Files PATH.part and PATH.journal. A journal of the same book (`fingerprint`) is continued;
  /// one of another book is a LoadError, unless `restart` is said.
  BookWork(const std::string& path, std::string fingerprint, bool restart);
  ~BookWork();
  BookWork(const BookWork&) = delete;
  BookWork& operator=(const BookWork&) = delete;

  const BookPlace& place() const { return place_; }
  /// One more part; `begins_chapter` sets a mark before it. On disk when the call returns.
  void add(std::span<const float> samples, bool begins_chapter, bool cut_short);
  /// Writes what there is as `file` and begins an empty one. With more than one mark a cue sheet is
  /// written beside it.
  void finish_file(const std::string& file, const EncoderOptions& audio,
                   const std::vector<BookMark>& marks);
  /// Removes both files: the book is whole.
  void finish();

 private:
  void open();
  void read_journal();
  void write_journal() const;
  std::string part_path_, journal_path_, fingerprint_;
  BookPlace place_;
  int fd_ = -1;
};

/// A cue sheet for a file with marks.
std::string cue_sheet(const std::string& file_name, int sample_rate_hz,
                      const std::vector<BookMark>& marks);

/// 64 bits in hex that change with the text (FNV-1a); there is no reason to forge it.
std::string fingerprint_of(std::string_view text);

}  // namespace syrinx
