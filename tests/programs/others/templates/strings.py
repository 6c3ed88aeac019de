"""References and inputs of strings, hashes and bits."""

import base64
import binascii
import zlib

import numpy as np


def kmp(text, pattern):
    m = len(pattern)
    at = [i for i in range(len(text) - m + 1) if (text[i : i + m] == pattern).all()]
    found = np.zeros(len(text), np.int64)
    found[: len(at)] = at
    return found, len(at)


def banded(a, b, k):
    n, m = len(a), len(b)
    big = n + m
    d = np.full((n + 1, m + 1), big)
    d[0, : k + 1] = np.arange(min(k, m) + 1)
    for i in range(1, n + 1):
        if i <= k + 1:
            d[i, 0] = i
        for j in range(max(1, i - k), min(m, i + k) + 1):
            d[i, j] = min(d[i - 1, j - 1] + (a[i - 1] != b[j - 1]), d[i - 1, j] + 1, d[i, j - 1] + 1)
    return d[n, m]


def lcs(a, b):
    row = np.zeros(len(b) + 1, np.int64)
    for c in a:
        before, row = row, row.copy()
        for j in range(1, len(b) + 1):
            row[j] = before[j - 1] + 1 if c == b[j - 1] else max(before[j], row[j - 1])
    return row


def occurrences(text, pattern):
    return kmp(text, pattern)[1]


def base64_inputs(rng, names):
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return {"table": np.frombuffer(letters.encode(), np.uint8), "data": rng.integers(0, 256, 3 * names["n"])}


def base64_of(data, table):
    return np.frombuffer(base64.b64encode(data.astype(np.uint8).tobytes()), np.uint8)


def utf8_text(rng, names):
    n = names["n"]
    text = "".join(chr(c) for c in np.where(rng.random(n) < 0.6, rng.integers(32, 127, n), rng.integers(0xA0, 0xD7FF, n)))
    raw = np.frombuffer(text.encode()[:n].ljust(n), np.uint8).copy()
    return {"s": raw}


def utf8(s):
    raw = bytes(s.astype(np.uint8))
    try:
        return len(raw.decode()), -1
    except UnicodeDecodeError as e:
        return len(raw[: e.start].decode()), e.start


def crc32(data):
    return binascii.crc32(data.astype(np.uint8).tobytes())


def adler32(data):
    return zlib.adler32(data.astype(np.uint8).tobytes())


def _u32(v):
    return v & np.uint64(0xFFFFFFFF)


def _rotl(v, r):
    return _u32((v << np.uint64(r)) | (v >> np.uint64(32 - r)))


def murmur3(keys, start):
    u = np.uint64
    keys = keys.astype(u)
    h = np.full(len(keys), start, u)
    for w in range(4):
        k = _u32(_rotl(_u32(keys[:, w] * u(0xCC9E2D51)), 15) * u(0x1B873593))
        h = _u32(_rotl(h ^ k, 13) * u(5) + u(0xE6546B64))
    h ^= u(16)
    h ^= h >> u(16)
    h = _u32(h * u(0x85EBCA6B))
    h ^= h >> u(13)
    h = _u32(h * u(0xC2B2AE35))
    return h ^ (h >> u(16))


def chacha20(key, nonce, n):
    out = []
    for i in range(n):
        s = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *map(int, key), i, *map(int, nonce)]
        x = list(s)

        def add(a, b, d, r):
            x[a] = (x[a] + x[b]) & 0xFFFFFFFF
            v = x[d] ^ x[a]
            x[d] = ((v << r) | (v >> (32 - r))) & 0xFFFFFFFF

        def quarter(a, b, c, d):
            add(a, b, d, 16)
            add(c, d, b, 12)
            add(a, b, d, 8)
            add(c, d, b, 7)

        for _ in range(10):
            for k in range(4):
                quarter(k, 4 + k, 8 + k, 12 + k)
            for k in range(4):
                quarter(k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4)
        out.append([(a + b) & 0xFFFFFFFF for a, b in zip(x, s)])
    return np.array(out, np.uint32).reshape(n, 16)


def _primes(k):
    found = []
    c = 2
    while len(found) < k:
        if all(c % p for p in found):
            found.append(c)
        c += 1
    return found


def _fraction_of_cube_root(p):
    whole = p << 96
    low, high = 0, 1 << 40
    while high - low > 1:
        middle = (low + high) // 2
        if middle**3 <= whole:
            low = middle
        else:
            high = middle
    return low & 0xFFFFFFFF


def sha_inputs(rng, names):
    K = np.array([_fraction_of_cube_root(p) for p in _primes(64)], np.uint32)
    return {"K": K, "data": rng.integers(0, 1 << 32, (names["n"], 16))}


