#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "cli/audio_file.h"
#include "cli/commands.h"
#include "cli/subtitles.h"

namespace syrinx {
namespace {

std::string read_all(std::istream& in) {
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string gather_text(const SayOptions& options) {
  if (options.words.empty() == options.text_file.empty()) {
    throw UsageError("say what? Give a text, '-' for the standard input, or -f FILE.");
  }
  if (!options.text_file.empty()) {
    std::ifstream file(options.text_file, std::ios::binary);
    if (!file) throw LoadError("cannot read " + options.text_file);
    return read_all(file);
  }
  if (options.words.size() == 1 && options.words.front() == "-") return read_all(std::cin);
  std::string text;
  for (const std::string& word : options.words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// One line on a terminal, rewritten while audio comes; nothing elsewhere.
class Progress {
 public:
  void show(double audio_s) {
    if (!terminal_ || now_s() < next_s_) return;
    next_s_ = now_s() + 0.1;
    shown_ = true;
    std::fprintf(stderr, "\r%.1f s of audio", audio_s);
  }
  void clear() {
    if (std::exchange(shown_, false)) std::fputs("\r\033[K", stderr);
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
  double next_s_ = 0;
};

/// Moves audio from the engine to the file until the request ends.
Outcome write_audio(Collector& collector, AudioFile& file, int sample_rate_hz) {
  Progress progress;
  int64_t samples = 0;
  for (;;) {
    const std::vector<float> audio = collector.next(0.1);
    if (!audio.empty()) file.write(audio);
    samples += static_cast<int64_t>(audio.size());
    progress.show(static_cast<double>(samples) / sample_rate_hz);
    if (audio.empty() && collector.done()) break;
  }
  progress.clear();
  return collector.wait();
}

void write_words(const SayOptions& options, const PipelineInfo& info, const Outcome& outcome) {
  const std::string& text = options.request.text;
  if (options.print_words) {
    std::FILE* out = options.output == "-" ? stderr : stdout;
    std::fputs(word_lines(text, outcome.words, info.frame_rate).c_str(), out);
  }
  if (!options.srt_file.empty()) {
    std::ofstream file(options.srt_file, std::ios::binary);
    file << to_srt(text, outcome.words, info.frame_rate, outcome.audio_s);
    if (!file.flush()) throw LoadError("cannot write " + options.srt_file);
  }
}

void print_summary(const SayOptions& options, const PipelineInfo& info, const Outcome& outcome) {
  const std::string voice =
      options.request.voice.empty() ? info.default_voice : options.request.voice;
  std::fprintf(options.output == "-" ? stderr : stdout,
               "%.2f s of audio, first audio %.0f ms, real-time factor %.3f, voice %s, %s\n",
               outcome.audio_s, 1e3 * outcome.first_audio_s,
               outcome.audio_s > 0 ? outcome.total_s / outcome.audio_s : 0.0, voice.c_str(),
               options.output == "-" ? "standard output" : options.output.c_str());
  if (outcome.reason == FinishReason::kLength) {
    std::fputs("syrinx: the length limit was reached before the end of the text\n", stderr);
  } else if (outcome.reason == FinishReason::kRepetition) {
    std::fputs("syrinx: the voice began to repeat itself and was stopped\n", stderr);
  }
}

}  // namespace

int run_say(SayOptions options) {
  options.request.text = gather_text(options);
  if (options.output == "-" && isatty(STDOUT_FILENO) != 0) {
    throw UsageError("'-o -' would write audio to the terminal; send it to a file or a player.");
  }
  const std::unique_ptr<Engine> engine = load_engine(options.load);
  const PipelineInfo& info = engine->pipeline().info();
  if ((options.print_words || !options.srt_file.empty()) && !info.word_times) {
    throw LoadError("the model '" + info.model + "' does not tell the times of words");
  }
  AudioFile file(options.output, info.sample_rate);
  auto collector = std::make_shared<Collector>();
  const Result<RequestId> id = engine->submit(options.request, collector);
  if (!id) throw LoadError(id.error().message);
  const Outcome outcome = write_audio(*collector, file, info.sample_rate);
  if (outcome.reason == FinishReason::kError) {
    file.discard();
    throw LoadError(outcome.error.message);
  }
  file.finish();
  write_words(options, info, outcome);
  print_summary(options, info, outcome);
  return 0;
}

}  // namespace syrinx
