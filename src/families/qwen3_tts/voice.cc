#include "families/qwen3_tts/voice.h"

#include <algorithm>
#include <cmath>

#include "families/recorded_voice.h"

namespace syrinx::qwen3_tts {
namespace {

constexpr const char* kFamily = "qwen3_tts";
constexpr const char* kSpeaker = "speaker";  // f32 [H]
constexpr const char* kCodes = "codes";      // i32 [T, C]

class Encoding : public RecordedVoice {
 public:
  Encoding(const VoiceMaker::Networks& networks, const VoiceEncoderInfo& info,
           const Recording& recording)
      : RecordedVoice(info, recording), networks_(networks) {
    start(work());
  }

 private:
  Pieces work() {
    const SpeakerEncoder& speaker = *networks_.speaker;
    resample(speaker.sample_rate(), Resampling::kSoxr);
    co_await PieceEnd();
    std::vector<float> vector;
    for (Pieces p = speaker.run(ctx_slot(), samples, vector); !p.done(); p.next()) {
      co_await PieceEnd();
    }
    keep(kSpeaker, vector);
    if (voice.mode != kInContext) co_return;

    const MimiEncoder& codec = *networks_.codec;
    const int64_t q = codec.config().codebooks, hop = codec.config().hop();
    const int64_t total = codec.frames(static_cast<int64_t>(samples.size()));
    Tensor codes({total, q}, DType::kI32);
    MimiEncoder::Stream stream = codec.open();
    for (int64_t at = 0; at < total;) {
      co_await PieceEnd();
      const int64_t n = std::min(total - at, codec.room(ctx(), stream));
      const size_t begin = at * hop, count = std::min<size_t>(n * hop, samples.size() - begin);
      codec.run(ctx(), stream, std::span(samples).subspan(begin, count),
                {codes.i32() + at * q, static_cast<size_t>(n * q)});
      at += n;
    }
    voice.tensors.emplace(kCodes, std::move(codes));
  }

