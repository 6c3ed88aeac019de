"""References and inputs of signals."""

import numpy as np


def lomb(t, x, omega):
    out = []
    for w in omega:
        tau = np.arctan2(np.sum(np.sin(2 * w * t)), np.sum(np.cos(2 * w * t))) / (2 * w)
        c, s = np.cos(w * (t - tau)), np.sin(w * (t - tau))
        out.append(0.5 * ((x @ c) ** 2 / (c @ c) + (x @ s) ** 2 / (s @ s)))
    return np.array(out)


def medians(x):
    n = len(x)
    at = np.clip(np.arange(n)[:, None] + np.arange(-4, 5), 0, n - 1)
    return np.median(x[at], axis=1)


def lms(x, d, mu):
    n, w = len(x), np.zeros(16)
    y, err = np.zeros(n), np.zeros(n)
    padded = np.concatenate([np.zeros(15), x])
    for i in range(n):
        seen = padded[i : i + 16][::-1]
        y[i] = w @ seen
        err[i] = d[i] - y[i]
        w = w + mu * err[i] / (1e-6 + seen @ seen) * seen
    return y, err, w


def savgol(x, c):
    return np.correlate(np.pad(x, 5, mode="reflect"), c, "valid")


def haar(x):
    x, m = x.copy(), len(x)
    while m > 1:
        a, b = x[0:m:2].copy(), x[1:m:2].copy()
        x[: m // 2], x[m // 2 : m] = (a + b) * 0.70710678, (a - b) * 0.70710678
        m //= 2
    return x


def mel_inputs(rng, names):
    bins, mels = names["bins"], names["e"] - 2
    inner = np.sort(rng.choice(np.arange(1, bins), mels + 2, replace=False)) if bins > mels + 2 else np.arange(mels + 2)
    return {"edge": np.minimum(inner, bins), "power": rng.uniform(0.1, 1, (names["frames"], bins))}


def mel(power, edge):
    out = np.zeros((len(power), len(edge) - 2))
    for m in range(len(edge) - 2):
        lo, mid, hi = edge[m : m + 3]
        up, down = np.arange(lo, mid), np.arange(mid, hi)
        s = power[:, lo:mid] @ ((up - lo) / max(mid - lo, 1)) + power[:, mid:hi] @ ((hi - down) / max(hi - mid, 1))
        out[:, m] = np.log(np.maximum(s, 1e-10))
    return out


def tone(rng, names):
    n, k = names["n"], np.arange(names["n"])
    f = 2 * np.pi / (names["most"] / 3.3)
    return {"x": np.sin(f * k) + 0.5 * np.sin(2 * f * k + 1) + 0.02 * rng.normal(size=n), "threshold": 0.1}


def yin(x, most, threshold):
    w = len(x) - most
    d = np.array([np.sum((x[:w] - x[t : t + w]) ** 2) for t in range(most)])
    d[1:] = d[1:] * np.arange(1, most) / np.cumsum(d[1:])
    d[0] = 1
    for tau in range(2, most - 1):
        if d[tau] < threshold:
            while tau + 1 < most - 1 and d[tau + 1] < d[tau]:
                tau += 1
            a, b, c = d[tau - 1 : tau + 2]
            return tau + 0.5 * (a - c) / (a - 2 * b + c), d
    return 0.0, d


def iir(x, b, a):
    z, y = np.zeros((5, x.shape[1])), np.zeros(x.shape)
    for i in range(len(x)):
        y[i] = b[0] * x[i] + z[0]
        z[:4] = b[1:, None] * x[i] - a[1:, None] * y[i] + z[1:]
    return y
