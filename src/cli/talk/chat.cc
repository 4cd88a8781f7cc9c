#include "cli/talk/chat.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "cli/line/arguments.h"
#include "cli/line/exit.h"
#include "cli/line/interrupt.h"
#include "cli/line/ranges.h"
#include "cli/speak/audio_file.h"
#include "cli/speak/player.h"
#include "cli/speak/voice_choice.h"
#include "cli/talk/listening.h"
#include "cli/talk/microphone.h"
#include "cli/talk/prediction_arguments.h"
#include "cli/talk/typing.h"
#include "ears/ears.h"
#include "engine/collector.h"
#include "engine/machine.h"
#include "io/file.h"
#include "predict/turn.h"
#include "text/segment_queue.h"

namespace syrinx {
namespace {

struct ChatOptions {
  LoadOptions load;               ///< how to load the text model
  std::string speaker = "finch";  ///< the model that speaks the answers
  VoiceChoice voice;
  SpeechRequest request;  ///< options for speaking the answers
  std::string system, output;
  std::optional<std::string> once;  ///< the only question
  SpeechRequest answers;            ///< options for writing the answers: sampling and length
  bool no_predict = false;
  Prediction prediction = {};
  bool listen = false;  ///< the user speaks the questions instead of typing them
  std::string ears = "pocketsphinx";
};

using Json = nlohmann::json;

constexpr double kPlayerDelayS = 0.3;  // delay of players and loudspeakers

/// Carries an answer from the engine's thread to the main thread.
class Mailbox : public Audience {
 public:
  explicit Mailbox(int rate_hz) : rate_hz_(rate_hz) {}

  struct News {
    std::string text;
    std::vector<float> audio;
    bool over = false;
    Error error;
    TurnCounts counts;
  };

  void text(std::string_view piece) override {
    change([&] { news_.text += piece; });
  }
  void audio(std::span<const float> samples) override {
    change([&] { news_.audio.insert(news_.audio.end(), samples.begin(), samples.end()); });
  }
  void unspoken(const Error& error) override {
    std::fprintf(stderr, "syrinx: %s\n", error.message.c_str());
  }
  void done(const Error& error, const TurnCounts& counts) override {
    change([&] { news_.over = true, news_.error = error, news_.counts = counts; });
  }
  void draft(std::string_view text) override {
    change([&] { draft_ = text; });
  }
  double unread_s() const override {
    const std::lock_guard lock(mutex_);
    return static_cast<double>(news_.audio.size()) / rate_hz_;
  }

  std::string drafted() const {
    const std::lock_guard lock(mutex_);
    return draft_;
  }
  /// Returns the text and audio that arrived since the last call. Waits briefly if none arrived.
  News take() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(50),
                      [&] { return news_.over || !news_.text.empty() || !news_.audio.empty(); });
    News out = std::exchange(news_, {});
    if (out.over) news_.over = true;
    return out;
  }

 private:
  template <typename F>
  void change(const F& f) {
    const std::lock_guard lock(mutex_);
    f();
    changed_.notify_all();
  }
  const int rate_hz_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  News news_;
  std::string draft_;
};

class Conversation {
 public:
  Conversation(ChatOptions& options, Engine& writer, Engine& speaker)
      : options_(options), writer_(writer), speaker_(speaker) {
    if (!options.system.empty()) say("system", options.system);
    choose_voice(speaker, options.voice, options.request);
    rate_hz_ = speaker.pipeline().info().speech.sample_rate;
    if (!options.output.empty()) {
      file_.emplace(options.output, rate_hz_, format_of_file(options.output));
    } else if (const auto player = find_player(); player && isatty(STDOUT_FILENO) != 0) {
      player_.emplace(*player, rate_hz_);
    }
  }

  /// Answers typed questions until the input ends or a signal arrives. Then writes the output file.
  void talk() try {
    prepare();
    Typing typing;
    for (;;) {
      begin_turn();
      const auto line = typing.line([&](const std::string& typed) { turn_->hear(with(typed)); },
                                    [&] { return ear_->drafted(); });
      if (!line) break;
      if (line->find_first_not_of(" \t") == line->npos) continue;
      answer(*line);
    }
    turn_->cancel();
    finish();
  } catch (const Interrupted&) {
    keep();
    throw;
  }
  /// Answers spoken questions until the recorder ends or a signal arrives. Then writes the file.
  void listen(Listening& ears) try {
    prepare();
    for (;;) {
      begin_turn();
      const auto said = ears.turn([&](const std::string& words, bool pauses) {
        turn_->hear(with(words), pauses);
      });
      if (!said) break;
      if (said->words.empty()) continue;
      std::printf("> %s\n", said->words.c_str());
      answer(said->words, &*said);
      wait_for_player();
    }
    turn_->cancel();
    finish();
  } catch (const Interrupted&) {
    keep();
    throw;
  }
  void once(const std::string& question) {
    begin_turn();
    answer(question);
    finish();
  }