  const VoiceMaker::Networks& networks_;
};

Error no_voice_of(const std::string& what) {
  return {ErrorCode::kInvalid, "the voice is none of this model: " + what, "voice"};
}

/// "speaker" of a voice, or why it has none for this model.
Result<std::vector<float>> speaker_of(const ModelConfig& config, const Voice& voice) {
  const Tensor* found = voice.find(kSpeaker);
  const int64_t width = config.talker.hidden;
  if (!found || found->dtype() != DType::kF32 || found->shape().count() != width) {
    return no_voice_of(concat("it needs \"", kSpeaker, "\" f32 [", width, "]"));
  }
  std::vector<float> vector(found->f32(), found->f32() + width);
  if (!std::ranges::all_of(vector, [](float x) { return std::isfinite(x); })) {
    return no_voice_of(concat("\"", kSpeaker, "\" has numbers that are not finite"));
  }
  return vector;
}

/// The vector that a named speaker's id stands for.
Result<std::vector<float>> named_speaker(const Frontend& frontend, const Talker& talker,
                                         const std::string& name) {
  const Result<VoiceChoice> choice = frontend.choose(name, "");
  if (!choice) return choice.error();
  if (choice.value().speaker < 0) {
    return Error{ErrorCode::kInvalid, "\"none\" is no voice to mix with others", "voice"};
  }
  return talker.codec_row(choice.value().speaker);
}

Result<VoicePrompt> prompt_of(const ModelConfig& config, const Voice& voice) {
  VoicePrompt prompt;
  Result<std::vector<float>> vector = speaker_of(config, voice);
  if (!vector) return vector.error();
  prompt.vector = vector.take();
  prompt.choice.by_vector = true;
  if (voice.mode == kXVector) return prompt;
  if (voice.mode != kInContext) return no_voice_of(concat("its mode is '", voice.mode, "'"));
  const Tensor* codes = voice.find(kCodes);
  const int64_t c = config.codebooks;
  if (!codes || codes->dtype() != DType::kI32 || codes->shape().dims() != 2 ||
      codes->shape()[0] < 1 || codes->shape()[1] != c) {
    return no_voice_of(concat("it needs \"", kCodes, "\" i32 [frames, ", c, "]"));
  }
  prompt.frames.assign(codes->i32(), codes->i32() + codes->shape().count());
  for (size_t i = 0; i < prompt.frames.size(); ++i) {
    const int64_t count =
        i % static_cast<size_t>(c) == 0 ? config.audio_codes() : config.code_vocab;
    if (prompt.frames[i] < 0 || prompt.frames[i] >= count) {
      return no_voice_of(concat("code ", prompt.frames[i], " of ", count));
    }
  }
  prompt.text = voice.text;
  if (prompt.text.find_first_not_of(" \t\r\n\v\f") == prompt.text.npos) {
    return no_voice_of("the words of its recording are missing");
  }
  return prompt;
}

}  // namespace

Result<VoicePrompt> voice_prompt(const ModelConfig& config, const Frontend& frontend,
                                 const Talker& talker, const SpeechRequest& request) {
  const bool own = !request.voice_data && request.mix.empty();
  if (own && config.kind == Kind::kBase) {
    return Error{ErrorCode::kInvalid,
                 "this is a Base checkpoint of Qwen3-TTS, which speaks only with the voice of a "
                 "recording: give one, or a stored voice, or a speaker embedding",
                 "voice"};
  }
  const bool cloned = request.voice_data ||
                      std::ranges::any_of(request.mix, [](const auto& s) { return !!s.data; });
  if (cloned && config.kind != Kind::kBase) {
    return Error{ErrorCode::kUnsupported,
                 "only Base checkpoints of Qwen3-TTS speak with a voice that is given as data",
                 "voice"};
  }
  Result<VoiceChoice> choice = frontend.choose(own ? request.voice : "none", request.language);
  if (!choice) return choice.error();
  VoicePrompt prompt;
  if (request.voice_data && request.mix.empty()) {
    Result<VoicePrompt> made = prompt_of(config, *request.voice_data);
    if (!made) return made.error();
    prompt = made.take();
  } else if (!own) {
    double all = 0;
    for (const VoiceShare& share : request.mix) all += share.weight;
    prompt.vector.resize(static_cast<size_t>(config.talker.hidden));
    for (const VoiceShare& share : request.mix) {
      Result<std::vector<float>> vector = share.data ? speaker_of(config, *share.data)
                                                     : named_speaker(frontend, talker, share.voice);
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
  const auto refuse = [](std::string why) {
    return Error{ErrorCode::kInvalid, std::move(why), "speaker_embedding"};
  };
  if (static_cast<int64_t>(vector.size()) != config.talker.hidden) {
    return refuse(concat("a speaker embedding of this model has ", config.talker.hidden,
                         " numbers, got ", vector.size()));
  }
  if (!std::ranges::all_of(vector, [](float x) { return std::isfinite(x); })) {
    return refuse("the speaker embedding has numbers that are not finite");
  }
  Voice voice{.family = kFamily, .encoder = "given", .mode = kXVector};
  Tensor kept({config.talker.hidden}, DType::kF32);
  std::ranges::copy(vector, kept.f32());
  voice.tensors.emplace(kSpeaker, std::move(kept));
  return voice;
}

VoiceMaker::VoiceMaker(std::function<Networks()> load, bool frames)
    : load_(std::move(load)),
      info_{.family = kFamily, .version = "2", .modes = {{kXVector}}, .min_s = 1, .max_s = 30} {
  if (frames) info_.modes.insert(info_.modes.begin(), {kInContext, true});
}

const VoiceMaker::Networks& VoiceMaker::networks() const {
  std::call_once(once_, [&] { networks_ = load_(); });
  return networks_;
}

std::unique_ptr<VoiceEncoding> VoiceMaker::open(const Recording& recording) const {
  return std::make_unique<Encoding>(networks(), info_, recording);
}

void VoiceMaker::run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const {
  for (VoiceEncoding* encoding : batch) static_cast<Encoding*>(encoding)->run(ctx);
}

}  // namespace syrinx::qwen3_tts
