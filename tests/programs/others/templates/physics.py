"""References and inputs of physics."""

import numpy as np


def mri_q(kx, ky, kz, mag, x, y, z):
    arg = 6.2831853 * (np.outer(x, kx) + np.outer(y, ky) + np.outer(z, kz))
    return np.cos(arg) @ mag, np.sin(arg) @ mag


def gridding(kx, ky, re, im, n, cutoff, beta):
    gr, gi = np.zeros((n, n)), np.zeros((n, n))
    i, j = np.arange(n)[:, None], np.arange(n)
    for a, b, r, m in zip(kx, ky, re, im):
        d = (i - (a + 0.5) * (n - 1)) ** 2 + (j - (b + 0.5) * (n - 1)) ** 2
        w = np.where(d < cutoff**2, np.exp(-beta * d), 0)
        gr, gi = gr + r * w, gi + m * w
    return gr, gi


def sad(cur, ref, r):
    h, w = cur.shape
    out = np.zeros((h // 4, w // 4, 2 * r + 1, 2 * r + 1), int)
    for y in range(h // 4):
        for x in range(w // 4):
            for dy in range(2 * r + 1):
                for dx in range(2 * r + 1):
                    a = cur[4 * y : 4 * y + 4, 4 * x : 4 * x + 4].astype(int)
                    b = ref[4 * y + dy : 4 * y + dy + 4, 4 * x + dx : 4 * x + dx + 4].astype(int)
                    out[y, x, dy, dx] = np.abs(a - b).sum()
    return out


def tpacf_inputs(rng, names):
    x = rng.normal(size=(names["n"], 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return {"x": x, "binb": np.cos(np.linspace(0.2, 2.9, names["nb"] + 1))}


def tpacf(x, binb, nb):
    x, binb = x.astype(np.float32), binb.astype(np.float32)
    hist = np.zeros(nb + 2, int)
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            dot = np.sum((x[i].astype(float) * x[j])).astype(np.float32)
            if dot >= binb[0]:
                hist[0] += 1
            elif dot < binb[nb]:
                hist[nb + 1] += 1
            else:
                hist[np.argmax(binb <= dot)] += 1
    return hist


def atoms(rng, names):
    top = 0.5 * np.array([names["nx"], names["ny"], names["nz"]])
    a = names["a"]
    return {
        "atoms": np.concatenate([rng.uniform(0, 1, (a, 3)) * top, rng.normal(size=(a, 1))], 1),
        "spacing": 0.5, "cutoff": 2.3,
    }  # fmt: skip


def cutcp(atoms, spacing, cutoff, nz, ny, nx):
    out = np.zeros((nz, ny, nx))
    z, y, x = (np.arange(k) * spacing for k in (nz, ny, nx))
    for ax, ay, az, q in atoms:
        r2 = (z[:, None, None] - az) ** 2 + (y[:, None] - ay) ** 2 + (x - ax) ** 2
        out += np.where(r2 < cutoff**2, q / np.sqrt(r2) * (1 - r2 / cutoff**2) ** 2, 0)
    return out


def nas_ep(n, start):
    x, a, tx, ty, q = int(start), 5**13, 0.0, 0.0, np.zeros(10, int)
    for _ in range(int(n)):
        x = x * a % 2**46
        u = 2 * x / 2**46 - 1
        x = x * a % 2**46
        v = 2 * x / 2**46 - 1
        t = u * u + v * v
        if t <= 1:
            f = np.sqrt(-2 * np.log(t) / t)
            tx, ty = tx + u * f, ty + v * f
            q[int(max(abs(u * f), abs(v * f)))] += 1
    return tx, ty, q


def resid(u, v, a):
    r = np.zeros(u.shape)
    n = len(u)
    inner = slice(1, -1)
    total = v[inner, inner, inner] - a[0] * u[inner, inner, inner]
    for d in np.ndindex(3, 3, 3):
        far = sum(k != 1 for k in d)
        if far > 1:
            total = total - a[far] * u[tuple(slice(k, n - 2 + k) for k in d)]
    r[inner, inner, inner] = total
    return r


def interp(z, u):
    u, m = u.copy(), len(z)
    for p in np.ndindex(2, 2, 2):
        part = sum(
            z[tuple(slice(k, m - 1 + k) for k in c)] for c in np.ndindex(*(k + 1 for k in p))
        ) / 2 ** sum(p)  # fmt: skip
        u[p[0] : 2 * m - 2 : 2, p[1] : 2 * m - 2 : 2, p[2] : 2 * m - 2 : 2] += part
    return u


def blocks(rng, names):
    n = names["n"]
    return {"d": rng.normal(size=(n, 5, 5)) + 6 * np.eye(5), "omega": 1.2, "ldz": 0.3 * rng.normal(size=(n, 5, 5))}


def blts(v, ldz, d, omega):
    v = v.copy()
    for i in range(1, len(v)):
        v[i] = np.linalg.solve(d[i], v[i] - omega * ldz[i] @ v[i - 1])
    return v


def evolve(u, t, alpha):
    k = [(np.arange(n) + n // 2) % n - n // 2 for n in u.shape]
    r = k[0][:, None, None] ** 2 + k[1][:, None] ** 2 + k[2] ** 2
    x = u * np.exp(-4 * alpha * np.pi**2 * t * r)
    return x, x


def particles(x, y, ox, oy, u):
    n = len(x)
    w = np.exp(-0.5 * ((x - ox) ** 2 + (y - oy) ** 2))
    w /= w.sum()
    at = np.minimum(np.searchsorted(np.cumsum(w), (np.arange(n) + u) / n), n - 1)
    return x[at], y[at], x @ w, y @ w


def myocyte(v0, w0, current, steps, h):
    y = np.stack([v0, w0])

    def f(y):
        return np.stack([y[0] - y[0] ** 3 / 3 - y[1] + current, 0.08 * (y[0] + 0.7 - 0.8 * y[1])])

    for _ in range(int(steps)):
        a = f(y)
        b = f(y + h / 2 * a)
        c = f(y + h / 2 * b)
        y = y + h / 6 * (a + 2 * b + 2 * c + f(y + h * c))
    return y[0], y[1]


def cells(pos, vel, m, dt):
    d = pos[:, None] - pos
    d -= np.round(d)
    r = np.sqrt((d**2).sum(-1))
    rc = 1 / m
    near = (r < rc) & ~np.eye(len(pos), dtype=bool)
    s = np.where(near, 1 - r / rc, 0)
    f = np.sum((2 * s / (rc * np.sqrt(r**2 + 1e-12)))[..., None] * d, 1)
    vel = vel + dt * f
    p = pos + dt * vel
    return p - np.floor(p), vel, np.sum(s * s) / 2


def sph(pos, mass, h):
    q = np.sqrt(((pos[:, None] - pos) ** 2).sum(-1)) / h
    w = np.where(q < 1, 1 - 1.5 * q**2 + 0.75 * q**3, np.where(q < 2, 0.25 * (2 - q) ** 3, 0))
    return mass / (np.pi * h**3) * w.sum(1)


def fdtd(ez, hy, sigma, steps):
    ez, hy, s = ez.copy(), hy.copy(), 0.5 * sigma
    for t in range(int(steps)):
        hy[:-1] = (1 - s[:-1]) / (1 + s[:-1]) * hy[:-1] + 0.5 / (1 + s[:-1]) * np.diff(ez)
        ez[1:] = (1 - s[1:]) / (1 + s[1:]) * ez[1:] + 0.5 / (1 + s[1:]) * np.diff(hy)
        ez[len(ez) // 2] += np.exp(-0.01 * (t - 10) ** 2)
    return ez, hy


def burgers(u0, dtdx, steps):
    u = u0
    for _ in range(int(steps)):
        a, b = u - np.roll(u, 1), np.roll(u, -1) - u
        slope = np.where(a * b <= 0, 0, np.where(np.abs(a) < np.abs(b), a, b))
        left, right = u + slope / 2, np.roll(u - slope / 2, -1)
        q = np.where(left > right, np.where(left + right > 0, left, right), np.where(left > 0, left, np.where(right < 0, right, 0)))
        f = q * q / 2
        u = u - dtdx * (f - np.roll(f, 1))
    return u


def shallow(h, hu, dtdx):
    H, Q = np.pad(h, 1, mode="edge"), np.pad(hu, 1, mode="edge")
    u, c = Q / H, np.sqrt(9.81 * H)
    F = np.stack([Q, Q * u + 0.5 * 9.81 * H * H])
    U = np.stack([H, Q])
    sl = np.minimum((u - c)[:-1], (u - c)[1:])
    sr = np.maximum((u + c)[:-1], (u + c)[1:])
    mid = (sr * F[:, :-1] - sl * F[:, 1:] + sl * sr * np.diff(U)) / (sr - sl)
    f = np.where(sl >= 0, F[:, :-1], np.where(sr <= 0, F[:, 1:], mid))
    return h - dtdx * np.diff(f[0]), hu - dtdx * np.diff(f[1])


def seidel(u, f, h2, sweeps):
    u, n = u.copy(), len(u)
    for _ in range(int(sweeps)):
        for i, j, k in np.ndindex(n - 2, n - 2, n - 2):
            i, j, k = i + 1, j + 1, k + 1
            near = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k] + u[i, j, k - 1] + u[i, j, k + 1]
            u[i, j, k] = (near - h2 * f[i, j, k]) / 6
    return u


def boris(x, v, E, B, qmdt2, dt):
    m = len(E)
    g = x * (m - 1)
    i = np.minimum(g.astype(int), m - 2)
    f = g - i
    w = [(1 - f[:, :1]), f[:, :1]], [(1 - f[:, 1:]), f[:, 1:]]
    ef, bf = (sum(w[0][a] * w[1][b] * F[i[:, 0] + a, i[:, 1] + b] for a in (0, 1) for b in (0, 1)) for F in (E, B))
    u, t = v + qmdt2 * ef, qmdt2 * bf
    s = 2 / (1 + np.sum(t * t, -1, keepdims=True))
    v = u + s * np.cross(u + np.cross(u, t), t) + qmdt2 * ef
    q = x + dt * v[:, :2]
    return q - np.floor(q), v
