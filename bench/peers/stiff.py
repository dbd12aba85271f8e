"""The stiff problems of spec/integrate/history/stiff-problems.ts, for numpy and jax.numpy: f(xp, y) and its Jacobian."""
import numpy as np


def hires(xp, y):
    bound = 280 * y[5] * y[7]
    return xp.stack([
        -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
        1.71 * y[0] - 8.75 * y[1],
        -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
        8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
        -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
        -bound + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
        bound - 1.81 * y[6],
        -bound + 1.81 * y[6],
    ])


def hires_jacobian(y):
    j = np.zeros((8, 8))
    j[0, :3] = -1.71, 0.43, 8.32
    j[1, :2] = 1.71, -8.75
    j[2, 2:5] = -10.03, 0.43, 0.035
    j[3, 1:4] = 8.32, 1.71, -1.12
    j[4, 4:7] = -1.745, 0.43, 0.43
    j[5, 3:7] = 0.69, 1.71, -0.43, 0.69
    j[6, 6], j[7, 6] = -1.81, 1.81
    for row, sign in ((5, -1), (6, 1), (7, -1)):
        j[row, 5] += sign * 280 * y[7]
        j[row, 7] += sign * 280 * y[5]
    return j


def rober(xp, y):
    first = -0.04 * y[0] + 1e4 * y[1] * y[2]
    third = 3e7 * y[1] ** 2
    return xp.stack([first, -first - third, third])


def rober_jacobian(y):
    first = np.array([-0.04, 1e4 * y[2], 1e4 * y[1]])
    third = np.array([0, 6e7 * y[1], 0])
    return np.stack([first, -first - third, third])


def van_der_pol(xp, y):
    return xp.stack([y[1], 1000 * (1 - y[0] ** 2) * y[1] - y[0]])


def van_der_pol_jacobian(y):
    return np.array([[0, 1], [-2000 * y[0] * y[1] - 1, 1000 * (1 - y[0] ** 2)]])


# f, Jacobian, start, end, reference, absolute tolerance over the relative one, first step
PROBLEMS = {
    "HIRES": (
        hires, hires_jacobian, [1, 0, 0, 0, 0, 0, 0, 0.0057], 321.8122,
        [0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2,
         0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2], [1e-4] * 8, 1e-4,
    ),
    "ROBER": (
        rober, rober_jacobian, [1, 0, 0], 1e11,
        [0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050], [1e-7, 1e-13, 1e-3], 1e-5,
    ),
    "vanDerPol": (van_der_pol, van_der_pol_jacobian, [2, 0], 2000, [0.1706167732170469e1, -0.8928097010248125e-3], [1e-3, 1e-3], 1e-4),
}


def error(name, y):
    """The largest relative error of a component."""
    reference = np.array(PROBLEMS[name][4])
    return float(np.max(np.abs(np.asarray(y) / reference - 1)))
