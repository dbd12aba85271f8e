"""
diffrax's Kvaerno5 on the stiff problems, double precision, jit. `chord`: its own VeryChord with the controller's tolerances, the
default. `newton`: optimistix' Newton with a hundredth of them, ended by its rate of convergence (of the ways tried to solve
its stages the fastest; Cauchy's criterion asks of ROBER what rounding does not give).
"""
import sys

try:
    import jax

    jax.config.update("jax_enable_x64", True)

    import diffrax as dfx
    import jax.numpy as jnp
    import optimistix as optx
except ImportError as absent:
    dfx, missing = None, str(absent)

from protocol import serve
from stiff import PROBLEMS, error

# One compilation a problem: tolerances are arguments.
compiled = {}


def solver(name):
    f, _, start, end, _, atol, first = PROBLEMS[name]
    y0, scale = jnp.array(start, float), jnp.array(atol)
    term = dfx.ODETerm(lambda t, y, args: f(jnp, y))

    @jax.jit
    def solve(rtol):
        if sys.argv[1] == "newton":
            root_finder = optx.Newton(rtol=rtol / 100, atol=rtol * scale / 100, cauchy_termination=False)
        else:
            root_finder = dfx.VeryChord(rtol=rtol, atol=rtol * scale)
        controller = dfx.PIDController(rtol=rtol, atol=rtol * scale, pcoeff=0.3, icoeff=0.4)
        solution = dfx.diffeqsolve(
            term, dfx.Kvaerno5(root_finder=root_finder), 0.0, end, first, y0, stepsize_controller=controller,
            saveat=dfx.SaveAt(t1=True), max_steps=100_000, adjoint=dfx.ForwardMode(), throw=False,
        )
        return solution.ys[-1], solution.stats["num_steps"], solution.result == dfx.RESULTS.successful

    return solve


def prepare(name, digits):
    if dfx is None:
        return missing
    solve = compiled.setdefault(name, solver(name))
    rtol = jnp.asarray(10.0 ** -digits)

    def run():
        return jax.block_until_ready(solve(rtol))

    def answer():
        y, steps, succeeded = run()
        return (error(name, y) if bool(succeeded) else 1e300), int(steps)

    return run, run, answer, {}


serve(prepare)
