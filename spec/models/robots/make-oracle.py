"""MuJoCo's accelerations and motions of the models in mjcf/ and urdf/, as oracle.json beside this file.

    pip install mujoco numpy && python spec/models/robots/make-oracle.py

Accelerations are mj_forward's qacc at random states. MuJoCo yields in equalities; for the closed loop, which is held exactly
here, its own mass matrix, forces and constraint Jacobian (mj_jac, mj_jacDot) are solved as one system, at states that
close the loop. Motions are those of its RK4 at steps of 1e-4 s, and what half the step changes is said beside them.
"""
import json
import pathlib

import mujoco
import numpy as np

here = pathlib.Path(__file__).parent
rng = np.random.default_rng(20)
controls = [0.6, -0.4, 0.3, 0.8, -0.7, 0.5]


def gap(model, data):
    """Of connections: from the anchor on the first body to that on the second, with its Jacobian and that one's rate."""
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_comVel(model, data)
    gaps, rows, rates = [], [], []
    for i in range(model.neq):
        points, jacobians, derivatives = [], [], []
        for body, anchor in ((model.eq_obj1id[i], model.eq_data[i, 0:3]), (model.eq_obj2id[i], model.eq_data[i, 3:6])):
            point = data.xpos[body] + data.xmat[body].reshape(3, 3) @ anchor
            jacobian, rate = np.zeros((3, model.nv)), np.zeros((3, model.nv))
            mujoco.mj_jac(model, data, jacobian, None, point, body)
            mujoco.mj_jacDot(model, data, rate, None, point, body)
            points.append(point)
            jacobians.append(jacobian)
            derivatives.append(rate)
        gaps.append(points[1] - points[0])
        rows.append(jacobians[1] - jacobians[0])
        rates.append(derivatives[1] - derivatives[0])
    return np.concatenate(gaps), np.vstack(rows), np.vstack(rates)


def state(model, data):
    mujoco.mj_resetData(model, data)
    mujoco.mj_integratePos(model, data.qpos, 0.8 * rng.standard_normal(model.nv) * (0.3 if model.neq else 1), 1)
    data.qvel[:] = rng.standard_normal(model.nv)
    data.ctrl[:] = controls[: model.nu]
    if model.neq:
        for _ in range(30):
            g, jacobian, _ = gap(model, data)
            mujoco.mj_integratePos(model, data.qpos, -np.linalg.pinv(jacobian) @ g, 1)
        g, jacobian, _ = gap(model, data)
        assert np.abs(g).max() < 1e-14
        data.qvel[:] -= np.linalg.pinv(jacobian) @ (jacobian @ data.qvel)


def acceleration(model, data):
    mujoco.mj_forward(model, data)
    if not model.neq:
        return data.qacc.copy()
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    _, jacobian, rate = gap(model, data)
    force = data.qfrc_passive + data.qfrc_actuator - data.qfrc_bias
    # The planar loop's rows across its plane depend on the others: least norm.
    schur = jacobian @ np.linalg.solve(mass, jacobian.T)
    right = -rate @ data.qvel - jacobian @ np.linalg.solve(mass, force)
    return np.linalg.solve(mass, force + jacobian.T @ np.linalg.lstsq(schur, right, rcond=1e-12)[0])


def motion(model, data, qpos, qvel, step, end):
    model.opt.timestep = step
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    mujoco.mj_resetData(model, data)
    data.qpos[:], data.qvel[:], data.ctrl[:] = qpos, qvel, controls[: model.nu]
    for _ in range(round(end / step)):
        mujoco.mj_step(model, data)
    return data.qpos.copy(), data.qvel.copy()


found = {"mujoco": mujoco.__version__, "models": {}}
for path in sorted([*(here / "mjcf").glob("*.xml"), *(here / "urdf").glob("*.urdf")]):
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    states = []
    for _ in range(3):
        state(model, data)
        qpos, qvel = data.qpos.copy(), data.qvel.copy()
        states.append({"position": qpos.tolist(), "velocity": qvel.tolist(), "acceleration": acceleration(model, data).tolist()})
    names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, i) for i in range(model.nu)]
    entry = {"controls": dict(zip(names, controls)), "states": states}
    mujoco.mj_resetData(model, data)
    mujoco.mj_kinematics(model, data)
    entry["mass"] = float(model.body_mass[model.body_weldid != 0].sum())
    if not model.neq:
        end, first = 0.2, states[0]
        fine = motion(model, data, first["position"], first["velocity"], 5e-5, end)
        finer = motion(model, data, first["position"], first["velocity"], 2.5e-5, end)
        change = max(np.abs(fine[0] - finer[0]).max(), np.abs(fine[1] - finer[1]).max())
        entry["motion"] = {"t": end, "position": finer[0].tolist(), "velocity": finer[1].tolist(), "change": change}
    found["models"][path.name] = entry
    print(path.stem, model.nq, model.nv, entry.get("motion", {}).get("change"))
(here / "oracle.json").write_text(json.dumps(found, indent=1))
