"""One case of multibody-scaling.ts in MuJoCo: `multibody_mujoco.py case size steps` prints microseconds a step as JSON.

Derivatives are mjd_transitionFD's, MuJoCo's own: centred differences of a step by state and control. Where all of its columns
would take more than a minute, some are differenced here by two whole steps each, and the
time is scaled to all: that is half as much again as mjd_transitionFD, which leaves out what a column does not change (100 hinges).
"""
import json
import sys
import time

import mujoco
import numpy as np

DT = 0.001


def chain(n, joint):
    spec = mujoco.MjSpec()
    body = spec.worldbody
    for i in range(n):
        body = body.add_body(name=f"b{i}", pos=[0 if i == 0 else 1, 0, 0])
        body.mass, body.ipos, body.inertia, body.explicitinertial = 1, [0.5, 0, 0], [0.02, 0.09, 0.09], True
        if joint == "balls":
            body.add_joint(type=mujoco.mjtJoint.mjJNT_BALL)
        else:
            body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0] if i % 2 == 0 else [0, 0, 1])
    return spec


def contacts(n):
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1000, 1000, 1], contype=1, conaffinity=0)
    row = int(np.ceil(np.sqrt(n)))
    for i in range(n):
        body = spec.worldbody.add_body(name=f"b{i}", pos=[i % row, i // row, 0.0997868])
        body.mass, body.ipos, body.inertia, body.explicitinertial = 1, [0, 0, 0], [0.004] * 3, True
        body.add_freejoint()
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.1, 0, 0], friction=[0.5, 0, 0], contype=0, conaffinity=1)
    return spec


def differenced(model, data, reset, count, eps=1e-6):
    """Time of so many columns, of velocities along the chain: a step from either side of the state, of which the difference is taken."""
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    reset()
    start, ends = np.zeros(size), [np.zeros(size), np.zeros(size)]
    mujoco.mj_getState(model, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    begin = time.process_time()
    for column in range(count):
        for end, sign in zip(ends, (1, -1)):
            mujoco.mj_setState(model, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
            data.qvel[column * model.nv // count] += sign * eps
            mujoco.mj_step(model, data)
            mujoco.mj_getState(model, data, end, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        (ends[0] - ends[1]) / (2 * eps)
    return time.process_time() - begin


def main(case, n, most):
    spec = contacts(n) if case.endswith("contacts") else chain(n, case.split(",")[0])
    spec.option.timestep = DT
    spec.option.gravity = [0, 0, -9.81]
    model = spec.compile()
    data = mujoco.MjData(model)

    def reset():
        mujoco.mj_resetData(model, data)
        if case.endswith("contacts"):
            data.qvel[0::6] = 0.1

    def run(steps=most):
        reset()
        begin = time.process_time()
        for _ in range(steps):
            mujoco.mj_step(model, data)
        return (time.process_time() - begin) / steps

    # Where a step takes seconds, one is measured, and nothing compared.
    forward, until, height = run(1), time.perf_counter() + 2, None
    if forward < 1:
        forward = run()
        while time.perf_counter() < until:
            forward = min(forward, run())
        mujoco.mj_kinematics(model, data)
        height = float(data.xipos[-1][2])
    # One step's derivatives are 2 steps for each of the 2 nv columns.
    columns, sampled = 2 * model.nv, None
    if 2 * columns * forward < 60:
        size = 2 * model.nv + model.na
        a, b = np.zeros((size, size)), np.zeros((size, model.nu))
        reset()
        begin = time.process_time()
        mujoco.mjd_transitionFD(model, data, 1e-6, True, a, b, None, None)
        gradient = 1e6 * (time.process_time() - begin)
    else:
        sampled = 4
        gradient = 1e6 * differenced(model, data, reset, sampled) * columns / sampled
    print("\n" + json.dumps({"forward": 1e6 * forward, "gradient": gradient, "columns": sampled, "height": height}))


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