 private:
  void say(const char* role, const std::string& text) {
    messages_.push_back({{"role", role}, {"content", text}});
  }
  Chat with(const std::string& question) const {
    Json all = messages_;
    all.push_back({{"role", "user"}, {"content", question}});
    // Turns off the model's reasoning, which would be spoken before the answer.
    return {all.dump(-1, ' ', false, Json::error_handler_t::replace), "", false};
  }

  /// Runs both models in the background while the user asks the first question. So its answer finds
  /// their weights in memory, and the system prompt in the cache of the text model.
  void prepare() {
    SpeechRequest written, spoken = options_.request;
    written.writing.chat = std::make_shared<const Chat>(with("Hello."));
    written.writing.max_tokens = 1;
    spoken.say.text = "Hello.";
    written.terms.background = spoken.terms.background = true;
    // A refusal has no effect here: the answers get it, too.
    (void)writer_.submit_soon(written, std::make_shared<Collector>());
    (void)speaker_.submit_soon(spoken, std::make_shared<Collector>());
  }

  void begin_turn() {
    TurnOptions turn;
    turn.voice = options_.request;
    turn.answer.sampling.temperature = options_.answers.sampling.temperature;
    turn.answer.writing.max_tokens = options_.answers.writing.max_tokens;
    turn.answer.sampling.seed = options_.request.sampling.seed;
    turn.predict = !options_.no_predict;
    turn.prediction = options_.prediction;
    ear_ = std::make_shared<Mailbox>(speaker_.pipeline().info().speech.sample_rate);
    turn_ = Turn::begin(writer_, speaker_, std::move(turn), ear_);
  }

  /// Answers a question. `heard`: times of a spoken question; null for a typed question.
  void answer(const std::string& question, const HeardTurn* heard = nullptr) {
    const double asked_s = now_s();
    turn_->ask(with(question));
    const InterruptGuard guard;
    std::string text;
    double text_s = 0, audio_s = 0;
    for (bool over = false; !over;) {
      guard.check();
      const Mailbox::News news = ear_->take();
      over = news.over;
      if (!news.text.empty()) {
        if (text.empty()) text_s = now_s() - asked_s;
        text += news.text;
        std::fputs(news.text.c_str(), stdout);
        std::fflush(stdout);
      }
      if (!news.audio.empty()) {
        if (audio_s == 0) audio_s = now_s() - asked_s;
        if (file_) file_->write(news.audio);
        if (player_) player_->write(news.audio);
        played_until_s_ =
            std::max(played_until_s_, now_s()) + static_cast<double>(news.audio.size()) / rate_hz_;
      }
      if (!over) continue;
      std::fputs("\n", stdout);
      std::fflush(stdout);
      if (!news.error.message.empty()) throw LoadError(news.error.message);
      report(heard, text_s, audio_s, news.counts);
    }
    say("user", question);
    say("assistant", text);
  }

  /// Prints times of the answer since the question's text, and since the end of a spoken question.
  static void report(const HeardTurn* heard, double text_s, double audio_s,
                     const TurnCounts& counts) {
    std::fprintf(stderr, "first text %.0f ms, first audio %.0f ms", 1e3 * text_s, 1e3 * audio_s);
    if (heard != nullptr) {
      const double pause_s = heard->turn_end_s - heard->voice_end_s;
      const double words_s = heard->words_s - heard->turn_end_s;
      std::fprintf(stderr,
                   "; %.0f ms from the end of speech to the first audio: pause %.0f, "
                   "words %.0f, text %.0f, audio %.0f",
                   1e3 * (pause_s + words_s + audio_s), 1e3 * pause_s, 1e3 * words_s, 1e3 * text_s,
                   1e3 * (audio_s - text_s));
    }
    if (counts.drafts > 0) {
      std::fprintf(stderr, "; %d draft%s, %s", counts.drafts, counts.drafts == 1 ? "" : "s",
                   counts.ready ? "the first sentence was ready" : "no draft was used");
    }
    std::fputs("\n", stderr);
  }

