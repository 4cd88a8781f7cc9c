#include "cli/files/book.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "audio/time_stretch.h"
#include "base/ascii.h"
#include "base/check.h"
#include "base/clock.h"
#include "cli/files/book_text.h"
#include "cli/files/book_work.h"
#include "cli/files/epub.h"
#include "cli/line/arguments.h"
#include "cli/line/exit.h"
#include "cli/line/progress_line.h"
#include "cli/line/ranges.h"
#include "cli/speak/audio_file.h"
#include "cli/speak/text_input.h"
#include "cli/speak/voice_choice.h"
#include "engine/collector.h"
#include "io/file.h"
#include "model/markup.h"
#include "model/options.h"
#include "model/pauses.h"
#include "text/segment_queue.h"
#include "text/silent_text.h"
#include "text/ssml.h"

namespace syrinx {
namespace {

struct BookOptions {
  LoadOptions load;
  SpeechRequest request;  ///< options of every part; each part sets its text
  VoiceChoice voice;
  std::string text_file;  ///< "-" means the standard input
  std::string output;     ///< a file or directory; empty means a directory named after the text
  std::string format;     ///< "wav", "mp3", ...; empty means the format of the output's ending
  BookNames names;        ///< empty: as the text states them
  double volume = 1;      ///< factor of change_volume(); for files finished in this run
  bool restart = false;   ///< begin again, even if parts are already spoken
  int jobs = 4;           ///< parts that are spoken at the same time
};

/// The text of the file, with the marks that SSML may contain.
struct Manuscript {
  Ssml ssml;
  BookNames names;
  bool marked = false;  ///< the file is SSML
};

Manuscript read_book(const BookOptions& options) {
  Manuscript out;
  if (lower_ascii(options.text_file).ends_with(".epub")) {
    Epub epub = read_epub(options.text_file);
    out.ssml.text = without_licence(epub.text);
    out.names = std::move(epub.names);
    return out;
  }
  out.ssml.text = read_text(options.text_file, &std::cerr);
  std::erase(out.ssml.text, '\r');
  out.names = find_names(out.ssml.text);
  out.marked = is_ssml(out.ssml.text);
  if (!out.marked) {
    out.ssml.text = std::string(without_licence(without_front_matter(out.ssml.text)));
    return out;
  }
  const std::string& language = options.request.say.language;
  const bool english = language.empty() || lower_ascii(language).starts_with("en");
  Result<Ssml> read = read_ssml(out.ssml.text, english);
  if (!read) throw LoadError(concat(options.text_file, ": ", read.error().message));
  out.ssml = read.take();
  return out;
}

constexpr const char* kPlaylist = "book.m3u8";  // written after all chapters

/// Formats a duration: "1:02:33" or "2:33".
std::string clock_text(double seconds) {
  const auto all = int64_t{std::llround(seconds)};
  char out[32];
  if (all >= 3600) {
    std::snprintf(out, sizeof out, "%lld:%02lld:%02lld", static_cast<long long>(all / 3600),
                  static_cast<long long>(all / 60 % 60), static_cast<long long>(all % 60));
  } else {
    std::snprintf(out, sizeof out, "%lld:%02lld", static_cast<long long>(all / 60),
                  static_cast<long long>(all % 60));
  }
  return out;
}

/// Output of a book: a file with all chapters, or a directory with a file for each.
struct Target {
  bool directory = false;
  std::string path;

