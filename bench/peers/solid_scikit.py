"""Newton's steps of bench/solid.ts with scikit-fem, and SciPy's SuperLU or PyAMG for the linear systems.

    python3 solid_scikit.py n

A line `direct` or `multigrid` on standard input takes one implicit step of Newmark's scheme, and is answered by JSON: the
milliseconds of one of Newton's iterations, of its assembly alone, their number, and the displacement's norm.
"""
import json
import os
import sys
import time

for library in ["OMP", "OPENBLAS", "MKL"]:
    os.environ[f"{library}_NUM_THREADS"] = "1"

import numpy as np
import pyamg
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from skfem import Basis, BilinearForm, ElementTetP1, ElementVector, LinearForm, MeshTet
from skfem.helpers import ddot, det, grad, inv, mul, trace, transpose

N = int(sys.argv[1])
H, BETA, NU, RHO, LOAD = 0.5, 0.25, 0.3, 1.0, -0.01

across = np.linspace(0, 1, N + 1)
mesh = MeshTet.init_tensor(np.linspace(0, 2, 2 * N + 1), across, across)
basis = Basis(mesh, ElementVector(ElementTetP1()), intorder=0)
middle = mesh.p[:, mesh.t].mean(axis=1)
stiffness = 1 + 0.3 * np.sin(10 * middle[0] + 7 * middle[1] + 3 * middle[2])
# One point in each cell.
MU = (stiffness / (2 * (1 + NU)))[:, None]
LAMBDA = (stiffness * NU / ((1 + NU) * (1 - 2 * NU)))[:, None]
free = basis.complement_dofs(basis.get_dofs(lambda x: x[0] == 0).all())


def gradient(w):
    return grad(w["u"]) + np.eye(3)[:, :, None, None]


@LinearForm
def force(v, w):
    F = gradient(w)
    P = MU * F + (LAMBDA * np.log(det(F)) - MU) * transpose(inv(F))
    return ddot(P, grad(v))


@BilinearForm
def tangent(u, v, w):
    a, b = mul(w["inverse"], grad(u)), mul(w["inverse"], grad(v))
    return MU * ddot(grad(u), grad(v)) + w["factor"] * ddot(a, transpose(b)) + LAMBDA * trace(a) * trace(b)


volumes = np.abs(np.linalg.det((mesh.p[:, mesh.t[1:]] - mesh.p[:, mesh.t[:1]]).transpose(2, 0, 1))) / 6
nodal = np.zeros(mesh.p.shape[1])
for vertex in mesh.t:
    np.add.at(nodal, vertex, volumes / 4)
mass = RHO * np.repeat(nodal, 3)[free]
weight = np.zeros(basis.N)
weight[2::3] = LOAD * nodal
weight = weight[free]

x = mesh.p.T - mesh.p.T.mean(axis=0)
modes = np.zeros((basis.N, 6))
for axis in range(3):
    modes[axis::3, axis] = 1
    a, b = (axis + 1) % 3, (axis + 2) % 3
    modes[a::3, 3 + axis], modes[b::3, 3 + axis] = -x[:, b], x[:, a]
modes = modes[free]


def direct(matrix, right):
    return spl.splu(matrix.tocsc(), permc_spec="COLAMD").solve(right)


def multigrid(matrix, right):
    hierarchy = pyamg.smoothed_aggregation_solver(matrix.tobsr((3, 3)), B=modes)
    return hierarchy.solve(right, tol=1e-10, accel="cg")


def assembled(u):
    """Internal forces and their derivative at the free degrees of freedom."""
    field = basis.interpolate(u)
    F = gradient({"u": field})
    matrix = tangent.assemble(basis, inverse=inv(F), factor=MU - LAMBDA * np.log(det(F)))
    return force.assemble(basis, u=field)[free], matrix[free][:, free]


def step(solve):
    """From rest; Newton's iteration for the acceleration at its end."""
    begin, assembly, iterations = time.perf_counter(), 0.0, 0
    a0 = weight / mass
    a, u = a0.copy(), np.zeros(basis.N)
    while True:
        u[free] = H * H * ((0.5 - BETA) * a0 + BETA * a)
        start = time.perf_counter()
        inner, matrix = assembled(u)
        assembly += time.perf_counter() - start
        residual = weight - inner - mass * a
        change = solve(sp.diags(mass) + BETA * H * H * matrix, residual)
        a += change
        iterations += 1
        if np.linalg.norm(change) <= 1e-9 * np.linalg.norm(a):
            break
    total = time.perf_counter() - begin
    u[free] = H * H * ((0.5 - BETA) * a0 + BETA * a)
    return {
        "iteration": 1e3 * total / iterations,
        "assembly": 1e3 * assembly / iterations,
        "iterations": iterations,
        "norm": float(np.linalg.norm(u)),
    }


for line in sys.stdin:
    print(json.dumps(step({"direct": direct, "multigrid": multigrid}[line.strip()])), flush=True)
