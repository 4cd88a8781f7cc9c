// Tests what every model must do that speaks with voices as data: recordings become voices, alone
// or beside others and at any rate; data that does not fit is refused; without the networks for
// recordings a model speaks, and names what is missing. A family registers a row.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "audio/resampler.h"
#include "audio/wav_file.h"
#include "families/checkpoint_copy.h"
#include "families/family.h"
#include "families/golden_models.h"
#include "families/voice_of_frames.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx {
namespace {

/// A tensor of a voice.
struct VoiceTensor {
  const char* name;
  Shape shape;         ///< of a voice that the model accepts
  int32_t bound = 0;   ///< of i32: the first invalid number; 0: the tensor is f32
  bool needed = true;  ///< without the tensor a voice is refused
  DType type() const { return bound > 0 ? DType::kI32 : DType::kF32; }
};

/// A change of a voice, and a part of the message with which the model refuses it.
struct VoiceFault {
  std::function<void(Voice&)> change;
  const char* named;
};
VoiceFault shaped(const char* tensor, Shape shape, DType type, const char* named) {
  return {[=](Voice& voice) { voice.tensors.insert_or_assign(tensor, Tensor(shape, type)); },
          named};
}
VoiceFault of_mode(const char* mode, const char* named) {
  return {[=](Voice& voice) { voice.mode = mode; }, named};
}
VoiceFault with_words(const char* text, const char* named) {
  return {[=](Voice& voice) { voice.text = text; }, named};
}

/// Voices that the authors' program made of the same samples at several rates.
struct GoldenRates {
  std::vector<float> (*samples)();
  const char *file, *begin, *middle;  ///< a view is called begin + rate + middle + name
  std::vector<int> rates;
  std::vector<std::pair<const char*, const char*>> views;  ///< name of a tensor, end of a view's
};

struct VoiceModel {
  const char *name, *family, *dir;  ///< `dir`: the folder of checkpoint/, below the parity folder
  std::vector<VoiceTensor> tensors;
  std::vector<VoiceFault> faults = {};
  const char* mode = "in-context";  ///< of the voice with `tensors`
  const char* text = "";            ///< its words
  // Recordings. A rate of 0: this checkpoint makes no voices of them.
  int rate = 0;            ///< Hz of the encoder's input
  const char* modes = "";  ///< names of all modes, best first; a mode with * needs words
  const char* lengths = "1 s to 30 s";                       ///< of recordings
  std::optional<Resampling> resampling = Resampling::kHann;  ///< how other rates become `rate`
  std::optional<GoldenRates> golden = {};
  const char* vector = "";  ///< the tensor that a client may give as an embedding
  /// Files or tensors without which the model takes no recordings: a file, the beginnings of names;
  /// without names: the file is removed. `missing`: a part of PipelineInfo's no_cloning then.
  const char* encoder_file = "";
  std::vector<const char*> encoder = {};
  const char* missing = "";
  std::shared_ptr<const Pipeline> (*load)(const LoadSpec& spec) = nullptr;
};

std::string parity_file(const std::string& name) { return SYRINX_BINARY_DIR "/parity/" + name; }

std::vector<float> s3_samples() {
  return read_wav(parity_file("s3_reference/golden/recording.wav")).samples;
}
std::vector<float> views_of(const std::string& file, std::vector<const char*> names) {
  const Safetensors golden(parity_file(file));
  std::vector<float> all;
  for (const char* name : names) {
    const auto some = floats(golden.view(name));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}
std::vector<float> qwen_samples() {
  return views_of("qwen3_tts/golden/base/recordings.safetensors", {"sweep", "speech"});
}
std::vector<float> zonos_samples() {
  return views_of("zonos/golden/speaker_vectors.safetensors", {"speech"});
}

const std::vector<VoiceModel>& voice_models() {
  static const std::vector<VoiceModel> kAll{
      {.name = "csm",
       .family = "csm",
       .dir = "csm/golden/taught",
       .tensors = {{"codes", {2, 6}, 32}},
       .faults = {shaped("codes", {3000, 6}, DType::kI32, "3000 frames, at most")},
       .mode = "continuation",
       .text = "fine",
       .rate = 24000,
       .modes = "continuation*",
       .encoder_file = "model.safetensors",
       .encoder = {"codec_model.encoder", "codec_model.downsample"},
       .missing = "encoder"},
      {.name = "higgs",
       .family = "higgs_audio",
       .dir = "higgs/golden",
       .tensors = {{"codes", {2, 8}, 32}},
       .faults = {shaped("codes", {1025, 8}, DType::kI32, "at most 1024"),
                  shaped("codes", {0, 8}, DType::kI32, "[frames, 8]"),
                  with_words("<|sfx:no|>", "<|sfx:no|>")},
       .rate = 24000,
       .modes = "in-context",
       .lengths = "1 s to 60 s",
       .encoder_file = "model.safetensors",
       .encoder = {"tied.embedding.modality_embeddings.0.model.fc."},
       .missing = "fc.*"},
      {.name = "fish_speech",
       .family = "fish_speech",
       .dir = "fish_speech/golden",
       .tensors = {{"codes", {2, 10}, 48}},
       .faults = {{[](Voice& voice) {
                     voice.seconds = 30;
                     voice.tensors.insert_or_assign("codes", Tensor({3000, 10}, DType::kI32));
                   },
                   "the recording of the voice is too long for the model: 3000 frames (30 s), at "
                   "most 2048 (20.4 s) fit"}},
       .text = "a",
       .rate = 44100,
       .modes = "in-context*",
       .lengths = "1 s to 60 s"},
      {.name = "opuslm",
       .family = "opuslm",
       .dir = "opuslm/golden",
       .tensors = {{"codes", {2, 9}, 16}}},
      {.name = "moss_tts",
       .family = "moss_tts",
       .dir = "moss_tts/golden/other_shapes",
       .tensors = {{"codes", {2, 6}, 64}},
       .rate = 8000,
       .modes = "timbre"},
      {.name = "omnivoice",
       .family = "omnivoice",
       .dir = "omnivoice/golden/plain",
       .tensors = {{"codes", {2, 8}, 32}, {"level", {1}}},
       .text = "x",
       .rate = 24000,
       .modes = "in-context*",
       .lengths = "1 s to 60 s"},
      {.name = "zonos",
       .family = "zonos",
       .dir = "zonos/golden",
       .tensors = {{"speaker", {128}}},
       .mode = "x-vector",
       .rate = 16000,
       .modes = "x-vector",
       .golden = GoldenRates{zonos_samples,
                             "zonos/golden/speaker_vectors.safetensors",
                             "speech_",
                             "_",
                             {8000, 44100, 48000},
                             {{"speaker", "vector"}}},
       .vector = "speaker",
       .encoder_file = "Zonos-v0.1-speaker-embedding",
       .missing = "Zonos-v0.1-speaker-embedding",
       .load = golden::load_zonos},
      {.name = "chatterbox",
       .family = "chatterbox",
       .dir = "chatterbox/golden",
       .tensors = {{"speaker", {256}},
                   {"emotion", {1}},
                   {"prompt_speech", {3}, 6570},
                   {"tokens", {3}, 6561, false},
                   {"mel", {6, 80}},
                   {"speaker_vector", {192}}},
       .faults = {shaped("prompt_speech", {9999}, DType::kI32, "at most"),
                  shaped("speaker", {3}, DType::kF32, "expected 256")},
       .mode = "clone",
       .rate = 24000,
       .modes = "clone",
       .resampling = {},
       .golden = GoldenRates{s3_samples,
                             "chatterbox/golden/rates.safetensors",
                             "",
                             ".",
                             {8000, 24000, 44100, 48000},
                             {{"prompt_speech", "prompt_speech"},
                              {"tokens", "tokens"},
                              {"speaker", "speaker"},
                              {"speaker_vector", "vector"},
                              {"mel", "mel"}}},
       .encoder_file = "ve.safetensors",
       .missing = "ve.safetensors is missing"},
      {.name = "cosyvoice2",
       .family = "cosyvoice2",
       .dir = "cosyvoice2/golden",
       .tensors = {{"tokens", {3}, 40}, {"mel", {6, 80}}, {"speaker_vector", {192}}},
       .faults = {of_mode("loud", "mode 'loud'"), shaped("mel", {8, 80}, DType::kF32, "\"mel\"")},
       .mode = "zero-shot",
       .text = "fine",
       .rate = 16000,
       .modes = "zero-shot* cross-lingual",
       .resampling = {},
       .golden = GoldenRates{s3_samples,
                             "cosyvoice2/golden/rates.safetensors",
                             "",
                             ".",
                             {24000, 44100, 48000},
                             {{"tokens", "tokens"}, {"speaker_vector", "vector"}, {"mel", "mel"}}},
       .vector = "speaker_vector",
       .encoder_file = "campplus.onnx",
       .missing = "campplus.onnx is missing"},
      {.name = "voxcpm2",
       .family = "voxcpm2",
       .dir = "voxcpm2/golden",
       .tensors = {{"prompt", {2, 4, 8}}},
       .faults = {shaped("prompt", {600, 4, 8}, DType::kF32,
                         "the recording of the voice is too long for the model: 600 frames, at "
                         "most 510 fit"),
                  shaped("reference", {1320, 4, 8}, DType::kF32, "1322 frames"),
                  shaped("prompt", {2, 4, 9}, DType::kF32,
                         "\"prompt\" is not f32 [patches, 4, 8] but f32 [2, 4, 9]"),
                  with_words("", "words")},
       .mode = "continuation",
       .text = "x",
       .rate = 16000,
       .modes = "reference+continuation* continuation* reference",
       .lengths = "1 s to 1.12 s",
       .resampling = Resampling::kSoxr},
      {.name = "pocket_tts",
       .family = "pocket_tts",
       .dir = "pocket_tts/golden/distilled",
       .tensors = {{"rows", {4, 48}}},
       .faults = {shaped("rows", {2048, 48}, DType::kF32, "too long"),
                  shaped("rows", {4, 7}, DType::kF32, "\"rows\" f32 [frames, 48]")},
       .mode = "continuation",
       .rate = 24000,
       .modes = "continuation",
       .resampling = Resampling::kSoxr},
      {.name = "qwen3_tts",
       .family = "qwen3_tts",
       .dir = "qwen3_tts/golden/base",
       .tensors = {{"speaker", {48}}, {"codes", {2, 6}, 64}},
       .faults = {shaped("codes", {0, 6}, DType::kI32, "codes"), with_words(" ", "words"),
                  of_mode("sung", "sung")},
       .text = "hello there",
       .rate = 24000,
       .modes = "in-context* x-vector",
       .resampling = Resampling::kSoxr,
       .golden = GoldenRates{qwen_samples,
                             "qwen3_tts/golden/base/rates.safetensors",
                             "",
                             "_",
                             {8000, 16000, 44100, 48000},
                             {{"speaker", "speaker"}, {"codes", "codes"}}},
       .vector = "speaker",
       .encoder_file = "model.safetensors",
       .encoder = {"speaker_encoder."},
       .missing = "speaker_encoder"},
      {.name = "step_audio2",
       .family = "step_audio2",
       .dir = "step_audio2/golden",
       .tensors = {{"tokens", {20}, 40}, {"mel", {40, 80}}, {"speaker_vector", {192}}},
       .faults = {shaped("tokens", {2}, DType::kI32, "\"tokens\" are missing or fewer than 3")},
       .mode = "prompt"},
  };
  return kAll;
}

class VoiceModels : public testing::TestWithParam<VoiceModel> {
 protected:
  static std::shared_ptr<const Pipeline> load(const std::string& dir) {
    const LoadSpec spec{dir, "tiny"};
    if (GetParam().load) return GetParam().load(spec);
    return std::ranges::find(families(), std::string_view(GetParam().family), &Family::name)
        ->load(spec);
  }
  static std::string checkpoint() {
    return parity_file(std::string(GetParam().dir) + "/checkpoint");
  }
  /// Returns a voice of zeros that the model accepts.
  static Voice given() {
    Voice voice{.family = GetParam().family,
                .encoder = "1",
                .mode = GetParam().mode,
                .text = GetParam().text};
    for (const VoiceTensor& each : GetParam().tensors)
      voice.tensors.emplace(each.name, Tensor(each.shape, each.type()));
    return voice;
  }
  static SpeechRequest with(std::shared_ptr<const Voice> voice) {
    SpeechRequest request;
    request.say.text = "Hello.";
    request.voice.name = "a name of the user's";
    request.voice.data = std::move(voice);
    return request;
  }
  /// Returns why the model refuses a changed voice. Empty string: it does not.
  std::string refusal(const std::function<void(Voice&)>& change) const {
    Voice voice = given();
    change(voice);
    const auto opened = model_->open(with(std::make_shared<Voice>(std::move(voice))));
    if (opened.ok()) return "";
    EXPECT_EQ(opened.error().param, "voice");
    return opened.error().message;
  }
  static void expect_part(const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
  }
  static std::vector<float> speech() {
    std::vector<float> samples = read_wav(parity_file("mimi/speech.wav")).samples;
    const auto most = static_cast<size_t>(1.1 * GetParam().rate);
    samples.resize(std::min(samples.size(), most));
    return samples;
  }
  Recording recording(std::vector<float> samples, int rate) const {
    Recording out{.samples = std::move(samples), .sample_rate = rate, .text = "the quick"};
    out.mode = model_->voice_encoder()->info().modes[0].name;
    return out;
  }
  static void expect_same_tensors(const Voice& got, const Voice& want) {
    ASSERT_EQ(got.tensors.size(), want.tensors.size());
    for (const auto& [name, tensor] : want.tensors)
      EXPECT_TRUE(fixture::same_bits(got.tensors.at(name), tensor)) << name;
  }

  const std::shared_ptr<const Pipeline> model_ = load(checkpoint());
};

TEST_P(VoiceModels, RefuseVoicesThatDoNotFit) {
  EXPECT_EQ(refusal([](Voice&) {}), "");
  for (const VoiceTensor& each : GetParam().tensors) {
    const std::string name = each.name;
    const auto becomes = [&](Shape shape, DType type) {
      expect_part(
          refusal([&](Voice& voice) { voice.tensors.insert_or_assign(name, Tensor(shape, type)); }),
          name);
    };
    if (each.needed) expect_part(refusal([&](Voice& voice) { voice.tensors.erase(name); }), name);
    becomes(each.shape, each.bound > 0 ? DType::kF32 : DType::kI32);
    const int dims = each.shape.dims();
    std::vector<int64_t> sizes;
    for (int i = 0; i < dims; ++i) sizes.push_back(each.shape[i]);
    if (dims > 1 || each.bound == 0) {
      --sizes.back();
      becomes(Shape(sizes), each.type());
      ++sizes.back();
    }
    sizes.push_back(2);
    becomes(Shape(sizes), each.type());
    const auto last = [&](auto value) {
      return refusal([&](Voice& voice) {
        Tensor& tensor = voice.tensors.at(name);
        const int64_t at = tensor.shape().count() - 1;
        if (each.bound > 0) {
          tensor.i32()[at] = static_cast<int32_t>(value);
        } else {
          tensor.f32()[at] = static_cast<float>(value);
        }
      });
    };
    if (each.bound > 0) {
      EXPECT_EQ(last(each.bound - 1), "") << name;
      expect_part(last(each.bound), std::to_string(each.bound));
      expect_part(last(-1), "-1");
    } else {
      for (const float odd : {NAN, INFINITY}) {
        const std::string message = last(odd);
        EXPECT_TRUE(message.find("finite") != message.npos || message.find(name) != message.npos)
            << name << ": " << message;
      }
    }
  }
  for (const VoiceFault& fault : GetParam().faults) expect_part(refusal(fault.change), fault.named);
}

TEST_P(VoiceModels, ARecordingHasItsBitsAloneAndBesideOthers) {
  const VoiceModel& row = GetParam();
  const VoiceEncoder* encoder = model_->voice_encoder();
  ASSERT_EQ(encoder != nullptr, row.rate > 0);
  if (!encoder) return;
  const Recording whole = recording(speech(), row.rate);
  Recording other = recording(speech(), row.rate == 44100 ? 24000 : 44100);
  other.samples.erase(other.samples.begin(), other.samples.begin() + 2000);
  const auto alone = encode(*encoder, whole);
  EXPECT_EQ(alone->family, row.family);
  EXPECT_EQ(alone->mode, encoder->info().modes[0].name);
  EXPECT_EQ(alone->text, "the quick");
  EXPECT_NEAR(alone->seconds, whole.seconds(), 1e-6);
  EXPECT_TRUE(model_->open(with(alone)).ok());
  std::vector<std::unique_ptr<VoiceEncoding>> all;
  all.push_back(encoder->open(other)), all.push_back(encoder->open(whole));
  fixture::Bench bench(1);
  int pieces = 0;
  for (std::vector<VoiceEncoding*> batch;; ++pieces) {
    batch.clear();
    for (const auto& each : all)
      if (!each->done()) batch.push_back(each.get());
    if (batch.empty()) break;
    encoder->run(bench.ctx, batch);
    bench.arena.reset();
  }
  EXPECT_GT(pieces, 2);
  EXPECT_NE(voice_hash(all[0]->take()), voice_hash(*alone));
  EXPECT_EQ(voice_hash(all[1]->take()), voice_hash(*alone));
}

TEST_P(VoiceModels, OtherRatesAreResampledAsTheAuthorsDo) {
  if (GetParam().rate > 0 && GetParam().resampling) {
    const int rate = GetParam().rate, other = rate == 44100 ? 32000 : rate * 3 / 2;
    const VoiceEncoder& encoder = *model_->voice_encoder();
    const auto same =
        encode(encoder, recording(resampled(speech(), other, rate, *GetParam().resampling), rate));
    expect_same_tensors(*encode(encoder, recording(speech(), other)), *same);
  }
  if (!GetParam().golden) return;
  const GoldenRates& row = *GetParam().golden;
  const Safetensors golden(parity_file(row.file));
  for (const int rate : row.rates) {
    const auto voice = encode(*model_->voice_encoder(), recording(row.samples(), rate));
    for (const auto& [tensor, end] : row.views) {
      const View want = golden.view(concat(row.begin, rate, row.middle, end));
      const View got = voice->tensors.at(tensor).view();
      if (want.dtype == DType::kI32) {
        EXPECT_EQ(ints(got), ints(want)) << rate << " " << tensor;
        continue;
      }
      const bool all = got.count() == want.count();  // otherwise the golden has every 16th row
      const float off =
          all ? relative(floats(got), floats(want)) : relative(every_16th(got), floats(want));
      EXPECT_LT(off, 1e-4f) << rate << " " << tensor;
    }
  }
}

TEST_P(VoiceModels, RefuseRecordingsOfTheWrongKind) {
  if (GetParam().rate == 0) return;
  const VoiceEncoderInfo& info = model_->voice_encoder()->info();
  std::string modes;
  for (const VoiceMode& mode : info.modes)
    modes += (modes.empty() ? "" : " ") + mode.name + (mode.needs_text ? "*" : "");
  EXPECT_EQ(modes, GetParam().modes);
  const auto first_without_words = std::ranges::find(info.modes, false, &VoiceMode::needs_text);
  Recording each{.samples = std::vector<float>(static_cast<size_t>(GetParam().rate)),
                 .sample_rate = GetParam().rate};
  const auto wordless = check_recording(info, each);
  if (first_without_words == info.modes.end()) {
    EXPECT_EQ(wordless.error().param, "ref_text");
  } else {
    EXPECT_EQ(wordless.value(), first_without_words->name);
  }
  each.text = "the words";
  EXPECT_EQ(check_recording(info, each).value(), info.modes[0].name);
  each.mode = "sung";
  EXPECT_FALSE(check_recording(info, each).ok());
  each.mode.clear();
  for (const int seconds : {0, static_cast<int>(info.max_s) + 1}) {
    each.samples.resize(static_cast<size_t>(seconds * GetParam().rate));
    EXPECT_EQ(check_recording(info, each).error().message,
              concat("the recording lasts ", seconds, " s; this model needs ", GetParam().lengths));
  }
}

TEST_P(VoiceModels, AnEmbeddingIsAVoice) {
  const std::vector<float> some(7, 1.f);
  const char* name = GetParam().vector;
  if (!*name) {
    EXPECT_EQ(model_->voice_of_embedding(some).error().code, ErrorCode::kUnsupported);
    return;
  }
  const Voice known = given();
  std::vector<float> vector(static_cast<size_t>(known.tensors.at(name).shape().count()), 0.5f);
  auto voice = model_->voice_of_embedding(vector);
  ASSERT_TRUE(voice.ok());
  EXPECT_EQ(voice.value().encoder, "given");
  EXPECT_EQ(voice.value().family, GetParam().family);
  EXPECT_TRUE(std::ranges::equal(floats(voice.value().tensors.at(name)), vector));
  EXPECT_TRUE(model_->open(with(std::make_shared<Voice>(voice.take()))).ok());
  EXPECT_EQ(model_->voice_of_embedding(some).error().param, "speaker_embedding");
  vector[3] = INFINITY;
  EXPECT_EQ(model_->voice_of_embedding(vector).error().param, "speaker_embedding");
}

TEST_P(VoiceModels, SpeakWithoutTheNetworksForRecordings) {
  const VoiceModel& row = GetParam();
  if (!*row.encoder_file) return;
  const CheckpointCopy copy(checkpoint());
  if (row.encoder.empty()) std::filesystem::remove_all(copy.dir.path(row.encoder_file));
  for (const char* prefix : row.encoder) copy.drop(row.encoder_file, prefix);
  ::setenv("HF_HUB_CACHE", copy.dir.path("cache").c_str(), 1);
  const auto model = load(copy.dir.path());
  ::unsetenv("HF_HUB_CACHE");
  EXPECT_EQ(model->voice_encoder(), nullptr);
  expect_part(model->info().speech.no_cloning, row.missing);
}

INSTANTIATE_TEST_SUITE_P(Families, VoiceModels, testing::ValuesIn(voice_models()),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace syrinx