  std::string work() const { return directory ? join_path(path, ".book") : path; }
  /// Returns the last name of the path, without an ending.
  std::string name() const {
    const std::string whole = path.substr(0, path.find_last_not_of('/') + 1);
    const std::string last = whole.substr(whole.rfind('/') + 1);
    return directory ? last : last.substr(0, last.rfind('.'));
  }
};

/// Refuses to overwrite a finished book unless `restart`. A book with a journal is unfinished.
void refuse_finished(const Target& target, bool restart) {
  if (restart || is_file(target.work() + ".journal")) return;
  if (!is_file(target.directory ? join_path(target.path, kPlaylist) : target.path)) return;
  throw LoadError(target.path +
                  (target.directory ? " contains a finished book" : " exists already") +
                  "; replace it with --restart, or choose another output with -o");
}

Target find_target(const BookOptions& options) {
  std::string path = options.output;
  if (path.empty() && options.text_file == "-") {
    throw UsageError(
        "a book from the standard input needs an output: -o DIRECTORY/ or -o FILE.wav");
  }
  if (path.empty()) {
    const std::string name = options.text_file.substr(options.text_file.rfind('/') + 1);
    const size_t dot = name.rfind('.');
    path = (dot == 0 ? name : name.substr(0, dot)) + "/";  // the name ".notes" has no ending
  }
  if (path == "-") throw UsageError("a book cannot be written to the standard output; use 'say'");
  const bool directory = path.ends_with('/') || is_directory(path);
  const bool made = directory && mkdir(path.c_str(), 0777) == 0;
  if (directory && !made && !is_directory(path)) {
    const bool taken = errno == EEXIST || errno == ENOTDIR;
    throw LoadError("cannot make " + path + ": " +
                    (taken ? "a file has that name; choose an output with -o DIRECTORY/"
                           : std::strerror(errno)));
  }
  const Target target{directory, path};
  refuse_finished(target, options.restart);
  return target;
}

AudioFormat find_format(const BookOptions& options, const Target& target) {
  const auto asked = audio_format(options.format);
  if (asked || target.directory) return asked.value_or(AudioFormat::kWav);
  if (ending_of(target.path).empty()) {
    throw UsageError(concat("'-o ", target.path, "' needs an ending that names a format: -o ",
                            target.path, ".wav is one file, -o ", target.path,
                            "/ a directory with a file for each chapter"));
  }
  return format_of_file(target.path);
}

/// Shows how much of the book is spoken and the time left.
class Progress {
 public:
  Progress(size_t all_bytes, size_t done_bytes) : all_(all_bytes), begun_(done_bytes) {}

  void show(size_t chapter, size_t chapters, size_t done, double audio_s) {
    std::string left;
    if (done > begun_) {
      const double per_byte = (now_s() - began_s_) / static_cast<double>(done - begun_);
      left = ", " + clock_text(per_byte * static_cast<double>(all_ - done)) + " left";
    }
    line_.show(concat("chapter ", chapter, " of ", chapters, ", ",
                      100 * done / std::max<size_t>(1, all_), " %, ", clock_text(audio_s),
                      " of audio", left));
  }
  void clear() { line_.clear(); }

 private:
  ProgressLine line_;
  const size_t all_, begun_;  // bytes of text: of the whole book; spoken in earlier runs
  const double began_s_ = now_s();
};

class Book {
 public:
  Book(const BookOptions& options, Manuscript manuscript)
      : options_(options),
        manuscript_(std::move(manuscript)),
        chapters_(find_chapters(manuscript_.ssml.text)),
        parts_(cut_book(manuscript_.ssml.text, chapters_, !manuscript_.marked)),
        target_(find_target(options)),
        format_(find_format(options, target_)),
        work_(target_.work(), identity(), options.restart) {}

  int speak();

 private:
  struct Running {
    std::shared_ptr<Collector> collector = {};
    Error refusal = {};  ///< why the engine refused the part, which then has no samples
  };
  std::string identity() const;
  void take_markup(const PipelineInfo& info);
  void check_pauses() const;
  std::string name_of(size_t chapter) const;
  std::string file_of(size_t chapter) const;
  Running submit(Engine& engine, const BookPart& part) const;
  void keep(size_t index, const Running& running);
  void finish_file(size_t chapter);
  AudioLabels labels(size_t chapter, const std::vector<BookMark>& marks) const;
  void write_playlist() const;
  bool begins_chapter(size_t index) const {
    return index == 0 || parts_[index].chapter != parts_[index - 1].chapter;
  }
  bool ends_file(size_t index) const {
    return index + 1 == parts_.size() || (target_.directory && begins_chapter(index + 1));
  }
  size_t bytes_until(size_t parts) const {
    size_t bytes = 0;
    for (size_t i = 0; i < parts; ++i) bytes += parts_[i].text.size();
    return bytes;
  }

