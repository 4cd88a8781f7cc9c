#include "cli/speak/say.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "audio/time_stretch.h"
#include "audio/volume.h"
#include "base/check.h"
#include "cli/line/arguments.h"
#include "cli/line/exit.h"
#include "cli/line/interrupt.h"
#include "cli/line/progress_line.h"
#include "cli/speak/audio_file.h"
#include "cli/speak/player.h"
#include "cli/speak/subtitles.h"
#include "cli/speak/text_input.h"
#include "cli/speak/voice_choice.h"
#include "engine/collector.h"
#include "io/file.h"
#include "model/markup.h"
#include "text/segment_queue.h"
#include "text/ssml.h"

namespace syrinx {
namespace {

struct SayOptions {
  LoadOptions load;
  VoiceChoice voice;
  SpeechRequest request;           ///< its text comes from `words` or `text_file`
  std::vector<std::string> words;  ///< the text, or "-" for the standard input
  std::string text_file;
  std::string output;  ///< "-" means the standard output; empty means a player, or else speech.wav
  std::string format;  ///< "wav", "mp3", ...; empty means by the output's ending
  bool play = false;   ///< play the audio even if it is also written
  double volume = 1;   ///< factor of change_volume()
  bool quiet = false;  ///< print no progress and no summary
  bool print_words = false, print_phones = false;
  std::string srt_file;
};

std::string gather_text(const SayOptions& options) {
  if (options.words.empty() && options.text_file.empty()) {
    throw UsageError("nothing to say: give a text, '-' for the standard input, or -f FILE.");
  }
  if (!options.words.empty() && !options.text_file.empty())
    throw UsageError("give a text or -f FILE, not both");
  if (!options.text_file.empty()) return read_text(options.text_file, &std::cerr);
  if (options.words.size() == 1 && options.words.front() == "-") return read_text("-", &std::cerr);
  std::string text;
  for (const std::string& word : options.words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// The targets of the audio: a file, the player, or both.
class Outputs {
 public:
  Outputs(std::optional<std::string> player, double volume)
      : player_command_(std::move(player)), volume_(volume) {}

  std::optional<AudioFile> file;

  void play(int sample_rate_hz) {
    with_player([&] { player_.emplace(*player_command_, sample_rate_hz); });
  }
  void stretch(int sample_rate_hz, double speed) {
    if (speed != 1) stretch_ = std::make_unique<TimeStretch>(sample_rate_hz, speed);
  }
  void write(std::span<const float> audio) {
    if (!stretch_) return put(audio);
    stretched_.clear();
    stretch_->push(audio, stretched_);
    put(stretched_);
  }
  void finish() {
    if (stretch_) {
      stretched_.clear();
      stretch_->flush(stretched_);
      put(stretched_);
    }
    if (file) file->finish();
    with_player([&] {
      if (player_) player_->finish();
    });
  }
  /// Returns whether the player failed. An output file is complete even then.
  bool silent() const { return silent_; }

 private:
  void put(std::span<const float> audio) {
    if (volume_ != 1) {
      change_volume(audio, volume_, changed_);
      audio = changed_;
    }
    if (file) file->write(audio);
    with_player([&] {
      if (player_) player_->write(audio);
    });
  }
  /// Runs a task of the player. If the player fails, the file is still written.
  template <typename Task>
  void with_player(Task task) try {
    task();
  } catch (const LoadError& error) {
    if (!file) throw;
    player_.reset();
    silent_ = true;
    std::fprintf(stderr, "syrinx: %s; the file was written\n", error.what());
  }

  const std::optional<std::string> player_command_;
  const double volume_;
  std::vector<float> changed_, stretched_;
  std::unique_ptr<TimeStretch> stretch_;
  std::optional<Player> player_;
  bool silent_ = false;
};

constexpr const char* kDefaultFile = "speech.wav";

/// Chooses the target of the audio before a model is loaded. Without -o, chooses the player if a
/// terminal is used, otherwise a file.
AudioFormat choose_output(SayOptions& options, const std::optional<std::string>& player) {
  if (options.output == "-" && isatty(STDOUT_FILENO) != 0) {
    throw UsageError("'-o -' would write audio to the terminal; send it to a file or a player.");
  }
  if (!options.output.empty() && options.output != "-") need_writable(options.output);
  if (options.play && !player) {
    throw LoadError(
        "--play: found none of aplay, ffplay, mpv and play; set SYRINX_PLAYER to a command");
  }
  const bool at_terminal = isatty(STDOUT_FILENO) != 0 && player.has_value();
  if (options.output.empty() && !options.play) {
    options.play = at_terminal;
    if (!at_terminal) options.output = kDefaultFile;
  }
  if (!options.format.empty()) return audio_format(options.format).value_or(AudioFormat::kWav);
  return format_of_file(options.output);
}

/// Writes audio from the engine to the outputs until the request ends.
Outcome write_audio(Collector& collector, Outputs& outputs, int sample_rate_hz, bool quiet,
                    const InterruptGuard& guard) {
  ProgressLine progress(!quiet);
  int64_t samples = 0;
  for (;;) {
    guard.check();
    const std::vector<float> audio = collector.next(0.1);
    if (!audio.empty()) outputs.write(audio);
    samples += static_cast<int64_t>(audio.size());
    const double audio_s = static_cast<double>(samples) / sample_rate_hz;
    progress.show(concat(std::round(10 * audio_s) / 10, " s of audio"));
    if (audio.empty() && collector.done()) break;
  }
  progress.clear();
  Outcome outcome = collector.wait();
  for (const std::string& warning : outcome.warnings) {
    std::fprintf(stderr, "syrinx: %s\n", warning.c_str());
  }
  return outcome;
}

/// Converts SSML to plain text; reports elements that the model does not support.
std::vector<TextMark> read_markup(const PipelineInfo& info, SpeechRequest& request) {
  if (!is_ssml(request.say.text)) return {};
  Result<Markup> markup = take_ssml(info, request);
  if (!markup) throw LoadError(markup.error().message);
  for (const std::string& warning : markup.value().warnings) {
    std::fprintf(stderr, "syrinx: %s\n", warning.c_str());
  }
  return std::move(markup.value().marks);
}

void write_words(const SayOptions& options, double frame_rate, const std::vector<TextMark>& marks,
                 const Outcome& outcome) {
  const std::string& text = options.request.say.text;
  std::FILE* out = options.output == "-" ? stderr : stdout;
  if (options.print_words) {
    std::fputs(word_lines(text, outcome.words, frame_rate).c_str(), out);
    const auto end = static_cast<int64_t>(outcome.audio_s * frame_rate);
    const std::vector<int64_t> frames = mark_frames(marks, outcome.words, end);
    for (size_t i = 0; i < marks.size(); ++i) {
      std::fprintf(out, "%8.2f  <mark %s>\n", static_cast<double>(frames[i]) / frame_rate,
                   marks[i].name.c_str());
    }
  }
  if (options.print_phones) {
    std::fputs(phone_lines(outcome.phones, frame_rate).c_str(), out);
  }
  if (!options.srt_file.empty()) {
    const std::string srt = to_srt(text, outcome.words, frame_rate, outcome.audio_s);
    NewFile file(options.srt_file);
    file.append(srt.data(), srt.size());
    file.commit();
  }
}

std::string destination(const SayOptions& options) {
  if (options.output.empty()) return "played";
  return options.output == "-" ? "standard output" : options.output;
}

void print_summary(const SayOptions& options, const std::string& voice, const Outcome& outcome) {
  std::fprintf(options.output == "-" ? stderr : stdout,
               "%.2f s of audio, first audio %.0f ms, real-time factor %.3f, voice %s, %s\n",
               outcome.audio_s, 1e3 * outcome.first_audio_s,
               outcome.audio_s > 0 ? outcome.total_s / outcome.audio_s : 0.0, voice.c_str(),
               destination(options).c_str());
}

/// Returns the exit code; prints a line when the audio ends before the text.
int judge(const Outcome& outcome) {
  if (outcome.reason == FinishReason::kLength) {
    std::fputs("syrinx: the length limit was reached before the end of the text\n", stderr);
  } else if (outcome.reason == FinishReason::kRepetition) {
    std::fputs("syrinx: the voice began to repeat itself and was stopped\n", stderr);
  }
  return outcome.reason == FinishReason::kStop ? kExitOk : kExitIncomplete;
}

void check_text(const SpeechRequest& request) {
  if (is_blank(request.say.text)) throw UsageError("nothing to say: the text is empty");
}

int run_say(SayOptions options) {
  options.request.say.text = gather_text(options);
  check_text(options.request);
  std::optional<std::string> player = find_player();
  const AudioFormat format = choose_output(options, player);
  if (!options.srt_file.empty()) need_writable(options.srt_file);
  if (options.quiet) options.load.progress = nullptr;
  const std::unique_ptr<Engine> engine = load_engine(options.load);
  const PipelineInfo& info = engine->pipeline().info();
  const double speed = share_speed(info, options.request);
  if ((options.print_words || !options.srt_file.empty()) && !info.speech.word_times) {
    throw LoadError("the model '" + info.model + "' does not report the times of words");
  }
  if (options.print_phones && !info.speech.phone_times) {
    throw LoadError("the model '" + info.model + "' does not report the times of phones");
  }
  options.request.terms.phone_times = options.print_phones;
  options.request.terms.offline = !options.play && options.output != "-";
  std::string voice = choose_voice(*engine, options.voice, options.request);
  if (voice.empty()) voice = info.speech.default_voice;
  const std::vector<TextMark> marks = read_markup(info, options.request);
  check_text(options.request);  // SSML may have no text
  const InterruptGuard guard;   // declared first, so that it outlives what it protects
  Outputs outputs(std::move(player), options.volume);
  if (!options.output.empty())
    outputs.file.emplace(options.output, info.speech.sample_rate, format);
  if (options.play) outputs.play(info.speech.sample_rate);
  outputs.stretch(info.speech.sample_rate, speed);
  auto collector = std::make_shared<Collector>();
  const Result<RequestId> id = engine->submit(options.request, collector);
  const bool long_text = options.request.say.text.size() > info.max_text_bytes;
  if (!id) throw LoadError(id.error().message + (long_text ? "; 'book' speaks longer texts" : ""));
  Outcome outcome = write_audio(*collector, outputs, info.speech.sample_rate, options.quiet, guard);
  if (outcome.reason == FinishReason::kError) throw LoadError(outcome.error.message);
  outputs.finish();
  outcome.audio_s /= speed;
  write_words(options, info.speech.frame_rate * speed, marks, outcome);
  if (!options.quiet) print_summary(options, voice, outcome);
  return outputs.silent() ? kExitFailed : judge(outcome);
}

}  // namespace

void add_say(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<SayOptions>();
  SayOptions& say = *options;
  CLI::App* sub = app.add_subcommand("say", "Speak a text, played or into a file");
  sub->add_option("text", say.words, "the text; '-' reads it from the standard input");
  sub->add_option("-f,--file", say.text_file, "read the text from a file");
  sub->add_option("-o,--output", say.output,
                  "audio file; '-' is the standard output. Without -o the audio is played if this "
                  "is a terminal and a player is installed (aplay, ffplay, mpv, play, or "
                  "SYRINX_PLAYER, a command that reads WAV), and written to speech.wav otherwise");
  add_format(*sub, say.format, "default: from the ending of the output's name, or wav");
  sub->add_flag("--play", say.play, "play the audio, even without a terminal or with -o");
  sub->add_flag("--words", say.print_words, "print when each word begins");
  sub->add_flag("--phones", say.print_phones, "print when each phone begins");
  sub->add_option("--srt", say.srt_file, "write subtitles");
  sub->add_flag("-q,--quiet", say.quiet, "print no progress and no summary");
  add_model(*sub, say.load);
  add_request(*sub, say.request);
  add_volume(*sub, say.volume);
  add_voice_choice(*sub, say.voice);
  sub->footer(
      "Examples:\n"
      "  syrinx say \"Good morning.\"                         play it\n"
      "  syrinx say \"Good morning.\" -o morning.mp3          save it\n"
      "  syrinx say - -o news.wav < news.txt                 a text from a pipe\n"
      "  syrinx say -f talk.txt -o talk.wav --srt talk.srt   with subtitles\n"
      "  syrinx say Hello -o - --format opus | ssh host ...   into another program\n"
      "  syrinx say Hello --model Org/Name --ref-audio anna.wav --ref-text \"Hi.\"   Anna's voice");
  sub->callback([&chosen, options] { chosen = [options] { return run_say(*options); }; });
}

}  // namespace syrinx
