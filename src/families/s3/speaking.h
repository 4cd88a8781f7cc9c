// The common part of pipelines whose language model makes S3 tokens: the voice of a request, the
// graph after the language model, and a description.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codec/s3_flow.h"
#include "families/s3/flow_stage.h"
#include "families/s3/recent.h"
#include "families/s3/vocoder_stage.h"
#include "model/pipeline.h"

namespace syrinx {

/// Returns the voice of a request: the voice data of the request, which `make` turns into a Voice
/// unless it was used recently; or the named voice of the checkpoint's `file`; or, without either,
/// `usual`. `stored` must outlive the result.
template <typename Voice, typename Make>
Result<std::shared_ptr<const Voice>> who_speaks(const SpeechRequest& request,
                                                const std::map<std::string, Voice>& stored,
                                                const std::string& usual, const char* file,
                                                Recent<Voice>& recent, const Make& make) {
  if (request.voice.data) {
    const uint64_t key = voice_hash(*request.voice.data);
    if (std::shared_ptr<const Voice> known = recent.find(key)) return known;
    Result<Voice> made = make(*request.voice.data);
    if (!made) return made.error();
    return recent.keep(key, std::make_shared<const Voice>(made.take()));
  }
  if (stored.empty()) {
    return Error{ErrorCode::kUnsupported,
                 concat("this checkpoint has no stored voice (", file,
                        "); give a recording or a voice made of one"),
                 "voice"};
  }
  const auto found = stored.find(request.voice.name.empty() ? usual : request.voice.name);
  if (found == stored.end()) {
    std::string names;
    for (const auto& [name, voice] : stored) names += (names.empty() ? "" : ", ") + name;
    return Error{ErrorCode::kNotFound,
                 concat("the model has no voice \"", request.voice.name, "\"; it has ", names),
                 "voice"};
  }
  return std::shared_ptr<const Voice>(std::shared_ptr<const Voice>(), &found->second);
}

/// Links flow and vocoder to a language model. Both choose their own chunks (ChunkStage::cut); the
/// figures here are typical chunks.
inline std::array<Link, 2> s3_links(const S3FlowConfig& config, const S3FlowStage& flow,
                                    const S3VocoderStage& vocoder) {
  const int chunk = static_cast<int>(config.chunk);
  return {Link{"flow", &flow, {chunk, chunk, 0, static_cast<int>(config.lookahead)}},
          Link{"vocoder", &vocoder, {1, chunk, 0, vocoder.lookahead()}}};
}
/// Makes the graph: language model -> flow -> vocoder.
inline Graph s3_graph(const ArStage& lm, const S3FlowConfig& config, const S3FlowStage& flow,
                      const S3VocoderStage& vocoder) {
  return chain(lm, s3_links(config, flow, vocoder));
}

/// Describes a flow for users, without its size.
inline std::string shape_text(const S3FlowConfig& f, size_t bytes_per_second) {
  if (f.dit && f.plain_channels > 0) {
    return concat(f.dit->depth, " estimator blocks x ", f.dit->width, ", ", f.steps, " steps; ",
                  bytes_per_second >> 20, " MB a second of a stream");
  }
  return concat(f.layers, " + ", f.up_layers, " encoder layers x ", f.width, ", ",
                (f.middle + 2) * f.blocks, " estimator blocks x ", f.channels, ", ", f.steps,
                " steps; ", bytes_per_second >> 20, " MB a second of a stream");
}

}  // namespace syrinx
