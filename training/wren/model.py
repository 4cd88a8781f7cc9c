"""wren: a Llama of 4 blocks. Its linears are rounded to 4 bits during the training.

The rounding is GPTQ's: 32 inputs share a scale (float16), and the zero is 8, so a weight is scale * (number -
8) with a number of 0 to 15. The server keeps the result in bf16.
"""
import torch
import torch.nn.functional as F
from torch import nn

WIDTH, LAYERS, HEADS, FFN, VOCAB, GROUP = 128, 4, 4, 384, 832, 32
EPSILON, THETA = 1e-5, 10000.0
LINEARS = {"self_attn.q_proj": (WIDTH, WIDTH), "self_attn.k_proj": (WIDTH, WIDTH),
           "self_attn.v_proj": (WIDTH, WIDTH), "self_attn.o_proj": (WIDTH, WIDTH),
           "mlp.gate_proj": (FFN, WIDTH), "mlp.up_proj": (FFN, WIDTH), "mlp.down_proj": (WIDTH, FFN)}


def quantise(weight):
    """Returns (numbers 0 to 15 [out, in], scales [out, in / GROUP], float16 values as float32)."""
    groups = weight.reshape(weight.shape[0], -1, GROUP)
    scale = torch.maximum(groups.amax(2) / 7, groups.amin(2) / -8).clamp(min=1e-6).half().float()
    numbers = (groups / scale[:, :, None]).round().clamp(-8, 7) + 8
    return numbers.reshape(weight.shape), scale


def rounded(weight):
    """Returns a weight as the server computes it; gradients pass through unchanged."""
    numbers, scale = quantise(weight)
    exact = (numbers.reshape(*scale.shape, GROUP) - 8) * scale[:, :, None]
    return weight + (exact.reshape(weight.shape).bfloat16().float() - weight).detach()


def norm(x, weight):
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * weight


class Wren(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(VOCAB, WIDTH) * 0.05)
        self.blocks = nn.ModuleList()
        for _ in range(LAYERS):
            block = nn.ParameterDict({"input_layernorm": torch.ones(WIDTH),
                                      "post_attention_layernorm": torch.ones(WIDTH)})
            for name, (rows, columns) in LINEARS.items():
                last = name.endswith(("o_proj", "down_proj"))
                block[name.replace(".", "/")] = torch.randn(rows, columns) * (
                    columns ** -0.5 * (0.3 if last else 1))
            self.blocks.append(block)
        self.last_norm = nn.Parameter(torch.ones(WIDTH))

    def matrices(self):
        return [p for block in self.blocks for p in block.values() if p.dim() == 2]

    def forward(self, ids):
        """Returns the hidden rows [B, T, WIDTH] after the last norm, and the table of the head."""
        half = WIDTH // HEADS // 2
        angle = torch.arange(ids.shape[1])[:, None] * THETA ** (-torch.arange(half) / half)
        cos, sin = angle.cos().repeat(1, 2), angle.sin().repeat(1, 2)
        table = self.table + (self.table.bfloat16().float() - self.table).detach()

        def turned(x):
            x = x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
            a, b = x.chunk(2, -1)
            return (x * cos + torch.cat([-b, a], -1) * sin).to(x.dtype)
        hidden = F.embedding(ids, table)
        for block in self.blocks:
            w = {k: rounded(v) for k, v in block.items() if v.dim() == 2}
            x = norm(hidden, block["input_layernorm"])
            q, k = turned(F.linear(x, w["self_attn/q_proj"])), turned(F.linear(x, w["self_attn/k_proj"]))
            v = F.linear(x, w["self_attn/v_proj"]).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            x = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
            hidden = hidden + F.linear(x, w["self_attn/o_proj"])
            x = norm(hidden, block["post_attention_layernorm"])
            x = F.silu(F.linear(x, w["mlp/gate_proj"])) * F.linear(x, w["mlp/up_proj"])
            hidden = hidden + F.linear(x, w["mlp/down_proj"])
        return norm(hidden, self.last_norm), table

    def loss(self, ids, places, targets):
        """Returns the loss of the tokens `targets` (-100: ignored), which follow the positions `places` of the
        flat ids [B, T]."""
        hidden, table = self(ids)
        logits = F.linear(hidden.flatten(0, 1)[places], table).float()
        return F.cross_entropy(logits, targets, ignore_index=-100)
