"""The counter-based random numbers of src/kernels/sample.h, which replace an original's noise."""
import numpy as np


def philox(counter, key):
    """Returns numbers of Philox 4x32-10. counter: [4, N] uint64 that contain 32-bit numbers; key: two integers."""
    c, mask = [x.astype(np.uint64) for x in counter], np.uint64(0xFFFFFFFF)
    k0, k1 = key
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), b & mask, (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k1),
             a & mask]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


def philox_normal(seed, step, stream, count):
    quads = (count + 3) // 4
    n = np.arange(quads, dtype=np.uint64)
    full = lambda x: np.full(quads, x, dtype=np.uint64)
    bits = np.stack(philox([full(step), n, full(stream), full(1)], (seed & 0xFFFFFFFF, seed >> 32)))
    bits = bits.astype(np.float64)
    out = np.empty((quads, 4))
    for pair in (0, 2):
        radius = np.sqrt(-2 * np.log((bits[pair] + 0.5) * 2.0**-32))
        angle = 2 * np.pi * bits[pair + 1] * 2.0**-32
        out[:, pair], out[:, pair + 1] = radius * np.cos(angle), radius * np.sin(angle)
    return out.reshape(-1)[:count].astype(np.float32)


def philox_uniforms(seed, step, stream, count):
    n = np.arange((count + 3) // 4, dtype=np.uint64)
    full = lambda x: np.full(n.size, x, dtype=np.uint64)
    bits = np.stack(philox([full(step), n, full(stream), full(2)], (seed & 0xFFFFFFFF, seed >> 32)), 1)
    return ((bits >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)).reshape(-1)[:count]


def block_noise(seed, block, count):
    """Returns the noise of block `block` of DacDecoder (src/codec/dac_decoder.h), rows [0, count)."""
    parts = [philox_normal(seed, step, 64 + block, 256) for step in range((count + 255) // 256)]
    return np.concatenate(parts)[:count] if parts else np.empty(0, np.float32)
