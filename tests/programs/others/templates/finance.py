"""References and inputs of finance."""

import math

import numpy as np


def heston(z1, z2, S0, v0, kappa, theta, xi, rho, strike):
    paths, steps = z1.shape
    dt, s, v = 1 / steps, np.full(paths, np.log(S0)), np.full(paths, v0)
    for t in range(steps):
        vp = np.maximum(v, 0)
        w = rho * z1[:, t] + np.sqrt(1 - rho * rho) * z2[:, t]
        s = s - 0.5 * vp * dt + np.sqrt(vp * dt) * z1[:, t]
        v = v + kappa * (theta - vp) * dt + xi * np.sqrt(vp * dt) * w
    return np.mean(np.maximum(np.exp(s) - strike, 0))


def binomial(K, S, r, sigma, steps):
    dt = 1 / steps
    up, disc = np.exp(sigma * np.sqrt(dt)), np.exp(-r * dt)
    p = (1 / disc - 1 / up) / (up - 1 / up)
    v = np.maximum(S * up ** (2.0 * np.arange(steps + 1) - steps) - K[:, None], 0)
    for _ in range(int(steps)):
        v = disc * (p * v[:, 1:] + (1 - p) * v[:, :-1])
    return v[:, 0]


def walks(rng, names):
    steps, paths = names["steps"], names["paths"]
    moves = rng.normal(size=(steps, paths)) * 0.2 / np.sqrt(steps)
    return {"S": 38 * np.exp(np.cumsum(moves, 0)), "strike": 40.0, "disc": float(np.exp(-0.05 / steps))}


def american(S, strike, disc):
    cash = np.maximum(strike - S[-1], 0)
    for row in S[-2::-1]:
        cash = cash * disc
        x = row / strike
        money = x < 1
        X = np.vander(x[money], 3, increasing=True)
        if abs(np.linalg.det(X.T @ X)) < 1e-9:
            continue
        a = np.linalg.lstsq(X, cash[money], rcond=None)[0]
        exercise = strike - row
        now = money & (exercise > np.vander(x, 3, increasing=True) @ a)
        cash = np.where(now, exercise, cash)
    return np.mean(cash)


def _call(S, K, r, s):
    d1 = (math.log(S / K) + r + s * s / 2) / s
    phi = [0.5 * (1 + math.erf(d / math.sqrt(2))) for d in (d1, d1 - s)]
    return S * phi[0] - K * math.exp(-r) * phi[1], S * math.exp(-d1 * d1 / 2) / math.sqrt(2 * math.pi)


def quotes(rng, names):
    K = rng.uniform(85, 115, names["n"])
    price = [_call(100.0, k, 0.03, s)[0] for k, s in zip(K, rng.uniform(0.15, 0.5, names["n"]))]
    return {"price": np.array(price), "K": K, "S": 100.0, "r": 0.03}


def implied(price, K, S, r):
    sigma, rounds = [], []
    for p, k in zip(price, K):
        s = 0.3
        for n in range(1, 51):
            c, vega = _call(S, k, r, s)
            step = (c - p) / vega
            s -= step
            if abs(step) < 1e-8:
                break
        sigma.append(s)
        rounds.append(n)
    return np.array(sigma), np.array(rounds)