  /// Waits until the answer has been played, because the player buffers audio.
  void wait_for_player() const {
    const InterruptGuard guard;
    while (player_ && now_s() < played_until_s_ + kPlayerDelayS) {
      guard.check();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  /// Completes the file with the audio of all answers. Without an answer it remains unchanged.
  void keep() {
    turn_->cancel();
    if (file_ && played_until_s_ > 0) file_->finish();
  }

  void finish() {
    if (file_) file_->finish();
    if (player_) player_->finish();
  }

  ChatOptions& options_;
  Engine& writer_;
  Engine& speaker_;
  Json messages_ = Json::array();
  int rate_hz_ = 0;
  double played_until_s_ = 0;
  std::optional<AudioFile> file_;
  std::optional<Player> player_;
  std::shared_ptr<Mailbox> ear_;
  std::shared_ptr<Turn> turn_;
};

int run_chat(ChatOptions options) {
  if (options.output == "-") {
    throw UsageError("the standard output is used for the text; give -o FILE for the speech");
  }
  if (options.once && is_blank(*options.once)) throw UsageError("--once: the question is empty");
  if (!options.output.empty()) need_writable(options.output);
  std::optional<Listening> ears;
  if (options.listen) {
    const auto recorder = find_recorder();
    if (!recorder) {
      throw LoadError(
          "no recorder was found: install alsa-utils (arecord), or set SYRINX_RECORDER to a "
          "command");
    }
    ears.emplace(open_recogniser(options.ears, options.load), *recorder, !options.no_predict);
  }
  LoadOptions speaks = options.load;
  speaks.model = options.speaker;
  const auto machine = shared_machine({options.load, speaks});
  const std::unique_ptr<Engine> writer = load_engine(options.load, machine);
  const std::unique_ptr<Engine> speaker = load_engine(speaks, machine);
  Conversation conversation(options, *writer, *speaker);
  if (options.once) {
    conversation.once(*options.once);
  } else if (ears) {
    conversation.listen(*ears);
  } else {
    conversation.talk();
  }
  return kExitOk;
}

}  // namespace

void add_chat(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<ChatOptions>();
  ChatOptions& chat = *options;
  CLI::App* sub = app.add_subcommand("chat", "Talk with a text model, which answers in speech");
  chat.load.model = "wren";
  add_model(*sub, chat.load);
  sub->add_option("--speaker", chat.speaker, "the model that speaks the answers")
      ->capture_default_str();
  add_request_option(*sub, "voice", chat.request,
                     "a voice of the speaker, or of 'syrinx voice list'");
  sub->add_option("--system", chat.system, "system prompt of the conversation");
  sub->add_option("--once", chat.once, "ask this one question, then exit");
  CLI::Option* listen = sub->add_flag("--listen", chat.listen, "ask the questions by voice");
  sub->get_option("--once")->excludes(listen);
  sub->add_option("--ears", chat.ears, "for --listen: pocketsphinx, or a model that transcribes")
      ->capture_default_str();
  sub->add_option("-o,--output", chat.output,
                  "write the speech to this audio file instead of playing it");
  add_request_option(*sub, "temperature", chat.answers,
                     "temperature of the answers; 0 always selects the likeliest token");
  add_request_option(*sub, "max_tokens", chat.answers,
                     "most tokens of an answer; 0 means no limit");
  add_request_option(*sub, "seed", chat.request,
                     "seed of the answers; the same seed gives the same answers");
  sub->add_flag("--no-predict", chat.no_predict, "answer only when the question has ended");
  add_prediction(*sub, chat.prediction);
  sub->footer(
      "While you type, Syrinx drafts the answer and prepares the audio of its first sentence; the "
      "draft is\n"
      "shown below the line. The answer is the same as without drafts, but earlier.\n"
      "wren, the built-in model, knows little: the time, sums, units, capitals, spelling; others "
      "know "
      "more.\n"
      "Examples:\n"
      "  syrinx chat\n"
      "  syrinx chat --once \"What is 7 times 8?\"\n"
      "  syrinx chat --model Qwen/Qwen2.5-0.5B-Instruct\n"
      "  syrinx chat --model DIR --once \"What can you do?\" -o answer.wav");
  sub->callback([&chosen, options] { chosen = [options] { return run_chat(*options); }; });
}

}  // namespace syrinx
