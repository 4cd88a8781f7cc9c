// Copies and sums rows of tables by id. Tables are f32, f16 or bf16; results are f32. An id outside
// its table is a caller's bug and throws InternalError before any output is written.
#pragma once

#include <span>

#include "tensor/context.h"

namespace syrinx {

/// Computes out[i] = table[ids[i]]. table [V, H]; out [N, H] f32. With `add`, adds the row to
/// out[i] instead.
void embed(StepContext& ctx, const View& table, std::span<const int32_t> ids, const View& out,
           bool add = false);

/// Computes out[i] = table[codes[i, column]]. codes i32 [N, K] are on the device of `table`. On a
/// GPU, the ids are not checked.
void embed_column(StepContext& ctx, const View& table, const View& codes, int column,
                  const View& out);

/// Computes out[i] = sum over c of tables[c][ids[i * C + c]], added in the order of c. C tables of
/// [Vc, H] each; a negative id adds nothing. out [N, H] f32.
void embed_sum(StepContext& ctx, std::span<const View> tables, std::span<const int32_t> ids,
               const View& out);

/// Does the same with codes i32 [N, C] on the device of `out`. On a GPU, the ids are not checked.
void embed_sum(StepContext& ctx, std::span<const View> tables, const View& codes, const View& out);

/// Copies out[i] = x[rows[i]], f32, to select the rows that need logits. x [N, H], out [B, H].
void gather_rows(StepContext& ctx, const View& x, std::span<const int32_t> rows, const View& out);

/// Converts f32, f16 or bf16 to f32. x and out must have the same count.
void to_f32(StepContext& ctx, const View& x, const View& out);

}  // namespace syrinx
