#include "cli/files/transcribe.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "audio/recording.h"
#include "audio/resampler.h"
#include "base/check.h"
#include "base/clock.h"
#include "cli/line/arguments.h"
#include "cli/line/exit.h"
#include "cli/line/interrupt.h"
#include "cli/line/progress_line.h"
#include "cli/line/ranges.h"
#include "cli/speak/audio_file.h"
#include "ears/ears.h"
#include "ears/transcript_text.h"
#include "io/file.h"
#include "text/languages.h"

namespace syrinx {
namespace {

struct TranscribeOptions {
  std::vector<std::string> files;  ///< "-" means the standard input
  std::string ears = "pocketsphinx";
  LoadOptions load;  ///< how to load a model that recognises speech
  std::string vad;   ///< Silero's weights; if empty, the recogniser also receives silent parts
  std::string language;
  std::string prompt;
  std::optional<float> temperature;  ///< in the first attempt; unset: the recogniser's default
  bool no_fallback = false;          ///< make only one attempt
  bool no_condition = false;         ///< windows get no earlier text as context
  bool translate = false, word_times = false;
  std::string format;  ///< txt, srt, vtt or json; empty means by the output's ending, or txt
  std::string output;  ///< file, or directory for several; empty or "-" means the standard output
  bool quiet = false;  ///< print no progress
};

// The files are the user's own, so these limits only prevent accidents.
constexpr RecordingLimits kOwnFiles{.max_bytes = size_t{8} << 30, .max_s = 48 * 3600};
constexpr size_t kMaxPipe = size_t{1} << 30;
constexpr double kGivenAheadS = 90, kGivenAtOnceS = 10;

/// Collects a transcript; the recogniser's thread fills it.
class TranscriptNotes : public TranscriptSink {
 public:
  void segment(const TranscriptSegment& segment) override {
    const std::lock_guard lock(mutex_);
    segments_.push_back(segment);
    changed_.notify_all();
  }
  void heard(double seconds) override {
    const std::lock_guard lock(mutex_);
    heard_s_ = seconds;
    changed_.notify_all();
  }
  void finished(Result<Transcript> transcript) override {
    const std::lock_guard lock(mutex_);
    result_ = std::move(transcript);
    changed_.notify_all();
  }

