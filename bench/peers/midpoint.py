"""Implicit midpoint for diffrax, as an AbstractImplicitSolver whose equations any root finder of optimistix solves."""
from collections.abc import Callable
from typing import ClassVar

import diffrax as dfx
import optimistix as optx


class ImplicitMidpoint(dfx.AbstractImplicitSolver):
    root_finder: optx.AbstractRootFinder
    root_find_max_steps: int = 50
    term_structure: ClassVar = dfx.AbstractTerm
    interpolation_cls: ClassVar[Callable[..., dfx.LocalLinearInterpolation]] = dfx.LocalLinearInterpolation

    def order(self, terms):
        return 2

    def init(self, terms, t0, t1, y0, args):
        return None

    def func(self, terms, t0, y0, args):
        return terms.vf(t0, y0, args)

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        control = terms.contr(t0, t1)

        def relation(k, given):
            y, args = given
            return terms.vf_prod(0.5 * (t0 + t1), y + 0.5 * k, args, control) - k

        guess = terms.vf_prod(t0, y0, args, control)
        found = optx.root_find(relation, self.root_finder, guess, (y0, args), throw=False, max_steps=self.root_find_max_steps)
        y1 = y0 + found.value
        return y1, None, dict(y0=y0, y1=y1), None, dfx.RESULTS.promote(found.result)
