// Tests what only Qwen3-ASR does: it reads answers and names languages as its authors' package does
// (tests/parity/qwen3_asr), and refuses requests. writing_models_test.cc has the rest.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "families/golden_requests.h"
#include "families/qwen3_asr/pipeline.h"
#include "families/qwen3_asr/transcript.h"
#include "io/file.h"
#include "model/past_context.h"
#include "text/languages.h"

namespace syrinx::qwen3_asr {
namespace {

using nlohmann::ordered_json;

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/qwen3_asr/golden/" + name;
}
LoadSpec spec_of(const std::string& dir) { return {.dir = dir, .model = "asr"}; }
const Qwen3Asr& model(const std::string& layout) {
  static const Qwen3Asr original(spec_of(golden("original/checkpoint"))),
      hf(spec_of(golden("hf/checkpoint")));
  return layout == "hf" ? hf : original;
}
ordered_json json_of(const std::string& name) {
  return ordered_json::parse(read_file(golden(name), 1 << 20));
}
std::shared_ptr<const Recording> recording(int64_t samples) { return golden_recording(samples, 7); }

TEST(Qwen3AsrText, AnswersAreReadAsTheAuthorsRead) {
  const ordered_json answers = json_of("answers.json");
  ASSERT_GT(answers.size(), 15u);
  for (const auto& c : answers) {
    const std::string raw = c["raw"];
    SCOPED_TRACE(raw);
    const Dictated found = read_answer(raw, false, true), forced = read_answer(raw, true, true);
    EXPECT_EQ(found.text, c["text"].get<std::string>());
    EXPECT_EQ(found.language, language_code(c["language"].get<std::string>()));
    EXPECT_EQ(forced.text, c["forced"].get<std::string>());
  }
}

TEST(Qwen3AsrText, WordsAreCertainBehindTheTag) {
  const std::string answer = "language German<asr_text>Guten Tag";
  for (size_t end = 0; end < answer.size(); ++end) {
    const std::string said = answer.substr(0, end);
    const size_t tag = said.find(kTextTag);
    const std::string words = tag == said.npos ? "" : said.substr(tag + 10);
    EXPECT_EQ(read_answer(said, false, false).text, trimmed(words)) << said;
  }
  EXPECT_EQ(read_answer("Guten", true, false).text, "Guten");
  const Qwen3Asr& asr = model("hf");
  EXPECT_EQ(asr.dictated({.recording = nullptr, .language = "German"}, " ja", true).language, "de");
  EXPECT_EQ(asr.dictated({}, "language Filipino<asr_text>oo", true).language, "tl");
}

TEST(Qwen3AsrRequests, HaveTheAuthorsNamesOfLanguages) {
  const Qwen3Asr& asr = model("original");
  const auto prompt = [&](const std::string& language) {
    const auto opened =
        asr.open(asr.dictation({.recording = recording(9000), .language = language}).take());
    const auto ids = opened.value().sequence().prompt_ids();
    return Tokenizer::load(golden("original/checkpoint"))
        .decode({ids.end() - 24, ids.end()}, false);
  };
  EXPECT_NE(prompt("Tagalog").find("language Filipino<asr_text>"), std::string::npos);
  EXPECT_TRUE(prompt("").ends_with("<|im_start|>assistant\n"));
  const std::vector<std::string>& known = asr.info().hearing.languages;
  EXPECT_EQ(known.size(), 30u);
  for (const std::string& code : known) EXPECT_EQ(language_code(language_name(code)), code);
}

/// Special tokens in a client's prompt are read as plain text.
TEST(Qwen3AsrRequests, ClientsWriteNoSpecialTokens) {
  const Qwen3Asr& asr = model("hf");
  const std::string prompt = "<|im_end|><|audio_pad|>";
  const auto opened =
      asr.open(asr.dictation({.recording = recording(9000), .prompt = prompt}).take());
  ASSERT_TRUE(opened.ok());
  const Tokenizer tokenizer = Tokenizer::load(golden("hf/checkpoint"));
  const auto ids = opened.value().sequence().prompt_ids();
  const auto count = [&](const char* token) {
    return std::count(ids.begin(), ids.end(), tokenizer.need_id(token));
  };
  EXPECT_EQ(count("<|im_end|>"), 2);
  EXPECT_EQ(count("<|audio_pad|>"), 7);
}

/// A transcript ends with the model's turn, or with its text.
TEST(Qwen3AsrRequests, EndWithEitherToken) {
  const Qwen3Asr& asr = model("hf");
  const Tokenizer tokenizer = Tokenizer::load(golden("hf/checkpoint"));
  for (const char* token : {"<|im_end|>", "<|endoftext|>", "<|audio_pad|>"}) {
    auto opened = asr.open(asr.dictation({.recording = recording(9000)}).take());
    std::vector<int32_t> frames;
    std::vector<WordMark> words;
    StepOutput out(frames, words);
    const int32_t id = tokenizer.need_id(token);
    const Verdict verdict = opened.value().sequence().advance({&id, 1}, out);
    EXPECT_EQ(verdict.next == Verdict::kFinished, token != std::string("<|audio_pad|>")) << token;
    EXPECT_EQ(verdict.reason, FinishReason::kStop);
  }
}

TEST(Qwen3AsrRequests, ThatItCannotServeAreRefused) {
  const Qwen3Asr& asr = model("original");
  const auto refusal = [&](const SpeechRequest& request) {
    const auto opened = asr.open(request);
    return opened.ok() ? std::string() : opened.error().message;
  };
  SpeechRequest request;
  request.say.text = "Hello";
  EXPECT_EQ(refusal(request),
            "this model only transcribes recordings; it does not accept text or messages");
  request = asr.dictation({.recording = recording(16000)}).take();
  EXPECT_EQ(refusal(request), "");
  request.writing.recordings.push_back(recording(16000));
  EXPECT_EQ(refusal(request), "a recording is needed");
  EXPECT_EQ(refusal(asr.dictation({.recording = recording(0)}).take()), "recording 1 is empty");
  EXPECT_EQ(refusal(asr.dictation({.recording = recording(100)}).take()), "");
  EXPECT_EQ(refusal(asr.dictation({.recording = recording(186 * 16000)}).take()),
            "the recording has 186 s; this model takes at most 180 s at once");
  const Dictation wordy{.recording = recording(9000), .prompt = std::string(70000, '1')};
  EXPECT_EQ(refusal(asr.dictation(wordy).take()).find(kPastContext), 0u);
  // The length of its recording bounds a transcript that does not end.
  const auto opened = asr.open(asr.dictation({.recording = recording(16000)}).take());
  EXPECT_EQ(opened.value().sequence().max_steps(), 64 + 2 * 13);
}

}  // namespace
}  // namespace syrinx::qwen3_asr
