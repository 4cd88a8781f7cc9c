// The two kinds of network that a pipeline is made of. Both are const after load and shared by all
// requests and executors; a call runs on one executor's thread with that executor's StepContext. A
// stage runs on one device, device(), by default the CPU. The context, the cache and the given
// views are in that device's memory; spans are always host memory. E: rows that yield a step, i.e.
// whose codes are sampled, H: hidden width, K: codes of a step, C: codes of a frame.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kernels/attention.h"
#include "model/bundle.h"
#include "model/frames.h"
#include "model/sequence.h"
#include "tensor/context.h"

namespace syrinx {

/// One sequence of a batch, with the rows of `state` at positions [first_pos, first_pos + rows).
struct ArSeq {
  Sequence* state = nullptr;
  int first_pos = 0;
  int rows = 1;
  /// How many rows yield a step: the last ones of `rows`. 0: a part of a prompt before its last
  /// part. Above 1: the rows after the first of these are guesses (Sequence::draft).
  int emits = 1;
  bool companion = false;  ///< whether the rows are those of the guidance companion
};

/// Parts of prompts and single decode rows of many requests, in one batch. Borrowed for one step.
struct ArBatch {
  std::span<const ArSeq> seqs;
  int rows = 0;                ///< number of rows of all sequences
  int emits = 0;               ///< E, the number of rows that yield a step
  Ragged ragged;               ///< positions and cache pages of `seqs`
  std::span<const KvPool> kv;  ///< one per ArTraits::kv, sharing the page tables
  View scratch;    ///< u8 [scratch_bytes(E)], kept from forward() to the end of the step
  View taps = {};  ///< f32 [rows, ArTraits::tap], which forward() fills; empty: not wanted
  /// What ArStage::fill() wrote for this batch, in memory that a recorded step reads again; empty:
  /// forward() reads the sequences.
  std::span<int32_t> filled = {};
};

/// Returns the rows of a batch that yield a step, in batch order; allocated in the step's arena.
std::span<int32_t> emitting_rows(StepContext& ctx, const ArBatch& batch);

struct Step;
struct StepResults;

/// The properties of an AR stage that the engine needs.
struct ArTraits {
  int hidden = 0;
  std::vector<int> vocab;  ///< size of the vocabulary of each of the K codes of a step
  std::vector<KvSpec> kv;
  int max_positions = 0;
  int tap = 0;  ///< width of the hidden rows that forward() can tap; 0: no taps
  /// The number of values that a step yields beside its codes, e.g. a diffusion head's latent. 0:
  /// no values. The sequence receives them and may send them on as rows (StepOutput::row). A stage
  /// with values has no taps.
  int values = 0;
  bool drafts = false;  ///< a batch may contain guesses (Sequence::draft); needs one code per step
  /// Whether the stage writes to the sequences that it runs. Such a stage runs only in the process
  /// that has the sequences, because their copies in another process would differ.
  bool writes = false;
};

/// An autoregressive stage, with a KV cache and a sampler. Every result must have the same bits in
/// any batch. On a GPU, a recalled step does not call forward() and logits(), so a stage that
/// writes to its sequences has no fill(). Work that a stage queues after waiting for the device is
/// not replayed (Stream::repeat).
class ArStage {
 public:
  virtual ~ArStage() = default;
  virtual Device device() const { return Device::kCpu; }
  virtual const ArTraits& traits() const = 0;
  /// Returns the bytes that a step of E rows keeps between calls (as depth transformers do).
  virtual size_t scratch_bytes(int /*emits*/) const { return 0; }

  /// The first half of a step on a GPU in which each sequence has one row. Writes to `out`
  /// [fill_size(rows)] all numbers that the second half, forward() and logits(), needs from the
  /// sequences. Appends to `key` what the launches of the second half depend on, besides the
  /// numbers of rows and pages: the stage, and the kind of the step. So a step whose key is known
  /// plays a recording (Stream::repeat_as) in place of the second half. Returns false for a step
  /// whose forward() must read the sequences.
  virtual bool fill(StepContext&, const ArBatch&, std::span<int32_t> /*out*/,
                    std::vector<uint64_t>& /*key*/) const {
    return false;
  }
  /// Returns how many numbers fill() writes; 0: the stage has no fill().
  virtual int64_t fill_size(int /*rows*/) const { return 0; }

  /// Runs all rows, writes their keys and values to the cache, and writes hidden f32 [E, H] of the
  /// rows that yield a step (emitting_rows).
  virtual void forward(StepContext&, const ArBatch&, View hidden) const = 0;

