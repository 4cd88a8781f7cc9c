#include "cli/files/book_work.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "audio/wav.h"
#include "base/error.h"
#include "cli/line/interrupt.h"
#include "cli/speak/audio_file.h"
#include "io/file.h"
#include "io/json.h"

namespace syrinx {
namespace {

constexpr size_t kBlock = 1 << 19;  // samples per block

[[noreturn]] void fail(const std::string& doing, const std::string& path) {
  throw LoadError("cannot " + doing + " " + path + ": " + std::strerror(errno));
}

void write_new(const std::string& path, std::string_view text) {
  NewFile file(path);
  file.append(text.data(), text.size());
  file.commit();
}

}  // namespace

BookWork::BookWork(const std::string& path, std::string fingerprint)
    : part_path_(path + ".part"),
      journal_path_(path + ".journal"),
      fingerprint_(std::move(fingerprint)) {}

BookWork::BookWork(const std::string& path, std::string fingerprint, bool restart)
    : BookWork(path, std::move(fingerprint)) {
  open();  // after an exception, the destructor closes the file
  if (!restart && is_file(journal_path_)) read_journal();
  cut_rest();
}

BookWork::~BookWork() {
  if (fd_ >= 0) close(fd_);
}

void BookWork::read_journal() {
  const Config journal = Config::load(journal_path_);
  if (journal.s("book") != fingerprint_) {
    throw LoadError(journal_path_ +
                    " belongs to another text or other options; choose another -o, or --restart");
  }
  place_.parts = static_cast<size_t>(journal.i("parts"));
  place_.samples = static_cast<uint64_t>(journal.i("samples"));
  place_.all_samples = static_cast<uint64_t>(journal.i("all_samples"));
  place_.cut_short = static_cast<size_t>(journal.i("cut_short"));
  place_.left_out = static_cast<size_t>(journal.opt_i("left_out", 0));
  for (const int64_t mark : journal.ints("marks")) {
    place_.marks.push_back(static_cast<uint64_t>(mark));
  }
}

void BookWork::open() {
  fd_ = ::open(part_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) fail("open", part_path_);
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw LoadError(part_path_ + ": another process is speaking this book");
  }
}

void BookWork::cut_rest() {
  struct stat status {};
  if (fstat(fd_, &status) != 0) fail("open", part_path_);
  const auto bytes = static_cast<off_t>(2 * place_.samples);
  if (status.st_size < bytes) {
    throw LoadError(part_path_ +
                    " has less audio than its journal states; begin again with --restart");
  }
  // Removes bytes after the last entry of the journal, because they are an incomplete part.
  if (ftruncate(fd_, bytes) != 0) fail("shorten", part_path_);
}

void BookWork::write_journal() const {
  const nlohmann::ordered_json journal = {
      {"book", fingerprint_},          {"parts", place_.parts},
      {"samples", place_.samples},     {"all_samples", place_.all_samples},
      {"cut_short", place_.cut_short}, {"left_out", place_.left_out},
      {"marks", place_.marks}};
  write_new(journal_path_, journal.dump() + "\n");
}

void BookWork::add(std::span<const float> samples, bool begins_chapter, PartEnd end) {
  std::string bytes;
  append_s16(samples, bytes);
  auto at = static_cast<off_t>(2 * place_.samples);
  for (std::string_view rest = bytes; !rest.empty();) {
    const ssize_t done = pwrite(fd_, rest.data(), rest.size(), at);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("write", part_path_);
    rest.remove_prefix(static_cast<size_t>(done));
    at += done;
  }
  // Data first, then the journal entry.
  if (!samples.empty() && fdatasync(fd_) != 0) fail("write", part_path_);
  if (begins_chapter) place_.marks.push_back(place_.samples);
  ++place_.parts;
  place_.samples += samples.size();
  place_.all_samples += samples.size();
  place_.cut_short += end == PartEnd::kCutShort ? 1 : 0;
  place_.left_out += end == PartEnd::kLeftOut ? 1 : 0;
  const InterruptGuard guard;  // delays signals until the journal is written
  write_journal();
  guard.check();
}

void BookWork::finish_file(const std::string& file, const EncoderOptions& audio,
                           const std::vector<BookMark>& marks) {
  auto encoder = make_encoder(audio);
  if (!encoder) throw LoadError(encoder.error().message);
  const InterruptGuard guard;  // delays signals, as in add()
  NewFile out(file);
  const uint64_t size = 2 * place_.samples;
  std::vector<int16_t> block(kBlock);
  for (uint64_t at = 0; at < size;) {
    guard.check();
    const size_t want = std::min<uint64_t>(2 * block.size(), size - at);
    const ssize_t got = pread(fd_, block.data(), want, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 2) fail("read", part_path_);
    const size_t count = static_cast<size_t>(got) / 2;
    std::vector<float> samples(count);
    for (size_t i = 0; i < count; ++i)
      samples[i] = static_cast<float>(block[i]) / 32767;  // the inverse of append_s16()
    std::string bytes;
    encoder.value()->encode(samples, bytes);
    out.append(bytes.data(), bytes.size());
    at += 2 * count;
  }
  std::string rest;
  encoder.value()->flush(rest);
  out.append(rest.data(), rest.size());
  const std::string first = encoder.value()->first_bytes();  // now with the length of the audio
  if (!first.empty()) out.overwrite(0, first.data(), first.size());
  out.commit();  // on disk before its samples are deleted
  if (marks.size() > 1) {
    const size_t ending = ending_of(file).empty() ? file.size() : file.rfind('.');
    write_new(file.substr(0, ending) + ".cue",
              cue_sheet(file.substr(file.rfind('/') + 1), audio.in_rate_hz, marks));
  }
  begin_file();
  guard.check();
}

void BookWork::skip_file(const std::string& file) {
  const InterruptGuard guard;  // delays signals, as in add()
  unlink(file.c_str());
  begin_file();
  guard.check();
}

void BookWork::begin_file() {
  place_.samples = 0;
  place_.marks.clear();
  write_journal();
  if (ftruncate(fd_, 0) != 0) fail("shorten", part_path_);
}

void BookWork::finish() {
  unlink(part_path_.c_str());
  unlink(journal_path_.c_str());
}

std::string cue_sheet(const std::string& file_name, int sample_rate_hz,
                      const std::vector<BookMark>& marks) {
  const auto quoted = [](std::string text) {
    std::replace(text.begin(), text.end(), '"', '\'');
    return "\"" + text + "\"";
  };
  const bool mp3 = file_name.ends_with(".mp3");  // in cue sheets, all other formats are WAVE
  std::string out = "FILE " + quoted(file_name) + (mp3 ? " MP3\n" : " WAVE\n");
  for (size_t i = 0; i < marks.size(); ++i) {
    const uint64_t frames = marks[i].sample * 75 / static_cast<uint64_t>(sample_rate_hz);
    char line[96];
    std::snprintf(line, sizeof line, "    INDEX 01 %02llu:%02llu:%02llu\n",
                  static_cast<unsigned long long>(frames / 75 / 60),
                  static_cast<unsigned long long>(frames / 75 % 60),
                  static_cast<unsigned long long>(frames % 75));
    char track[48];
    std::snprintf(track, sizeof track, "  TRACK %02zu AUDIO\n", i + 1);
    out += track;
    if (!marks[i].title.empty()) out += "    TITLE " + quoted(marks[i].title) + "\n";
    out += line;
  }
  return out;
}

std::string fingerprint_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(hash));
  return hex;
}

}  // namespace syrinx
