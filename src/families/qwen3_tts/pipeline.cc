#include "families/qwen3_tts/pipeline.h"

#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/qwen3_tts/checkpoint.h"
#include "families/qwen3_tts/state.h"

namespace syrinx::qwen3_tts {
namespace {

/// The codec's convolutions cost the same per frame for any chunk size. A step of the talker makes
/// 80 ms of audio, so a second chunk of 4 frames leaves the executor mostly to the talker.
constexpr ChunkSizes kChunks{1, 4};

/// Reads the sizes of the codec's encoder, a Mimi, for its first `codebooks` codebooks. Without a
/// config, returns the published sizes.
MimiConfig codec_encoder_config(const std::optional<Config>& root, int64_t codebooks) {
  MimiConfig mimi;
  if (root) {
    if (const auto encoder = root->opt_sub("encoder_config")) mimi = MimiConfig::load(*encoder);
    if (root->opt_i("encoder_valid_num_quantizers", codebooks) != codebooks ||
        mimi.codebooks < codebooks) {
      root->fail("encoder_valid_num_quantizers",
                 "must be the talker's number of codebooks, " + std::to_string(codebooks));
    }
    if (mimi.semantic >= codebooks) {
      root->fail("encoder_config.num_semantic_quantizers",
                 concat("must be below the talker's number of codebooks, ", codebooks));
    }
  }
  mimi.codebooks = codebooks;
  return mimi;
}

}  // namespace

struct HearingCodecStage::Hearing : Stream {
  using Stream::Stream;
  std::vector<int32_t> unheard;  // frames of the recording, decoded before the first new frame
};

/// A cache of the codec's states after recently used recordings, because decoding a recording takes
/// longer than making the first frame. Any thread. If two threads need the same missing state, both
/// compute it.
class HearingCodecStage::HeardStates {
 public:
  std::optional<CodecState> find(const std::vector<int32_t>& codes) {
    const std::lock_guard lock(mutex_);
    for (auto it = states_.begin(); it != states_.end(); ++it) {
      if (it->first != codes) continue;
      states_.splice(states_.begin(), states_, it);
      return it->second.clone();
    }
    return {};
  }
  void keep(std::vector<int32_t> codes, CodecState state) {
    const std::lock_guard lock(mutex_);
    states_.emplace_front(std::move(codes), std::move(state));
    if (states_.size() > kMost) states_.pop_back();
  }

 private:
  static constexpr size_t kMost = 32;
  std::mutex mutex_;
  std::list<std::pair<std::vector<int32_t>, CodecState>> states_;  // most recently used first
};

HearingCodecStage::HearingCodecStage(std::shared_ptr<const Qwen3Codec> codec)
    : CodecStage(std::move(codec)), heard_(std::make_unique<HeardStates>()) {}
HearingCodecStage::~HearingCodecStage() = default;

size_t HearingCodecStage::heard_frames(size_t recorded) {
  constexpr size_t kWindow = 300, kLeft = 25;
  const size_t begin = recorded / kWindow * kWindow;
  return recorded - (begin - std::min(begin, kLeft));
}

Bundle HearingCodecStage::bundle(const Sequence& sequence) const {
  const std::span<const int32_t> codes = static_cast<const State&>(sequence).recording();
  const auto width = static_cast<size_t>(in_width());
  const size_t heard = heard_frames(codes.size() / width) * width;
  Bundle bundle;
  if (heard > 0)
    bundle.set("heard",
               std::vector<int32_t>(codes.end() - static_cast<int64_t>(heard), codes.end()));
  return bundle;
}

std::unique_ptr<StreamState> HearingCodecStage::open(Bundle bundle) const {
  auto stream = std::make_unique<Hearing>(codec().open());
  if (!bundle.has("heard")) return stream;
  stream->unheard = bundle.ints("heard");
  if (stream->unheard.size() % in_width() != 0) {
    throw LoadError(
        concat("'heard' has ", stream->unheard.size(), " codes; a frame has ", in_width()));
  }
  return stream;
}

void HearingCodecStage::hear_recordings(StepContext& ctx, std::span<ChunkJob> jobs) const {
  for (const ChunkJob& job : jobs) {
    auto& stream = *static_cast<Hearing*>(job.state);
    if (stream.unheard.empty()) continue;
    if (auto state = heard_->find(stream.unheard)) {
      stream.state = std::move(*state);
    } else {
      codec().hear(ctx, stream.state, stream.unheard);
      heard_->keep(std::move(stream.unheard), stream.state.clone());
    }
    stream.unheard.clear();
  }
}

void HearingCodecStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  hear_recordings(ctx, jobs);
  CodecStage::run(ctx, jobs);
}

std::unique_ptr<CodecLm> load_talker(const ModelConfig& config, const Weights& weights,
                                     WeightType type) {
  const int64_t hidden = config.talker.hidden, text = config.text_hidden;
  auto beside = std::make_unique<TextBeside>(
      weights.scope("model").take("text_embedding.weight", {config.text_vocab, text}),
      ResizeMlp(weights.scope("text_projection"), text, text, hidden, type),
      std::vector<int32_t>{config.text.tts_pad, config.text.tts_bos, config.text.tts_eos});
  return load_talker({config.talker,
                      {config.predictor, hidden, config.codebooks, config.code_vocab},
                      config.talker_vocab,
                      config.max_positions},
                     weights, std::move(beside), type);
}