  /// Writes the logits f32 [E, vocab[k]] of code k. codes i32 [E, K] has the codes < k of this
  /// step. So heads may be independent (delay patterns) or run a depth transformer (inner steps).
  /// Called for k = 0 .. K-1 in turn. A companion has its own row, with the codes of its sequence.
  /// The engine merges the logits of both.
  virtual void logits(StepContext&, int k, const ArBatch&, View hidden, View codes,
                      View out) const = 0;

  /// Writes out f32 [E, ArTraits::values] for all rows, after the last code of a step. `codes` as
  /// in logits(), all K of them. Noise is a function of the request's seed and the step. A
  /// companion has its own row after its sequence's row. The sequence's row gets the result of
  /// both, merged with the sequence's scale. A value that is not finite fails the request.
  virtual void values(StepContext&, const ArBatch&, View /*hidden*/, View /*codes*/,
                      View /*out*/) const {}

  /// Returns whether steps run in another process, which has the cache and copies of the sequences.
  /// Then the engine calls only step(), which runs a whole step (model/step.h) and waits for it.
  /// Such a stage gets an executor without cores: one thread at a time, steps in order.
  virtual bool remote() const { return false; }
  virtual void step(const Step&, StepResults&) const {}
};

/// The state of one stream of a chunk stage, kept between chunks.
class StreamState {
 public:
  virtual ~StreamState() = default;
};

/// One chunk of one stream. The window has left + fresh + ahead frames. At most, `left` is the
/// edge's left context (less at the start), and `ahead` the edge's lookahead (less at the end).
struct ChunkJob {
  StreamState* state = nullptr;
  std::span<const int32_t> codes = {};  ///< [window, in_width], if the input is codes or ids
  std::span<const float> values = {};   ///< [window, in_width], if the input is rows or samples
  int left = 0, fresh = 0, ahead = 0;
  bool last = false;          ///< no frame follows the window
  std::span<float> out = {};  ///< [made, out_width], written by the stage
  int made = 0;  ///< output frames; initially fresh * ChunkStage::most_out(); a stage that writes
                 ///< fewer frames sets the number
  /// The error of this stream alone; the other streams of the batch continue. An exception fails
  /// all streams of the batch.
  std::optional<Error> fault = {};
};

/// The frames of a stream that have arrived and were not yet fresh frames of a chunk: codes or
/// values [n, in_width], by the input type of the stage.
struct WaitingFrames {
  std::span<const int32_t> codes = {};
  std::span<const float> values = {};
  bool closed = false;  ///< no more frames will come
};

/// Maps chunks of frames to chunks of frames or samples. The output must not depend on how a stream
/// is cut into chunks.
class ChunkStage {
 public:
  virtual ~ChunkStage() = default;
  virtual Device device() const { return Device::kCpu; }
  /// Return the types of input and output frames; constant.
  virtual FrameType in() const = 0;
  virtual FrameType out() const = 0;
  /// Returns the largest number of output frames for one input frame.
  virtual int most_out() const { return 1; }
  int in_width() const { return in().width; }
  int out_width() const { return out().width; }
  /// Returns the values of a request from which open() makes its stream. `sequence` is the sequence
  /// that feeds this stage, directly or through other stages. If the client feeds the stage,
  /// `sequence` is the first one that the stage feeds.
  virtual Bundle bundle(const Sequence& /*sequence*/) const { return {}; }
  /// Opens a stream from a result of bundle(), made in this process or another one. Throws
  /// LoadError if the bundle does not fit this stage.
  virtual std::unique_ptr<StreamState> open(Bundle bundle) const = 0;
  /// Runs the jobs. On a GPU their outputs are complete after the caller's synchronize().
  virtual void run(StepContext&, std::span<ChunkJob> jobs) const = 0;
  /// Returns how many of the waiting frames the next chunk takes as fresh frames, if the edge's
  /// policy would take `planned`. 0: waits for more frames. For stages that need whole blocks of
  /// frames. At the end of a stream, repeated calls must take all frames. No chunk of this stream
  /// runs during the call.
  virtual int cut(const StreamState&, const WaitingFrames&, int planned) const { return planned; }
  /// Updates the state of a stream whose chunk ran in another process, on a stream of the same
  /// bundle. The job has the chunk's outputs. Needed only by stages whose cut() reads the state.
  virtual void follow(StreamState&, const ChunkJob&) const {}
  /// Returns whether run() only waits for another process. The executor then has no cores.
  virtual bool remote() const { return false; }
};

/// Opens a stream of `stage` for the request of a sequence.
inline std::unique_ptr<StreamState> open_stream(const ChunkStage& stage, const Sequence& sequence) {
  return stage.open(stage.bundle(sequence.here()));
}

}  // namespace syrinx
