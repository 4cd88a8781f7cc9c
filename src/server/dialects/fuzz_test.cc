// Mutated messages for the state machine of every dialect, mixed with events that an engine could
// send, and mutated bytes for the Wyoming parser. The inputs are the same in every run.
// SYRINX_FUZZ_INPUTS is the number of inputs of each kind (default 4000). tests/fuzz has the seeds.
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/fuzzing.h"
#include "server/dialects/dialects.h"
#include "server/dialects/wyoming.h"
#include "server/models/fake_backend_test.h"

namespace syrinx {
namespace {

using Random = std::mt19937_64;

std::vector<std::string> seeds(const std::string& name) {
  std::ifstream file(SYRINX_SOURCE_DIR "/tests/fuzz/" + name + ".txt");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  EXPECT_FALSE(lines.empty()) << name;
  return lines;
}

size_t below(Random& random, size_t count) { return random() % count; }

/// Returns a seed with a few changes, or without changes.
std::string mutated(const std::vector<std::string>& lines, Random& random) {
  static const std::vector<std::string> kPieces = {
      "null",    "true",      "-1",   "1e999",  "\"\"",         "[]", "{}",
      "[[[[",    "\"text\":", "\\u0", "\xff",   "\xed\xa0\x80", "0",  "99999999999999999999",
      "\\ud800", ",",         "\"",   "{\"a\":"};
  std::string out = lines[below(random, lines.size())];
  for (size_t changes = below(random, 4); changes > 0; --changes) {
    const size_t at = below(random, out.size() + 1);
    switch (below(random, 6)) {
      case 0:
        out.insert(at, kPieces[below(random, kPieces.size())]);
        break;
      case 1:
        out.erase(at, 1 + below(random, 8));
        break;
      case 2:
        if (at < out.size()) out[at] = static_cast<char>(random());
        break;
      case 3: {
        const std::string& other = lines[below(random, lines.size())];
        out = out.substr(0, at) + other.substr(below(random, other.size() + 1));
        break;
      }
      case 4:
        out.insert(at, std::string(below(random, 300), static_cast<char>(random())));
        break;
      default: {  // replaces a value by another value
        const size_t colon = out.find(':', at);
        if (colon == std::string::npos) break;
        const size_t end = std::min(out.find_first_of(",}", colon), out.size());
        out.replace(colon + 1, end - colon - 1, kPieces[below(random, kPieces.size())]);
      }
    }
  }
  return out;
}

PipelineInfo model(Random& random) {
  PipelineInfo info;
  info.model = "toy-1";
  info.speech.voices = {{"low", ""}, {"high", ""}};
  info.speech.default_voice = "low";
  info.speech.languages = {"english"};
  info.speech.late_text = static_cast<LateText>(below(random, 3));
  info.speech.word_times = below(random, 2) == 0;
  return info;
}

/// Replaces the engine: remembers contexts, checks every action, and makes events of an engine.
class Stage {
 public:
  Stage(std::unique_ptr<Dialect> dialect, Random& random, bool bytes)
      : dialect_(std::move(dialect)), random_(random), bytes_(bytes) {
    Actions actions;
    dialect_->opened(actions);
    look(actions);
  }
  bool closed() const { return closed_; }

  void message(const std::string& text) {
    Actions actions;
    dialect_->message(text, below(random_, 50) == 0, actions);
    look(actions);
  }

  void event() {
    if (below(random_, 40) == 0) {
      Actions actions;
      dialect_->idle(actions);
      look(actions);
    }
    if (open_.empty() || closed_) return;
    SpeechEvent event{.context = *std::next(open_.begin(), below(random_, open_.size()))};
    const bool finishing = finishing_.contains(event.context);
    event.kind = static_cast<SpeechEvent::Kind>(below(random_, 7));
    if (event.kind == SpeechEvent::kFinished && !finishing) event.kind = SpeechEvent::kAudio;
    event.rate_hz = 24000;
    event.bytes = event.kind == SpeechEvent::kAudio ? std::string(below(random_, 50), 'a') : "";
    event.audio_s = 0.5;
    if (event.kind == SpeechEvent::kWords) {
      event.words = {{.text = "\xff\xc3\xa4", .tail = " ", .begin_s = 0.1, .end_s = 0.4}};
    }
    if (event.kind == SpeechEvent::kFailed) event.error = unavailable("full");
    if (event.kind == SpeechEvent::kFailed || event.kind == SpeechEvent::kFinished) {
      open_.erase(event.context);
      finishing_.erase(event.context);
    }
    Actions actions;
    dialect_->event(event, actions);
    look(actions);
  }

