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


def urdf(more):
    return (
        '<robot name="r"><link name="w"/><link name="b"><inertial><origin xyz=".4 -.2 .1"/><mass value="2"/>'
        '<inertia ixx="1" iyy="1.1" izz="1.2" ixy=".1" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="w"/><child link="b"/><axis xyz="1 2 3"/><dynamics damping=".5"/></joint>'
        f"{more}</robot>"
    )


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
    "damping of three coefficients": model(hinged(heavy, 'damping="1 2 3"')),
    "damping of two, of a slide": model(f'<body name="a"><joint type="slide" damping="10 20"/>{heavy}</body>'),
    "damping of three, of a ball": model(f'<body name="a" euler="10 20 30"><joint type="ball" damping="1 2 3"/>{heavy}</body>'),
    "damping of three, of a free body": model(f'<body name="a" euler="10 20 30"><joint type="free" damping="1 2 3"/>{heavy}</body>'),
    "damping of four": model(hinged(heavy, 'damping="1 2 3 4"')),
    "stiffness of three coefficients": model(hinged(heavy, 'stiffness="4 5 6" ref="10" springref="30"')),
    "stiffness of two, of a slide": model(f'<body name="a"><joint type="slide" stiffness="10 20" ref=".3" springref=".5"/>{heavy}</body>'),
    "a shorter list of coefficients leaves the rest": model(hinged(heavy, 'damping="7" stiffness="8 9"'), '<default><joint damping="1 2 3" stiffness="4 5 6"/></default>'),
    "springs that are disabled": model(hinged(heavy, 'stiffness="5" damping="2"'), '<option><flag spring="disable"/></option>'),
    "dampers that are disabled": model(hinged(heavy, 'stiffness="5" damping="2"'), '<option><flag damper="disable"/></option>'),
    "friction loss that is disabled": model(hinged(heavy, 'frictionloss="5"'), '<option><flag frictionloss="disable"/></option>'),
    "all constraints disabled": model(hinged(heavy, 'frictionloss="5" range="-1 1"'), '<option><flag constraint="disable"/></option>', '<equality><weld body1="a"/></equality>'),
    "actuation that is disabled": driven("", '<motor name="m" joint="j"/>').replace("<option ", '<option><flag actuation="disable"/></option><option '),
    "ranges of controls that are disabled": driven("", '<motor name="m" joint="j" ctrlrange="-.1 .1"/>').replace("<option ", '<option><flag clampctrl="disable"/></option><option '),
    "a range of all drives of a joint": model(hinged(heavy, 'actuatorfrcrange="-.1 .2"'), "", '<actuator><motor joint="j" name="m"/><motor joint="j" name="n" gear="-3"/></actuator>'),
    "a range of drives that does not hold": model(hinged(heavy, 'actuatorfrcrange="-.1 .2" actuatorfrclimited="false"'), "", '<actuator><motor joint="j" name="m"/></actuator>'),
    "a range of drives of no width": model(hinged(heavy, 'actuatorfrcrange="0 0"'), "", '<actuator><motor joint="j" name="m"/></actuator>'),
    "a range of controls of no width": driven("", '<motor name="m" joint="j" ctrlrange="1 1"/>'),
    "a range of forces, the larger number first": driven("", '<motor name="m" joint="j" forcerange="1 -1"/>'),
    "the same, as limited": driven("", '<motor name="m" joint="j" forcerange="1 -1" forcelimited="true"/>'),
    "a range of no width": model(hinged(heavy, 'range="0 0"')),
    "a range of no width, without autolimits": model(hinged(heavy, 'range="0 0"'), '<compiler autolimits="false"/>'),
    "a limit that an inherited class gives a free joint": model(f'<body name="a"><joint type="free"/>{heavy}</body>', '<default><joint limited="true" axis="0 0 0" springref="3"/></default>'),
    "spring and damper by their time, zero": model(hinged(heavy, 'springdamper="0 0" damping="3" stiffness="4"')),
    "an inertia that breaks the triangle inequality": model(hinged('<inertial pos=".1 0 0" mass="2" diaginertia="1 1 2.5"/>')),
    "its balance": model(hinged('<inertial pos=".1 0 0" mass="2" diaginertia="1 1 2.5"/>'), '<compiler balanceinertia="true"/>'),
    "its balance, turned": model(hinged('<inertial pos=".1 0 0" mass="2" euler="10 20 30" diaginertia="1 1 2.5"/>'), '<compiler balanceinertia="true"/>'),
    "its balance, of a body that rides": model(hinged(f'{heavy}<body pos="1 0 0" euler="30 20 10"><inertial pos=".1 0 0" mass="2" fullinertia="1 1.1 2.8 .1 .2 .1"/></body>'), '<compiler balanceinertia="true"/>'),
    "its balance, by a hair": model(hinged('<inertial pos=".1 0 0" mass="2" diaginertia="1 1 2.0000001"/>'), '<compiler balanceinertia="true"/>'),
    "an inertia without mass on a body that moves": model(hinged(f'{heavy}<body pos="1 0 0"><inertial pos="1 0 0" mass="0" diaginertia="1 2 2"/></body>')),
    "an inertia without mass alone": model(hinged('<inertial pos="1 0 0" mass="0" diaginertia="1 2 2"/>')),
    "an inertial that the geoms replace": model(hinged('<inertial pos="0 0 0" mass="-1" diaginertia="1 1 9"/><geom size=".2" pos="1 0 0"/>'), '<compiler inertiafromgeom="true"/>'),
    "an inertial that no geom replaces": model(hinged(heavy), '<compiler inertiafromgeom="true"/>'),
    "geoms of groups without inertia": model(hinged('<geom size=".2" pos="1 0 0" group="3"/><geom size=".1" pos="0 1 0"/><geom size=".3" group="9"/>'), '<compiler inertiagrouprange="0 2"/>'),
    "bounds beside a body that stands": model('<body pos="1 0 0"/>' + hinged(heavy), '<compiler boundmass="3" boundinertia=".1"/>'),
    "a mesh that stands": model('<body><geom type="mesh" mesh="m"/></body>' + hinged(heavy), '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>'),
    "a mesh without mass": model(hinged('<geom type="mesh" mesh="m" mass="0"/><geom size=".2" pos="1 0 0"/>'), '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>'),
    "a plane on a body that moves": model(hinged(heavy + '<geom type="plane" size="1 1 1"/>')),
    "a plane of two sizes": model(hinged(heavy) + '<geom type="plane" size="1 1"/>'),
    "two geoms of a name": model(hinged(heavy + '<geom name="g" size=".1"/>') + '<geom name="g" size=".1"/>'),
    "two default classes of a name": model(hinged(heavy), '<default><default class="c"/><default class="c"/></default>'),
    "points that are one": model(hinged(heavy + '<geom type="capsule" size=".2" fromto="0 0 1 0 0 1"/>')),
    "a quaternion of zeros": model(hinged('<geom type="box" size=".1 .2 .3" quat="0 0 0 0"/>')),
    "axes on one line": model(f'<body name="a" xyaxes="1 0 0 2 0 0"><joint/>{heavy}</body>'),
    "axes that are not perpendicular": model(f'<body name="a" xyaxes="1 0 0 2 1 0.3"><joint axis="0 1 1"/>{heavy}</body>'),
    "turns about axes that stay": model(f'<body name="a" euler="10 20 30"><joint axis="0 1 1"/>{heavy}</body>', '<compiler eulerseq="zXy"/>'),
    "classes of bodies and frames": model(
        '<body name="a" childclass="c"><frame childclass="d" pos=".1 0 0" euler="0 10 0"><joint axis="0 1 1"/><geom size=".2" pos="1 0 0"/></frame>'
        '<body name="b" pos="1 0 0"><joint class="d" axis="1 1 0"/><geom size=".2" pos="0 1 0"/></body></body>',
        '<default><joint damping="1"/><default class="c"><joint armature="1"/><default class="d"><joint stiffness="30"/><geom density="100"/></default></default></default>',
    ),
    "an equality of two that stand": model('<body name="s"/>' + hinged(heavy), "", '<equality><connect body1="s" anchor="0 0 0"/></equality>'),
    "an equality of a body with itself": model(hinged(heavy), "", '<equality><connect body1="a" body2="a" anchor="0 0 0"/></equality>'),
    "gravity of what stands": model('<body gravcomp="1"><geom size="1"/></body>' + hinged(heavy)),
    "a damping ratio that a motor replaces": driven('<position dampratio="1"/>', '<motor name="m" joint="j"/>'),
    "URDF: an inertia without mass on a link that moves": urdf(
        '<joint name="f" type="fixed"><parent link="b"/><child link="c"/><origin xyz="1 0 0" rpy=".1 .2 .3"/></joint>'
        '<link name="c"><inertial><mass value="0"/><inertia ixx="1" iyy="2" izz="2" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    ),
    "URDF: a fixed joint with an axis of zeros": urdf(
        '<joint name="f" type="fixed"><parent link="b"/><child link="c"/><axis xyz="0 0 0"/></joint>'
        '<link name="c"><inertial><mass value="1"/><inertia ixx="1" iyy="2" izz="2" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    ),
    "URDF: an axis of zeros": urdf("").replace('"1 2 3"', '"0 0 0"'),
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
