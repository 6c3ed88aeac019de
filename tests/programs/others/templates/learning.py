"""References and inputs of learning."""

import numpy as np


def gini_inputs(rng, names):
    f, n, k = names["f"], names["n"], names["classes"]
    y = rng.integers(0, k, (f, n))
    y[-1:] = np.sort(y[-1:], axis=1)  # the one that tells something
    return {"x": np.sort(np.round(rng.normal(size=(f, n)), 2), axis=1), "y": y}


def gini(x, y, classes):
    best = (np.inf, -1, 0.0)
    n = x.shape[1]
    for j in range(len(x)):
        one = y[j][:, None] == np.arange(classes)
        left = one.cumsum(0)
        for i in range(n - 1):
            if x[j, i] == x[j, i + 1]:
                continue
            p, q = left[i] / (i + 1), (left[-1] - left[i]) / (n - i - 1)
            g = ((i + 1) * (1 - p @ p) + (n - i - 1) * (1 - q @ q)) / n
            if g < best[0]:
                best = (g, j, (x[j, i] + x[j, i + 1]) / 2)
    return best[1], best[2], best[0]


def lasso(X, y, lam, sweeps):
    w, r = np.zeros(X.shape[1]), y.copy()
    for _ in range(sweeps):
        for j in range(X.shape[1]):
            rho = X[:, j] @ (r + w[j] * X[:, j])
            new = np.sign(rho) * max(abs(rho) - lam, 0) / (X[:, j] @ X[:, j])
            r, w[j] = r + (w[j] - new) * X[:, j], new
    return w


def smo_inputs(rng, names):
    n = names["n"]
    x = rng.normal(size=(n, 3))
    y = np.where(x[:, 0] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    K = np.exp(-0.5 * np.sum((x[:, None] - x) ** 2, -1))
    return {"K": K * 1.0, "y": y, "C": 1.0, "steps": 30}


def smo(K, y, C, steps):
    n = len(y)
    alpha, G = np.zeros(n), -np.ones(n)
    for _ in range(int(steps)):
        up = ((y > 0) & (alpha < C)) | ((y < 0) & (alpha > 0))
        down = ((y > 0) & (alpha > 0)) | ((y < 0) & (alpha < C))
        if not up.any() or not down.any():
            break
        i = int(np.argmax(np.where(up, -y * G, -np.inf)))
        j = int(np.argmin(np.where(down, -y * G, np.inf)))
        gap = -y[i] * G[i] + y[j] * G[j]
        if gap < 1e-6:
            break
        step = gap / max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
        step = min(step, C - alpha[i] if y[i] > 0 else alpha[i])
        step = min(step, alpha[j] if y[j] > 0 else C - alpha[j])
        # K here is of x alone: the gradient has y on both sides
        alpha[i] += y[i] * step
        alpha[j] -= y[j] * step
        G = G + y * step * (K[i] - K[j])
    return alpha


def gmm(x, mu, var, logw):
    diff = x[:, None] - mu
    lp = logw - 0.5 * np.sum(diff**2 / var + np.log(2 * np.pi * var), -1)
    top = lp.max(1, keepdims=True)
    z = np.exp(lp - top).sum(1, keepdims=True)
    return np.exp(lp - top) / z, np.sum(top + np.log(z))


def centres(x, label, centre):
    out = centre.copy()
    for c in set(label.tolist()):
        out[c] = x[label == c].mean(0)
    return out


def gru(x, h, W, U, bias):
    i, u = np.einsum("rk,kgj->grj", x, W) + bias[:, None], np.einsum("rk,kgj->grj", h, U)
    z, g = (1 / (1 + np.exp(-(i[k] + u[k]))) for k in (0, 1))
    n = np.tanh(i[2] + g * u[2])
    return (1 - z) * n + z * h


def rope(x, weight, eps):
    t, h, d = x.shape
    v = x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps) * weight
    angle = np.arange(t)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    out = np.empty_like(v)
    out[..., ::2] = v[..., ::2] * c - v[..., 1::2] * s
    out[..., 1::2] = v[..., ::2] * s + v[..., 1::2] * c
    return out


def q4(q, scale, x):
    q = q.astype(int)
    w = np.concatenate([(q & 15) - 8, (q >> 4) - 8], -1) * scale[..., None]
    return w.reshape(len(q), -1) @ x


def q8(q, scale, xq, xs):
    return np.sum(np.sum(q.astype(float) * xq, -1) * scale * xs, -1)


def moe(logits):
    which = np.argsort(-logits, axis=1, kind="stable")[:, :2]
    p = np.exp(np.take_along_axis(logits, which, 1))
    return which, p / p.sum(1, keepdims=True), np.bincount(which.ravel(), minlength=logits.shape[1])


def top_p_inputs(rng, names):
    b, v = names["b"], names["v"]
    p = rng.exponential(size=(b, v)) ** 3 + 1e-6
    return {"prob": -np.sort(-p / p.sum(1, keepdims=True), axis=1), "p": 0.9, "u": rng.random(b)}


def top_p(prob, p, u):
    out = []
    for row, v in zip(prob.astype(np.float32), u.astype(np.float32)):
        c = np.cumsum(row, dtype=np.float32)
        last = min(int(np.searchsorted(c, np.float32(p))), len(row) - 1)
        out.append(min(int(np.searchsorted(c, v * c[last], "right")), last))
    return np.array(out)


def ctc(logp, label):
    seq = np.zeros(2 * len(label) + 1, int)
    seq[1::2] = label
    a = np.full(len(seq), -1e30)
    a[0], a[1] = logp[0, 0], logp[0, label[0]]
    for row in logp[1:]:
        b = a.copy()
        b[1:] = np.logaddexp(b[1:], a[:-1])
        for s in range(3, len(seq), 2):
            if seq[s] != seq[s - 2]:
                b[s] = np.logaddexp(b[s], a[s - 2])
        a = b + row[seq]
    return np.logaddexp(a[-1], a[-2])


def hmm(A, B, start, obs):
    t, s = len(obs), len(A)
    alpha, beta, c = np.zeros((t, s)), np.ones((t, s)), np.zeros(t)
    for i, o in enumerate(obs):
        alpha[i] = (alpha[i - 1] @ A if i else start) * B[:, o]
        c[i] = alpha[i].sum()
        alpha[i] /= c[i]
    for i in range(t - 2, -1, -1):
        beta[i] = A @ (B[:, obs[i + 1]] * beta[i + 1]) / c[i + 1]
    return alpha * beta, np.log(c).sum()


def embedding(token, dy, v):
    out = np.zeros((v, dy.shape[1]))
    np.add.at(out, token, dy)
    return out


def batchnorm(x, dy, gamma, eps):
    n = len(x)
    inv = 1 / np.sqrt(x.var(0) + eps)
    xhat = (x - x.mean(0)) * inv
    sg, sb = (dy * xhat).sum(0), dy.sum(0)
    return gamma * inv / n * (n * dy - sb - xhat * sg), sg, sb


def xent(logits, target, smooth):
    n, v = logits.shape
    keep = target >= 0
    lp = logits - logits.max(1, keepdims=True)
    lp -= np.log(np.exp(lp).sum(1, keepdims=True))
    goal = np.where(target[:, None] == np.arange(v), 1 - smooth, smooth / (v - 1))
    loss = -np.sum((goal * lp)[keep]) / max(keep.sum(), 1)
    return np.where(keep[:, None], np.exp(lp) - goal, 0), loss
