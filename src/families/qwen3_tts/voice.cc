#include "families/qwen3_tts/voice.h"

#include <algorithm>
#include <limits>

#include "families/loading/recorded_voice.h"
#include "kernels/embedding.h"
#include "text/segment_queue.h"

namespace syrinx::qwen3_tts {
namespace {

constexpr const char* kFamily = "qwen3_tts";
constexpr const char* kSpeaker = "speaker";  // f32 [H]

Pieces hear(const VoiceNetworks& networks, RecordedVoice& recorded) {
  recorded.resample(networks.speaker->sample_rate(), Resampling::kSoxr);
  co_await PieceEnd();
  std::vector<float> vector;
  for (Pieces p = networks.speaker->run(recorded.ctx_slot(), recorded.samples, vector); !p.done();
       p.next()) {
    co_await PieceEnd();
  }
  recorded.keep(kSpeaker, vector);
  if (recorded.voice.mode != kInContext) co_return;
  for (Pieces p = hear_frames(*networks.codec, recorded); !p.done(); p.next()) {
    co_await PieceEnd();
  }
}

Result<std::vector<float>> speaker_of(const ModelConfig& config, const Voice& voice) {
  return voice_floats(voice, kSpeaker, config.talker.hidden);
}

Result<std::vector<float>> named_speaker(const Frontend& frontend, const View& speakers,
                                         const std::string& name) {
  const Result<VoiceChoice> choice = frontend.choose(name, "");
  if (!choice) return choice.error();
  if (choice.value().speaker < 0) {
    return Error{ErrorCode::kInvalid, "\"none\" cannot be mixed with voices", "voice"};
  }
  return row_of_table(speakers, choice.value().speaker);
}

Result<VoicePrompt> prompt_of(const ModelConfig& config, const Voice& voice) {
  VoicePrompt prompt;
  Result<std::vector<float>> vector = speaker_of(config, voice);
  if (!vector) return vector.error();
  prompt.vector = vector.take();
  prompt.choice.by_vector = true;
  if (voice.mode == kXVector) return prompt;
  if (voice.mode != kInContext) return foreign_voice(concat("its mode is '", voice.mode, "'"));
  Result<std::vector<int32_t>> frames =
      voice_codes(voice, config.codebooks, std::numeric_limits<int64_t>::max(),
                  config.audio_codes(), config.code_vocab);
  if (!frames) return frames.error();
  prompt.frames = frames.take();
  prompt.text = voice.text;
  if (is_blank(prompt.text)) {
    return foreign_voice("the words of its recording are missing");
  }
  return prompt;
}

}  // namespace

std::vector<float> row_of_table(const View& table, int32_t id) {
  std::vector<float> row(static_cast<size_t>(table.shape[1]));
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  embed(ctx, table, std::span(&id, 1), {row.data(), DType::kF32, {1, table.shape[1]}});
  return row;
}

Result<VoicePrompt> voice_prompt(const ModelConfig& config, const Frontend& frontend,
                                 const View& speakers, const SpeechRequest& request) {
  const bool own = !request.voice.data && request.voice.mix.empty();
  if (own && config.kind == Kind::kBase) {
    return Error{ErrorCode::kInvalid,
                 "this is a Base checkpoint of Qwen3-TTS, which speaks only with the voice of a "
                 "recording: send a recording, a stored voice or a speaker embedding",
                 "voice"};
  }
  const bool cloned =
      request.voice.data ||
      std::ranges::any_of(request.voice.mix, [](const auto& s) { return !!s.data; });
  if (cloned && config.kind != Kind::kBase) {
    return Error{ErrorCode::kUnsupported,
                 "only Base checkpoints of Qwen3-TTS can speak with cloned or stored voices",
                 "voice"};
  }
  Result<VoiceChoice> choice =
      frontend.choose(own ? request.voice.name : "none", request.say.language);
  if (!choice) return choice.error();
  VoicePrompt prompt;
  if (request.voice.data && request.voice.mix.empty()) {
    Result<VoicePrompt> made = prompt_of(config, *request.voice.data);
    if (!made) return made.error();
    prompt = made.take();
  } else if (!own) {
    double all = 0;
    for (const VoiceShare& share : request.voice.mix) all += share.weight;
    prompt.vector.resize(static_cast<size_t>(config.talker.hidden));
    for (const VoiceShare& share : request.voice.mix) {
      Result<std::vector<float>> vector = share.data
                                              ? speaker_of(config, *share.data)
                                              : named_speaker(frontend, speakers, share.voice);
      if (!vector) return vector.error();
      const double part = share.weight / all;
      for (size_t i = 0; i < prompt.vector.size(); ++i) {
        prompt.vector[i] += static_cast<float>(part * vector.value()[i]);
      }
    }
    prompt.choice.by_vector = true;
  }
  prompt.choice.speaker = choice.value().speaker;
  prompt.choice.language = choice.value().language;
  return prompt;
}

Result<Voice> voice_of_vector(const ModelConfig& config, std::span<const float> vector) {
  return embedding_voice(kFamily, kXVector, kSpeaker, vector, config.talker.hidden);
}

std::unique_ptr<VoiceEncoder> make_voices(std::function<VoiceNetworks()> load, bool frames) {
  VoiceEncoderInfo info{
      .family = kFamily, .version = "2", .modes = {{kXVector}}, .min_s = 1, .max_s = 30};
  if (frames) info.modes.insert(info.modes.begin(), {kInContext, true});
  return std::make_unique<RecordedVoices<VoiceNetworks>>(std::move(info), std::move(load), hear);
}

}  // namespace syrinx::qwen3_tts
