"""diffrax: implicit midpoint with full Newton or chord, all steps kept, double precision, jit."""
import sys

import jax

jax.config.update("jax_enable_x64", True)

import diffrax as dfx
import jax.numpy as jnp
import numpy as np
import optimistix as optx

from midpoint import ImplicitMidpoint
from protocol import DRAG, GRAVITY, H, NET_STEPS, STEPS, mlp_weights, net, serve


def chain(n):
    def force(q, v, k):
        d = jnp.diff(q, prepend=0.0)
        s = k * (d + 0.5 * d**3)
        return jnp.append(s[1:], 0.0) - s - DRAG * v + GRAVITY

    return force, np.zeros(n), np.full(n, 1e4), STEPS


def cloth(rows):
    positions, held, edges = net(rows)
    mass = 1 / rows**2

    def force(q, v, k):
        x = jnp.concatenate([q.reshape(-1, 3), held])
        separation = x[edges[:, 1]] - x[edges[:, 0]]
        length = jnp.sqrt(jnp.sum(separation**2, axis=1))
        pull = (k * (length - 1 / (rows - 1)) / length)[:, None] * separation
        total = jnp.zeros_like(x).at[edges[:, 0]].add(pull).at[edges[:, 1]].add(-pull)[: len(positions)]
        return (total.reshape(-1) - 0.1 * mass * v) / mass - jnp.tile(jnp.array([0, 0, 9.81]), len(positions))

    return force, positions.flatten(), np.full(len(edges), 100.0), NET_STEPS


def mlp(n):
    def force(q, v, weights):
        x = jnp.concatenate([q, v])
        x = jnp.tanh(x @ weights[0])
        x = jnp.tanh(x @ weights[1])
        return x @ weights[2] - 1000 * q - 0.1 * v

    return force, 0.1 * np.arange(1, n + 1), mlp_weights(n), STEPS


def prepare(workload, n):
    force, q0, parameters, steps = {"chain": chain, "net": cloth, "mlp": mlp}[workload](n)
    size = len(q0)
    finder = {"newton": optx.Newton, "chord": optx.Chord}[sys.argv[1]](rtol=1e-10, atol=1e-10)
    term = dfx.ODETerm(lambda t, y, p: jnp.concatenate([y[size:], force(y[:size], y[size:], p)]))
    start = jnp.concatenate([q0, jnp.zeros(size)])

    def solve(p):
        return dfx.diffeqsolve(
            term, ImplicitMidpoint(finder), 0.0, H * steps, H, start, args=p, saveat=dfx.SaveAt(t1=True),
            adjoint=dfx.RecursiveCheckpointAdjoint(checkpoints=steps), max_steps=steps + 1,
        )

    loss = lambda p: jnp.sum(solve(p).ys ** 2)
    forward, gradient = jax.jit(loss), jax.jit(jax.value_and_grad(loss))
    parameters = jax.tree_util.tree_map(jnp.asarray, parameters)

    def with_gradient():
        value, slope = jax.block_until_ready(gradient(parameters))
        return value, np.sqrt(sum(float(np.sum(np.asarray(x) ** 2)) for x in jax.tree_util.tree_leaves(slope)))

    return lambda: forward(parameters).block_until_ready(), lambda: with_gradient()


serve(prepare)
