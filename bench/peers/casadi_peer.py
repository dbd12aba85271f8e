"""CasADi: the residual as an SX function, fast_newton with a sparse QR, the steps folded, reverse derivatives."""
import casadi as ca
import numpy as np

from protocol import DRAG, GRAVITY, H, NET_STEPS, STEPS, mlp_weights, net, serve


def chain(n):
    q, v, k = ca.SX.sym("q", n), ca.SX.sym("v", n), ca.SX.sym("k", n)
    d = q - ca.vertcat(0, q[:-1])
    s = k * (d + 0.5 * d**3)
    force = ca.vertcat(s[1:], 0) - s - DRAG * v + GRAVITY
    return ca.Function("force", [q, v, k], [force]), 1.0, np.zeros(n), np.full(n, 1e4), STEPS


def cloth(rows):
    positions, held, edges = net(rows)
    n = len(positions)
    mass = 1 / rows**2
    q, v, k = ca.SX.sym("q", 3 * n), ca.SX.sym("v", 3 * n), ca.SX.sym("k", len(edges))
    x = ca.vertcat(ca.reshape(q, 3, n).T, ca.DM(held))
    separation = x[edges[:, 1].tolist(), :] - x[edges[:, 0].tolist(), :]
    length = ca.sqrt(ca.sum2(separation**2))
    pull = ca.repmat(k * (length - 1 / (rows - 1)) / length, 1, 3) * separation
    rows_, columns_ = edges.T.flatten().tolist(), list(range(len(edges))) * 2
    incidence = ca.DM.triplet(rows_, columns_, [1.0] * len(edges) + [-1.0] * len(edges), n + len(held), len(edges))
    total = ca.reshape(ca.mtimes(incidence, pull)[:n, :].T, 3 * n, 1) - 0.1 / rows**2 * v
    total += ca.repmat(ca.DM([0, 0, -9.81 * mass]), n, 1)
    return ca.Function("force", [q, v, k], [total]), mass, positions.flatten(), np.full(len(edges), 100.0), NET_STEPS


def mlp(n):
    weights = mlp_weights(n)
    q, v, w = ca.SX.sym("q", n), ca.SX.sym("v", n), ca.SX.sym("w", sum(x.size for x in weights))
    x, at = ca.vertcat(q, v), 0
    for i, weight in enumerate(weights):
        # Rows of a layer lie one after another; CasADi's matrices go by columns.
        x = ca.mtimes(ca.reshape(w[at : at + weight.size], weight.shape[1], weight.shape[0]), x)
        x = ca.tanh(x) if i < 2 else x
        at += weight.size
    force = x - 1000 * q - 0.1 * v
    return ca.Function("force", [q, v, w], [force]), 1.0, 0.1 * np.arange(1, n + 1), np.concatenate([x.flatten() for x in weights]), STEPS


def prepare(workload, n):
    force, mass, q_start, parameters, steps = {"chain": chain, "net": cloth, "mlp": mlp}[workload](n)
    size = len(q_start)
    z, x, p = ca.SX.sym("z", size), ca.SX.sym("x", 2 * size), ca.SX.sym("p", len(parameters))
    q0, v0 = x[:size], x[size:]
    mean = 0.5 * (v0 + z)
    residual = z - v0 - H / mass * force(q0 + 0.5 * H * mean, mean, p)
    root = ca.rootfinder("root", "fast_newton", ca.Function("residual", [z, x, p], [residual]), {"linear_solver": "qr", "abstol": 1e-12, "abstolStep": 1e-12})

    x, p = ca.MX.sym("x", 2 * size), ca.MX.sym("p", len(parameters))
    q0, v0 = x[:size], x[size:]
    v1 = root(v0, x, p)
    step = ca.Function("step", [x, p], [ca.vertcat(q0 + 0.5 * H * (v0 + v1), v1)])
    fold = step.fold(steps)
    end = fold(x, ca.repmat(p, 1, steps))
    loss = ca.sumsqr(end)
    forward = ca.Function("forward", [x, p], [loss])
    gradient = ca.Function("gradient", [x, p], [loss, ca.gradient(loss, p)])
    start = np.concatenate([q_start, np.zeros(size)])

    def with_gradient():
        value, slope = gradient(start, parameters)
        return float(value), float(ca.norm_2(slope))

    return lambda: forward(start, parameters), with_gradient


serve(prepare)
