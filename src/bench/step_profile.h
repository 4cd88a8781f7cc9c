// Costs of the batches of a loaded model inside a running engine, and the lengths of its requests.
// They are measured once, written as JSON, and used by the simulator. Seconds throughout. Const
// after load; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "model/pipeline.h"

namespace syrinx {

/// Costs of decode steps of `batch` sequences: seconds[i] at a mean of kv[i] (rising) positions.
struct DecodeCosts {
  int batch = 1;
  std::vector<double> kv, seconds;
};

/// A chunk node with its chunk policy, and the costs of batches of `jobs` chunks of `frames`
/// frames.
struct LinkProfile {
  std::string name;
  ChunkPolicy policy;
  double samples_per_frame = 0;              ///< samples at the end of the pipeline per frame
  std::vector<int> jobs, frames;             ///< sizes of batches and chunks, ascending
  std::vector<std::vector<double>> seconds;  ///< seconds[jobs][frames]
  std::vector<double> spread;  ///< quantiles of the times of batches / `seconds`; mean 1
};

/// An AR node and the costs of its batches.
struct ArProfile {
  std::string name = "ar";
  /// For a node that another node feeds with ids: the number of ids for which its prompt waits.
  /// Each step then waits for one more id.
  int lead = 0;
  std::vector<DecodeCosts> decode;              ///< ascending in the batch size
  std::vector<std::pair<int, double>> prefill;  ///< prompt rows, seconds; may be empty
  std::vector<double> spread;                   ///< see LinkProfile::spread

  /// Returns the seconds of an AR batch of `decodes` one-row sequences with `kv` cached positions
  /// on average, and `prompt_rows` rows of prompts.
  double step_s(int decodes, double kv, int prompt_rows) const;
};

/// A part of a request with its own prompt.
struct SegmentProfile {
  int prompt_rows = 1;
  int companion_rows = 0;  ///< prompt rows of the guidance companion; 0 without one
  int steps = 0, frames = 0;
  int first_frame_step = 1;  ///< step after which the first frame is complete
};

/// The lengths of a request that was run. The simulator chooses among the profile's utterances.
struct UtteranceProfile {
  size_t text_bytes = 0;
  double open_s = 0;                               ///< seconds to make the utterance's prompt
  std::vector<std::vector<SegmentProfile>> nodes;  ///< segments of each AR node
};

/// Costs of a model's batches, in seconds, and the lengths of its requests.
struct StepProfile {
  std::string model, weights;
  int threads = 1;
  int sample_rate = 24000;
  int page_rows = 1, pages = 1;  ///< rows per page, and pages, of the engine's KV cache
  /// The AR nodes, in the order in which they feed each other. All nodes but the last write text,
  /// the first node to the client. The last node feeds the links.
  std::vector<ArProfile> ars;
  std::vector<LinkProfile> links;
  double batch_overhead_s = 0;     ///< seconds of the engine's thread for a batch
  double sequence_overhead_s = 0;  ///< time of the engine's thread per sequence or chunk in a batch
  double wake_s = 0;               ///< additional wait of a request that arrives at an idle engine
  std::vector<UtteranceProfile> utterances;
  /// Raw measurements as JSON: {"decode": [[batch, kv, s]], "chunks": [[link, jobs, frames, s]],
  /// "in_engine": [[stage, batch, frames, ratio to the time alone, batches]]}. "decode" and
  /// "chunks" are of stages alone.
  std::string raw = "{}";

  double chunks_s(size_t link, int jobs, double frames) const;
};

/// Interpolates a curve of at least one point by straight lines. Beyond its ends it uses the slope
/// of the nearest two points, but never goes below the smallest value.
double along_curve(const std::vector<double>& x, const std::vector<double>& y, double at);

/// Returns the profile as JSON for parse_profile().
std::string profile_json(const StepProfile& profile);
/// Loads a profile. Throws a LoadError that describes the fault.
StepProfile load_profile(const std::string& path);
/// Reads the content of a profile's file; `path` is for errors.
StepProfile parse_profile(const std::string& text, const std::string& path);

}  // namespace syrinx
