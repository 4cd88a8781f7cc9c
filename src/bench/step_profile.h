// What the batches of a loaded model cost inside a running engine and what its requests are made
// of: measured once, written as JSON, replayed by the simulator. Seconds throughout. Const after
// load; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "model/pipeline.h"

namespace syrinx {

/// Decode steps of `batch` sequences: seconds by mean cached positions, ascending in kv.
struct DecodeCosts {
  int batch = 1;
  std::vector<double> kv, seconds;
};

/// A link with its chunk policy, and what a batch of `jobs` chunks of `frames` frames each costs.
struct LinkProfile {
  std::string name;
  ChunkPolicy policy;
  double samples_per_frame = 0;              ///< at the end of the pipeline
  std::vector<int> jobs, frames;             ///< ascending
  std::vector<std::vector<double>> seconds;  ///< [jobs][frames]
  std::vector<double> spread;  ///< quantiles of single batches around those times; mean 1
};

/// An AR node and what its batches cost.
struct ArProfile {
  std::string name = "ar";
  /// Ids that the prompt of a node waits for, where another node feeds it with ids. Each of its
  /// steps waits for one more.
  int lead = 0;
  std::vector<DecodeCosts> decode;              ///< ascending in batch
  std::vector<std::pair<int, double>> prefill;  ///< rows of prompts, seconds; may be empty
  std::vector<double> spread;                   ///< as LinkProfile::spread

  /// An AR batch of `decodes` one-row sequences with `kv` cached positions on average, and
  /// `prompt_rows` rows of prompts.
  double step_s(int decodes, double kv, int prompt_rows) const;
};

/// A part of a request with a prompt of its own.
struct SegmentProfile {
  int prompt_rows = 1;
  int companion_rows = 0;  ///< of the guidance companion; 0: there is none
  int steps = 0, frames = 0;
  int first_frame_step = 1;  ///< the step after which the first frame is complete
};

/// A request that was run: the simulator draws from these.
struct UtteranceProfile {
  size_t text_bytes = 0;
  double open_s = 0;                               ///< making its prompt
  std::vector<std::vector<SegmentProfile>> nodes;  ///< of each AR node
};

/// Costs of a model's batches, in seconds, and the lengths of its requests.
struct StepProfile {
  std::string model, weights;
  int threads = 1;
  int sample_rate = 24000;
  int page_rows = 1, pages = 1;  ///< of the KV cache that the engine would take
  /// In the order in which they feed each other; all but the last one write, the first one to the
  /// client, and the last one feeds the links.
  std::vector<ArProfile> ars;
  std::vector<LinkProfile> links;
  double batch_overhead_s = 0;     ///< of the engine's thread for a batch
  double sequence_overhead_s = 0;  ///< and for each sequence or chunk in it
  double wake_s = 0;               ///< that a request waits more when it finds the engine asleep
  std::vector<UtteranceProfile> utterances;
  /// As JSON: {"decode": [[batch, kv, s]] of single steps and "chunks": [[link, jobs, frames, s]],
  /// both of stages alone, and "in_engine": [[stage, batch, frames, times as long, batches]].
  std::string raw = "{}";

  double chunks_s(size_t link, int jobs, double frames) const;
};

/// Between the points of a curve by straight lines; past its ends by the slope of the last two
/// points, never below the smallest value. At least one point.
double along_curve(const std::vector<double>& x, const std::vector<double>& y, double at);

/// The profile as JSON, which parse_profile() reads.
std::string profile_json(const StepProfile& profile);
/// Throws LoadError naming what is wrong.
StepProfile load_profile(const std::string& path);
/// The same from the content of such a file; `path` is for errors.
StepProfile parse_profile(const std::string& text, const std::string& path);

}  // namespace syrinx
