// Chunk nodes of a pipeline whose stages run in other processes: for the engine they are stages
// like others, whose run() sends the chunks over a link and waits for what they made. Which chunks
// run together, and when, stays with the engine. The stage that this process has beside says what
// the frames are, how they are cut and what a stream is opened from. No family knows of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "link/stage_link.h"
#include "model/pipeline.h"

namespace syrinx {

class RemoteStage : public ChunkStage {
 public:
  /// `node`: its place in the list of nodes that the link wants. `here` outlives this.
  RemoteStage(std::string name, const ChunkStage& here, std::shared_ptr<StageLink> link,
              uint16_t node);

  bool away() const override { return true; }
  FrameType in() const override { return here_.in(); }
  FrameType out() const override { return here_.out(); }
  int most_out() const override { return here_.most_out(); }
  Bundle bundle(const Sequence& sequence) const override { return here_.bundle(sequence); }
  /// Sends nothing: the stream is opened there with its first chunk.
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  int cut(const StreamState& stream, const WaitingFrames& waiting, int planned) const override;
  /// A stream whose process went away fails alone (ChunkJob::fault); others go on in the next one.
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;

  const StageLink& link() const { return *link_; }

 private:
  struct Stream;
  Error lost() const;
  void take(std::string_view body, uint64_t batch, std::span<ChunkJob* const> jobs) const;

  const std::string name_;
  const ChunkStage& here_;
  const std::shared_ptr<StageLink> link_;
  const uint16_t node_;
};

/// Where a node's stage runs.
struct Placement {
  std::string node;
  std::string path;  ///< of the socket of the process that holds it
};

/// How many processes hold stages: batches of them may be under way at once.
int away_places(const std::vector<Placement>& placements);

/// `inner` with some of its chunk nodes elsewhere; `me` tells who this process is, its nodes are
/// filled in. Nodes of one path share a link. Throws LoadError for a node that is none or is placed
/// twice.
std::shared_ptr<const Pipeline> place_stages(std::shared_ptr<const Pipeline> inner,
                                             const std::vector<Placement>& placements,
                                             LinkOptions options);

}  // namespace syrinx
