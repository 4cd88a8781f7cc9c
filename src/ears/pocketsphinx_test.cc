// Compares the recogniser with PocketSphinx's own program; tests the Recogniser interface.
#include "ears/pocketsphinx.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "audio/recording.h"
#include "base/clock.h"
#include "ears/hearing_threads.h"
#include "ears/notes.h"
#include "ears/pocketsphinx_library.h"
#include "ears/silero_fixture.h"
#include "ears/speech_fixture.h"
#include "io/program.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

std::shared_ptr<Recogniser> open_or_null(const PocketSphinxOptions& options = {}) try {
  return open_pocketsphinx(options);
} catch (const LoadError&) {
  return nullptr;
}

#define SKIP_WITHOUT(recogniser) \
  if (!(recogniser)) GTEST_SKIP() << "PocketSphinx is not installed"

/// Returns speech rounded to 16 bits, the only format that PocketSphinx's own program reads.
std::vector<float> said(const std::string& text) {
  std::vector<float> out = spoken(text);
  for (float& sample : out) {
    sample = std::clamp(std::rint(sample * 32768.f), -32768.f, 32767.f) / 32768.f;
  }
  return out;
}

const std::vector<float>& fox() {
  static const auto out =
      said("The quick brown fox jumps over the lazy dog, and nobody knows why.");
  return out;
}

/// Returns two sentences with a pause of a second and a half between them.
const std::vector<float>& two_sentences() {
  static const auto out = [] {
    auto audio = said("Good evening. Please come in and sit down.");
    audio.resize(audio.size() + 24000);
    const auto more = said("Would you like a cup of tea?");
    audio.insert(audio.end(), more.begin(), more.end());
    return audio;
  }();
  return out;
}

Transcript transcribe(Recogniser& recogniser, std::span<const float> samples, size_t piece,
                      ListenOptions options = {.word_times = true}) {
  const auto notes = std::make_shared<Notes>();
  auto listener = recogniser.open(options, notes);
  EXPECT_TRUE(listener.ok());
  for (size_t at = 0; at < samples.size(); at += piece) {
    listener.value()->hear(samples.subspan(at, std::min(piece, samples.size() - at)));
  }
  listener.value()->end();
  Result<Transcript> result = notes->wait();
  EXPECT_TRUE(result.ok());
  return result.take();
}

std::string shown(const Transcript& transcript) {
  std::ostringstream out;
  out.precision(9);
  out << transcript.language << " " << transcript.duration_s << "\n";
  for (const TranscriptSegment& segment : transcript.segments) {
    out << segment.start_s << " " << segment.end_s << segment.text << " " << segment.avg_logprob
        << "\n";
    for (const TranscriptWord& word : segment.words) {
      out << "  " << word.start_s << " " << word.end_s << " " << word.word << " "
          << word.probability << "\n";
    }
  }
  return out.str();
}

/// Text and words of PocketSphinx's own program. A line for each word: word, start, end,
/// probability.
struct OwnOutput {
  std::string text, words;
  void add(std::string word, double start_s, double end_s, double probability) {
    if (word.starts_with('<') || word.starts_with('[')) return;
    char line[300];
    std::snprintf(line, sizeof line, "%s %.2f %.2f %.3f\n", word.substr(0, word.find('(')).c_str(),
                  start_s, end_s, probability);
    words += line;
  }
};

/// Reads the output of version 3: a line for each utterance, then a line for each of its words.
OwnOutput read_lines(const std::string& printed) {
  OwnOutput out;
  std::string line;
  std::istringstream lines(printed);
  while (std::getline(lines, line)) {
    char word[200];
    float start_s = 0, end_s = 0, probability = 0;
    if (std::sscanf(line.c_str(), "%199s %f %f %f", word, &start_s, &end_s, &probability) != 4) {
      out.text += " " + line;
    } else {
      out.add(word, start_s, end_s + 0.01, probability);
    }
  }
  return out;
}

