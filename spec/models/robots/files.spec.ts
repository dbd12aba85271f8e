/** What readers of files make of names, limits, loops, frames and keyframes, and what they say of what they cannot read. */
import {readFileSync} from 'node:fs';
import type * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {DataError, explicitEuler, implicitEuler, newmark, simulate} from '../../../lib/index.js';
import {readMjcf, readUrdf, type RobotModel} from '../../../models/robots/index.js';
import {largest} from '../../simulate/numbers.js';
import {slow} from '../../tiers.js';

const text = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');
const still = {scheme: newmark(), dt: 1e-3, steps: 0} as const;
const mjcf = (body: string, more = ''): string => `<mujoco>\n${more}\n<worldbody>\n${body}\n</worldbody>\n</mujoco>`;
const hinge = '<body name="a"><joint name="j" axis="0 1 0"/><geom size="0.1" pos="1 0 0" mass="2"/></body>';

function refusal(read: () => unknown): DataError {
  try {
    read();
  } catch (error) {
    if (error instanceof DataError) return error;
    throw error;
  }
  return expect.fail('it was read');
}

describe('models from files', () => {
  it('names links that ride on others, joints with their numbers, and drives', () => {
    const arm = readMjcf(text('mjcf/arm.xml'));
    expect(arm.links.find(({name}) => name === 'tool')!.body).to.equal('wrist 3');
    expect(arm.links.find(({name}) => name === 'base')!.body).to.equal('ground');
    expect(arm.drives).to.have.members(arm.joints.map(({name}) => name));
    const humanoid = readMjcf(text('mjcf/humanoid.xml'));
    const hip = humanoid.joints.find(({name}) => name === 'right hip y')!;
    expect({...hip}).to.deep.equal({name: 'right hip y', kind: 'turn', position: 12, velocity: 11, joint: 'right thigh', step: 2}); // prettier-ignore
    expect(humanoid.solids).to.have.length(15);
  });

  slow('frames of links are found again after a turn', () => {
    const robot = readUrdf(text('urdf/gripper.urdf'), {limits: false});
    const path = simulate(robot, robot.state({position: [0, 0, 0.1]}), still);
    path.dispose();
    const [finger, hand] = ['finger', 'hand'].map(link => robot.frame(path, link));
    const apart = finger.position.map((x, i) => x - hand.position[i]);
    // In the hand: (0, 0.02, 0.05) and 0.1 along the axis (0, 1, 0.2), whatever the hand's own turn.
    const along = [0, 0.02 + 0.1 / Math.hypot(1, 0.2), 0.05 + 0.02 / Math.hypot(1, 0.2)];
    expect(Math.hypot(...apart)).to.be.closeTo(Math.hypot(...along), 1e-12);
    expect(largest([...finger.rotation].map((x, i) => x - hand.rotation[i]))).to.be.below(1e-12);
  });

  slow('a joint that is limited stops, by the file of either kind', () => {
    const fallen = (robot: RobotModel): number => {
      const run = simulate(robot, robot.initial, {scheme: implicitEuler(), dt: 0.01, t1: 1});
      run.dispose();
      return robot.coordinates(run).position.slice(-1)[0];
    };
    const limited = mjcf(hinge.replace('name="j"', 'name="j" ref="10" range="-30 40"'));
    expect(fallen(readMjcf(limited))).to.be.closeTo((40 * Math.PI) / 180, 1e-9);
    expect(fallen(readMjcf(limited, {limits: false}))).to.be.above(1);
    const inertia =
      '<inertial><origin xyz="1 0 0"/><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>';
    const urdf = `<robot name="r"><link name="w"/><link name="a">${inertia}</link><joint name="j" type="revolute"><parent link="w"/><child link="a"/><axis xyz="0 1 0"/><limit lower="-1" upper="0.4" effort="1" velocity="1"/></joint></robot>`;
    expect(fallen(readUrdf(urdf))).to.be.closeTo(0.4, 1e-9);
  });

  it('masses and inertias that no body has are refused, by body and line', () => {
    const inertial = (mass: number, moments: string): string =>
      `<body name="a"><joint/><inertial pos="0 0 0" mass="${mass}" diaginertia="${moments}"/></body>`;
    expect(() => readMjcf(mjcf(inertial(1, '1 1 5')))).to.throw(
      DataError,
      /line \d+: the inertia of body a.*1, 1, 5.*other two/,
    );
    expect(() => readMjcf(mjcf(inertial(-1, '1 1 1')))).to.throw(
      DataError,
      /line \d+: mass="-1" of <inertial> must not be negative/,
    );
    expect(() => readMjcf(mjcf(inertial(1, '1 1 2')))).not.to.throw();
    const urdf = (ixx: number): string =>
      `<robot name="r"><link name="w"/><link name="a"><inertial><mass value="1"/><inertia ixx="${ixx}" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="continuous"><parent link="w"/><child link="a"/></joint></robot>`;
    expect(() => readUrdf(urdf(1))).to.throw(DataError, /body a.*1, 1, 3/);
    expect(() => readUrdf(urdf(2))).not.to.throw();
  });

  it('balanceInertia gives each moment the mean, as MuJoCo does', () => {
    const file = (moments: string, more = ''): string =>
      mjcf(`<body name="a"><joint/><inertial pos="0 0 0" mass="1" ${moments}/></body>`, more);
    const inertia = (text: string, balanceInertia = false): unknown =>
      readMjcf(text, {balanceInertia}).spec.bodies.a.inertia;
    const plain = 'diaginertia="1 1 2.5"';
    expect(() => inertia(file(plain))).to.throw(DataError, /line 4: .* body a.* balanceInertia: true each moment/);
    expect(inertia(file(plain), true)).to.deep.equal([1.5, 1.5, 1.5]);
    expect(inertia(file(plain, '<compiler balanceinertia="true"/>'))).to.deep.equal([1.5, 1.5, 1.5]);
    expect(inertia(file('fullinertia="1 1 2.5 .1 .2 .1"'), true)).to.deep.equal([1.5, 1.5, 1.5]);
    // What six digits of a file leave is no fault; a negative moment is one that no mean mends.
    expect(inertia(file('diaginertia="1 1 2.000001"'))).to.deep.equal([1, 1, 2.000001]);
    expect(inertia(file('diaginertia="1 1 1.5"'), true)).to.deep.equal([1, 1, 1.5]);
    expect(() => inertia(file('diaginertia="1 1 -1"'), true)).to.throw(DataError, /none can be negative\.$/);
    const urdf =
      '<robot name="r"><link name="w"/><link name="a"><inertial><mass value="1"/><inertia ixx="0.002" iyy="0.0002" izz="0.0002"/></inertial></link><joint name="j" type="continuous"><parent link="w"/><child link="a"/></joint></robot>';
    expect(() => readUrdf(urdf)).to.throw(DataError, /balanceInertia: true/);
    const [x] = readUrdf(urdf, {balanceInertia: true}).spec.bodies.a.inertia as number[];
    expect(x).to.be.closeTo(0.0008, 1e-18);
  });

  it('repeated names, and planes on bodies that move, are refused as by MuJoCo', () => {
    const refused = (inside: string, more = ''): string =>
      refusal(() => readMjcf(mjcf(`${hinge.replace('</body>', `${inside}</body>`)}${more}`))).message;
    for (const tag of ['geom', 'site', 'camera', 'light', 'frame'])
      expect(refused(`<${tag} name="n" size="1"/>`, `\n<${tag} name="n" size="1"/>`)).to.match(
        new RegExp(`line 5: two ${tag}s are named n`),
      );
    expect(refused('<geom type="plane" size="1 1 1"/>')).to.match(/line 4: a plane cannot be on body a, which moves/);
    expect(refused('<body><geom type="plane" size="1 1 1"/></body>')).to.match(
      /a plane cannot be on body body at line 4/,
    );
    const floor = '<body><geom name="n" type="plane" size="0 0 1"/></body>';
    expect(() => readMjcf(mjcf(`${hinge}${floor}<site name="n"/>`))).not.to.throw();
    expect(refused('', '<geom type="plane" size="1 1"/>')).to.match(/size="1 1" of <geom> must be three numbers/);
    expect(refused('', '</worldbody><default><default class="c"/><default class="c"/></default><worldbody>')).to.match(
      /two default classes are named c/,
    );
  });

  it('a range whose first number is not the smaller is none, unless limited says so', () => {
    const stops = (joint: string): unknown =>
      (
        readMjcf(mjcf(hinge.replace('name="j"', `name="j" ${joint}`))).spec.joints as unknown as {
          j: {steps: {limits: unknown}[]};
        }
      ).j.steps[0].limits;
    for (const range of ['0 0', '1 1', '2 1']) {
      expect(stops(`range="${range}"`)).to.equal(undefined);
      expect(() => stops(`range="${range}" limited="true"`)).to.throw(
        DataError,
        `range="${range}" of <joint> must be two`,
      );
    }
    const without = '<compiler autolimits="false"/>';
    expect(() => readMjcf(mjcf(hinge.replace('name="j"', 'name="j" range="0 0"'), without))).not.to.throw();
    expect(() => readMjcf(mjcf(hinge.replace('name="j"', 'name="j" range="2 1"'), without))).to.throw(
      DataError,
      'autolimits',
    );
  });

  it('what no body moves by is told', () => {
    expect(refusal(() => readMjcf(mjcf('<body><geom size="1"/></body>'))).message).to.match(/no body moves/);
    const point = hinge.replace(/<geom.*\/>/, '<inertial pos="0 0 0" mass="1" diaginertia="0 0 0"/>');
    expect(refusal(() => readMjcf(mjcf(point))).message).to.match(/line 4: body a moves but has no inertia/);
    const keyed = mjcf(hinge, '<keyframe>\n<key qpos="1 2"/></keyframe>');
    expect(refusal(() => readMjcf(keyed)).message).to.match(/line 3: key key 1: .* 1 finite numbers, not 2/);
  });

  it('attributes without effect may have any value', () => {
    const inertial = (mass: number, ixx: number): string =>
      `<inertial><mass value="${mass}"/><inertia ixx="${ixx}" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/></inertial>`;
    const arm = `<link name="arm">${inertial(2, 2.5)}</link><joint name="j" type="continuous"><parent link="ground"/><child link="arm"/></joint>`;
    const urdf = (part: string, joint: string): string =>
      `<robot name="r"><link name="ground">${inertial(1, 1)}</link>${arm}<link name="b">${part}</link><joint name="f" type="fixed"><parent link="ground"/><child link="b"/>${joint}</joint></robot>`;
    // The ground's inertia is that of no body, the axis is zero, and a part of it without mass has an inertia.
    const robot = readUrdf(urdf(inertial(0, 2), '<axis xyz="0 0 0"/>'));
    expect(robot.spec.bodies.arm.mass).to.equal(2);
    expect(() => readUrdf(urdf('', '').replace('continuous"', 'continuous"').replace('<child link="arm"/>', '<child link="arm"/><axis xyz="0 0 0"/>'))).to.throw(DataError, 'xyz="0 0 0" of <axis> must not be zero'); // prettier-ignore
    // MuJoCo: beside fromto a pos of zeros is ignored, and an orientation; a free joint has neither axis nor limit.
    const limited = '<default><joint limited="true" axis="0 0 0"/></default>';
    const rod = '<geom type="capsule" size="0.1" fromto="0 0 0 1 0 0" pos="0 0 0" euler="10 0 0"/>';
    const free = readMjcf(mjcf(`<body name="a"><joint type="free"/>${rod}</body>`, limited));
    expect(free.spec.bodies.a.position).to.deep.equal([0.5, 0, 0]);
  });

  it('a solid fitted to a mesh has not the size that its attributes give, nor a motor two joints', () => {
    const fitted = (geom: string): string =>
      mjcf(hinge.replace('<geom', '<geom type="box" mesh="m"').replace('0.1', '0.1 0.2 0.3').replace('<geom', geom));
    expect(() => readMjcf(fitted('<geom'))).to.throw(DataError, /line 4: a mesh that defines the inertia/);
    expect(() => readMjcf(fitted('<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom'))).not.to.throw();
    const twice = '</worldbody><actuator><motor joint="j" jointinparent="j"/></actuator><worldbody>';
    expect(() => readMjcf(mjcf(hinge + twice))).to.throw(DataError, /line 4: .* both joint and jointinparent/);
  });

  it('URDF: nothing that weighs or moves is passed over, as in MuJoCo: two links of a name, two inertials', () => {
    const link = (name: string, mass: number, more = ''): string =>
      `<link name="${name}"><inertial><mass value="${mass}"/><inertia ixx="1" iyy="1" izz="1" ${more}/></inertial></link>`;
    const joint = (type: string, parent: string, child: string, more = ''): string =>
      `<joint name="${parent}${child}" type="${type}"><parent link="${parent}"/><child link="${child}"/>${more}</joint>`;
    const read = (...parts: string[]) =>
      readUrdf(`<robot name="r">\n${parts.join('\n')}\n</robot>`, {
        base: parts[0].includes('world') ? 'free' : 'fixed',
      });
    const turning = joint('continuous', 'a', 'b');
    const refused: readonly (readonly [string[], RegExp])[] = [
      [[link('a', 1), link('b', 1), link('b', 2), turning], /line 4: two links are called b/],
      [
        [link('a', 1), link('b', 3), link('c', -1), turning, joint('fixed', 'b', 'c')],
        /line 4: value="-1" of <mass> must not be negative/,
      ],
      [
        [link('a', 1), link('b', 1).replace('</link>', '<inertial/></link>'), turning],
        /line 3: <link> b has two of <inertial>/,
      ],
      [[link('a', 1), link('b', 1, 'Ixy="0.3"'), turning], /line 3: attribute Ixy of <inertia>/],
      [
        [link('a', 1), link('b', 1), joint('continuous', 'a', 'b', '<dynamics damping="1" spring_stiffness="3"/>')],
        /line 4: attribute spring_stiffness of <dynamics>/,
      ],
      [[link('world', 1), link('b', 1), joint('continuous', 'world', 'b')], /line 2: base is 'free', but the root/],
      [
        [link('a', 1), link('b', 1), link('c', 0), turning, joint('continuous', 'b', 'c')],
        /line 4: link c has an inertia, but its mass is 0/,
      ],
      [
        [link('a', 1), link('b', 1), link('c', 1), turning, joint('floating', 'b', 'c')],
        /line 6: joint bc is free, but its body c is carried by b/,
      ],
      ...['damping', 'friction'].map((name): [string[], RegExp] => [
        [link('a', 1), link('b', 1), joint('continuous', 'a', 'b', `\n<dynamics ${name}="-1"/>`)],
        new RegExp(`line 5: ${name}="-1" of <dynamics> must not be negative`),
      ]),
      [
        [link('a', 1), link('b', 1), joint('continuous', 'a', 'b', '<axis xyz="1 0 0"/>\n<axis xyz="0 1 0"/>')],
        /line 5: <joint> ab has two of <axis>/,
      ],
    ];
    for (const [parts, pattern] of refused) expect(() => read(...parts)).to.throw(DataError, pattern);
    // MuJoCo 3.14 leaves the inertia of a part without mass out where it merges it with the body that carries it.
    const massless = read(link('a', 1), link('b', 1), link('c', 0), turning, joint('fixed', 'b', 'c'));
    expect(massless.spec.bodies.b.inertia).to.deep.equal([1, 1, 1]);
    expect(massless.notes.some(({text: said}) => said.includes('link c, whose mass is 0'))).to.equal(true);
    // A frame without inertia is common.
    const frame = link('c', 0).replaceAll('"1"', '"0"');
    expect(() => read(link('a', 1), link('b', 1), frame, turning, joint('fixed', 'b', 'c'))).not.to.throw();
    // A name of Object's own is a name.
    const named = read(link('a', 1), link('b', 1), turning.replace('"ab"', '"toString"'));
    expect(named.joints.map(({name}) => name)).to.deep.equal(['toString']);
  });

  slow('controls are numbers or read parameters, within the ranges of drive and control', () => {
    const drives =
      '</worldbody><actuator><motor name="m" joint="j" gear="3" ctrlrange="-2 2"/><position name="p" joint="j" kp="10" kv="1" forcerange="-4 4"/></actuator><worldbody>';
    const torque = (controls: object, params: object = {}): number => {
      const robot = readMjcf(mjcf(hinge + drives, '<option gravity="0 0 0"/>'), {controls} as never);
      const run = simulate(robot, robot.state({velocity: [2]}), {...still, params} as never);
      run.dispose();
      return run.values('a')[0] * (2 * 0.4 * 0.1 ** 2 + 2);
    };
    // Of the servo alone: −kv θ'.
    expect(torque({})).to.be.closeTo(-2, 1e-12);
    expect(torque({m: 1})).to.be.closeTo(3 - 2, 1e-12);
    expect(torque({m: 9})).to.be.closeTo(3 * 2 - 2, 1e-12);
    expect(torque({p: 3})).to.be.closeTo(4, 1e-12);
    expect(torque({m: ({u}: {u: tf.Tensor}) => u}, {u: 0.5})).to.be.closeTo(1.5 - 2, 1e-12);
    expect(() => torque({servo: 1})).to.throw(/'servo'.*m, p/);
  });

  slow('a weld holds two bodies, a keyframe is a start', () => {
    const two = `${hinge}<body name="b" pos="0 0 1"><joint name="k" axis="0 1 0"/><geom size="0.1" pos="1 0 0" mass="1"/></body>`;
    const key = '<keyframe><key name="up" qpos="0.5 0.25" qvel="1 2"/></keyframe>';
    const robot = readMjcf(mjcf(two, `<equality><weld body1="a" body2="b"/></equality>${key}`));
    expect(robot.keyframes.up).to.deep.equal({q: [0.5, 0.25], v: [1, 2]});
    const driven = `</worldbody><actuator><motor joint="j"/></actuator>${key.replace('qvel', 'ctrl="1" qvel')}<worldbody>`;
    expect(readMjcf(mjcf(two + driven)).notes.map(({text: said}) => said)).to.include(
      'ctrl of a key is left out: give controls',
    );
    const run = simulate(robot, robot.initial, still);
    run.dispose();
    // Two hinges and a weld: nothing moves, and the hinges and the weld bear all weight.
    expect(largest(Array.from(run.values('a')))).to.be.below(1e-7);
    const sum = ['j', 'k'].map(joint => robot.reaction(run, joint).force[2]).reduce((a, b) => a + b);
    expect(sum).to.be.closeTo(3 * 9.81, 1e-6);
  });

  slow('a weld without torquescale holds a point, of the axes of its second body; a part of it all', () => {
    const box = '<geom type="box" size=".1 .2 .3"';
    const arm = `<body name="a" euler="0 0 90"><joint axis="1 0 0"/>${box} pos="0 -1 0"/></body>`;
    const free = `<body name="b" pos="2 0 0"><freejoint/>${box}/></body>`;
    const starting = (weld: string, bodies: string): Float64Array => {
      const robot = readMjcf(mjcf(`${bodies}</worldbody><equality><weld body1="b" ${weld}/></equality><worldbody>`));
      const run = simulate(robot, robot.initial, still);
      run.dispose();
      return run.values('a');
    };
    // Of MuJoCo 3.14, its mass matrix, forces and Jacobian at the anchors solved as one system.
    const held = [9.131116455844, 0.911301246315, -0.333921061934, -9.970059755365, -0.337518932677, -1.107530389807, -0.375211460833]; // prettier-ignore
    const a = starting('body2="a" anchor=".3 -1.2 .1" torquescale="0"', arm + free);
    expect(largest(held.map((x, i) => a[i] - x))).to.be.below(1e-9);
    // About a point of the world at a distance of 3: −g m 3²/(J + m 3²) with m = 48 and J = 1.6.
    const swung = starting('anchor="-1 0 0" torquescale="0"', free);
    expect(swung[2]).to.be.closeTo((-9.81 * 48 * 9) / (1.6 + 48 * 9), 1e-9);
    for (const scale of ['0.01', '1', '-3'])
      expect(largest([...starting(`anchor="-1 0 0" torquescale="${scale}"`, free)])).to.be.below(1e-9);
  });

  it('a joint is stopped by its margin before the end of its range, in radians and lengths', () => {
    const robot = readMjcf(
      mjcf(
        '<body><joint name="h" range="-30 40" margin="0.1"/><joint name="s" type="slide" range="-2 1" margin="0.2"/><geom size="1"/></body>',
      ),
    );
    const [{steps = []}] = Object.values(robot.spec.joints as object) as {steps?: {limits: number[]}[]}[];
    // MuJoCo 3.14 rests at 0.2491 and −0.9000 where it is pressed against 20 degrees and −1 with a margin of 0.1.
    const degree = Math.PI / 180;
    const expected = [-30 * degree + 0.1, 40 * degree - 0.1, -1.8, 0.8];
    expect(largest(steps.flatMap(({limits}) => limits).map((x, i) => x - expected[i]))).to.be.below(1e-15);
    // MuJoCo rests at 10 degrees for any margin beyond half of the range: the forces of both ends balance there.
    const held = readMjcf(mjcf(hinge.replace('name="j"', 'name="j" range="-10 30" margin="1"')));
    const {j} = held.spec.joints as unknown as {j: {steps: {limits: number[]}[]}};
    expect(largest(j.steps[0].limits.map(x => x - 10 * degree))).to.be.below(1e-9);
    expect(held.notes.some(({text: said}) => said.includes('in the middle of its range'))).to.equal(true);
  });

  it('what has no name gets one that is free', () => {
    const geom = '<geom size="0.1" mass="2"/>';
    const robot = readMjcf(
      mjcf(
        `<body><freejoint/>${geom}</body><body><joint/><joint axis="0 1 0"/>${geom}</body><body name="body at line 4 (2)"><joint name="body at line 4 (3)"/>${geom}</body>`,
        '<actuator><motor joint="body at line 4 (3)"/><motor name="actuator 1" joint="body at line 4 (3)"/></actuator><keyframe><key name="key 2"/><key/></keyframe><equality><connect name="connect 2" body1="body at line 4" anchor="0 0 0"/><connect body1="body at line 4" anchor="0 0 1"/></equality>',
      ),
    );
    const [first, second] = ['body at line 4', 'body at line 4 (3)'];
    expect(robot.links.map(({name}) => name)).to.deep.equal([first, second, 'body at line 4 (2)']);
    expect(robot.joints.map(({name, joint}) => [name, joint])).to.deep.equal([
      [`${first} joint 1`, `${first} joint 1`],
      [`${second} joint 1`, `${second} (2)`],
      [`${second} joint 2`, `${second} (2)`],
      [second, second],
    ]);
    expect(robot.drives).to.deep.equal(['actuator 1 (2)', 'actuator 1']);
    expect(Object.keys(robot.keyframes)).to.deep.equal(['key 2', 'key 2 (2)']);
    expect(Object.keys(robot.spec.joints as object).slice(-2)).to.deep.equal(['connect 2', 'connect 2 (2)']);
  });

  slow('a planar joint slides along the axes that MuJoCo has, the shortest turn of x, y and z to its own', () => {
    const inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>';
    const robot = readUrdf(
      `<robot name="r"><link name="a"/><link name="b">${inertial}</link><joint name="j" type="planar"><parent link="a"/><child link="b"/><axis xyz="1 2 3"/></joint></robot>`,
    );
    // Of MuJoCo 3.14.
    const axes = [
      [0.96, -0.079, -0.267],
      [-0.079, 0.841, -0.535],
    ];
    axes.forEach((axis, k) => {
      const run = simulate(robot, robot.state({position: [0, 1].map(i => (i === k ? 1 : 0)).concat(0)}), still);
      run.dispose();
      robot.frame(run, 'b').position.forEach((x, i) => expect(x).to.be.closeTo(axis[i], 6e-4));
    });
  });

  slow('a free base is asked for, a fixed one is the default', () => {
    const robot = readUrdf(text('urdf/gripper.urdf'), {base: 'free', gravity: [0, 0, -2], limits: false});
    expect(robot.joints[0]).to.include({name: 'root', kind: 'free'});
    const run = simulate(robot, robot.initial, {scheme: explicitEuler(), dt: 0.5, steps: 1, saveAt: 'end'});
    run.dispose();
    // All of it falls alike.
    expect(
      largest(Array.from(run.values('v')).map((x, i, all) => x - (i === all.length / 2 + 2 ? -1 : 0))),
    ).to.be.below(1e-12);
  });

  it('what is not supported is named with its line, all of it at once', () => {
    const bad = mjcf(`${hinge}\n<body mocap="true"/>`, '<tendon/>\n<option viscosity="1"/>');
    const error = refusal(() => readMjcf(bad, {file: 'bad.xml'}));
    expect(error.code).to.equal('unsupported-model-file');
    expect(error.message)
      .to.match(/bad\.xml.*line 2: <tendon>/)
      .and.to.match(/line 6: a mocap body/)
      .and.to.match(/viscosity/);
    const {notes} = readMjcf(mjcf(`${hinge}`, '<tendon/>'), {unsupported: 'note'});
    expect(notes.map(({line, text: said}) => `${line} ${said}`)[0]).to.equal('2 not supported: <tendon>');
    const geom = '<body><joint/><geom type="mesh" mesh="m"/></body>';
    expect(refusal(() => readMjcf(mjcf(geom))).message).to.match(/line 4: a mesh that defines the inertia/);
    const asleep = hinge.replace('name="a"', 'name="a" sleep="init"');
    expect(refusal(() => readMjcf(mjcf(asleep))).message).to.match(/line 4: sleep="init"/);
    const plane =
      '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="planar"><parent link="a"/><child link="b"/>\n<limit lower="-1" upper="1"/></joint></robot>';
    expect(refusal(() => readUrdf(plane)).message).to.match(/line 2: the limit of a planar joint/);
    const urdf = '<robot name="r">\n<link name="a"/>\n<sensor/></robot>';
    expect(refusal(() => readUrdf(urdf)).message).to.match(/line 3: <sensor>/);
  });

  it('what is wrong is told with its line', () => {
    const of = (body: string): string => refusal(() => readMjcf(mjcf(body))).message;
    expect(refusal(() => readMjcf('<mujoco>\n<worldbody>\n</mujoco>')).message).to.match(
      /line 3: this is not valid XML/,
    );
    expect(of('<body name="a"><joint/></body>')).to.match(/line 4: body a moves but has no mass/);
    expect(of(hinge.replace('size="0.1"', 'size="0.1 x"'))).to.match(/size="0\.1 x".*1 to 3 finite numbers/);
    expect(of(hinge.replace('axis="0 1 0"', 'axis="0 0 0"'))).to.match(/axis="0 0 0" of <joint> must not be zero/);
    expect(of(hinge.replace('name="j"', 'name="j" class="x"'))).to.match(/no default class 'x'/);
    expect(of(hinge.replace('name="j"', 'name="j" type="wheel"'))).to.match(/one of hinge, slide, ball, free/);
    expect(of(hinge + hinge)).to.match(/line 4: two bodies are named a/);
    expect(refusal(() => readMjcf('<robot/>')).message).to.match(/must be <mujoco>, not <robot>/);
    const urdf = (joint: string): string =>
      refusal(() => readUrdf(`<robot name="r"><link name="a"/>\n${joint}</robot>`)).message;
    expect(urdf('<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>')).to.match(
      /line 2: there is no link b/,
    );
    expect(urdf('<link name="b"/>')).to.match(/one root link, which is the child of no joint, not 2: a, b/);
    expect(() => readMjcf(mjcf(hinge), {limit: true} as never)).to.throw(/limit/);
  });
});