  const BookOptions& options_;
  const Manuscript manuscript_;
  const std::vector<Chapter> chapters_;
  const std::vector<BookPart> parts_;
  const Target target_;
  const AudioFormat format_;
  BookWork work_;
  int rate_ = 0;           // sample rate in Hz
  double stretch_ = 1;     // speed beyond that of the model
  SpeechRequest request_;  // options of every part, voice included
  // Why the last part was left out.
  std::string why_silent_ = nothing_to_say().message;
};

/// Returns the options that are set, each with its value.
std::string options_identity(const SpeechRequest& request) {
  std::string out;
  for_set_options(request, [&out](const RequestOption& option, const auto& value) {
    out += concat(option.name, '=', value, '\0');
  });
  return out;
}

/// Returns the content of a lexicon; an empty string without a lexicon.
std::string lexicon_identity(const std::string& file) {
  return file.empty() ? "" : concat('\0', read_text(file));
}

/// Returns text that identifies how the parts of a text in SSML are spoken.
std::string markup_identity(const Ssml& ssml) {
  std::string out;
  for (const Saying& saying : ssml.sayings) {
    out += concat('\0', saying.begin, ' ', saying.end, ' ', saying.phones.ipa, ' ', saying.strong);
  }
  for (const Delivery& delivery : ssml.deliveries) {
    out += concat('\0', delivery.begin, ' ', delivery.rate, ' ', delivery.pitch);
  }
  return out;
}

/// Returns text that identifies everything on which the samples depend.
std::string Book::identity() const {
  return fingerprint_of(
      concat(manuscript_.ssml.text, '\0', options_.load.model, '\0', options_.load.weights, '\0',
             options_identity(options_.request), lexicon_identity(options_.load.lexicon), '\0',
             target_.directory,
             target_.directory ? audio_format_name(format_) : "",  // a single file is encoded later
             markup_identity(manuscript_.ssml)));
}

/// Refuses pauses that are too long before any part is spoken.
void Book::check_pauses() const {
  for (const BookPart& part : parts_) {
    std::vector<PausePiece> pieces;
    const Status read = PauseReader().push(part.text, true, pieces);
    if (!read) throw LoadError(concat(name_of(part.chapter), ": ", read.error().message));
  }
}

/// Returns number and title of a chapter, for messages.
std::string Book::name_of(size_t chapter) const {
  const std::string& title = chapters_[chapter].title;
  return concat("chapter ", chapter + 1, title.empty() ? "" : concat(" (", title, ")"));
}

std::string Book::file_of(size_t chapter) const {
  if (!target_.directory) return target_.path;
  return join_path(target_.path,
                   chapter_file_name(chapters_[chapter], chapter + 1, chapters_.size()) + "." +
                       audio_format_name(format_));
}

Book::Running Book::submit(Engine& engine, const BookPart& part) const {
  SpeechRequest request = request_;
  if (manuscript_.marked) {
    take_part(request_, static_cast<int64_t>(part.begin), std::ssize(part.text), request);
  } else {
    request.say.text = part.text;
  }
  request.terms.offline = true;
  auto collector = std::make_shared<Collector>();
  const Result<RequestId> id = engine.submit(request, collector);
  if (id) return {.collector = std::move(collector)};
  if (!is_nothing_to_say(id.error())) throw LoadError(id.error().message);
  return {.refusal = id.error()};
}

/// Waits for the audio of a part and appends it to the file. A part that the voice cannot speak
/// does not end the book.
void Book::keep(size_t index, const Running& running) {
  const BookPart& part = parts_[index];
  Outcome outcome{.reason = FinishReason::kError, .error = running.refusal};
  if (running.collector) outcome = running.collector->wait();
  if (is_nothing_to_say(outcome.error)) {
    const bool words = content_of(part.text) == TextContent::kWords;
    if (words) why_silent_ = outcome.error.message;
    work_.add({}, begins_chapter(index), words ? PartEnd::kLeftOut : PartEnd::kWhole);
    return;
  }
  if (outcome.reason == FinishReason::kError || outcome.reason == FinishReason::kCancelled) {
    throw LoadError(outcome.error.message + "; run the same command again to continue");
  }
  std::vector<float> samples = running.collector->samples();
  if (stretch_ != 1) {
    TimeStretch stretch(rate_, stretch_);
    std::vector<float> out;
    stretch.push(samples, out);
    stretch.flush(out);
    samples.swap(out);
  }
  const double pause_s = static_cast<double>(part.pause_s) / options_.request.voice.speed;
  if (!ends_file(index)) {
    samples.resize(samples.size() + static_cast<size_t>(std::llround(pause_s * rate_)), 0.f);
  }
  const bool whole = outcome.reason == FinishReason::kStop;
  work_.add(samples, begins_chapter(index), whole ? PartEnd::kWhole : PartEnd::kCutShort);
}

void Book::finish_file(size_t chapter) {
  const BookPosition& place = work_.place();
  if (place.samples == 0) return work_.skip_file(file_of(chapter));
  std::vector<BookMark> marks;
  for (size_t i = 0; i < parts_.size() && marks.size() < place.marks.size(); ++i) {
    const bool here = !target_.directory || parts_[i].chapter == chapter;
    if (!here || !begins_chapter(i)) continue;
    marks.push_back({chapters_[parts_[i].chapter].title, place.marks[marks.size()]});
  }
  work_.finish_file(file_of(chapter),
                    {.format = format_,
                     .in_rate_hz = rate_,
                     .volume = options_.volume,
                     .labels = labels(chapter, marks)},
                    marks);
}

/// Returns the names of a file, and its chapters if it has several.
AudioLabels Book::labels(size_t chapter, const std::vector<BookMark>& marks) const {
  const auto first = [](const std::string& a, const std::string& b) { return a.empty() ? b : a; };
  const std::string book =
      first(first(options_.names.title, manuscript_.names.title), target_.name());
  AudioLabels out{.title = book,
                  .album = book,
                  .author = first(options_.names.author, manuscript_.names.author)};
  if (target_.directory) {
    out.title = first(chapters_[chapter].title, book);
    out.track = static_cast<int>(chapter) + 1;
  }
  for (size_t i = 0; i < marks.size() && marks.size() > 1; ++i) {
    const uint64_t end = i + 1 < marks.size() ? marks[i + 1].sample : work_.place().samples;
    out.chapters.push_back({first(marks[i].title, book),
                            static_cast<double>(marks[i].sample) / rate_,
                            static_cast<double>(end) / rate_});
  }
  return out;
}

/// Writes the list of files, and reports the chapters that have none.
void Book::write_playlist() const {
  NewFile list(join_path(target_.path, kPlaylist));
  std::string text = "#EXTM3U\n";
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!begins_chapter(i)) continue;
    const std::string file = file_of(parts_[i].chapter);
    if (!is_file(file)) {
      std::fprintf(stderr, "syrinx: %s has no file: this voice can speak none of its words\n",
                   name_of(parts_[i].chapter).c_str());
      continue;
    }
    text += file.substr(file.rfind('/') + 1) + "\n";
  }
  list.append(text.data(), text.size());
  list.commit();
}

