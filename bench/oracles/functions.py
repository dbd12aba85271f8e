"""The polynomials of lib/graph/primitives/transcendental.ts that are not fdlibm's, and reference values for its test.

    python3 functions.py             coefficients, by Remez's algorithm in 60 digits
    python3 functions.py errors      largest errors of these formulas in double precision, where they are, and the exact
                                     values there as sums of two doubles (numpy rounds every operation, as JavaScript does)

Needs mpmath; numpy for the errors.
"""
import sys

from mpmath import atanh, cos, exp, factorial, log, log1p, lu_solve, matrix, mp, mpf, pi, sqrt, tanh

mp.prec = 200


def remez(f, weight, a, b, n):
    """n coefficients, lowest power first, that make the largest |weight (polynomial − f)| on [a, b] least."""
    points = [(a + b) / 2 - (b - a) / 2 * cos(pi * i / n) for i in range(n + 1)]
    for _ in range(12):
        system = matrix(n + 1, n + 1)
        for i, x in enumerate(points):
            for j in range(n):
                system[i, j] = x**j
            system[i, n] = (-1) ** i / weight(x)
        found = lu_solve(system, matrix([f(x) for x in points]))
        grid = [a + (b - a) * mpf(i) / 2000 for i in range(2001)]
        errors = [weight(x) * (sum(found[j] * x**j for j in range(n)) - f(x)) for x in grid]
        # The largest error between every two changes of sign.
        extremes, current = [], 0
        for i in range(1, len(grid)):
            if (errors[i] > 0) != (errors[current] > 0):
                extremes.append(current)
                current = i
            elif abs(errors[i]) > abs(errors[current]):
                current = i
        extremes.append(current)
        if len(extremes) != n + 1:
            break
        points = [grid[i] for i in extremes]
    return [float(found[j]) for j in range(n)], float(max(abs(e) for e in errors))


def exponential(r):
    """(e^r − 1 − r)/r²; near 0 by its series, where the difference cancels."""
    return sum(r**k / factorial(k + 2) for k in range(30)) if abs(r) < 0.01 else (exp(r) - 1 - r) / r**2


def logarithm(z):
    """(2 artanh s/s − 2)/s² for z = s²."""
    return mpf(2) / 3 + 2 * z / 5 if z < mpf("1e-12") else (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z


half = log(2) / 2 * mpf("1.0000001")
# e^r − 1 = r + r² times the polynomial, of which tanh asks for the relative error: that of r times it. Close to 0 any is good.
exp_c, exp_error = remez(exponential, lambda r: max(abs(r), mpf("1e-3")), -half, half, 10)
log_c, log_error = remez(logarithm, lambda z: mpf(1), mpf(0), mpf(1) / 9, 10)

if sys.argv[1:] != ["errors"]:
    print("exp", exp_error, exp_c)
    print("logOfOneMore", log_error, log_c)
    sys.exit()

import numpy as np

ln2_high, ln2_low, log2e, shifter = 6.93147180369123816490e-1, 1.90821492927058770002e-10, 1.44269504088896338700, 6755399441055744.0


def paired(x, square, c):
    fourth = square * square
    four = lambda i: (c[i] + x * c[i + 1]) + square * (c[i + 2] + x * c[i + 3])
    return four(0) + fourth * (four(4) + fourth * (c[8] + x * c[9]))


def reduced(x):
    """k and e^r − 1."""
    k = (x * log2e + shifter) - shifter
    r = (x - k * ln2_high) - k * ln2_low
    return k.astype(int), r + r * r * paired(r, r * r, exp_c)


def double_exp(x):
    k, p = reduced(x)
    return np.ldexp(1 + p, k)


def double_tanh(x):
    k, p = reduced(2 * np.minimum(np.abs(x), 22))
    t = (np.ldexp(1.0, k) - 1) + np.ldexp(p, k)
    return np.copysign(t / (t + 2), x)


def double_log(x):
    s = x / (2 + x)
    z = s * s
    halved = 0.5 * (x * x)
    return x - (halved - s * (halved + z * paired(z, z * z, log_c)))


def double_softplus(x):
    return np.maximum(x, 0) + double_log(double_exp(-np.abs(x)))


def worst(name, x, found, exact):
    errors = []
    for at, value in zip(x, found):
        true = exact(mpf(float(at)))
        errors.append(float(abs((mpf(float(value)) - true) / mpf(float(np.spacing(float(true)))))))
    i = int(np.argmax(errors))
    true = exact(mpf(float(x[i])))
    print(name, f"{errors[i]:.3f} units in the last place: [{float(x[i])!r}, {float(true)!r}, {float(true - mpf(float(true)))!r}]")


mp.prec = 160
random = np.random.default_rng(1)
for name, low, high in [("exp", -1, 1), ("exp", -30, 30), ("exp", -700, 700)]:
    points = random.uniform(low, high, 40000)
    worst(f"{name} {low} … {high}", points, double_exp(points), exp)
for name, points in [("-1 … 1", random.uniform(-1, 1, 40000)), ("-22 … 22", random.uniform(-22, 22, 40000)), ("1e-20 … 1", 10 ** random.uniform(-20, 0, 40000))]:
    worst(f"tanh {name}", points, double_tanh(points), tanh)
for name, points in [("0 … 1", random.uniform(0, 1, 40000)), ("1e-20 … 1", 10 ** random.uniform(-20, 0, 40000))]:
    worst(f"log1pOfUnit {name}", points, double_log(points), log1p)
for low, high in [(-1, 1), (-30, 30)]:
    points = random.uniform(low, high, 40000)
    worst(f"softplus {low} … {high}", points, double_softplus(points), lambda x: log1p(exp(x)) if x < 0 else x + log1p(exp(-x)))
