#include "families/step_audio2/voices.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "audio/wav_file.h"
#include "families/s3/cloning.h"
#include "families/step_audio2/config.h"
#include "io/file.h"
#include "kernels/sample.h"
#include "model/voice_file.h"

namespace syrinx::step_audio2 {
namespace {

constexpr const char* kMode = "prompt";
constexpr size_t kMostAssetBytes = 64 << 20;
constexpr int64_t kDummyCodes = 75;

std::vector<std::filesystem::path> files_in(const std::string& dir, const char* extension) {
  std::vector<std::filesystem::path> out;
  std::error_code error;
  for (std::filesystem::directory_iterator each(dir, error), end; !error && each != end;
       each.increment(error)) {
    if (each->path().extension() == extension) out.push_back(each->path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

Recording load_recording(const std::string& path) {
  const Wav wav = read_wav(path, kMostAssetBytes);
  Recording recording;
  recording.sample_rate = static_cast<int>(wav.rate);
  const size_t channels = wav.channels, count = wav.samples.size() / channels;
  for (size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (size_t c = 0; c < channels; ++c) sum += wav.samples[i * channels + c];
    recording.samples.push_back(sum / static_cast<float>(channels));
  }
  return recording;
}

Voice encoded(const VoiceEncoder& encoder, const Recording& recording) {
  const std::unique_ptr<VoiceEncoding> encoding = encoder.open(recording);
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  VoiceEncoding* one[] = {encoding.get()};
  while (!encoding->done()) {
    encoder.run(ctx, one);
    arena.reset();
  }
  return encoding->take();
}

std::shared_ptr<const S3FlowVoice> dummy_voice(const S3Flow& flow) {
  const S3FlowConfig& c = flow.config();
  std::vector<int32_t> codes;
  for (int64_t i = 0; i < kDummyCodes; ++i) codes.push_back(static_cast<int32_t>(i * 37 % c.vocab));
  Tensor mel({kDummyCodes * c.ratio, c.mel}, DType::kF32);
  std::vector<float> speaker(static_cast<size_t>(c.speaker));
  philox_normal(1, 0, 0, {mel.f32(), static_cast<size_t>(mel.view().count())});
  philox_normal(1, 1, 0, speaker);
  return flow.voice(std::move(codes), std::move(mel), speaker);
}

}  // namespace

std::unique_ptr<const VoiceEncoder> make_cloning(const LoadSpec& spec, const S3FlowConfig& flow,
                                                 std::string& missing) {
  const std::string dir = join_path(spec.dir, kDecoderFolder);
  S3Cloning::Files files{join_path(dir, "speech_tokenizer_v2_25hz.onnx"),
                         join_path(dir, "campplus.onnx")};
  missing = spec.dummy ? "" : files.missing();
  if (!missing.empty()) return nullptr;
  VoiceEncoderInfo info;
  info.family = kFamily;
  info.version = "1.1";
  info.modes.push_back({.name = kMode});
  return std::make_unique<S3Cloning>(std::move(info), std::move(files), flow,
                                     S3CloningOptions{.dummy = spec.dummy, .filled = true});
}

Voices load_voices(const LoadSpec& spec, const S3Flow& flow, const VoiceEncoder* encoder) {
  Voices voices;
  if (spec.dummy) {
    voices.emplace("dummy", dummy_voice(flow));
    return voices;
  }
  const auto add = [&](const std::filesystem::path& path, const Voice& data) {
    auto voice = voice_of(data, flow);
    if (!voice.ok()) throw LoadError(concat(path.string(), ": ", voice.error().message));
    if (!voices.emplace(path.stem().string(), voice.take()).second)
      throw LoadError(concat(path.string(), ": another file has a voice of this name"));
  };
  for (const auto& path : files_in(join_path(spec.dir, "voices"), ".safetensors"))
    add(path, read_voice_file(path.string()).voice);
  if (!encoder) return voices;
  const VoiceEncoderInfo& info = encoder->info();
  for (const auto& path : files_in(join_path(spec.dir, "assets"), ".wav")) {
    // The authors' other assets are examples of speech from users.
    if (!path.stem().string().starts_with("default_")) continue;
    const Recording recording = load_recording(path.string());
    if (recording.seconds() < info.min_s || recording.seconds() > info.max_s)
      throw LoadError(concat(path.string(), ": lasts ", recording.seconds(), " s; a voice needs ",
                             info.min_s, " to ", info.max_s, " s"));
    add(path, encoded(*encoder, recording));
  }
  return voices;
}

Result<std::shared_ptr<const S3FlowVoice>> voice_of(const Voice& data, const S3Flow& flow) {
  const Tensor* tokens = data.find("tokens");
  const int64_t least = flow.config().lookahead;
  if (!tokens || tokens->view().count() < least) {
    return Error{ErrorCode::kInvalid,
                 concat("the voice's \"tokens\" are missing or fewer than ", least), "voice"};
  }
  auto voice = flow_voice(data, flow);
  if (voice.ok() && flow.spare_frames(*voice.value()) != 0) {
    return Error{ErrorCode::kInvalid, "the voice's \"mel\" and \"tokens\" differ in length",
                 "voice"};
  }
  return voice;
}

}  // namespace syrinx::step_audio2
