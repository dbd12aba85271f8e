"""diffrax: the rows of bench/training-rows.ts, a batch one state; jit of loss, gradient and Adam in one.

`64` or `32` says the precision; for the hybrid `newton` or `chord` solves its steps. Every step has its checkpoint, so that
nothing is taken again but a step's stages; DirectAdjoint took 2.5 to 9 times as long on every row.
"""
import sys

import jax

double = sys.argv[1] == "64"
jax.config.update("jax_enable_x64", double)

import diffrax as dfx
import jax.numpy as jnp
import numpy as np
import optimistix as optx

from midpoint import ImplicitMidpoint
from protocol import serve
from training import numbers

real = jnp.float64 if double else jnp.float32
array = lambda x: jnp.asarray(np.asarray(x), real)
tree = jax.tree_util.tree_map


def dense(layers, x, activation=jnp.tanh):
    for w, b in layers[:-1]:
        x = activation(x @ w + b)
    w, b = layers[-1]
    return x @ w + b


def parameters(layers):
    return [(array(w), array(b)) for w, b in layers]


def adjoint(steps):
    if "direct" in sys.argv:
        return dfx.DirectAdjoint()
    return dfx.RecursiveCheckpointAdjoint(checkpoints=steps)


def fixed(slope, start, args, dt, steps, solver=dfx.Tsit5()):
    """All states of steps of one length."""
    times = jnp.arange(steps + 1, dtype=real) * dt
    solution = dfx.diffeqsolve(
        dfx.ODETerm(slope), solver, times[0], times[-1], None, start, args=args, stepsize_controller=dfx.StepTo(times),
        saveat=dfx.SaveAt(t0=True, steps=True), adjoint=adjoint(steps), max_steps=steps,
    )
    return solution.ys[: steps + 1]


def adaptive(slope, start, args, times, end, given, most):
    """States at the times; `most` steps are enough."""
    return dfx.diffeqsolve(
        dfx.ODETerm(slope), dfx.Tsit5(), 0.0, end, given["dt"], start, args=args,
        stepsize_controller=dfx.PIDController(rtol=given["rtol"], atol=given["atol"]), saveat=dfx.SaveAt(ts=times),
        adjoint=adjoint(most), max_steps=most,
    ).ys


def spiral(given, is_adaptive):
    count, batch, size = given["shape"]
    batches = [array(values).reshape(count, batch, size) for values in given["batches"]]
    times = jnp.arange(count, dtype=real) * given["dt"]
    slope = lambda t, y, layers: dense(layers, y, jax.nn.softplus)

    def loss(layers, target):
        start = target[0]
        if is_adaptive:
            path = adaptive(slope, start, layers, times, times[-1], given, 64)
        else:
            path = fixed(slope, start, layers, given["dt"], count - 1)
        return jnp.mean((path - target) ** 2)

    return loss, parameters(given["layers"]), batches


def small_net(given):
    slope = lambda t, y, layers: dense(layers, y[None])[0]
    loss = lambda layers, target: jnp.mean((fixed(slope, array(given["start"]), layers, given["dt"], given["steps"]) - target) ** 2)
    return loss, parameters(given["layers"]), [array(given["target"])]


def latent_ode(given):
    times = array(given["times"])

    def loss(networks, seen):
        encoder, field, decoder = networks
        path = adaptive(lambda t, y, layers: dense(layers, y), dense(encoder, seen), field, times, given["end"], given, 64)
        return jnp.mean((dense(decoder, path)[..., 0].T - seen) ** 2)

    return loss, [parameters(given[name]) for name in ("encoder", "field", "decoder")], [array(given["seen"])]


def hybrid(given):
    start = jnp.concatenate([array(given["start"]["q"]), array(given["start"]["v"])])
    size, steps = len(start) // 2, given["steps"]
    target = array(given["target"]).reshape(steps + 1, size)
    # Of single precision four roundings are the least that can be asked for.
    tolerance = 1e-10 if double else 5e-7
    finder = {"newton": optx.Newton, "chord": optx.Chord}[sys.argv[2] if len(sys.argv) > 2 else "newton"](tolerance, tolerance)

    def slope(t, y, args):
        stiffness, layers = args
        tension = stiffness * jnp.diff(y[:size], prepend=0.0)
        force = jnp.append(tension[1:], 0.0) - tension + dense(layers, y[None])[0] - given["damping"] * y[size:]
        return jnp.concatenate([y[size:], force])

    def loss(args, target):
        path = fixed(slope, start, args, given["dt"], steps, ImplicitMidpoint(finder))
        return jnp.mean((path[:, :size] - target) ** 2)

    return loss, (array(given["stiffness"]), parameters(given["layers"])), [target]


def lotka_volterra(given):
    slope = lambda t, y, args: args[0] * y + dense(args[1], y[None])[0]
    times = array(given["times"])

    def loss(args, target):
        return jnp.mean((adaptive(slope, array(given["start"]), args, times, times[-1], given, 128) - target) ** 2)

    return loss, (array(given["rates"]), parameters(given["layers"])), [array(given["target"])]


rows = {
    "spiral": lambda given: spiral(given, False), "spiral-adaptive": lambda given: spiral(given, True), "small-net": small_net,
    "latent-ode": latent_ode, "hybrid": hybrid, "lotka-volterra": lotka_volterra,
}


def prepare(workload, n):
    if workload not in rows:
        return "not written for this"
    given = numbers(workload)
    loss, begin, batches = rows[workload](given)

    @jax.jit
    def step(values, moments, target, count):
        value, gradient = jax.value_and_grad(loss)(values, target)
        first = tree(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradient)
        second = tree(lambda v, g: 0.999 * v + 0.001 * g * g, moments[1], gradient)
        moved = tree(
            lambda p, m, v: p - given["rate"] * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8),
            values, first, second,
        )
        return moved, (first, second), value, gradient

    zeros = tree(jnp.zeros_like, begin)
    forward = jax.jit(loss)
    state = dict(values=begin, moments=(zeros, zeros), count=0)

    def train():
        if state["count"] == given["restart"]:
            state.update(values=begin, moments=(zeros, zeros), count=0)
        target = batches[state["count"] % len(batches)]
        state["count"] += 1
        made = jax.block_until_ready(step(state["values"], state["moments"], target, state["count"]))
        state["values"], state["moments"], value, gradient = made
        return value, gradient

    def answer():
        value, gradient = train()
        return value, np.sqrt(sum(float(np.sum(np.asarray(x, np.float64) ** 2)) for x in jax.tree_util.tree_leaves(gradient)))

    return lambda: forward(begin, batches[0]).block_until_ready(), train, answer, {} if double else {"single": True}


serve(prepare)