def sha256(data, K):
    M = 0xFFFFFFFF
    K = [int(k) for k in K]
    h = [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19]

    def r(x, k):
        return ((x >> k) | (x << (32 - k))) & M

    for block in data:
        w = [int(v) for v in block]
        for i in range(16, 64):
            s0 = r(w[i - 15], 7) ^ r(w[i - 15], 18) ^ (w[i - 15] >> 3)
            s1 = r(w[i - 2], 17) ^ r(w[i - 2], 19) ^ (w[i - 2] >> 10)
            w.append((w[i - 16] + s0 + w[i - 7] + s1) & M)
        a, b, c, d, e, f, g, v = h
        for i in range(64):
            t = v + (r(e, 6) ^ r(e, 11) ^ r(e, 25)) + ((e & f) ^ (~e & M & g)) + K[i] + w[i]
            u = (r(a, 2) ^ r(a, 13) ^ r(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
            a, b, c, d, e, f, g, v = (t + u) & M, a, b, c, (d + t) & M, e, f, g
        h = [(p + q) & M for p, q in zip(h, (a, b, c, d, e, f, g, v))]
    return np.array(h, np.uint32)


def morton(x, y, z):
    code = np.zeros(len(x), np.uint64)
    for k in range(21):
        for j, v in enumerate((x, y, z)):
            code |= ((v.astype(np.uint64) >> np.uint64(k)) & np.uint64(1)) << np.uint64(3 * k + j)
    return code


def hamming(a, b):
    differ = np.ascontiguousarray(a[:, None, :] ^ b[None, :, :])
    return np.unpackbits(differ.view(np.uint8), axis=-1).sum(-1)


def bit_transposed(a):
    bits = (a.astype(np.uint64)[:, :, None] >> np.arange(31, -1, -1).astype(np.uint64)) & np.uint64(1)
    turned = bits.transpose(0, 2, 1) << np.arange(31, -1, -1).astype(np.uint64)
    return turned.sum(-1).astype(np.uint32)


def philox(x, key0, key1, p):
    n, M = len(x), 0xFFFFFFFF
    out = np.zeros(n)
    p32 = np.float32(p)
    for i in range((n + 3) // 4):
        c, k = [i, 0, 0, 0], [int(key0), int(key1)]
        for _ in range(10):
            p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
            c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & M, (p0 >> 32) ^ c[3] ^ k[1], p0 & M]
            k = [(k[0] + 0x9E3779B9) & M, (k[1] + 0xBB67AE85) & M]
        for j in range(min(4, n - 4 * i)):
            if np.float32(c[j] >> 8) * np.float32(2.0**-24) >= p32:
                out[4 * i + j] = x[4 * i + j] / (1 - p)
    return out


def components(u, v, n):
    label = np.arange(n)
    for a, b in zip(u, v):
        la, lb = label[a], label[b]
        label[label == max(la, lb)] = min(la, lb)
    return label, len(set(label.tolist()))


def matches(s, window, most):
    n = len(s)
    length, distance = np.zeros(n, int), np.zeros(n, int)
    for i in range(n):
        for d in range(1, min(i, window) + 1):
            k = 0
            while k < most and i + k < n and s[i + k] == s[i + k - d]:
                k += 1
            if k > length[i]:
                length[i], distance[i] = k, d
    return length, distance


def btree_inputs(rng, names):
    """A tree of 1 + 16 + 256 nodes, as far as there is room."""
    nodes, q = names["nodes"], names["q"]
    levels, inner = 1, 0
    while nodes > inner and (inner * 16 + 16) < nodes:
        inner = inner * 16 + 1
        levels += 1
    keys, child = np.zeros((nodes, 16), int), np.zeros((nodes, 16), int)
    for k in range(nodes):
        keys[k] = np.sort(rng.integers(0, 1 << 20, 16))
        child[k] = np.minimum(16 * k + 1 + np.arange(16), nodes - 1)
    return {"keys": keys, "child": child, "query": rng.integers(0, 1 << 20, q), "levels": levels}


def btree(keys, child, query, levels):
    out = np.zeros(len(query), int)
    for i, v in enumerate(query):
        node = 0
        for _ in range(levels):
            k = max([j for j in range(1, 16) if keys[node, j] <= v], default=0)
            node = child[node, k]
        out[i] = node
    return out


def fannkuch(n):
    """Every permutation in the order of the benchmarks game."""
    p, count, parity, check, top, r = list(range(n)), [0] * n, 1, 0, 0, n
    while True:
        while r != 1:
            count[r - 1] = r
            r -= 1
        q, flips = p[:], 0
        while q[0]:
            k = q[0]
            q[: k + 1] = q[k::-1]
            flips += 1
        top, check, parity = max(top, flips), check + parity * flips, -parity
        while True:
            if r == n:
                return check, top
            p.insert(r, p.pop(0))
            count[r] -= 1
            if count[r] > 0:
                break
            r += 1
