"""The speech LM: a llama-type decoder over codec frames with a time-aligned stream of symbols.

Step t reads the codes of step t-1 and the symbol at the pointer, with the next three symbols, the syllable's
place in word and phrase, and how long the pointer has been at the symbol. It predicts book k of frame t-k (a
delay pattern), and by how many symbols the pointer moves before step t+1. The pointer moves when the
probability that it should have stayed falls below one half. Moving past the last symbol ends the speech. So no
symbol is skipped or repeated, and the pointer gives the timing of the words. Every row also contains the
speaker (a row of a table, linear, so that speakers can be mixed by weights) and the speed (a direction scaled
by ln of the speed).

Shapes: B batch, T steps, D width. Names of the tensors follow llama's.
"""
import torch
import torch.nn.functional as F
from torch import nn

from codec import BOOKS, CODES, RmsNorm
from corpus import SPEAKERS

WIDTH, LAYERS, HEADS, HEAD_DIM, HIDDEN = 192, 5, 3, 64, 512
ROPE_BASE = 1000.0
PHONES, PHRASES, PLACES, AGES = 61, 14, 26, 16
WINDOW = 4              # symbols that a step reads: the current one and the next three
AGED_STAY = 0.9         # limit when the LM does not distinguish ages: 0.9 s a symbol
MOVES = 4               # the pointer moves 0 to 3 symbols a step
NONE = CODES            # the row for "no code yet"
UNKNOWN = PHRASES - 1   # class of a phrase whose end has not arrived, for text that arrives word by word
RISING_PHRASES = range(9, 13)  # classes of the last phrase of a yes-no question
DRAIN = BOOKS - 1       # steps after the last frame
TABLES = ("code", "phone", "phrase", "place", "age", "speaker")


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(WIDTH, HEADS * HEAD_DIM, bias=False)
        self.k_proj = nn.Linear(WIDTH, HEADS * HEAD_DIM, bias=False)
        self.v_proj = nn.Linear(WIDTH, HEADS * HEAD_DIM, bias=False)
        self.o_proj = nn.Linear(HEADS * HEAD_DIM, WIDTH, bias=False)

    def forward(self, x, turn, mask, cache=None):
        batch, steps, _ = x.shape
        shape = lambda y: y.view(batch, steps, HEADS, HEAD_DIM).transpose(1, 2)
        q, k, v = (shape(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = rotate(q, turn), rotate(k, turn)
        if cache is not None:
            if cache:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            cache[:] = [k, v]
        score = q @ k.transpose(-1, -2) * HEAD_DIM ** -0.5
        if mask is not None:
            score = score + mask
        y = torch.softmax(score, -1) @ v
        return self.o_proj(y.transpose(1, 2).reshape(batch, steps, -1))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down_proj = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_layernorm = RmsNorm(WIDTH)
        self.self_attn = Attention()
        self.post_attention_layernorm = RmsNorm(WIDTH)
        self.mlp = Mlp()

    def forward(self, x, turn, mask, cache=None):
        x = x + self.self_attn(self.input_layernorm(x), turn, mask, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


def rope_turn(first, steps):
    """Returns cos and sin [T, HEAD_DIM / 2] of the positions first..first+steps-1."""
    freq = ROPE_BASE ** (-torch.arange(0, HEAD_DIM, 2).float() / HEAD_DIM)
    angle = torch.arange(first, first + steps).float()[:, None] * freq
    return torch.cos(angle), torch.sin(angle)


def rotate(x, turn):
    cos, sin = turn
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class SpeechLm(nn.Module):
    def __init__(self):
        super().__init__()
        table = lambda rows: nn.Embedding(rows, WIDTH)
        self.code = nn.ModuleList([table(CODES + 1) for _ in range(BOOKS)])
        self.phone = nn.ModuleList([table(PHONES) for _ in range(WINDOW)])
        self.phrase, self.place, self.age = table(PHRASES), table(PLACES), table(AGES)
        self.speaker = table(SPEAKERS)
        self.speed = nn.Parameter(torch.randn(WIDTH) * 0.3)  # multiplied by ln of the speed
        self.register_buffer("pace", torch.ones(SPEAKERS))  # used by heard_speed()
        self.speeds = (0.0, float("inf"))  # limits of a finished voice
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.norm = RmsNorm(WIDTH)
        self.head = nn.Linear(WIDTH, BOOKS * CODES + MOVES, bias=False)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                deep = name.endswith(("o_proj.weight", "down_proj.weight"))
                is_table = name.startswith(TABLES)
                nn.init.normal_(p, std=0.3 if is_table else WIDTH ** -0.5 * (0.3 if deep else 1.0))

    def embed(self, codes, symbols, mix, speed):
        """Returns the input rows for codes [B, T, 3] and symbols [B, T, 4 + 3] (window of phones, phrase,
        place, age). mix [B, S]: the weights of the speakers. speed [B]: a factor; 1 is the teacher's speed."""
        x = sum(self.code[b](codes[..., b]) for b in range(BOOKS))
        x = x + sum(self.phone[o](symbols[..., o]) for o in range(WINDOW))
        said_by = mix @ self.speaker.weight + torch.log(speed)[:, None] * self.speed
        return (x + self.phrase(symbols[..., WINDOW]) + self.place(symbols[..., WINDOW + 1])
                + self.age(symbols[..., WINDOW + 2]) + said_by[:, None])

    def forward(self, codes, symbols, mix, speed, caches=None, first=0):
        """Returns logits [B, T, 3 * 256 + 4]."""
        x = self.embed(codes, symbols, mix, speed)
        steps = x.shape[1]
        turn = rope_turn(first, steps)
        mask = torch.full((steps, steps), -1e9).triu(1) if caches is None else None
        for i, layer in enumerate(self.layers):
            x = layer(x, turn, mask, None if caches is None else caches[i])
        return self.head(self.norm(x))


def heard_speed(model, mix, speed):
    """Returns the speed to give to the LM so that the speakers of mix [S] speak at `speed`: `speed` to the
    power of their pace, within the speeds of the training."""
    slowest, fastest = model.speeds
    return min(max(speed ** float(mix @ model.pace), min(speed, slowest)), max(speed, fastest))


def near_phrases(phrase, word):
    """Returns the phrase classes for text that arrives word by word: a class is known if the phrase ends with
    the symbol's word or the next word. `word` numbers the words; -1 is a pause."""
    out, last = list(phrase), None
    for i in reversed(range(len(phrase))):
        if word[i] < 0:
            last = None
        else:
            last = word[i] if last is None else last
            if last > word[i] + 1:
                out[i] = UNKNOWN
    return out


class Text:
    """The symbols of one sentence, and the LM's input at a pointer."""

    def __init__(self, phone, phrase, place):
        pad = [0] * WINDOW
        self.size = len(phone)
        self.phone, self.phrase, self.place = phone + pad, phrase + pad, place + pad

    def at(self, pointer, age):
        p = min(pointer, self.size)
        return self.phone[p : p + WINDOW] + [self.phrase[p], self.place[p], min(age, AGES - 1)]


class Pointer:
    """The position of the speech. It moves when the survival probability falls below one half."""

    def __init__(self):
        self.at, self.age, self.survival = 0, 0, 1.0

    def choose(self, move_logits):
        """Returns the move 0 to 3 for these logits [4], and updates the survival probability."""
        p = torch.softmax(move_logits, -1)
        stay = float(p[0])
        self.survival *= stay if self.age < AGES else min(stay, AGED_STAY)
        return 0 if self.survival >= 0.5 else 1 + int(p[1:].argmax())

    def move(self, count):
        self.at += count
        self.age = 0 if count else self.age + 1
        self.survival = 1.0 if count else self.survival