  /// Waits briefly for new segments.
  void wait() {
    std::unique_lock lock(mutex_);
    if (!result_) changed_.wait_for(lock, std::chrono::milliseconds(100));
  }
  std::vector<TranscriptSegment> take_segments() {
    const std::lock_guard lock(mutex_);
    return std::exchange(segments_, {});
  }
  double heard_s() {
    const std::lock_guard lock(mutex_);
    return heard_s_;
  }
  std::optional<Result<Transcript>> take_result() {
    const std::lock_guard lock(mutex_);
    return std::exchange(result_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<TranscriptSegment> segments_;
  std::optional<Result<Transcript>> result_;
  double heard_s_ = 0;
};

/// The bytes of a file or of the standard input.
class InputBytes {
 public:
  explicit InputBytes(const std::string& path) {
    if (path != "-") {
      mapped_ = MappedFile::open(path);
      return;
    }
    char block[1 << 16];
    for (size_t got = 0; (got = std::fread(block, 1, sizeof block, stdin)) > 0;) {
      if (read_.size() + got > kMaxPipe) {
        throw LoadError(concat("the standard input has more than ", kMaxPipe >> 20, " MiB"));
      }
      read_.append(block, got);
    }
  }
  std::string_view view() const {
    if (!mapped_) return read_;
    return {reinterpret_cast<const char*>(mapped_->bytes().data()), mapped_->bytes().size()};
  }

 private:
  std::shared_ptr<const MappedFile> mapped_;
  std::string read_;
};

/// Returns the temperatures of the attempts, as in the authors' Whisper: each is 0.2 above the
/// previous one, up to 1. Empty means the recogniser's own temperatures.
std::vector<float> temperatures(const TranscribeOptions& options) {
  constexpr float kStep = 0.2f, kLast = 1;
  if (!options.temperature && !options.no_fallback) return {};
  std::vector<float> out = {options.temperature.value_or(0)};
  if (options.no_fallback) return out;
  const float first = out.front();
  for (int i = 1; first + kStep * static_cast<float>(i) < kLast + kStep / 2; ++i) {
    out.push_back(std::min(kLast, first + kStep * static_cast<float>(i)));
  }
  return out;
}

class Transcriber {
 public:
  Transcriber(const TranscribeOptions& options, std::string format)
      : options_(options),
        format_(std::move(format)),
        ears_(open_recogniser(options.ears, options.load,
                              options.vad.empty() ? nullptr : SileroVad::load(options.vad))) {
    listen_ = {.language = options.language.empty() ? "" : language_code(options.language),
               .prompt = options.prompt,
               .temperatures = temperatures(options),
               .condition_on_text = !options.no_condition,
               .word_times = options.word_times || format_ == "srt" || format_ == "vtt",
               .segment_times = format_ != "txt",
               .translate = options.translate};
    const RecogniserInfo& info = ears_->info();
    if (options.word_times && !info.word_times) {
      throw UsageError(concat("'", info.name, "' does not report the times of words"));
    }
    listen_.word_times = listen_.word_times && info.word_times;
    if (const Status fit = check_listen(info, listen_); !fit) throw UsageError(fit.error().message);
  }

  /// Writes the transcript of `file` to `output`, or to the standard output if that is empty.
  void transcribe(const std::string& file, const std::string& output, const InterruptGuard& guard);

 private:
  bool lines() const { return format_ == "txt"; }
  std::string written(const Transcript& transcript) const {
    if (format_ == "srt") return transcript_srt(transcript);
    if (format_ == "vtt") return transcript_vtt(transcript);
    return transcript_verbose_json(transcript,
                                   {.words = listen_.word_times, .translated = listen_.translate}) +
           "\n";
  }

  const TranscribeOptions& options_;
  const std::string format_;
  const std::shared_ptr<Recogniser> ears_;
  ListenOptions listen_;
};

std::string line_of(const TranscriptSegment& segment) {
  const size_t begin = segment.text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : segment.text.substr(begin) + "\n";
}

void put(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw LoadError("cannot write to the standard output");
  }
}

void Transcriber::transcribe(const std::string& file, const std::string& output,
                             const InterruptGuard& guard) {
  const std::string name = file == "-" ? "the standard input" : file;
  const auto fault = [&](const Error& error) { return LoadError(name + ": " + error.message); };
  std::optional<NewFile> out;
  if (!output.empty()) out.emplace(output);
  const InputBytes bytes(file);
  RecordingLimits limits = kOwnFiles;
  limits.first_channel = ears_->info().first_channel;
  RecordingReader reader(bytes.view(), limits);
  std::vector<float> samples;
  Result<bool> more = reader.read(size_t{1} << 16, samples);
  if (!more) throw fault(more.error());
  const int rate = reader.sample_rate();
  std::optional<Resampler> resampler;
  if (rate != kHearingRate) resampler.emplace(rate, kHearingRate);

  const auto notes = std::make_shared<TranscriptNotes>();
  auto opened = ears_->open(listen_, notes);
  if (!opened) throw fault(opened.error());
  const std::unique_ptr<Listener> listener = opened.take();
  ProgressLine progress(!options_.quiet);
  const std::string total =
      reader.claimed_s() > 0 ? " of " + clock_time(reader.claimed_s()) : std::string();
  const double began_s = now_s();
  int64_t given = 0;
  bool ended = false;
  std::optional<Result<Transcript>> result;
  std::string text;
  while (!result) {
    guard.check();
    const double heard_s = notes->heard_s();
    if (!ended && static_cast<double>(given) / kHearingRate - heard_s < kGivenAheadS) {
      std::vector<float> ready;
      if (resampler) {
        resampler->push(samples, ready);
        if (!more.value()) resampler->flush(ready);
      } else {
        ready = samples;
      }
      listener->hear(ready);
      given += std::ssize(ready);
      samples.clear();
      if (more.value()) {
        more = reader.read(static_cast<size_t>(kGivenAtOnceS * rate), samples);
        if (!more) throw fault(more.error());
      } else {
        listener->end();
        ended = true;
      }
    } else {
      notes->wait();
    }
    result = notes->take_result();  // taken first, because after a result no segments follow
    for (const TranscriptSegment& segment : notes->take_segments()) {
      if (!lines()) continue;
      progress.clear();
      if (out) {
        text += line_of(segment);
      } else {
        put(line_of(segment));
      }
    }
    progress.show(concat(name, ": ", clock_time(heard_s), total, " heard, ",
                         std::round(10 * heard_s / (now_s() - began_s)) / 10,
                         " times as fast as speech"));
  }
  progress.clear();
  if (!*result) throw fault(result->error());
  if (!lines()) text = written(result->value());
  if (!out) return put(lines() ? std::string() : text);
  out->append(text.data(), text.size());
  out->commit();
}

bool is_format(const std::string& ending) {
  return ending == "txt" || ending == "srt" || ending == "vtt" || ending == "json";
}

std::string wanted_format(const TranscribeOptions& options, bool directory) {
  if (!options.format.empty()) return options.format;
  const std::string ending = ending_of(options.output);
  if (directory || ending.empty()) return "txt";
  if (is_format(ending)) return ending;
  throw UsageError(concat("'.", ending,
                          "' is an unsupported transcript format; use txt, srt, vtt "
                          "or json (--format)"));
}

/// Returns the output file for each file; an empty string means the standard output.
std::vector<std::string> output_names(const TranscribeOptions& options, bool directory,
                                      const std::string& format) {
  const bool standard = options.output.empty() || options.output == "-";
  if (!directory) return {options.files.size(), standard ? "" : options.output};
  std::vector<std::string> out;
  for (const std::string& file : options.files) {
    const std::string stem = file == "-" ? "stdin" : std::filesystem::path(file).stem().string();
    out.push_back(join_path(options.output, stem + "." + format));
    const auto before = std::find(out.begin(), out.end() - 1, out.back());
    if (before == out.end() - 1) continue;
    throw UsageError(concat(options.files[static_cast<size_t>(before - out.begin())], " and ", file,
                            " would both be written to ", out.back(),
                            "; transcribe one of them separately, with another -o DIRECTORY"));
  }
  return out;
}

int run_transcribe(const TranscribeOptions& options) {
  const bool several = options.files.size() > 1;
  const bool directory = !options.output.empty() && options.output != "-" &&
                         (several || is_directory(options.output) || options.output.back() == '/');
  if (several && is_format(ending_of(options.output)) && !is_directory(options.output)) {
    throw UsageError(concat("several recordings need a directory, not the file ", options.output,
                            ": -o DIRECTORY --format ", ending_of(options.output)));
  }
  const std::string format = wanted_format(options, directory);
  const bool standard = options.output.empty() || options.output == "-";
  if (several && standard && (format == "srt" || format == "vtt")) {
    throw UsageError("subtitles of several files need a directory: -o DIRECTORY");
  }
  if (std::count(options.files.begin(), options.files.end(), "-") > 1) {
    throw UsageError("the standard input can be read only once");
  }
  const std::vector<std::string> outputs = output_names(options, directory, format);
  const InterruptGuard guard;
  Transcriber transcriber(options, format);
  std::error_code fault;
  if (directory) std::filesystem::create_directories(options.output, fault);
  if (fault) throw LoadError("cannot make " + options.output + ": " + fault.message());
  int failed = 0;
  for (size_t i = 0; i < options.files.size(); ++i) {
    const std::string& file = options.files[i];
    try {
      if (several && standard && format == "txt") put(file + ":\n");
      transcriber.transcribe(file, outputs[i], guard);
    } catch (const LoadError& error) {
      std::fprintf(stderr, "syrinx: %s\n", error.what());
      ++failed;
    }
  }
  return failed == 0 ? kExitOk : kExitFailed;
}

}  // namespace

void add_transcribe(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<TranscribeOptions>();
  TranscribeOptions& transcribe = *options;
  CLI::App* sub = app.add_subcommand("transcribe", "Transcribe recordings");
  sub->add_option("files", transcribe.files, "audio files; '-' is the standard input")->required();
  sub->add_option("-m,--model", transcribe.ears,
                  "the recogniser: pocketsphinx, or a Whisper or another model that transcribes (a "
                  "directory or Org/Name)")
      ->capture_default_str();
  sub->add_option("--vad", transcribe.vad,
                  "silero_vad_16k.safetensors of Silero's speech detector, or its directory: "
                  "Whisper and PocketSphinx then skip noise and music");
  sub->add_option(
      "--language", transcribe.language,
      "language of the speech, e.g. 'en' or 'english'; by default the model detects it");
  sub->add_option("--prompt", transcribe.prompt,
                  "earlier text, or words to expect, for models that use it");
  sub->add_option("--temperature", transcribe.temperature,
                  "temperature of the first attempt, for models that sample; each further attempt "
                  "adds 0.2 (0)")
      ->check(between(0.0, 1.0));
  sub->add_flag("--no-fallback", transcribe.no_fallback,
                "always keep the first attempt: no attempts at higher temperatures");
  sub->add_flag("--no-condition", transcribe.no_condition,
                "do not give the model its earlier text: fewer repetitions, less consistent text");
  sub->add_flag("--translate", transcribe.translate,
                "translate into English, if the model supports it");
  sub->add_flag("--words", transcribe.word_times, "report the times of words, in JSON");
  sub->add_option("--format", transcribe.format,
                  "format of the transcript; default: from the ending of the output's name, or txt")
      ->check(CLI::IsMember({"txt", "srt", "vtt", "json"}));
  sub->add_option(
      "-o,--output", transcribe.output,
      "a file, or a directory for several recordings; '-', the default, is the standard output");
  sub->add_flag("-q,--quiet", transcribe.quiet, "print no progress");
  add_load(*sub, transcribe.load);
  sub->callback([&chosen, options] {
    if (options->quiet) options->load.progress = nullptr;
    chosen = [options] { return run_transcribe(*options); };
  });
  sub->footer(
      "Examples:\n"
      "  syrinx transcribe talk.mp3                       lines of text while they become final\n"
      "  syrinx transcribe talk.m4a -o talk.srt           subtitles\n"
      "  syrinx transcribe *.ogg --format vtt -o texts/   a file for each recording\n"
      "  syrinx transcribe --format json --words - < talk.wav\n\n"
      "Exit codes: 0 done, 1 a recording could not be read (the others were), 2 the command line "
      "is invalid.");
}

}  // namespace syrinx
