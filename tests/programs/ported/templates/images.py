import numpy as np


def hough(rng, names):
    t = np.linspace(0, np.pi, names["nt"])
    return {"edges": (rng.random((names["h"], names["w"])) < 0.1).astype(np.uint8), "cos_t": np.cos(t), "sin_t": np.sin(t)}


def rotation(rng, names):
    a = 0.3
    return {"M": np.array([[np.cos(a), -np.sin(a), 1.25], [np.sin(a), np.cos(a), -2.5]], np.float32)}


def chamfer(mask):
    h, w = mask.shape
    d = np.where(mask, 1000000, 0)
    before = [(0, -1, 3), (-1, 0, 3), (-1, -1, 4), (-1, 1, 4)]
    for sign in (1, -1):
        for y in range(h)[::sign]:
            for x in range(w)[::sign]:
                for dy, dx, cost in before:
                    v, u = y + sign * dy, x + sign * dx
                    if 0 <= v < h and 0 <= u < w:
                        d[y, x] = min(d[y, x], d[v, u] + cost)
    return d
