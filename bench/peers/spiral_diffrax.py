"""diffrax: the neural ODE of bench/spiral.ts, a batch one state, jit. `64` or `32` says the precision."""
import sys

import jax

double = sys.argv[1] == "64"
jax.config.update("jax_enable_x64", double)

import diffrax as dfx
import jax.numpy as jnp
import numpy as np

from protocol import serve
from spiral import ATOL, BATCH, DT, RATE, RESTART, RTOL, SPIRALS, TIMES, targets, weights

real = jnp.float64 if double else jnp.float32


def slope(t, y, layers):
    for w, b in layers[:-1]:
        y = jax.nn.softplus(y @ w + b)
    w, b = layers[-1]
    return y @ w + b


def prepare(workload, n):
    if workload not in ("spiral", "spiral-adaptive") or n != BATCH:
        return "not written for this"
    adaptive = workload == "spiral-adaptive"
    times = jnp.linspace(0, (TIMES - 1) * DT, TIMES, dtype=real)
    # Checkpoints for every step: nothing is taken again but the stages of a step.
    options = dict(
        stepsize_controller=dfx.PIDController(rtol=RTOL, atol=ATOL) if adaptive else dfx.StepTo(times),
        saveat=dfx.SaveAt(ts=times) if adaptive else dfx.SaveAt(t0=True, steps=True),
        adjoint=dfx.RecursiveCheckpointAdjoint(checkpoints=TIMES), max_steps=4096 if adaptive else TIMES - 1,
    )

    def loss(layers, target):
        solution = dfx.diffeqsolve(
            dfx.ODETerm(slope), dfx.Tsit5(), times[0], times[-1], DT if adaptive else None, target[0], args=layers, **options,
        )
        return jnp.mean((solution.ys[:TIMES] - target) ** 2)

    @jax.jit
    def step(layers, moments, target, count):
        value, gradient = jax.value_and_grad(loss)(layers, target)
        update = lambda f, *trees: jax.tree_util.tree_map(f, *trees)
        first = update(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradient)
        second = update(lambda v, g: 0.999 * v + 0.001 * g * g, moments[1], gradient)
        moved = update(
            lambda p, m, v: p - RATE * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8), layers, first, second,
        )
        return moved, (first, second), value, gradient

    begin = jax.tree_util.tree_map(lambda x: jnp.asarray(x, real), weights())
    zeros = jax.tree_util.tree_map(jnp.zeros_like, begin)
    batches = [jnp.asarray(targets(i), real) for i in range(SPIRALS // BATCH)]
    forward = jax.jit(loss)
    state = dict(layers=begin, moments=(zeros, zeros), count=0)

    def train():
        if state["count"] == RESTART:
            state.update(layers=begin, moments=(zeros, zeros), count=0)
        target = batches[state["count"] % len(batches)]
        state["count"] += 1
        state["layers"], state["moments"], value, gradient = jax.block_until_ready(step(state["layers"], state["moments"], target, state["count"]))
        return value, gradient

    def answer():
        value, gradient = train()
        return value, np.sqrt(sum(float(np.sum(np.asarray(x, np.float64) ** 2)) for x in jax.tree_util.tree_leaves(gradient)))

    return lambda: forward(begin, batches[0]).block_until_ready(), train, answer, {} if double else {"single": True}


serve(prepare)