 private:
  void look(const Actions& actions) {
    for (const Action& action : actions) {
      if (const auto* open = std::get_if<OpenContext>(&action)) {
        open_.insert(open->context);
        ASSERT_LE(static_cast<int>(open_.size()), dialect_->max_contexts());
        const int rate_hz = open->options.call.audio.out_rate_hz;
        ASSERT_TRUE(rate_hz == 0 || (rate_hz >= 8000 && rate_hz <= 48000)) << rate_hz;
        const double speed = open->options.call.audio.speed;
        ASSERT_TRUE(speed >= 0.25 && speed <= 4) << speed;
      } else if (const auto* cancel = std::get_if<CancelContext>(&action)) {
        open_.erase(cancel->context);
        finishing_.erase(cancel->context);
      } else if (const auto* finish = std::get_if<FinishContext>(&action)) {
        finishing_.insert(finish->context);
      } else if (const auto* close = std::get_if<CloseConnection>(&action)) {
        ASSERT_TRUE(close->code == 1000 || close->code == 1008 || close->code == 1011);
        closed_ = true;
      } else if (const auto* send = std::get_if<SendMessage>(&action); send && !bytes_) {
        ASSERT_TRUE(send->binary || parse_object(send->bytes)) << send->bytes;
      }
    }
  }

  const std::unique_ptr<Dialect> dialect_;
  Random& random_;
  const bool bytes_;
  std::set<std::string> open_, finishing_;
  bool closed_ = false;
};

struct FuzzCase {
  const char* seeds;
  const char* path;
  const char* query;
};

class WsFuzz : public testing::TestWithParam<FuzzCase> {};

TEST_P(WsFuzz, StateMachine) {
  const FuzzCase& target = GetParam();
  const std::vector<std::string> lines = seeds(target.seeds);
  Random random(1);
  const int inputs = fuzz_inputs(4000);
  std::unique_ptr<Stage> stage;
  for (int i = 0; i < inputs && !HasFatalFailure(); ++i) {
    if (!stage || stage->closed() || below(random, 30) == 0) {
      ApiError error;
      const std::string query = mutated({target.query}, random);
      auto dialect = make_dialect({.path = target.path, .query = query}, model(random), error);
      if (!dialect) {
        ASSERT_FALSE(error.message.empty());
        stage.reset();
        continue;
      }
      stage = std::make_unique<Stage>(std::move(dialect), random, false);
      // Most conversations begin correctly; otherwise the first message would end most of them.
      if (below(random, 4) > 0) stage->message(lines[0]);
    }
    stage->message(mutated(lines, random));
    for (size_t events = below(random, 4); events > 0; --events) stage->event();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Dialects, WsFuzz,
    testing::Values(FuzzCase{"native", "/v1/audio/speech/stream", "x=1"},
                    FuzzCase{"elevenlabs", "/v1/text-to-speech/low/multi-stream-input",
                             "model_id=eleven_v3&output_format=pcm_24000&auto_mode=true&seed=1"},
                    FuzzCase{"elevenlabs", "/v1/text-to-speech/low/stream-input",
                             "output_format=mp3_44100_128&inactivity_timeout=60"},
                    FuzzCase{"sglang", "/v1/audio/speech/realtime", "x=1"},
                    FuzzCase{"cartesia", "/tts/websocket", "api_key=x"},
                    FuzzCase{"deepgram", "/v1/speak",
                             "model=aura-2&encoding=linear16&sample_rate=24000&speed=1.0"}));

TEST(WyomingFuzz, ParserAndStateMachine) {
  std::string whole;
  const std::vector<std::string> lines = seeds("wyoming");
  for (const std::string& line : lines) whole += line + "\n";
  Random random(1);
  const int inputs = fuzz_inputs(4000);
  std::unique_ptr<Stage> stage;
  for (int i = 0; i < inputs && !HasFatalFailure(); ++i) {
    if (!stage || stage->closed() || below(random, 20) == 0) {
      auto backend = std::make_shared<FakeBackend>();
      backend->mutable_info() = model(random);
      stage = std::make_unique<Stage>(
          make_wyoming_dialect(std::make_shared<ModelTable>(std::move(backend)), nullptr), random,
          true);
    }
    std::string bytes =
        below(random, 4) == 0 ? mutated({whole}, random) : mutated(lines, random) + "\n";
    while (!bytes.empty() && !stage->closed()) {  // reads in pieces, as from a socket
      const size_t count = 1 + below(random, bytes.size());
      stage->message(bytes.substr(0, count));
      bytes.erase(0, count);
    }
    for (size_t events = below(random, 4); events > 0; --events) stage->event();
  }
}

}  // namespace
}  // namespace syrinx
