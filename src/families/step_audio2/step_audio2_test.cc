// Tests what only Step-Audio-2-mini does: its tokenizer, texts that it reads aloud, transcripts,
// voices, refusals. writing_models_test.cc has the rest, tests/parity/step_audio2/engine_test.cc
// the audio.
#include <gtest/gtest.h>

#include "families/checkpoint_copy.h"
#include "families/step_audio2/answer.h"
#include "families/step_audio2/fixture.h"
#include "families/voice_chat/answer_checks.h"
#include "io/safetensors.h"
#include "io/torch_pickle.h"
#include "model/run_streams.h"
#include "model/voice_file.h"

namespace syrinx::step_audio2 {
namespace {

using nlohmann::ordered_json;

const StepAudio2& model() {
  static const StepAudio2 loaded(spec_of(golden("checkpoint")));
  return loaded;
}
Tokenizer tokenizer() { return load_tokenizer(golden("checkpoint"), 40); }
Ids ids() { return load_ids(tokenizer(), 40); }

SpeechRequest voiced_chat(const ordered_json& messages) {
  SpeechRequest request = chat_of(messages);
  request.voice.data = golden_voice(20);
  return request;
}

TEST(StepText, IdsAreTransformers) {
  const Safetensors file(golden("ids.safetensors"));
  const std::string plain = "Hello there, how are you? aaaaaaaa   12345 it's\n\n 你好，今天 naïve";
  EXPECT_EQ(tokenizer().encode(plain), ints(file.view("plain")));
  EXPECT_EQ(tokenizer().encode("<|BOT|>human\nThis <audio_7><tts_pad><tts_end> is<|EOT|>"),
            ints(file.view("special")));
}

TEST(StepVoice, ReadsAloudFourCodesAnId) {
  Runner runner(model());
  SpeechRequest request;
  request.say.text = "Hello there, how are you? Now write about it.";
  request.voice.data = golden_voice(20);
  request.writing.max_tokens = 200;
  Track track = runner.open(request);
  ASSERT_TRUE(track.state);
  const std::vector<int32_t> said = tokenizer().encode(request.say.text, false);
  ASSERT_GT(said.size(), 10u);
  while (!track.finished) runner.step(track);
  auto& answer = static_cast<Answer&>(*track.state);
  const Ids known = ids();
  const auto made = answer.history(0).subspan(answer.prompt_ids().size());
  std::vector<int32_t> text;
  for (size_t i = 0; i < made.size(); ++i) {
    if (i / 5 < said.size()) {
      EXPECT_EQ(known.is_code(made[i]), i % 5 != 0) << i;
      if (i % 5 == 0) text.push_back(made[i]);
    } else if (!known.is_code(made[i])) {
      EXPECT_TRUE(made[i] == known.tts_end || made[i] == known.turn_end) << made[i];
      EXPECT_TRUE(i + 1 == made.size() || made[i] == known.tts_end);
    }
  }
  EXPECT_EQ(text, said);
}

TEST(StepVoice, AReadingsBoundCountsCodes) {
  SpeechRequest request;
  request.say.text = "Hello there, how are you? Now write about it.";
  request.voice.data = golden_voice(20);
  const Ids known = ids();
  expect_so_many_codes(model(), request, [&](int32_t id) { return known.is_code(id); });
}

/// The full flow allows at most 1000 codes. Each id of the text has four codes.
TEST(StepVoice, ATextThatTheFullFlowCannotSayIsRefused) {
  SpeechRequest request;
  request.voice.data = golden_voice(20);
  request.terms.flow = FlowMode::kFull;
  const auto text_of = [](size_t ids) {
    std::string text;
    for (size_t i = 0; i < ids; i += 2) text += "§";  // adds two ids
    return text;
  };
  request.say.text = text_of(250);
  auto opened = model().open(request);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened.value().sequence().max_steps(), 1250);
  request.say.text = text_of(252);
  opened = model().open(request);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().param, "input");
  EXPECT_EQ(
      opened.error().message,
      "the text has 252 tokens; with the full flow this model reads at most 250 aloud at once");
  request.terms.flow = FlowMode::kAuto;
  EXPECT_TRUE(model().open(request).ok());
}

TEST(StepVoice, TextAloneHasNoAudio) {
  Runner runner(model());
  SpeechRequest request = request_of(golden_cases()["text"]);
  request.writing.text_only = true;
  request.sampling.temperature = 1.5f;
  Track track = runner.open(request);
  ASSERT_TRUE(track.state);
  auto& answer = static_cast<Answer&>(*track.state);
  EXPECT_NE(answer.prompt_ids().back(), ids().tts_start);
  while (!track.finished) runner.step(track);
  for (const int32_t id : answer.history(0).subspan(answer.prompt_ids().size()))
    EXPECT_LT(id, ids().audio);
}

