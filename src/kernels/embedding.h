// Rows of tables by id. Tables are f32, f16 or bf16; results are f32. An id outside its table is a
// bug of the caller and throws InternalError before anything is written.
#pragma once

#include <span>

#include "tensor/context.h"

namespace syrinx {

/// Computes out[i] = table[ids[i]]. table [V, H]; out [N, H] f32. With `add`, adds to out[i]
/// instead.
void embed(StepContext& ctx, const View& table, std::span<const int32_t> ids, const View& out,
           bool add = false);

/// Computes out[i] = table[codes[i, column]]. codes i32 [N, K] are on the device of `table`; on a
/// GPU, ids are not checked.
void embed_column(StepContext& ctx, const View& table, const View& codes, int column,
                  const View& out);

/// Computes out[i] = sum over c of tables[c][ids[i * C + c]], added in the order of c. C tables of
/// [Vc, H] each; a negative id adds nothing. out [N, H] f32.
void embed_sum(StepContext& ctx, std::span<const View> tables, std::span<const int32_t> ids,
               const View& out);

/// Copies out[i] = x[rows[i]], f32, to select rows whose logits are needed. x [N, H], out [B, H].
void gather_rows(StepContext& ctx, const View& x, std::span<const int32_t> rows, const View& out);

/// Converts f32, f16 or bf16 to f32; same count.
void to_f32(StepContext& ctx, const View& x, const View& out);

}  // namespace syrinx
