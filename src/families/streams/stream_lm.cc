#include "families/streams/stream_lm.h"

#include <algorithm>

#include "families/run_decoder.h"
#include "kernels/embedding.h"

namespace syrinx {

PackedLinear pack_stream_head(const View& shared, std::span<const RowRange> ranges,
                              std::span<const float> e, WeightType type) {
  std::vector<Tensor> constants;  // W e
  std::vector<LinearPart> parts;
  std::vector<float> row(e.size());
  for (const RowRange& range : ranges) {
    Tensor& constant = constants.emplace_back(Shape{range.end - range.begin}, DType::kF32);
    for (int64_t r = range.begin; r < range.end; ++r) {
      const auto width = static_cast<int64_t>(row.size());
      copy_as_f32(shared, r * width, width, row.data());
      double sum = 0;
      for (size_t i = 0; i < row.size(); ++i) sum += double{row[i]} * e[i];
      constant.f32()[r - range.begin] = static_cast<float>(sum);
    }
    parts.push_back({shared.slice(range.begin, range.end), constant.view()});
  }
  return PackedLinear::pack(parts, type);
}

StreamLm::StreamLm(Decoder decoder, std::vector<View> tables, std::vector<PackedLinear> heads,
                   KvSpec kv, int64_t max_positions)
    : decoder_(std::move(decoder)), tables_(std::move(tables)), heads_(std::move(heads)) {
  traits_.hidden = decoder_.config().hidden;
  for (const PackedLinear& head : heads_) traits_.vocab.push_back(static_cast<int>(head.out()));
  traits_.kv = {kv};
  traits_.max_positions = static_cast<int>(max_positions);
}

size_t StreamLm::bytes() const {
  size_t sum = decoder_.bytes();
  for (const PackedLinear& head : heads_) sum += head.bytes();
  return sum;
}

size_t StreamLm::table_bytes() const {
  size_t sum = 0;
  for (size_t i = 0; i < tables_.size(); ++i) {
    const auto same = [&](const View& other) { return other.data == tables_[i].data; };
    if (std::none_of(tables_.begin(), tables_.begin() + i, same)) sum += tables_[i].bytes();
  }
  return sum;
}

View StreamLm::embed_rows(StepContext& ctx, const ArBatch& batch) const {
  const View x = ctx.arena.take({batch.rows, traits_.hidden}, DType::kF32);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const size_t width = tables_.size();
  const std::span<int32_t> ids = take_array<int32_t>(ctx, batch.rows * std::ssize(tables_));
  size_t row = 0;
  for (const ArSeq& seq : batch.seqs) {
    const auto& sequence = static_cast<const StreamSequence&>(*seq.state);
    for (int i = 0; i < seq.rows; ++i, ++row) {
      sequence.input(seq.first_pos + i, seq.companion, ids.subspan(row * width, width));
    }
  }
  embed_sum(ctx, tables_, ids, x);
  float* to = x.f32();
  for (const ArSeq& seq : batch.seqs) {
    const auto& sequence = static_cast<const StreamSequence&>(*seq.state);
    for (int i = 0; i < seq.rows; ++i, to += traits_.hidden) {
      const std::span<const float> given = sequence.row(seq.first_pos + i, seq.companion);
      std::copy(given.begin(), given.end(), to);
    }
  }
  return x;
}

void StreamLm::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  run_decoder(ctx, decoder_, batch, embed_rows(ctx, batch), hidden);
}

void StreamLm::logits(StepContext& ctx, int k, const ArBatch&, View hidden, View, View out) const {
  linear(ctx, heads_[k], hidden, out);
}

}  // namespace syrinx