Qwen3Tts::Qwen3Tts(const LoadSpec& spec) {
  Checkpoint files = open_checkpoint(spec);
  config_ = std::move(files.config);
  frontend_ = std::make_unique<Frontend>(config_, std::move(files.tokenizer));
  const Qwen3CodecConfig codec =
      files.codec ? Qwen3CodecConfig::load(*files.codec) : Qwen3CodecConfig();
  if (codec.codebooks != config_.codebooks || codec.codebook_size < config_.audio_codes() ||
      codec.codebook_size < config_.code_vocab) {
    throw LoadError(concat(files.codec_path, ": the codec has ", codec.codebooks, " codebooks of ",
                           codec.codebook_size, " codes, the talker makes ", config_.codebooks,
                           " of ", config_.audio_codes()));
  }
  weights_ = std::make_unique<Weights>(files.weights());
  talker_ = load_part(spec, "ar", *weights_,
                      [&] { return load_talker(config_, weights_->scope("talker"), spec.weights); },
                      {"speaker_encoder.*"});
  bool codec_encoder = false;
  std::unique_ptr<Qwen3Codec> decoder;
  {
    const Weights stored(files.codec_weights());
    decoder = load_part(
        spec, "codec", stored,
        [&] { return std::make_unique<Qwen3Codec>(codec, stored, codec_weights(spec.weights)); },
        {"encoder.*"});
    const Weights encoder = stored.scope("encoder");
    codec_encoder = encoder.has("downsample.conv.weight") || encoder.count("encoder.layers") > 0;
  }
  codec_table_ = talker_->table(0);
  move_networks(spec, "ar", *talker_, "codec", *decoder);
  stage_ = std::make_unique<HearingCodecStage>(std::move(decoder));
  if (config_.kind == Kind::kBase) load_voices(files, codec_encoder);
  const Link links[] = {stage_->link(kChunks)};
  graph_ = chain(*talker_, links);
  describe(spec);
}

void Qwen3Tts::load_voices(const Checkpoint& files, bool codec_encoder) {
  const Weights speakers = weights_->scope("speaker_encoder");
  if (!speakers.has("fc.weight") && speakers.count("blocks") == 0) return;
  // The codec's first codebooks equal those of a complete Mimi.
  MimiConfig codec = codec_encoder_config(files.codec, config_.codebooks);
  const int64_t hop = codec.hop();
  if (hop != stage_->codec().config().hop() ||
      codec.codebook_size > std::min(config_.audio_codes(), config_.code_vocab)) {
    throw LoadError(concat(files.codec_path, ": the encoder has ", codec.codebook_size,
                           " codes in a codebook and a hop of ", hop,
                           " samples, the talker and decoder have ",
                           std::min(config_.audio_codes(), config_.code_vocab), " and ",
                           stage_->codec().config().hop()));
  }
  const auto load = [this, open = files.codec_weights, codec_encoder, codec] {
    VoiceNetworks networks;
    const Weights speaker = weights_->scope("speaker_encoder");
    speaker.build(
        [&] { networks.speaker = std::make_unique<SpeakerEncoder>(config_.speaker, speaker); });
    if (codec_encoder) {
      const Weights all(open());
      const Weights encoder = all.scope("encoder");
      // Ignores codebooks that the talker does not have, and weights that only a decoder needs.
      encoder.build([&] { networks.codec = std::make_unique<MimiEncoder>(codec, encoder); },
                    {"quantizer.*.codebook.*", "quantizer.*.output_proj.weight"});
    }
    return networks;
  };
  voices_ = make_voices(load, codec_encoder);
}

void Qwen3Tts::describe(const LoadSpec& spec) {
  const Qwen3CodecConfig& codec = stage_->codec().config();
  name("qwen3_tts", spec, "Apache-2.0");
  set_rates(info_, codec.sample_rate, codec.hop());
  for (const auto& [name, id] : config_.speakers) {
    const auto dialect = config_.dialects.find(name);
    info_.speech.voices.push_back({name, dialect == config_.dialects.end()
                                             ? "named speaker"
                                             : "named speaker of " + dialect->second});
  }
  if (!config_.speakers.empty()) info_.speech.voices.push_back({"none", "no speaker row"});
  info_.speech.default_voice = frontend_->default_voice();
  info_.speech.languages = {"auto"};
  for (const auto& [name, id] : config_.languages) info_.speech.languages.push_back(name);
  info_.speech.late_text = LateText::kToken;
  info_.offers.add({{"inner_temperature"}, {"inner_top_p"}, {"inner_top_k"}, {"text_in_prompt"}});
  if (config_.instructions()) info_.offers.add("instructions");
  info_.speech.mixes = config_.kind != Kind::kVoiceDesign;
  if (config_.kind != Kind::kBase) {
    info_.speech.no_cloning = "only Base checkpoints of Qwen3-TTS can";
  } else if (!voices_) {
    info_.speech.no_cloning = "the checkpoint has no speaker encoder (speaker_encoder.*)";
  }
  const DecoderConfig& t = config_.talker;
  const std::string tables = concat(config_.text_vocab, " texts x ", config_.text_hidden, ", ",
                                    config_.codebooks, " codebooks x ", t.hidden);
  info_.parts = {{"talker", describe_decoder(t), talker_->bytes()},
                 {"code predictor", describe_decoder(config_.predictor), talker_->inner_bytes()},
                 {"tables", tables, talker_->table_bytes()},
                 stage_->part()};
}

Result<Opened> Qwen3Tts::open(const SpeechRequest& request) const {
  Result<VoicePrompt> voice = voice_prompt(config_, *frontend_, codec_table_, request);
  if (!voice) return voice.error();
  return State::open(config_, *frontend_, talker_->traits().max_positions, voice.take(), request);
}

Result<Voice> Qwen3Tts::voice_of_embedding(std::span<const float> embedding) const {
  if (config_.kind != Kind::kBase) return Pipeline::voice_of_embedding(embedding);
  return voice_of_vector(config_, embedding);
}

}  // namespace syrinx::qwen3_tts