/// Removes and reports the SSML elements that the model does not support.
void Book::take_markup(const PipelineInfo& info) {
  if (!manuscript_.marked) return;
  const Markup markup = take_ssml(info, manuscript_.ssml, request_);
  for (const std::string& warning : markup.warnings) {
    std::fprintf(stderr, "syrinx: %s\n", warning.c_str());
  }
  if (!markup.marks.empty())
    std::fputs("syrinx: SSML: marks are not reported for a book\n", stderr);
}

int Book::speak() {
  const double began_s = now_s();
  check_pauses();
  const std::unique_ptr<Engine> engine = load_engine(options_.load);
  rate_ = engine->pipeline().info().speech.sample_rate;
  request_ = options_.request;
  stretch_ = share_speed(engine->pipeline().info(), request_);
  choose_voice(*engine, options_.voice, request_);
  take_markup(engine->pipeline().info());
  const BookPosition& place = work_.place();
  if (place.parts > parts_.size())
    throw LoadError("the journal of the book is invalid; begin again with --restart");
  if (place.parts > 0) {
    std::fprintf(stderr, "continuing after %s of audio\n",
                 clock_text(static_cast<double>(place.all_samples) / rate_).c_str());
  }
  // The previous run stopped after adding a file's last part: finishes that file now.
  if (!place.marks.empty() && ends_file(place.parts - 1))
    finish_file(parts_[place.parts - 1].chapter);

  Progress progress(bytes_until(parts_.size()), bytes_until(place.parts));
  std::deque<Running> running;
  size_t done_bytes = bytes_until(place.parts);
  for (size_t next = place.parts; place.parts < parts_.size();) {
    const size_t index = place.parts;
    while (next < parts_.size() && running.size() < static_cast<size_t>(options_.jobs)) {
      running.push_back(submit(*engine, parts_[next++]));
    }
    progress.show(parts_[index].chapter + 1, chapters_.size(), done_bytes,
                  static_cast<double>(place.all_samples) / rate_);
    keep(index, running.front());
    running.pop_front();
    done_bytes += parts_[index].text.size();
    if (ends_file(index)) finish_file(parts_[index].chapter);
  }
  progress.clear();
  if (target_.directory && place.all_samples > 0) write_playlist();
  work_.finish();
  if (place.all_samples == 0) throw LoadError(concat(options_.text_file, ": ", why_silent_));
  std::printf("%zu %s, %s of audio in %s: %s\n", chapters_.size(),
              chapters_.size() == 1 ? "chapter" : "chapters",
              clock_text(static_cast<double>(place.all_samples) / rate_).c_str(),
              clock_text(now_s() - began_s).c_str(), target_.path.c_str());
  if (place.left_out > 0) {
    std::fprintf(stderr, "syrinx: %zu of %zu parts have words, but none for this voice: %s\n",
                 place.left_out, parts_.size(), why_silent_.c_str());
  }
  if (place.cut_short == 0) return 0;
  std::fprintf(stderr, "syrinx: %zu of %zu parts reached a length limit before their end\n",
               place.cut_short, parts_.size());
  return kExitIncomplete;
}

