"""MuJoCo's accelerations of small files, one for each rule of defaults, frames and bounds, as settings.json beside this file.

    pip install mujoco numpy && python spec/models/robots/make-settings.py

What MuJoCo refuses stands with its message. Accelerations are mj_forward's qacc at a random state.
"""
import json
import pathlib

import mujoco
import numpy as np

rng = np.random.default_rng(5)
weight = '<inertial pos=".1 .2 .3" mass="2" diaginertia="1 1.1 1.2"/>'


def model(bodies, before="", after=""):
    return f'<mujoco>{before}<option gravity="1 2 -9"/><worldbody>{bodies}</worldbody>{after}</mujoco>'


def hinged(inside, joint=""):
    return f'<body name="a" euler="10 20 30" pos="1 0 0"><joint name="j" axis="0 1 1" pos=".1 .2 .3" {joint}/>{inside}</body>'


def driven(defaults, drive):
    return model(hinged(weight), f"<default>{defaults}</default>", f"<actuator>{drive}</actuator>")


heavy = '<inertial pos=".4 -.2 .1" mass="2" diaginertia="1 1.1 1.2"/>'  # its centre is not on the hinge
field = '<asset><hfield name="h" nrow="2" ncol="2" size="1 2 3 .5" elevation="0 1 2 3"/></asset>'
general = '<general gear="2 3" gainprm="30 31" biastype="affine" biasprm="1 2 -3 4"/>'
files = {
    "a box from point to point is as wide as it is thick": model(hinged('<geom type="box" fromto="0 .1 .2 .5 .3 -.4" size=".1 .2 .3"/>')),
    "an ellipsoid too": model(hinged('<geom type="ellipsoid" fromto="0 .1 .2 .5 .3 -.4" size=".1 .2"/>')),
    "a capsule": model(hinged('<geom type="capsule" fromto="0 .1 .2 .5 .3 -.4" size=".1 .2"/>')),
    "a shorter size leaves the rest": model(hinged('<geom size=".2"/>'), '<default><geom type="box" size=".1 .2 .3"/></default>'),
    "points and a position": model(hinged('<geom type="capsule" size=".2" pos="1 2 3" fromto="0 0 0 1 2 3"/>')),
    "two inertials": model(hinged(weight + weight)),
    "an inertial in a frame": model(hinged(f'<frame pos="1 2 3" euler="10 20 30">{weight}</frame>')),
    "a full inertia with an orientation": model(hinged('<inertial pos="0 0 0" mass="1" fullinertia="1 1 1 0 0 0" euler="1 2 3"/>')),
    "two inertias": model(hinged('<inertial pos="0 0 0" mass="1" fullinertia="1 1 1 0 0 0" diaginertia="1 1 1"/>')),
    "an inertial without a place": model(hinged('<inertial mass="1" diaginertia="1 1 1"/>')),
    "least mass of a full inertia": model(hinged('<inertial pos=".1 0 0" mass="2" fullinertia="1 1.1 1.2 .1 .2 .1"/>'), '<compiler boundmass="5" boundinertia=".01"/>'),
    "least inertia": model(hinged(weight), '<compiler boundinertia="1.15"/>'),
    "a free body that is carried": model(hinged(f'{weight}<body name="b"><freejoint/>{weight}</body>')),
    "a free body that turns": model(f'<body name="a"><joint type="free"/><joint axis="0 1 0"/>{weight}</body>'),
    "a ball, then a hinge": model(f'<body name="a"><joint type="ball"/><joint axis="0 1 0"/>{weight}</body>'),
    "a hinge, then a ball": model(f'<body name="a"><joint axis="0 1 0"/><joint type="ball" pos="0 0 1"/>{weight}</body>'),
    "two joints of a name": model(f'<body name="a"><joint name="j" axis="0 1 0"/><joint name="j" axis="1 1 0"/>{weight}</body>'),
    "two motors of a name": driven("", '<motor name="m" joint="j"/><motor name="m" joint="j"/>'),
    "a gear by default for a motor, of a servo": driven('<motor gear="3"/>', '<position name="m" joint="j" kp="2"/>'),
    "a range by default for a motor": driven('<motor ctrlrange="-.1 .1"/>', '<general name="m" joint="j"/>'),
    "the later default": driven('<motor gear="3"/><general gear="2"/>', '<motor name="m" joint="j"/>'),
    "a servo by default, of a motor": driven('<position kp="30" kv="2"/>', '<motor name="m" joint="j"/>'),
    "a servo by default": driven('<position kp="30" kv="2"/>', '<general name="m" joint="j"/>'),
    "a servo by default, of a velocity": driven('<position kp="30" kv="2"/>', '<velocity name="m" joint="j"/>'),
    "a velocity by default, of a servo": driven('<velocity kv="3"/>', '<position name="m" joint="j" kp="2"/>'),
    "all by default, of a motor": driven(general, '<motor name="m" joint="j"/>'),
    "all by default, of a servo": driven(general, '<position name="m" joint="j" kv="5"/>'),
    "all by default, of a velocity": driven(general, '<velocity name="m" joint="j"/>'),
    "a shorter bias leaves the rest": driven(general, '<general name="m" joint="j" gear="7" biasprm="8"/>'),
    "a class in a class": model(hinged(weight), '<default><position kp="4"/><default class="c"><motor gear="2"/></default></default>', '<actuator><position class="c" name="m" joint="j"/></actuator>'),
    "an unknown element by default": model(hinged(weight), '<default><jont damping="1"/></default>'),
    "another file by default": model(hinged(weight), '<default><include file="x.xml"/></default>'),
    "an unknown flag": model(hinged(weight), '<option><flag gravty="disable"/></option>'),
    "an unknown element of option": model(hinged(weight), '<option><flg gravity="disable"/></option>'),
    "angles, where a quaternion is the default": model(hinged('<geom euler="10 20 30"/>'), '<default><geom type="box" size=".1 .2 .3" quat="1 2 3 4"/></default>'),
    "a quaternion, where angles are the default": model(hinged('<geom quat="1 2 3 4"/>'), '<default><geom type="box" size=".1 .2 .3" euler="10 20 30"/></default>'),
    "two orientations by default": model(hinged('<geom/>'), '<default><geom type="box" size=".1 .2 .3" quat="1 2 3 4" zaxis="1 2 3"/></default>'),
    "friction of a ball": model(f'<body name="a" euler="10 20 30"><joint type="ball" frictionloss="2" pos="1 0 0"/>{weight}</body>'),
    "friction of a free body": model(f'<body name="a" euler="10 20 30"><joint type="free" frictionloss="2"/>{weight}</body>'),
    "an unknown attribute of a key": model(hinged(weight), "", '<keyframe><key qpo="1"/></keyframe>'),
    "a height field": model(hinged('<geom type="hfield" hfield="h" pos="1 2 3" euler="10 20 30"/>'), field),
    "a height field with a mass, on a body that rides": model(hinged(f'{heavy}<body pos="1 0 0" euler="30 20 10"><geom type="hfield" hfield="h" mass="3"/></body>'), field),
    "a height field beside an inertial": model(hinged(f'{heavy}<geom type="hfield" hfield="h"/>'), field),
    "a height field that stands, and a total mass": model(hinged(f'{heavy}<geom size=".1" pos="1 0 0"/>', 'stiffness="5"') + '<body><geom type="hfield" hfield="h" density="1"/></body>', '<compiler settotalmass="5"/>' + field),
    "a height field that there is not": model(hinged('<geom size=".1"/><geom type="hfield" hfield="g"/>'), field),
    "gravity that is disabled and enabled": model(hinged(heavy), '<option><flag gravity="disable"/></option><option><flag gravity="enable"/></option>'),
    "springs that are disabled and enabled": model(hinged(heavy, 'stiffness="5" springref="50"'), '<option><flag spring="disable"/></option><option><flag spring="enable"/></option>'),
    "a flag of another word": model(hinged(weight), '<option><flag spring="off"/></option>'),
    "a mocap of another word": model('<body mocap="1"/>' + hinged(weight)),
    "an equality of another word": model(hinged(weight), "", '<equality><connect body1="a" anchor="1 0 0" active="no"/></equality>'),
    "attributes of the world": f'<mujoco><default><default class="c"><joint armature="3"/></default></default><worldbody childclass="c">{hinged(weight)}</worldbody></mujoco>',
    "two keys of a name": model(hinged(weight), "", '<keyframe><key name="k" qpos="1"/><key name="k" qpos="2"/></keyframe>'),
    "a joint that is named as a body with two": model(f'<body name="a"><joint axis="1 0 0"/><joint axis="0 1 0"/>{weight}<body name="b" pos="1 1 1"><joint name="a"/>{weight}</body></body>'),
}
found = {}
for name, xml in files.items():
    entry = {"xml": xml.replace("><", ">\n<")}
    try:
        read = mujoco.MjModel.from_xml_string(entry["xml"])
        data = mujoco.MjData(read)
        mujoco.mj_integratePos(read, data.qpos, 0.8 * rng.standard_normal(read.nv), 1)
        data.qvel[:] = rng.standard_normal(read.nv)
        if "friction" in name:  # fast enough that friction is smoothed by neither program
            data.qvel[:] += np.sign(data.qvel)
        data.ctrl[:] = rng.uniform(0.5, 1.5, read.nu)
        entry["position"], entry["velocity"] = data.qpos.tolist(), data.qvel.tolist()
        entry["controls"] = {read.actuator(i).name: data.ctrl[i] for i in range(read.nu)}
        mujoco.mj_forward(read, data)
        entry["acceleration"] = data.qacc.tolist()
    except ValueError as error:
        entry["refused"] = str(error).split("\n")[0]
    found[name] = entry
(pathlib.Path(__file__).parent / "settings.json").write_text(json.dumps({"mujoco": mujoco.__version__, "files": found}, indent=1))
