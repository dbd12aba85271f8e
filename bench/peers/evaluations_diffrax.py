"""Evaluations of the right-hand side and errors of diffrax over tolerances, counted by a callback in it; prints JSON.

Three problems by Tsit5, with diffrax's own controller ('usual', integral) and a PI one; three stiff ones by Kvaerno5, stages by
optimistix' Newton with a hundredth of the tolerances. Reference solutions are SciPy's DOP853 and Radau at their limits.
The evaluations that a Jacobian makes are counted too. See bench/evaluations.ts.
"""
import json
import sys

import diffrax as dx
import jax
import jax.numpy as jnp
import numpy as np
import optimistix as ox
from scipy.integrate import solve_ivp

jax.config.update("jax_enable_x64", True)
count = 0


def counted(f):
    def bump(_):
        global count
        count += 1

    def g(t, y, args):
        jax.debug.callback(bump, t)
        return f(t, y)

    return g


def lotka(t, y):
    return jnp.stack([1.5 * y[0] - y[0] * y[1], y[0] * y[1] - 3 * y[1]])


def arenstorf(t, y):
    mu = 0.012277471
    x, w, vx, vw = y
    earth = (1 - mu) * ((x + mu) ** 2 + w**2) ** -1.5
    moon = mu * ((x - 1 + mu) ** 2 + w**2) ** -1.5
    return jnp.stack([vx, vw, x + 2 * vw - earth * (x + mu) - moon * (x - 1 + mu), w - 2 * vx - (earth + moon) * w])


def pendulum(t, y):
    return jnp.stack([y[1], -jnp.sin(y[0]) - 0.1 * y[1] + 0.5 * jnp.cos(t)])


def vdp(t, y):
    return jnp.stack([y[1], 100 * (1 - y[0] ** 2) * y[1] - y[0]])


def rober(t, y):
    r1, r2, r3 = 0.04 * y[0], 3e7 * y[1] ** 2, 1e4 * y[1] * y[2]
    return jnp.stack([-r1 + r3, r1 - r2 - r3, r2])


def orego(t, y):
    return jnp.stack([
        77.27 * (y[1] + y[0] * (1 - 8.375e-6 * y[0] - y[1])),
        (y[2] - (1 + y[0]) * y[1]) / 77.27,
        0.161 * (y[0] - y[2]),
    ])


problems = {
    "lotka": (lotka, [1.0, 1.0], 10.0, False),
    "arenstorf": (arenstorf, [0.994, 0.0, 0.0, -2.0015851063790825], 17.06521656015796, False),
    "pendulum": (pendulum, [1.0, 0.0], 20.0, False),
    "vdp": (vdp, [2.0, 0.0], 200.0, True),
    "rober": (rober, [1.0, 0.0, 0.0], 1e4, True),
    "orego": (orego, [1.0, 2.0, 3.0], 300.0, True),
}


def reference(f, y0, end, stiff, atol):
    g = jax.jit(f)
    jac = jax.jit(jax.jacfwd(lambda y: f(0.0, y)))
    more = {"method": "Radau", "rtol": 1e-12, "jac": lambda t, y: np.asarray(jac(y))} if stiff else {"method": "DOP853", "rtol": 1e-13}
    return solve_ivp(lambda t, y: np.asarray(g(t, y)), (0, end), y0, atol=atol, **more).y[:, -1]


out = {"ref": {}, "rows": []}
for name, (f, y0, end, stiff) in problems.items():
    ref = reference(f, y0, end, stiff, 1e-18 if name == "rober" else 1e-14)
    out["ref"][name] = ref.tolist()
    for setting in ["newton"] if stiff else ["usual", "pi"]:

        @jax.jit
        def run(tol, atol):
            shares = {"pcoeff": 0.4, "icoeff": 0.3} if setting == "pi" else {}
            newton = ox.Newton(rtol=1e-2 * tol, atol=1e-2 * atol, cauchy_termination=False)
            solution = dx.diffeqsolve(
                dx.ODETerm(counted(f)),
                dx.Kvaerno5(root_finder=newton) if stiff else dx.Tsit5(),
                0.0,
                end,
                None,
                jnp.asarray(y0),
                stepsize_controller=dx.PIDController(rtol=tol, atol=atol, **shares),
                max_steps=16384,
            )
            return solution.ys[-1], solution.stats["num_accepted_steps"]

        for power in range(5, 11) if name == "arenstorf" else range(3, 9):
            tol = 10.0**-power
            atol = tol * (1e-6 if name == "rober" else 1e-2)
            count = 0
            y, steps = jax.block_until_ready(run(tol, atol))
            jax.effects_barrier()
            error = float(np.linalg.norm(np.asarray(y) - ref) / np.linalg.norm(ref))
            row = {"problem": name, "setting": setting, "tol": tol, "atol": atol, "error": error}
            out["rows"].append({**row, "evaluations": count, "steps": int(steps)})
json.dump(out, sys.stdout)
