// A chunk node of a pipeline whose stage runs in other processes. The engine uses it like any
// stage. Its run() sends the chunks over links and waits for the results. The engine still plans
// batches. The stage in this process (`here`) defines the types of frames, cuts chunks and makes a
// stream's bundle. Families need no code for it.
//
// Several processes may hold a node. Each stream is in the process that had the fewest streams when
// the stream began. When that process is lost, the stream is computed again in another process, or
// in the same process if it returns soon. The stream's bundle and frames are kept for this
// (StreamPast), so the bits are the same.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "link/placement.h"
#include "link/stage_copy.h"
#include "model/pipeline.h"

namespace syrinx {

class RemoteStage : public ChunkStage {
 public:
  using Place = StageCopy;
  /// `here` must outlive this object. `copies` must not be empty.
  RemoteStage(std::string name, const ChunkStage& here, std::vector<Place> copies);

  bool remote() const override { return true; }
  FrameType in() const override { return here_.in(); }
  FrameType out() const override { return here_.out(); }
  int most_out() const override { return here_.most_out(); }
  Bundle bundle(const Sequence& sequence) const override { return here_.bundle(sequence); }
  /// Makes a stream; sends nothing, as the other process opens the stream with its first chunk.
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  int cut(const StreamState& stream, const WaitingFrames& waiting, int planned) const override;
  /// Runs chunks. A stream that no process can compute fails alone (ChunkJob::fault). A stream also
  /// fails if two processes are lost while they run its chunk, which may have ended both.
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;

  std::span<const Place> copies() const { return copies_; }

 private:
  struct Stream;
  struct Group;
  using Jobs = std::vector<ChunkJob*>;

  PushedJob pushed(const ChunkJob& job) const;
  bool settle(Stream& stream) const;
  std::vector<Group> grouped(const Jobs& jobs) const;
  void compute_again(const Group& group) const;
  void send(Group& group) const;
  Jobs attempt(const Jobs& jobs) const;
  void take(std::string_view body, const Group& group) const;

  const std::string name_;
  const ChunkStage& here_;
  const std::vector<Place> copies_;
};

/// Returns `inner` with some of its nodes in other processes. `options` have the identity of this
/// process; this function adds addresses and nodes. Nodes at one address share a link. Throws
/// LoadError for an unknown node, or a node that is placed twice at one address.
std::shared_ptr<const Pipeline> place_stages(std::shared_ptr<const Pipeline> inner,
                                             const std::vector<Placement>& placements,
                                             LinkOptions options);

}  // namespace syrinx