int run_book(const BookOptions& options) {
  Manuscript manuscript = read_book(options);
  if (is_blank(manuscript.ssml.text)) throw UsageError(options.text_file + ": no text to speak");
  Book book(options, std::move(manuscript));
  return book.speak();
}

}  // namespace

void add_book(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<BookOptions>();
  BookOptions& book = *options;
  CLI::App* sub =
      app.add_subcommand("book", "Speak a long text, each chapter into a separate file");
  sub->add_option("text", book.text_file, "text file or EPUB; '-' is the standard input")
      ->required();
  sub->add_option(
      "-o,--output", book.output,
      "a directory ('name/') for a file per chapter and a playlist, or one audio "
      "file with its chapters and a cue sheet; default: a directory with the text's name");
  sub->add_option(
      "--title", book.names.title,
      "title in the files; default: the text's line 'Title: ...', or the output's name");
  sub->add_option("--author", book.names.author,
                  "author in the files; default: the text's line 'Author: ...'");
  sub->add_option("-j,--jobs", book.jobs, "parts that are spoken at the same time")
      ->check(between(1, 256))
      ->capture_default_str();
  add_format(*sub, book.format, "default: from the ending of the output's name, or wav");
  sub->add_flag("--restart", book.restart,
                "begin again instead of continuing, even if the book is finished");
  add_model(*sub, book.load);
  // A book has no listener, so the engine may let a part wait for any time.
  book.load.engine.policy = "throughput";
  book.load.engine.max_wait_s = 1e9;
  add_request(*sub, book.request);
  add_volume(*sub, book.volume);
  add_store(*sub, book.voice.store);
  sub->footer(
      "Chapters are headings of Markdown, or short lines between empty ones such as 'Chapter 3', "
      "with\n"
      "or without a title in the next line, or Roman numerals.\n"
      "After an interruption the same command continues.\n\n"
      "Examples:\n"
      "  syrinx book alice.txt                    alice/01-chapter-i-down-the-rabbit-hole.wav\n"
      "  syrinx book alice.txt -o alice.m4b       one file with chapters, and alice.cue\n"
      "  syrinx book alice.epub -o alice.m4b");
  sub->callback([&chosen, options] { chosen = [options] { return run_book(*options); }; });
}

}  // namespace syrinx
