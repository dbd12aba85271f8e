"""Scenes of bench/contact.ts in MJX (JAX), double precision: values, gradients by AD, and central differences of the same run.

Needs mujoco with mujoco-mjx. Prints one JSON object.
"""
import json
import time

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import mujoco
from mujoco import mjx

OPTION = '<option timestep="%g" gravity="0 0 -9.81" cone="%s" impratio="10" integrator="Euler" iterations="50" ls_iterations="50"/>'
MODELS = {
    # A point with friction on a table: slides in x, moves in z.
    "puck": '<worldbody><geom name="table" type="plane" size="9 9 1" friction="0.3 0 0" solref="0.004 1"/>'
    '<body pos="0 0 0.1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>'
    '<geom type="sphere" size="0.1" mass="1" friction="0.3 0 0" solref="0.004 1"/></body></worldbody>',
    # A ball that is let fall: damped little, it comes back.
    "ball, condim 1": '<worldbody><geom name="floor" type="plane" size="9 9 1" condim="1" solref="-20000 -30"/>'
    '<body pos="0 0 0.1"><joint type="slide" axis="0 0 1"/>'
    '<geom type="sphere" size="0.1" mass="1" condim="1" solref="-20000 -30"/></body></worldbody>',
    "ball": '<worldbody><geom name="floor" type="plane" size="9 9 1" solref="-20000 -30"/>'
    '<body pos="0 0 0.1"><joint type="slide" axis="0 0 1"/>'
    '<geom type="sphere" size="0.1" mass="1" solref="-20000 -30"/></body></worldbody>',
}


def scene(name, h, steps, body):
    model = mujoco.MjModel.from_xml_string("<mujoco>" + OPTION % (h, "pyramidal" if "condim 1" in name else "elliptic") + MODELS[name] + "</mujoco>")
    device = mjx.put_model(model)
    start = mjx.make_data(model)

    def run(x):
        m, data, result = body(device, start, x)
        for_one = lambda d, _: (mjx.step(m, d), None)
        data, _ = jax.lax.scan(for_one, data, None, length=steps)
        return result(data)

    return run


def friction_of(m, mu):
    return m.replace(geom_friction=m.geom_friction.at[:, 0].set(mu))


def push(force):
    return lambda m, d, x: (friction_of(m, x[0]), d.replace(qfrc_applied=jnp.array([force, 0.0])), lambda e: e.qpos[0])


SCENES = {
    "slides to rest, by μ and v": (
        "puck", 0.001, 1000,
        lambda m, d, x: (friction_of(m, x[0]), d.replace(qvel=jnp.array([x[1], 0.0])), lambda e: e.qpos[0]),
        [0.3, 2.0],
    ),
    "sticks under a push of 2 N, by μ": ("puck", 0.001, 1000, push(2.0), [0.3]),
    "slides under a push of 4 N, by μ": ("puck", 0.001, 1000, push(4.0), [0.3]),
    "bounces, height at 1 s by height at 0": (
        "ball", 0.001, 1000,
        lambda m, d, x: (m, d.replace(qpos=jnp.array([x[0]])), lambda e: e.qpos[0]),
        [1.0],
    ),
    "the same, condim 1": (
        "ball, condim 1", 0.001, 1000,
        lambda m, d, x: (m, d.replace(qpos=jnp.array([x[0]])), lambda e: e.qpos[0]),
        [1.0],
    ),
    "the same, condim 1, h = 1e-4": (
        "ball, condim 1", 0.0001, 10000,
        lambda m, d, x: (m, d.replace(qpos=jnp.array([x[0]])), lambda e: e.qpos[0]),
        [1.0],
    ),
}

out = {}
for name, (model, h, steps, body, at) in SCENES.items():
    run = scene(model, h, steps, body)
    x = jnp.array(at)
    value = jax.jit(run)
    try:
        gradient = jax.jit(jax.jacfwd(run))
        by_ad = [float(g) for g in gradient(x)]
    except Exception as error:  # told, not hidden
        by_ad = str(error).splitlines()[0]
    eps = 1e-5
    by_difference = [
        float((value(x.at[i].add(eps)) - value(x.at[i].add(-eps))) / (2 * eps)) for i in range(len(at))
    ]
    try:
        back = [float(g) for g in jax.jit(jax.grad(run))(x)]
    except Exception as error:
        back = str(error).splitlines()[0]
    begin = time.perf_counter()
    value(x).block_until_ready()
    out[name] = {
        "value": float(value(x)), "forward": by_ad, "reverse": back, "differences": by_difference,
        "ms": 1000 * (time.perf_counter() - begin),
    }
print(json.dumps(out, indent=1, ensure_ascii=False))
