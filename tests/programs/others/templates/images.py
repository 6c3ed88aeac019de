"""References and inputs of images."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def ssim(a, b, c1, c2):
    A, B = (sliding_window_view(v, (7, 7)).reshape(*(n - 6 for n in v.shape), 49) for v in (a, b))
    ma, mb = A.mean(-1), B.mean(-1)
    va, vb, cab = A.var(-1), B.var(-1), (A * B).mean(-1) - ma * mb
    return np.mean((2 * ma * mb + c1) * (2 * cab + c2) / ((ma**2 + mb**2 + c1) * (va + vb + c2)))


def hog(x):
    h, w = x.shape
    gx, gy = np.zeros((h, w)), np.zeros((h, w))
    gx[1:-1, 1:-1] = x[1:-1, 2:] - x[1:-1, :-2]
    gy[1:-1, 1:-1] = x[2:, 1:-1] - x[:-2, 1:-1]
    ang = np.degrees(np.arctan2(gy, gx))
    ang[ang < 0] += 180
    b = np.minimum((ang / 20).astype(int), 8)
    out = np.zeros((h // 8, w // 8, 9))
    for y in range(h // 8 * 8):
        for z in range(w // 8 * 8):
            out[y // 8, z // 8, b[y, z]] += np.hypot(gx[y, z], gy[y, z])
    return out


def chambolle(f, weight, steps):
    px, py = np.zeros(f.shape), np.zeros(f.shape)
    for _ in range(steps):
        d = -px - py
        d[:, 1:] += px[:, :-1]
        d[1:] += py[:-1]
        u = f + d
        gx, gy = np.zeros(f.shape), np.zeros(f.shape)
        gx[:, :-1] = np.diff(u, axis=1)
        gy[:-1] = np.diff(u, axis=0)
        norm = 1 + 0.25 / weight * np.hypot(gx, gy)
        px, py = (px - 0.25 * gx) / norm, (py - 0.25 * gy) / norm
    return u


def nl_means(x, sigma):
    h, w = x.shape
    out = np.zeros((h, w))
    for i in range(4, h - 4):
        for j in range(4, w - 4):
            own = x[i - 1 : i + 2, j - 1 : j + 2]
            s = z = 0
            for p in range(i - 3, i + 4):
                for q in range(j - 3, j + 4):
                    k = np.exp(-np.sum((own - x[p - 1 : p + 2, q - 1 : q + 2]) ** 2) / sigma**2)
                    s, z = s + k * x[p, q], z + k
            out[i, j] = s / z
    return out


def flood_inputs(rng, names):
    h, w = names["h"], names["w"]
    return {"image": (rng.random((h, w)) < 0.3).astype(int), "y": h // 2, "x": w // 2}


def flood(image, y, x):
    mask = np.zeros(image.shape, int)
    mask[y, x] = 1
    while True:
        grown = mask.copy()
        grown[1:] |= mask[:-1]
        grown[:-1] |= mask[1:]
        grown[:, 1:] |= mask[:, :-1]
        grown[:, :-1] |= mask[:, 1:]
        grown &= image == image[y, x]
        if (grown == mask).all():
            return mask, mask.sum()
        mask = grown


def passes(image):
    h, w = image.shape
    label = np.where(image, np.arange(1, h * w + 1).reshape(h, w), 0)
    k, changed = 0, True
    while changed:
        changed = False
        for i in range(h):
            for j in range(w):
                if label[i, j]:
                    near = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
                    of = [label[p, q] for p, q in near if 0 <= p < h and 0 <= q < w and label[p, q]]
                    m = min([label[i, j], *of])
                    changed |= bool(m < label[i, j])
                    label[i, j] = m
        k += 1
    return label, k


def envelope(f):
    q = np.arange(f.shape[1])
    return np.min((q[:, None] - q) ** 2 + f[:, None, :], axis=-1)


def hysteresis(mag, low, high):
    edge = mag >= high
    while True:
        padded = np.pad(edge, 1)
        grown = sliding_window_view(padded, (3, 3)).any((-1, -2)) & (mag >= low) | edge
        if (grown == edge).all():
            return edge * 255
        edge = grown


def bayer(raw):
    h, w = raw.shape
    v = raw.astype(np.int64)
    rgb = np.zeros((h, w, 3), int)
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            cross = (v[y - 1, x] + v[y + 1, x] + v[y, x - 1] + v[y, x + 1]) // 4
            diag = (v[y - 1, x - 1] + v[y - 1, x + 1] + v[y + 1, x - 1] + v[y + 1, x + 1]) // 4
            hor, ver = (v[y, x - 1] + v[y, x + 1]) // 2, (v[y - 1, x] + v[y + 1, x]) // 2
            rgb[y, x] = [
                [(v[y, x], cross, diag), (hor, v[y, x], ver)],
                [(ver, v[y, x], hor), (diag, cross, v[y, x])],
            ][y % 2][x % 2]
    return rgb


def gamma_of(image, gamma):
    table = np.clip(255 * (np.arange(256) / 255) ** gamma + 0.5, 0, 255).astype(np.uint8)
    return table[image.astype(int)]


def yuv(rgb):
    h, w, _ = rgb.shape
    R, G, B = np.moveaxis(rgb.astype(int), -1, 0)
    Y = ((66 * R + 129 * G + 25 * B + 128) >> 8) + 16
    r, g, b = (v.reshape(h // 2, 2, w // 2, 2).sum((1, 3)) for v in (R, G, B))
    return Y, ((-38 * r - 74 * g + 112 * b + 512) >> 10) + 128, ((112 * r - 94 * g - 18 * b + 512) >> 10) + 128


def lab(rgb):
    c = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    M = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
    t = c @ M.T / [0.950456, 1, 1.088754]
    x, y, z = np.moveaxis(np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116), -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], -1)


def gradient(x):
    h, w = x.shape
    out = np.zeros((h, w))
    for i in range(h):
        for j in range(w):
            part = x[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2]
            out[i, j] = part.max() - part.min()
    return out


def seam(energy):
    h, w = energy.shape
    cost, back = energy.astype(np.float32), np.zeros((h, w), int)
    for i in range(1, h):
        for j in range(w):
            best, step = cost[i - 1, j], 0
            for s in (-1, 1):
                if 0 <= j + s < w and cost[i - 1, j + s] < best:
                    best, step = cost[i - 1, j + s], s
            cost[i, j] += best
            back[i, j] = step
    at = int(np.argmin(cost[-1]))
    out = [at]
    for i in range(h - 1, 0, -1):
        at += back[i, at]
        out.append(at)
    return np.array(out[::-1])


def integral(x, bins):
    h, w = x.shape
    one = (x.astype(int) * bins // 256)[..., None] == np.arange(bins)
    out = np.zeros((h + 1, w + 1, bins), int)
    out[1:, 1:] = one.cumsum(0).cumsum(1)
    return out


def ncc(image, template):
    p, q = template.shape
    W = sliding_window_view(image, (p, q))
    W = W - W.mean((-1, -2), keepdims=True)
    t = template - template.mean()
    return (W * t).sum((-1, -2)) / np.sqrt((W * W).sum((-1, -2)) * np.sum(t * t))


def gicov_inputs(rng, names):
    a = 2 * np.pi * np.arange(150) / 150
    r = 8 + 2 * np.arange(7)[:, None]
    return {"cs": np.cos(a), "sn": np.sin(a), "ty": r * np.sin(a), "tx": r * np.cos(a)}


def gicov(gx, gy, cs, sn, ty, tx):
    h, w = gx.shape
    out = np.zeros((h, w))
    for i in range(22, h - 22):
        for j in range(22, w - 22):
            y, x = (i + ty).astype(int), (j + tx).astype(int)
            g = gx[y, x] * cs + gy[y, x] * sn
            out[i, j] = max(0, (g.mean(-1) ** 2 / g.var(-1, ddof=1)).max())
    return out


def dwt97(x):
    for axis in (1, 0):
        v = np.moveaxis(x.copy(), axis, 0)
        n = len(v)
        for s, c in enumerate((-1.586134342, -0.05298011854, 0.8829110762, 0.4435068522)):
            for k in range((s + 1) % 2, n, 2):
                left, right = v[k - 1] if k else v[1], v[k + 1] if k < n - 1 else v[n - 2]
                v[k] += c * (left + right)
        x = np.moveaxis(v, 0, axis)
    return x
