// Nodes of a pipeline whose stages run in other processes: for the engine they are stages
// like others, whose run() sends the chunks over links and waits for what they made. Which chunks
// run together, and when, stays with the engine. The stage that this process has beside says what
// the frames are, how they are cut and what a stream is opened from. No family knows of it.
//
// Several processes may hold a node: each stream lives in one of them, the one with the fewest when
// it begins. When that is lost, the stream is computed again in another, or in the same one if that
// is back soon, from what it was given (StreamPast): same bundle and frames, same bits.
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
  /// `here` outlives this. At least one copy.
  RemoteStage(std::string name, const ChunkStage& here, std::vector<Place> copies);

  bool remote() const override { return true; }
  FrameType in() const override { return here_.in(); }
  FrameType out() const override { return here_.out(); }
  int most_out() const override { return here_.most_out(); }
  Bundle bundle(const Sequence& sequence) const override { return here_.bundle(sequence); }
  /// Sends nothing: the stream is opened there with its first chunk.
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  int cut(const StreamState& stream, const WaitingFrames& waiting, int planned) const override;
  /// A stream that can be computed nowhere fails alone (ChunkJob::fault). So does one whose chunk
  /// was at work in two processes that went away: it may be what ended them.
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

/// `inner` with some of its nodes elsewhere; `options` have the identity of this process, addresses
/// and nodes are filled in. Nodes of one address share a link. Throws LoadError for a node that is
/// none or is placed twice at one address.
std::shared_ptr<const Pipeline> place_stages(std::shared_ptr<const Pipeline> inner,
                                             const std::vector<Placement>& placements,
                                             LinkOptions options);

}  // namespace syrinx
