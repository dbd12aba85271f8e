"""SciPy's solve_ivp with analytic Jacobians on the stiff problems: `Radau` or `BDF`."""
import sys

try:
    import numpy as np
    import scipy
    from scipy.integrate import solve_ivp
except ImportError as absent:
    scipy, missing = None, str(absent)

from protocol import serve
from stiff import PROBLEMS, error


def prepare(name, digits):
    if scipy is None:
        return missing
    f, jacobian, start, end, _, atol, first = PROBLEMS[name]
    rtol = 10.0 ** -digits
    function = lambda t, y: f(np, y)
    options = dict(method=sys.argv[1], jac=lambda t, y: jacobian(y), rtol=rtol, atol=rtol * np.array(atol), first_step=first)

    def run():
        return solve_ivp(function, (0, end), start, **options)

    def answer():
        solution = run()
        if not solution.success:
            raise RuntimeError(solution.message)
        return error(name, solution.y[:, -1]), len(solution.t) - 1

    return run, run, answer, {}


serve(prepare)
