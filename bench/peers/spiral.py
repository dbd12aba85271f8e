"""The neural ODE of bench/spiral.ts again, number by number, for the Python contestants."""
import numpy as np

from protocol import layer

SPIRALS, TIMES, BATCH, RATE, RESTART = 256, 100, 32, 3e-3, 20
DT = 10 / (TIMES - 1)
SIZES = [2, 64, 64, 2]
RTOL, ATOL = 1e-3, 1e-6
SUBSTEPS = 4


def field(y):
    x = y / (1 + np.abs(y))
    return np.stack([x[:, 1], -x[:, 0]], 1)


def rk4(f, y, h):
    k1 = f(y)
    k2 = f(y + h / 2 * k1)
    k3 = f(y + h / 2 * k2)
    k4 = f(y + h * k3)
    return y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6


def targets(index):
    """Batch number `index` as [times, batch, 2]."""
    i = (index * BATCH + np.arange(BATCH)) % SPIRALS + 1
    y = 1.6 * (np.stack([i * 0.7548776662466927, i * 0.5698402909980532], 1) % 1) - 0.6
    rows = []
    for _ in range(TIMES):
        rows.append(y)
        for _ in range(SUBSTEPS):
            y = rk4(field, y, DT / SUBSTEPS)
    return np.stack(rows)


def weights():
    return [(layer(i, SIZES[i], SIZES[i + 1]), np.zeros(SIZES[i + 1])) for i in range(3)]


# Tsitouras' method (2011) with the coefficients of its paper: rows of a, and b, which is the last stage's row.
TSIT5 = [
    [0.161],
    [-0.008480655492356989, 0.335480655492357],
    [2.8971530571054935, -6.359448489975075, 4.3622954328695815],
    [5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525],
    [5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383],
    [0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774],
]


def tsit5(f, y, k1, h):
    """One step, and the slope at its end, which is the next step's first."""
    slopes = [k1]
    for row in TSIT5:
        point = y + h * sum(a * k for a, k in zip(row, slopes))
        slopes.append(f(point))
    return point, slopes[-1]