TEST(StepVoice, ARecordingIsWrittenDownAsInTheAuthorsExample) {
  const auto recording = request_of(golden_cases()["heard"]).writing.recordings[0];
  const SpeechRequest dictation = model().dictation({recording}).take();
  SpeechRequest chat =
      voiced_chat({{{"role", "system"}, {"content", "请记录下你所听到的语音内容。"}},
                   {{"role", "user"}, {"content", {{{"type", "audio"}}}}}});
  chat.writing.recordings = {recording};
  chat.writing.text_only = true;
  Runner runner(model());
  Track ours = runner.open(dictation), theirs = runner.open(chat);
  ASSERT_TRUE(ours.state && theirs.state);
  const auto ids = [](const Track& track) {
    const auto all = track.state->prompt_ids();
    return std::vector(all.begin(), all.end());
  };
  EXPECT_EQ(ids(ours), ids(theirs));
  EXPECT_EQ(dictation.sampling.temperature, 0.f);
  EXPECT_EQ(model().info().hearing.dictates_s, 25);
}

TEST(StepVoice, RefusesWhatItCannotDo) {
  const auto refusal = [](const SpeechRequest& request) {
    return refusal_of(model(), request).message;
  };
  SpeechRequest request =
      voiced_chat({{{"role", "assistant"}, {"content", {{{"type", "answer"}}}}}});
  EXPECT_EQ(refusal(request), "the chat has more places for answers than the request has answers");
  request.writing.answers = {{std::make_shared<const std::vector<int32_t>>(1, ids().code_end + 1)}};
  EXPECT_EQ(refusal(request), "an earlier answer is not from this model");
  request.writing.answers = {{std::make_shared<const std::vector<int32_t>>(1, ids().code_end)}};
  EXPECT_TRUE(model().open(request).ok());
  request.writing.answers.push_back(request.writing.answers[0]);
  EXPECT_EQ(refusal(request), "the request has more answers than the chat has places for them");
  SpeechRequest nothing;
  nothing.voice.data = golden_voice(2);
  EXPECT_EQ(refusal(nothing), "the voice's \"tokens\" are missing or fewer than 3");
  nothing.voice.data = {};
  EXPECT_EQ(refusal(nothing).substr(0, 29), "this checkpoint has no voices");
  EXPECT_NE(refusal(nothing).find("speech_tokenizer_v2_25hz.onnx is missing"), std::string::npos);
}

/// Makes a voice from a recording with CosyVoice2's encoders, and expects the golden voice: the
/// authors' tokens, mel and vector. Also uses the model's own voice by its name.
TEST(StepVoices, ARecordingIsAVoice) {
  const WholeCheckpoint checkpoint;
  const StepAudio2 whole(spec_of(checkpoint.dir.path()));
  EXPECT_EQ(whole.info().speech.default_voice, "default_female");
  EXPECT_EQ(whole.info().speech.no_cloning, "");
  ASSERT_NE(whole.voice_encoder(), nullptr);
  const S3FlowVoice& made = *whole.voices().at("default_female");
  const TorchPickle theirs(parity("cosyvoice2/golden/cloned.pt"));
  const View tokens = theirs.view(*theirs.find("cloned.flow_prompt_speech_token"));
  ASSERT_EQ(std::ssize(made.tokens), tokens.count());
  for (int64_t i = 0; i < tokens.count(); ++i) {
    const int64_t want =
        tokens.dtype == DType::kI32 ? tokens.i32()[i] : static_cast<const int64_t*>(tokens.data)[i];
    EXPECT_EQ(made.tokens[i], want);
  }
  const View mel = theirs.view(*theirs.find("cloned.prompt_speech_feat"));
  ASSERT_EQ(made.mel.view().count(), 2 * 80 * std::ssize(made.tokens));
  ASSERT_LE(mel.count(), made.mel.view().count());
  EXPECT_LT(relative(floats(made.mel.view()).first(mel.count()), floats(mel)), 1e-4f);
  for (int64_t i = mel.count(); i < made.mel.view().count(); ++i)
    EXPECT_EQ(made.mel.f32()[i], made.mel.f32()[i - 80]);

  SpeechRequest request;
  request.say.text = "Hello";
  EXPECT_TRUE(whole.open(request).ok());
  request.voice.name = "default_male";
  EXPECT_EQ(whole.open(request).error().message,
            "the model has no voice \"default_male\"; it has default_female");
}

TEST(StepVoices, FilesAreVoices) {
  const CheckpointCopy copy(golden("checkpoint"));
  const TestDir& dir = copy.dir;
  std::filesystem::create_directory(dir.path("voices"));
  write_voice_file(dir.path("voices/anna.safetensors"), *golden_voice(20), {});
  const StepAudio2 kept(spec_of(dir.path()));
  EXPECT_EQ(kept.info().speech.default_voice, "anna");
  EXPECT_EQ(kept.voices().at("anna")->tokens.size(), 20u);
  EXPECT_NE(kept.info().speech.no_cloning, "");
  write_voice_file(dir.path("voices/bert.safetensors"), *golden_voice(20, 1000), {});
  EXPECT_THROW(StepAudio2(spec_of(dir.path())), LoadError);
}

}  // namespace
}  // namespace syrinx::step_audio2
