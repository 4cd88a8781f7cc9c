#include "families/streams/stream_lm.h"

#include <algorithm>
#include <limits>

#include "families/run_decoder.h"
#include "kernels/copy.h"
#include "kernels/embedding.h"

namespace syrinx {

namespace {

bool may_choose(const SampleRule& rule, int64_t begin, int64_t end) {
  if (rule.forced >= 0) return false;
  const auto first = rule.allowed.begin();
  return rule.ranges == 0 || std::any_of(first, first + rule.ranges, [&](const IdRange& range) {
           return range.begin < end && range.end > begin;
         });
}

/// Choices [begin, begin + part.out()) of out [E, V], of the rows that may take them.
void run_part(StepContext& ctx, const PackedLinear& part, std::span<const SampleRule> rules,
              int64_t begin, const View& hidden, const View& out) {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t emits = std::ssize(rules), width = out.shape[1], end = begin + part.out();
  const std::span<CopySpan> from = take_array<CopySpan>(ctx, emits),
                            to = take_array<CopySpan>(ctx, emits);
  size_t count = 0;
  for (int64_t e = 0; e < emits; ++e) {
    float* row = out.f32() + e * width + begin;
    if (may_choose(rules[static_cast<size_t>(e)], begin, end)) {
      from[count].from = hidden.f32() + e * hidden.shape[1];
      to[count++].to = row;
    } else {
      std::fill_n(row, part.out(), -std::numeric_limits<float>::infinity());
    }
  }
  if (count == 0) return;
  const auto rows = static_cast<int64_t>(count);
  if (rows == emits && part.out() == width) return linear(ctx, part, hidden, out);
  const View x = ctx.arena.take({rows, hidden.shape[1]}, DType::kF32);
  const View y = ctx.arena.take({rows, part.out()}, DType::kF32);
  for (size_t i = 0; i < count; ++i) {
    const auto row = static_cast<int64_t>(i);
    from[i].to = x.f32() + row * x.shape[1], from[i].count = x.shape[1];
    to[i].from = y.f32() + row * y.shape[1], to[i].count = y.shape[1];
  }
  copy_spans(ctx, from.first(count));
  linear(ctx, part, x, y);
  copy_spans(ctx, to.first(count));
}

}  // namespace

int64_t StreamHead::choices() const {
  int64_t sum = 0;
  for (const PackedLinear& part : parts) sum += part.out();
  return sum;
}

size_t StreamHead::bytes() const {
  size_t sum = 0;
  for (const PackedLinear& part : parts) sum += part.bytes();
  return sum;
}

StreamHead pack_stream_head(const View& shared, std::span<const HeadPart> parts,
                            std::span<const float> e, WeightType type) {
  StreamHead head;
  std::vector<float> row(e.size());
  for (const HeadPart& part : parts) {
    std::vector<Tensor> constants;  // W e
    std::vector<LinearPart> linears;
    for (const RowRange& range : part) {
      Tensor& constant = constants.emplace_back(Shape{range.end - range.begin}, DType::kF32);
      for (int64_t r = range.begin; r < range.end; ++r) {
        const auto width = static_cast<int64_t>(row.size());
        copy_as_f32(shared, r * width, width, row.data());
        double sum = 0;
        for (size_t i = 0; i < row.size(); ++i) sum += double{row[i]} * e[i];
        constant.f32()[r - range.begin] = static_cast<float>(sum);
      }
      linears.push_back({shared.slice(range.begin, range.end), constant.view()});
    }
    head.parts.push_back(PackedLinear::pack(linears, type));
  }
  return head;
}

StreamLm::StreamLm(Decoder decoder, std::vector<View> tables, std::vector<StreamHead> heads,
                   KvSpec kv, int64_t max_positions)
    : decoder_(std::move(decoder)), tables_(std::move(tables)), heads_(std::move(heads)) {
  traits_.hidden = decoder_.config().hidden;
  for (const StreamHead& head : heads_) traits_.vocab.push_back(static_cast<int>(head.choices()));
  traits_.kv = {kv};
  traits_.max_positions = static_cast<int>(max_positions);
}

size_t StreamLm::bytes() const {
  size_t sum = decoder_.bytes();
  for (const StreamHead& head : heads_) sum += head.bytes();
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

void StreamLm::logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View,
                      View out) const {
  const Arena::Mark host_mark(ctx.host);
  const std::span<SampleRule> rules = take_array<SampleRule>(ctx, batch.emits);
  size_t row = 0;
  for (const ArSeq& seq : batch.seqs)
    if (seq.emits > 0) rules[row++] = seq.state->rule(k);
  int64_t begin = 0;
  for (const PackedLinear& part : heads_[static_cast<size_t>(k)].parts) {
    run_part(ctx, part, rules, begin, hidden, out);
    begin += part.out();
  }
}

}  // namespace syrinx