/// Reads the output of version 5: a line of JSON for each utterance.
OwnOutput read_json(const std::string& printed) {
  OwnOutput out;
  std::string line;
  std::istringstream lines(printed);
  while (std::getline(lines, line)) {
    const auto utterance = nlohmann::json::parse(line);
    const std::string text = utterance["t"];
    if (!text.empty()) out.text += " " + text;
    for (const auto& word : utterance["w"]) {
      const double start_s = word["b"];
      out.add(word["t"], start_s, start_s + word["d"].get<double>(), word["p"]);
    }
  }
  return out;
}

TEST(PocketSphinx, HearsWhatItsOwnProgramHears) {
  const auto recogniser = open_or_null({.threads = 1, .places = 1});
  SKIP_WITHOUT(recogniser);
  const bool is_third = PocketSphinxLibrary::open()->version() == 3;
  transcribe(*recogniser, fox(), 4096);  // an earlier recording must not affect the result
  for (std::vector<float> audio : {fox(), two_sentences()}) {
    // Version 5's program ignores an utterance that does not end, and expects whole frames of 30
    // ms.
    audio.resize((audio.size() / 480 + 40) * 480);
    const std::string path = testing::TempDir() + "ears_own_program.wav";
    std::ofstream(path, std::ios::binary) << recording_wav(audio, kHearingRate);
    const auto printed = is_third
                             ? run_program({"pocketsphinx_continuous", "-infile", path, "-time",
                                            "yes", "-logfn", "/dev/null"},
                                           "", {.timeout_s = 120})
                             : run_program({"pocketsphinx", "-loglevel", "FATAL", "live", path}, "",
                                           {.timeout_s = 120});
    if (!printed.ok() && printed.error().code == ErrorCode::kNotFound) {
      GTEST_SKIP() << printed.error().message;
    }
    ASSERT_TRUE(printed.ok()) << printed.error().message;
    const OwnOutput own = is_third ? read_lines(printed.value()) : read_json(printed.value());
    const Transcript heard = transcribe(*recogniser, audio, 1000);
    OwnOutput ours;
    for (const TranscriptSegment& segment : heard.segments) {
      for (const TranscriptWord& word : segment.words) {
        ours.add(word.word, word.start_s, word.end_s, double{word.probability});
      }
    }
    EXPECT_EQ(" " + heard.text(), own.text);
    EXPECT_EQ(ours.words, own.words);
    EXPECT_FALSE(own.words.empty());
  }
}

TEST(PocketSphinx, AloneOrBesideOthersHoweverItIsCut) {
  const auto recogniser = open_or_null({.threads = 2, .places = 3});
  SKIP_WITHOUT(recogniser);
  const std::string first = shown(transcribe(*recogniser, fox(), 1 << 20));
  const std::string second = shown(transcribe(*recogniser, two_sentences(), 333));
  EXPECT_NE(first.find("brown"), std::string::npos) << first;
  std::vector<std::shared_ptr<Notes>> notes;
  std::vector<std::unique_ptr<Listener>> listeners;
  for (int i = 0; i < 4; ++i) {  // more recordings than places
    notes.push_back(std::make_shared<Notes>());
    listeners.push_back(recogniser->open({.word_times = true}, notes.back()).take());
  }
  for (size_t at = 0; at < two_sentences().size(); at += 5000) {
    for (size_t i = 0; i < listeners.size(); ++i) {
      const std::span<const float> audio = i % 2 == 0 ? fox() : two_sentences();
      if (at < audio.size()) {
        listeners[i]->hear(audio.subspan(at, std::min<size_t>(5000, audio.size() - at)));
      }
    }
  }
  for (const auto& listener : listeners) listener->end();
  for (size_t i = 0; i < notes.size(); ++i) {
    const Result<Transcript>& result = notes[i]->wait();
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(shown(result.value()), i % 2 == 0 ? first : second) << i;
    EXPECT_DOUBLE_EQ(notes[i]->heard_s, result.value().duration_s);
  }
}

