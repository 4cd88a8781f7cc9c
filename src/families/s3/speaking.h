// The common base class of pipelines whose language model makes S3 tokens. Finds the voice of a
// request, builds the graph after the language model, and describes the flow and the vocoder.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codec/hift.h"
#include "codec/s3_flow.h"
#include "families/loading/describe.h"
#include "families/s3/flow_stage.h"
#include "families/s3/recent.h"
#include "families/s3/vocoder_stage.h"
#include "families/spoken/spoken_pipeline.h"

namespace syrinx {

/// Returns the links of the flow and the vocoder after a language model. Both stages choose the
/// sizes of their chunks (ChunkStage::cut), so the sizes in the links are only typical ones.
inline std::array<Link, 2> s3_links(const S3FlowConfig& config, const S3FlowStage& flow,
                                    const S3VocoderStage& vocoder) {
  const int chunk = static_cast<int>(config.chunk);
  return {Link{"flow", &flow, {chunk, chunk, 0, static_cast<int>(config.lookahead)}},
          Link{"vocoder", &vocoder, {1, chunk, 0, vocoder.lookahead()}}};
}
/// Returns a description of a flow's networks for users, without its size in bytes.
inline std::string shape_text(const S3FlowConfig& f, size_t bytes_per_second) {
  if (f.dit && f.plain_channels > 0) {
    return concat(f.dit->depth, " estimator blocks x ", f.dit->width, ", ", f.steps, " steps; ",
                  bytes_per_second >> 20, " MB a second of a stream");
  }
  return concat(f.layers, " + ", f.up_layers, " encoder layers x ", f.width, ", ",
                (f.unet.middle + 2) * f.unet.blocks, " estimator blocks x ", f.unet.channels, ", ",
                f.steps, " steps; ", bytes_per_second >> 20, " MB a second of a stream");
}

/// A loaded model: a CodecLm, a flow and a vocoder, with the voices that its checkpoint stores. A
/// family derives from it and loads the networks. Const after construction; thread-safe.
template <typename Voice>
class S3Pipeline : public SpokenPipeline {
 public:
  const std::map<std::string, Voice>& voices() const { return stored_; }

 protected:
  /// Puts the networks into the graph, and describes them. `rate`: Hz of the samples. `fade`:
  /// factors of the first samples of each segment.
  void join(std::unique_ptr<CodecLm> lm, const S3FlowConfig& config, int64_t rate, S3Noise noise,
            std::vector<float> fade = {}) {
    flow_stage_ = std::make_unique<S3FlowStage>(*flow_, noise);
    vocoder_stage_ = std::make_unique<S3VocoderStage>(*hift_, config.ratio, std::move(fade));
    SpokenPipeline::join(std::move(lm), s3_links(config, *flow_stage_, *vocoder_stage_));
    const auto samples = vocoder_stage_->samples_per_token();
    info_.speech.sample_rate = static_cast<int>(rate);
    info_.speech.frame_rate = static_cast<double>(info_.speech.sample_rate) / samples;
    info_.offers.add("flow");
    info_.parts.push_back({"flow", shape_text(config, flow_->bytes_per_second()), flow_->bytes()});
    info_.parts.push_back({"vocoder", concat(samples, " samples a code"), hift_->bytes()});
  }

  /// Returns the voice of a request. `make` turns voice data into a Voice, unless the cache has it.
  /// Without data: the named or default voice of the checkpoint's `file`, which an Error names.
  template <typename Make>
  Result<std::shared_ptr<const Voice>> voice_of(const SpeechRequest& request, const char* file,
                                                const Make& make) const {
    if (request.voice.data) return recent_.of(*request.voice.data, make);
    if (stored_.empty()) {
      return Error{ErrorCode::kUnsupported,
                   concat("this checkpoint has no stored voice (", file,
                          "); give a recording or a voice made from a recording"),
                   "voice"};
    }
    const Result<std::string> name = voice_name(info_, request.voice);
    if (!name) return name.error();
    const Voice* stored = &stored_.at(name.value());
    return std::shared_ptr<const Voice>(std::shared_ptr<const Voice>(), stored);
  }

  std::unique_ptr<S3Flow> flow_;
  std::unique_ptr<Hift> hift_;
  std::map<std::string, Voice> stored_;

 private:
  mutable Recent<Voice> recent_;
  std::unique_ptr<S3FlowStage> flow_stage_;
  std::unique_ptr<S3VocoderStage> vocoder_stage_;
};

}  // namespace syrinx
