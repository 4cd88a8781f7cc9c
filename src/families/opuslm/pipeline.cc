#include "families/opuslm/pipeline.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "audio/resampler.h"
#include "base/check.h"
#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/loading/tokenizer.h"
#include "families/opuslm/voice.h"
#include "families/voice_chat/chat_graph.h"
#include "io/file.h"
#include "io/hub.h"
#include "io/joblib_array.h"

namespace syrinx::opuslm {
namespace {

constexpr ChunkSizes kChunks{4, 16};  // a frame is 20 ms
constexpr double kHearsSeconds = 30;
constexpr int64_t kBesidesHeard = 256;  // positions that recordings must leave free

/// Returns the path of ESPnet's weight file. Returns `dir` if it has no such file, because ESPnet's
/// converter made it.
std::string weights_file(const std::string& dir) {
  for (const char* name : {kWeightsFile, kDialogueFile}) {
    if (std::string path = join_path(dir, name); is_file(path)) return path;
  }
  return dir;
}

/// Finds the only PyTorch file in the codec's repository, in any of its folders.
std::string codec_file(const std::string& dir) {
  std::vector<std::string> found;
  std::error_code ignored;
  constexpr auto kOptions = std::filesystem::directory_options::skip_permission_denied;
  constexpr int kMostDepth = 3, kMostEntries = 1000;
  int seen = 0;
  for (auto at = std::filesystem::recursive_directory_iterator(dir, kOptions, ignored);
       !ignored && at != std::filesystem::recursive_directory_iterator() && ++seen < kMostEntries;
       at.increment(ignored)) {
    if (at.depth() >= kMostDepth) at.disable_recursion_pending();
    if (at->path().extension() == ".pth") found.push_back(at->path().string());
  }
  if (found.size() == 1) return found.front();
  throw LoadError(concat(dir, ": expected one .pth file, the codec's, found ", found.size()));
}

std::string codec_dir(const LoadSpec& spec, const std::string& name) {
  const std::string folder = name.substr(name.rfind('/') + 1);
  if (std::string path = join_path(spec.dir, folder); is_directory(path)) return path;
  try {
    return resolve_part(spec.dir, name, hub_cache(), "meta.yaml");
  } catch (const LoadError&) {
    throw LoadError(concat(spec.dir, ": the codec is missing: put the files of ", name,
                           " into its folder ", folder, ", or into the hub's cache"));
  }
}

/// Returns the folder of XEUS. Empty if it is missing.
std::string xeus_dir(const LoadSpec& spec, const ModelConfig& config) {
  const std::string name = config.xeus.substr(config.xeus.rfind('/') + 1);
  if (std::string path = join_path(spec.dir, name); is_directory(path)) return path;
  try {
    return resolve_part(spec.dir, config.xeus, hub_cache(), config.units_file);
  } catch (const LoadError&) {
    return "";
  }
}

/// Tensors of XEUS that only training needs.
const NamePatterns kXeusTraining{"losses.*", "loss*", "util_modules.*", "mask*", "global_step"};

NearestEntry load_units(const ModelConfig& config, const std::string& path, int64_t width) {
  Tensor centres = read_joblib_array(path, "cluster_centers_");
  if (centres.shape() != Shape{config.units, width}) {
    throw LoadError(concat(path, ": expected k-means centres [", config.units, ", ", width,
                           "], got ", centres.shape().str()));
  }
  return NearestEntry(std::move(centres));
}

}  // namespace

OpusLm::OpusLm(const LoadSpec& spec) {
  config_ = load_model_config(Config::load(join_path(spec.dir, "config.json")));
  spoken_ = spoken_model(config_);
  prompter_ = std::make_unique<Prompter>(config_, open_tokenizer(spec, {}, config_.words));
  weights_ = std::make_unique<Weights>(
      weights_at(spec, weights_file(spec.dir), [dialogue = config_.dialogue](const auto& name) {
        // Random weights have ESPnet's names, and in the plain model (OLMo 2) norms over heads.
        const bool norm = name.ends_with("q_norm.weight") || name.ends_with("k_norm.weight");
        return name.starts_with("corelm.") && !(dialogue && norm);
      }));
  // DeepSpeed adds one level to the names of tensors.
  const bool wrapped = !spec.dummy && weights_->count("module.corelm.decoders.model.layers") > 0;
  const Weights root = wrapped ? weights_->scope("module") : *weights_;
  root.build([&] { lm_ = load_lm(config_, root, spec); });
  move_networks(spec, "ar", *lm_);
  load_codec(spec);
  const Link decoding = stage_->link(kChunks);
  graph_ =
      chat_graph({"hearing", hearing_.get(), HearingStage::kPolicy}, "ar", *lm_, {&decoding, 1});
  describe(spec);
}

void OpusLm::load_codec(const LoadSpec& spec) {
  const Weights weights(spec.dummy ? plain_weights_at(spec, "")
                                   : open_weights(codec_file(codec_dir(spec, config_.codec))));
  const Weights generator = weights.scope("codec.generator");
  EspnetCodecConfig sizes;
  if (!spec.dummy) sizes = EspnetCodecConfig::of(generator);
  // The codec of another model has tensors that do not fit these sizes, so loading it fails.
  sizes.codebooks = config_.streams - 1;
  sizes.codebook_size = config_.codes;
  std::unique_ptr<EspnetCodec> codec;
  generator.build([&] {
    codec = std::make_unique<EspnetCodec>(sizes, generator, codec_weights(spec.weights));
  });
  move_networks(spec, "codec", *codec);
  stage_ = std::make_unique<CodecStage<EspnetCodec>>(std::move(codec));
  find_ears(spec, generator, sizes);
}

/// Finds the files of the audio encoders. They are read when the first recording arrives, because
/// reading them takes longer than loading everything else.
void OpusLm::find_ears(const LoadSpec& spec, const Weights& generator,
                       const EspnetCodecConfig& codec) {
  const std::string dir = spec.dummy ? "" : xeus_dir(spec, config_);
  if (dir.empty() && !spec.dummy) return;
  ears_ = std::make_unique<LazyEars>([this, dir, generator, codec, plain = spec] {
    const Weights weights(plain.dummy ? plain_weights_at(plain, "")
                                      : open_weights(join_path(dir, config_.xeus_file)));
    const XeusConfig sizes = plain.dummy ? XeusConfig() : XeusConfig::of(weights);
    std::unique_ptr<Xeus> xeus;
    weights.build([&] { xeus = std::make_unique<Xeus>(sizes, weights, config_.xeus_layer); },
                  kXeusTraining);
    std::unique_ptr<EspnetEncoder> encoder;
    generator.build([&] { encoder = std::make_unique<EspnetEncoder>(codec, generator); });
    NearestEntry units = plain.dummy
                             ? NearestEntry(weights.f32("units", {config_.units, sizes.width}))
                             : load_units(config_, join_path(dir, config_.units_file), sizes.width);
    return Ears(std::move(*xeus), std::move(units), std::move(*encoder));
  });
  hearing_ = std::make_unique<HearingStage>(*ears_, config_.streams);
  voices_ = make_voices(*ears_);
}

void OpusLm::describe(const LoadSpec& spec) {
  name(kFamily, spec, "see the checkpoint");
  info_.writes = true;
  info_.converses = config_.dialogue;
  info_.speech.sample_rate = static_cast<int>(config_.sample_rate);
  info_.speech.frame_rate = config_.sample_rate / static_cast<double>(codec().config().hop());
  set_voices(info_, {{"default", "a voice that the model makes up, another for each seed"}});
  info_.speech.languages = {"auto"};
  info_.speech.late_text = LateText::kSentence;
  info_.offers.add("guidance");
  info_.speech.no_cloning = "put the files of " + config_.xeus + " into the folder " +
                            config_.xeus.substr(config_.xeus.rfind('/') + 1) +
                            " of the model, or into the hub's cache";
  if (hearing_) {
    const auto room = static_cast<double>(config_.max_positions - kBesidesHeard);
    info_.hearing.seconds =
        std::clamp(std::floor(room / info_.speech.frame_rate), 0., kHearsSeconds);
    info_.hearing.dictates_s = info_.hearing.seconds;
  }
  info_.parts =
      describe_lm(*lm_, lm_->decoder().norm_order == NormOrder::kAfter ? "olmo2, " : "llama, ");
  info_.parts.push_back({"codec", describe_codec(codec().config()), codec().bytes()});
  if (hearing_) {
    info_.parts.push_back(
        {"hearing", concat(config_.xeus, ", k-means, the codec's encoder; loaded when needed"), 0});
  }
}

/// Checks a request's recordings. Also returns the samples for the hearing stage.
Result<std::vector<Heard>> OpusLm::hear(const SpeechRequest& request,
                                        std::vector<float>& samples) const {
  std::vector<Heard> heard;
  for (const auto& recording : request.writing.recordings) {
    const Ears& ears = ears_->get();
    const std::vector<float> all =
        resampled(recording->samples, recording->sample_rate, Ears::kSampleRate, Resampling::kHann);
    const int64_t count = std::ssize(all);
    if (count < Ears::kLeast) {
      return Error{ErrorCode::kInvalid,
                   concat("recording ", heard.size() + 1, " has ", count, " samples, at least ",
                          Ears::kLeast, " are needed"),
                   "messages"};
    }
    heard.push_back({count, ears.frames(count)});
    const size_t begin = samples.size();
    samples.insert(samples.end(), all.begin(), all.end());
    const int64_t frames = HearingStage::frames_in(ears, count);
    samples.resize(begin + static_cast<size_t>(frames * HearingStage::kWidth), 0.f);
  }
  return heard;
}

Result<Opened> OpusLm::read_aloud(const SpeechRequest& request) const {
  const auto unsupported = [](const char* what, const char* param) {
    return Error{ErrorCode::kUnsupported, what, param};
  };
  if (!request.writing.recordings.empty()) {
    return unsupported("this model accepts recordings only in messages", "messages");
  }
  if (request.writing.text_only) return unsupported("this model only answers messages", "prompt");
  return SpokenSequence::open(spoken_, script_of(config_, *prompter_, request), request);
}

Result<Opened> OpusLm::open(const SpeechRequest& request) const try {
  if (request.writing.top_logprobs >= 0) {
    return Error{ErrorCode::kUnsupported, "this model returns no log-probabilities", "logprobs"};
  }
  if (!request.task && !request.writing.chat) return read_aloud(request);
  Opened opened;
  Result<std::vector<Heard>> heard = hear(request, opened.samples);
  if (!heard) return heard.error();
  auto answer = Answer::open(config_, spoken_, *prompter_, script_of(config_, *prompter_, request),
                             request, heard.take());
  if (!answer.ok()) return answer.error();
  opened.sequences.push_back(answer.take());
  return opened;
} catch (const LoadError& error) {
  // The files of the audio encoders are faulty; they are read only when they are needed.
  return Error{ErrorCode::kInternal, error.what(), "messages"};
}

Result<SpeechRequest> OpusLm::dictation(const Dictation& dictation) const {
  SpeechRequest request;
  request.task = std::make_shared<Hearing>();
  request.writing.recordings = {dictation.recording};
  request.writing.text_only = true;
  request.sampling.temperature = 0.f;
  return request;
}

}  // namespace syrinx::opuslm
