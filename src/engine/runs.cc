#include "engine/runs.h"

#include <algorithm>

namespace syrinx {

int ArRun::companion_due() const {
  if (!guided) return 0;
  bool now = false;
  for (int k = 0; k < codes && !now; ++k) now = sequence->step_guidance(k) != 1;
  return now ? sequence->companion_rows() + steps - tracks[1].cache.rows : 0;
}

Due ArRun::due() const {
  const int rows = tracks[0].cache.rows;
  if (!sequence->ready()) {
    // The last known row does not run yet: it may be the prompt's last row, which yields a step.
    const int known = steps == 0 ? sequence->known_rows() : 0;
    return {std::max(0, known - 1 - rows), 0};
  }
  const int companion = companion_due();
  if (companion > 0 && tracks[1].cache.rows == 0 && rows < common_rows) {
    return {common_rows - rows, 0};
  }
  return {rows_due(), companion};
}

int64_t ArRun::waiting() const {
  int64_t frames = unused;
  for (const Late& input : late) frames += input.count;
  return frames;
}

std::unique_ptr<ChunkRun> open_chunk_run(const ChunkStage& stage, const ChunkPolicy& policy,
                                         const Sequence& sequence,
                                         std::shared_ptr<KeptStream> kept) {
  auto run = std::make_unique<ChunkRun>(ChunkRun{Lane(policy, stage.in())});
  if (kept) {
    KeptStream::Past past = kept->take(stage);
    run->lane = Lane(policy, stage.in(), std::move(past.codes), past.stream != nullptr);
    run->stream = std::move(past.stream);
    run->kept = std::move(kept);
  }
  if (!run->stream) run->stream = open_stream(stage, sequence);
  return run;
}

}  // namespace syrinx