TEST(PocketSphinx, SegmentsComeAsTheyAreSettled) {
  const auto recogniser = open_or_null();
  SKIP_WITHOUT(recogniser);
  const auto notes = std::make_shared<Notes>();
  auto listener = recogniser->open({.live = true}, notes).take();
  listener->hear(two_sentences());
  listener->end();
  const Transcript transcript = Result<Transcript>(notes->wait()).take();
  ASSERT_GE(transcript.segments.size(), 2u);
  ASSERT_EQ(notes->segments.size(), transcript.segments.size());
  double before_s = 0;
  for (size_t i = 0; i < notes->segments.size(); ++i) {
    const TranscriptSegment& segment = transcript.segments[i];
    EXPECT_EQ(segment.text, notes->segments[i].text);
    EXPECT_TRUE(segment.words.empty());  // word times were not requested
    EXPECT_GE(segment.start_s, before_s);
    EXPECT_GT(segment.end_s, segment.start_s);
    before_s = segment.end_s;
  }
  EXPECT_LE(before_s, transcript.duration_s);
  EXPECT_GE(notes->partials.size(), 5u);
  for (size_t i = 1; i < notes->partials.size(); ++i) {
    EXPECT_NE(notes->partials[i], notes->partials[i - 1]);
  }
}

TEST(PocketSphinx, NothingIsHeardInNothing) {
  const auto recogniser = open_or_null();
  SKIP_WITHOUT(recogniser);
  EXPECT_EQ(transcribe(*recogniser, {}, 1).duration_s, 0);
  const std::vector<float> silence(16000 * 3);
  const Transcript quiet = transcribe(*recogniser, silence, 16000);
  EXPECT_EQ(quiet.text(), "");
  EXPECT_DOUBLE_EQ(quiet.duration_s, 3);
  std::vector<float> bad(5000, NAN);
  bad.insert(bad.end(), {INFINITY, -INFINITY, 1e30f, -1e30f});
  transcribe(*recogniser, bad, 100);
}

TEST(PocketSphinx, StretchesWithoutAVoiceAreHeardAsSilence) {
  const auto plain = open_or_null();
  SKIP_WITHOUT(plain);
  const TestDir dir;
  const auto gated = [&](float voice) {
    dir.write("vad.safetensors", fixture::made_weights(voice));
    return open_or_null({.vad = SileroVad::load(dir.path("vad.safetensors"))});
  };
  std::vector<float> samples(16000 * 29);  // the sentence spans two stretches
  samples.insert(samples.end(), fox().begin(), fox().end());
  const std::string want = shown(transcribe(*plain, samples, 4000));
  EXPECT_NE(want.find("fox"), std::string::npos) << want;
  const auto everywhere = gated(100), nowhere = gated(-100);
  for (const size_t piece : {size_t{777}, size_t{100'000}, samples.size()})
    EXPECT_EQ(shown(transcribe(*everywhere, samples, piece)), want) << piece;
  const Transcript nothing = transcribe(*nowhere, samples, 4000);
  EXPECT_EQ(nothing.text(), "");
  EXPECT_DOUBLE_EQ(nothing.duration_s, static_cast<double>(samples.size()) / 16000);
  // Live recordings are not gated, because the turn detector has already found a voice.
  EXPECT_NE(transcribe(*nowhere, fox(), 4000, {.live = true}).text(), "");
}

TEST(PocketSphinx, CancelledOnceAndTheTurnIsFree) {
  const auto recogniser = open_or_null({.threads = 1, .places = 1});
  SKIP_WITHOUT(recogniser);
  const auto first = std::make_shared<Notes>(), second = std::make_shared<Notes>(),
             third = std::make_shared<Notes>();
  auto one = recogniser->open({}, first).take();
  auto two = recogniser->open({}, second).take();
  auto three = recogniser->open({}, third).take();
  one->hear(fox());
  two->hear(fox());
  two.reset();  // cancels the second recording, which still waits for a place
  EXPECT_EQ(second->wait().error().code, ErrorCode::kCancelled);
  one->cancel();
  one->hear(fox());  // has no effect after cancel()
  EXPECT_EQ(first->wait().error().code, ErrorCode::kCancelled);
  three->hear(fox());
  three->end();
  EXPECT_TRUE(third->wait().ok());
}

TEST(PocketSphinx, SoManyMayWait) {
  const auto recogniser = open_or_null({.threads = 1, .places = 1, .max_waiting = 1});
  SKIP_WITHOUT(recogniser);
  const auto first = std::make_shared<Notes>(), second = std::make_shared<Notes>();
  auto one = recogniser->open({}, first).take();
  auto two = recogniser->open({}, second).take();
  const auto refused = recogniser->open({}, std::make_shared<Notes>());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kOverloaded);
  EXPECT_GT(refused.error().retry_after_s, 0);
  one->end();
  EXPECT_TRUE(first->wait().ok());
  EXPECT_TRUE(recogniser->open({}, std::make_shared<Notes>()).ok());
}

TEST(PocketSphinx, TheClientWithTheFewestRunningIsNext) {
  const auto recogniser = open_or_null({.threads = 1, .places = 2});
  SKIP_WITHOUT(recogniser);
  std::vector<std::shared_ptr<Notes>> notes;
  std::vector<std::unique_ptr<Listener>> listeners;
  for (const uint64_t client : {1, 1, 1, 2}) {
    notes.push_back(std::make_shared<Notes>());
    listeners.push_back(recogniser->open({.client = client}, notes.back()).take());
  }
  for (const auto& listener : listeners) listener->hear(fox());
  listeners[0]->end();  // the next place goes to client 2, although client 2 came last
  listeners[3]->end();
  EXPECT_TRUE(notes[3]->wait().ok());
  EXPECT_FALSE(notes[1]->has_ended() || notes[2]->has_ended());
}

/// Unfinished recordings must not use all places, so that an ended turn is recognised at once.
TEST(PocketSphinx, ATurnThatHasEndedWaitsForNoOtherSpeaker) {
  const auto recogniser = open_or_null({.threads = 1, .places = 2});
  SKIP_WITHOUT(recogniser);
  std::vector<std::unique_ptr<Listener>> others;
  for (const bool live : {true, false, true}) {
    others.push_back(recogniser->open({.live = live}, std::make_shared<Notes>()).take());
    others.back()->hear(std::span(fox()).first(8000));
  }
  for (int turn = 0; turn < 2; ++turn) {
    const auto notes = std::make_shared<Notes>();
    auto listener = recogniser->open({.live = true}, notes).take();
    listener->hear(fox());
    listener->end();
    ASSERT_TRUE(notes->wait(120).ok());
  }
}

/// When every core is busy, recognition must get only a small share of the processor.
TEST(PocketSphinx, HearingGivesWay) {
  if (const int own = ::getpriority(PRIO_PROCESS, 0); own > 5) {
    GTEST_SKIP() << "at niceness " << own << " hearing cannot be much nicer than speech";
  }
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::atomic<bool> over = false;
  std::atomic<int64_t> heard_ns = 0, spoken_ns = 0;
  const auto thread_ns = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  };
  const auto use = [&](std::atomic<int64_t>& sum, double seconds) {
    const int64_t began = thread_ns();
    const double until_s = now_s() + seconds;
    while (now_s() < until_s && !over) {
    }
    sum += thread_ns() - began;
  };
  std::vector<std::thread> speakers;
  {
    HearingThreads hearing(cores);
    std::function<void()> piece = [&] {
      use(heard_ns, 0.01);
      if (!over) hearing.run(piece);
    };
    for (int i = 0; i < 2 * cores; ++i) hearing.run(piece);
    for (int i = 0; i < cores; ++i) speakers.emplace_back([&] { use(spoken_ns, 3); });
    for (std::thread& speaker : speakers) speaker.join();
    over = true;
  }
  const auto share = static_cast<double>(heard_ns) / static_cast<double>(heard_ns + spoken_ns);
  EXPECT_LT(share, 0.17);  // 0.1 is expected; half of the niceness would give 0.25
}

TEST(PocketSphinx, WhatIsMissingIsNamed) {
  if (!open_or_null()) GTEST_SKIP() << "PocketSphinx is not installed";
  try {
    open_pocketsphinx({.model_dir = "/nowhere"});
    FAIL();
  } catch (const LoadError& error) {
    EXPECT_NE(std::string(error.what()).find("pocketsphinx-en-us"), std::string::npos);
  }
}

}  // namespace
}  // namespace syrinx
