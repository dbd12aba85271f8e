/**
 * All attributes of MJCF and URDF that the readers know: where one has no effect any text is accepted and changes nothing,
 * and where it has one a wrong value is refused, with line, element, attribute and value.
 */
import {expect} from 'chai';
import fc from 'fast-check';
import {DataError} from '../../../lib/index.js';
import {readMjcf, readUrdf, type RobotModel} from '../../../models/robots/index.js';
import {known as ofMjcf} from '../../../models/robots/mjcf-attributes.js';
import {known as ofUrdf} from '../../../models/robots/urdf.js';
import {runs} from '../../property.js';

/** A file with attributes in one place. */
type Place = (attributes: string) => string;
/** Attributes without effect in a place. */
type Idle = readonly [tag: string, place: Place, names: string];
/** Values that are refused in a place. */
type Wrong = readonly [tag: string, place: Place, values: {readonly [name: string]: string}];

const weight = '<inertial pos=".1 .2 .3" mass="2" diaginertia="1 1.1 1.2"/>';
const mjcf = (bodies: string, before = '', after = ''): string =>
  `<mujoco>${before}<worldbody>${bodies}</worldbody>${after}</mujoco>`;
const hinge = (inside = weight, more = ''): string => `<body name="a"><joint name="j" ${more}/>${inside}</body>`;
const joint =
  (type: string, more = ''): Place =>
  a =>
    mjcf(`<body><joint type="${type}" ${more} ${a}/>${weight}</body>`);
const freejoint: Place = a => mjcf(`<body><freejoint ${a}/>${weight}</body>`);
const geom =
  (more: string, inside = ''): Place =>
  a =>
    mjcf(hinge(`${inside}<geom ${more} ${a}/>`));
const onWorld =
  (tag: string, more = ''): Place =>
  a =>
    mjcf(`<body><${tag} ${more} ${a}/></body>${hinge()}`);
const before =
  (tag: string, bodies = hinge()): Place =>
  a =>
    mjcf(bodies, `<${tag} ${a}/>`);
const flag =
  (more: string): Place =>
  a =>
    mjcf(hinge(weight, more), `<option><flag ${a}/></option>`, '<actuator><motor joint="j"/></actuator>');
const after =
  (section: string, tag: string, more = ''): Place =>
  a =>
    mjcf(hinge(), '', `<${section}><${tag} ${more} ${a}/></${section}>`);
const inertial =
  (more: string): Place =>
  a =>
    mjcf(hinge(`<inertial ${more} ${a}/>`));

const orientations = ['quat', 'axisangle', 'xyaxes', 'zaxis', 'euler'];
const pose = `pos ${orientations.join(' ')}`;
const contact =
  'fluidshape fluidcoef contype conaffinity condim priority friction solmix solref solimp margin gap surfacevel adhesion material fitscale user';
const weighing = 'mass density shellinertia group';
const drives = ['motor', 'position', 'velocity', 'general'] as const;
const equalities = ['connect', 'weld'] as const;

const idleInMjcf: readonly Idle[] = [
  ['joint', joint('free'), 'pos axis range limited margin ref springref actuatorfrcrange actuatorfrclimited'],
  ['joint', joint('ball'), 'axis margin ref springref actuatorfrcrange actuatorfrclimited'],
  ['joint', joint('slide'), 'pos margin springref'],
  ['joint', joint('hinge', 'limited="false" actuatorfrclimited="false"'), 'range margin springref actuatorfrcrange'],
  ['joint', joint('hinge'), 'solreflimit solimplimit solreffriction solimpfriction actuatorgravcomp group user'],
  ['freejoint', freejoint, 'group'],
  ['inertial', onWorld('inertial'), `mass diaginertia fullinertia ${pose}`],
  ['inertial', a => mjcf(hinge(`<inertial ${a}/><geom size="1"/>`), '<compiler inertiafromgeom="true"/>'), `mass diaginertia fullinertia ${pose}`], // prettier-ignore
  ['geom', onWorld('geom', 'size="1"'), `${weighing} hfield ${contact}`],
  ['geom', geom('size="1"', weight), `${weighing} hfield ${contact}`],
  ['geom', geom('size="1" mass="2"'), `density hfield ${contact}`],
  ['geom', geom('size="1" mass="0"', '<geom size="2"/>'), 'density shellinertia'],
  ['geom', geom('size="1" type="capsule" fromto="0 0 0 1 2 3"'), 'quat axisangle xyaxes zaxis euler'],
  ['geom', onWorld('geom', 'type="mesh"'), `size fromto mesh rgba ${weighing} ${pose} ${contact}`],
  ['geom', geom('type="mesh"', weight), `size fromto mesh rgba ${weighing} ${pose} ${contact}`],
  ['body', a => mjcf(`<body ${a}/>${hinge()}`), 'gravcomp childclass user simple'],
  ['body', a => mjcf(hinge().replace('<body', `<body ${a}`), '<option gravity="0 0 0"/>'), 'gravcomp user'],
  ['frame', a => mjcf(`<frame ${a}/>${hinge()}`), 'childclass'],
  ['compiler', before('compiler'), `angle eulerseq autolimits inertiagrouprange fusestatic alignfree ${ofMjcf.compiler.slice(ofMjcf.compiler.indexOf('meshdir'))}`], // prettier-ignore
  ['option', before('option'), ofMjcf.option.slice(ofMjcf.option.indexOf('timestep'))],
  ['flag', flag(''), ofMjcf.flag.slice(ofMjcf.flag.indexOf('contact'))],
  ...equalities.flatMap((tag): Idle[] => [
    [tag, after('equality', tag, 'active="false"'), 'body1 body2 anchor solref solimp'],
    [tag, after('equality', tag, 'body1="a" anchor="1 2 3"'), 'solref solimp'],
  ]),
  ['weld', after('equality', 'weld', 'body1="a"'), 'anchor'],
  ...drives.flatMap((tag): Idle[] => [
    [tag, after('actuator', tag, 'joint="j" ctrllimited="false" forcelimited="false"'), 'ctrlrange forcerange'],
    [tag, after('actuator', tag, 'joint="j"'), 'actrange actlimited actearly actdim dynprm lengthrange nsample interp cranklength group user'], // prettier-ignore
  ]),
  ['key', after('keyframe', 'key'), 'time act mpos mquat'],
];

const wrongTurns = {
  quat: '0 0 0 0',
  axisangle: '0 0 0 9',
  xyaxes: '1 0 0 -2 0 0',
  zaxis: '0 0 0',
  euler: 'up',
};
const wrongPose = {...wrongTurns, pos: '1 2'};
const wrongInMjcf: readonly Wrong[] = [
  ['compiler', before('compiler', hinge('<geom size="1" euler="1 2 3"/>', 'range="0 1"')), {angle: 'grad', coordinate: 'global', eulerseq: 'xyw', autolimits: 'no', inertiafromgeom: 'geom', inertiagrouprange: '1', boundmass: 'm', boundinertia: '1 2', balanceinertia: '1', settotalmass: 'all'}], // prettier-ignore
  ['compiler', a => mjcf(`<body>${weight}</body>${hinge()}`, `<compiler settotalmass="3" ${a}/>`), {fusestatic: '1'}],
  ['compiler', a => mjcf(`<body><freejoint/>${weight}</body>`, `<compiler ${a}/>`), {alignfree: '0'}],
  ['option', before('option'), {gravity: '0 -9.81', density: 'air', viscosity: '1 2'}],
  ['flag', flag('range="0 1"'), {constraint: 'off', equality: '0', frictionloss: 'no', limit: 'on', passive: '', spring: 'x', damper: 'false', gravity: '9.81', clampctrl: '1', actuation: 'true'}], // prettier-ignore
  ['body', a => mjcf(`<body ${a}>${hinge()}</body>`), {...wrongPose, mocap: '1', childclass: 'lost'}],
  ['body', a => mjcf(hinge().replace('<body', `<body ${a}`)), {gravcomp: 'half', sleep: 'init'}],
  ['frame', a => mjcf(`<frame ${a}>${hinge()}</frame>`), {...wrongPose, childclass: 'lost'}],
  ['inertial', inertial('pos="0 0 0" diaginertia="1 1 1"'), {mass: '-1'}],
  ['inertial', inertial('mass="1" diaginertia="1 1 1"'), {pos: '1'}],
  ['inertial', inertial('pos="0 0 0" mass="1"'), {diaginertia: '1 1', fullinertia: '1 1 1 0 0'}],
  ['inertial', inertial('mass="1" pos="0 0 0" diaginertia="1 1 1"'), wrongTurns],
  ['joint', joint('hinge'), {pos: '1 2', axis: '0 0 0', stiffness: '1 2 3 4', damping: 'much', frictionloss: '', armature: '-1', limited: 'yes', ref: '1 2', springdamper: '1', actuatorfrcrange: '1', actuatorfrclimited: 'on', class: 'lost'}], // prettier-ignore
  ['joint', a => mjcf(`<body><joint ${a}/>${weight}</body>`), {type: 'wheel'}],
  ['joint', joint('slide', 'stiffness="1"'), {springref: 'x'}],
  ['joint', joint('slide', 'limited="true"'), {range: '2 1'}],
  ['joint', joint('slide', 'range="0 1"'), {margin: 'x'}],
  ['freejoint', freejoint, {align: 'maybe'}],
  ['geom', geom(''), {type: 'ball', size: '0'}],
  ['geom', geom('size="1"'), {...wrongPose, mass: '-1', density: '-2', shellinertia: '1', group: 'x', rgba: 'red', class: 'lost'}], // prettier-ignore
  ['geom', geom('size="1" type="capsule"'), {fromto: '1 2 3 1 2 3'}],
  ['geom', geom('type="hfield"'), {hfield: 'lost'}],
  ...equalities.map((tag): Wrong => [tag, after('equality', tag, 'body2="a" anchor="0 0 0"'), {body1: 'lost'}]),
  ...equalities.map((tag): Wrong => [
    tag,
    after('equality', tag, 'body1="a" anchor="0 0 0"'),
    {body2: 'lost', active: '1', class: 'gone'},
  ]),
  ['connect', after('equality', 'connect', 'body1="a"'), {anchor: '1 2'}],
  ['weld', after('equality', 'weld', 'body1="a" torquescale="0"'), {anchor: '1 2'}],
  ['weld', after('equality', 'weld', 'body1="a"'), {torquescale: 'x'}],
  ...drives.flatMap((tag): Wrong[] => [
    [tag, after('actuator', tag, 'joint="j"'), {gear: 'x', ctrlrange: '1', ctrllimited: 'x', forcerange: '1 2 3', forcelimited: '2', inheritrange: 'x', class: 'lost'}], // prettier-ignore
    [tag, after('actuator', tag), {joint: 'lost', jointinparent: 'gone'}],
  ]),
  ['position', after('actuator', 'position', 'joint="j"'), {kp: 'x', kv: '-1', dampratio: '-2', timeconst: '-3'}],
  ['velocity', after('actuator', 'velocity', 'joint="j"'), {kv: 'x'}],
  ['general', after('actuator', 'general', 'joint="j"'), {gainprm: 'x', biasprm: '', gaintype: 'odd', biastype: 'odd', dyntype: 'odd'}], // prettier-ignore
  ['key', after('keyframe', 'key'), {qpos: '1 x', qvel: 'x'}],
];

const part = (elements: string): string => `<link name="b"><inertial>${elements}</inertial></link>`;
const body = '<mass value="2"/><inertia ixx="1" iyy="1" izz="1"/>';
const urdf =
  (type: string, link: (a: string) => string, inside: (a: string) => string = () => ''): Place =>
  a =>
    `<robot name="r"><link name="w"/>${link(a)}<joint name="j" type="${type}"><parent link="w"/><child link="b"/>${inside(a)}</joint>`
    + `<link name="c"><inertial>${body}</inertial></link><joint name="k" type="continuous"><parent link="w"/><child link="c"/></joint></robot>`;
const inJoint = (type: string, tag: string, more = ''): Place =>
  urdf(
    type,
    () => part(body),
    a => `<${tag} ${more} ${a}/>`,
  );
const inLink = (type: string, tag: string, others: string): Place =>
  urdf(
    type,
    a => part(`<${tag} ${a}/>${others}`),
    () => '<limit/>',
  );
const rates = 'velocity acceleration deceleration jerk';

const idleInUrdf: readonly Idle[] = [
  ...['fixed', 'floating'].flatMap((type): Idle[] => [
    ['axis', inJoint(type, 'axis'), ofUrdf.axis],
    ['limit', inJoint(type, 'limit'), ofUrdf.limit],
  ]),
  ['dynamics', inJoint('fixed', 'dynamics'), ofUrdf.dynamics],
  ['limit', inJoint('continuous', 'limit'), `lower upper ${rates}`],
  ['limit', inJoint('revolute', 'limit'), rates],
  ['limit', inJoint('planar', 'limit'), `effort ${rates}`],
  ['mass', inLink('fixed', 'mass', ''), ofUrdf.mass],
  ['inertia', inLink('fixed', 'inertia', ''), ofUrdf.inertia],
  ['origin', inLink('fixed', 'origin', body), ofUrdf.origin],
  ['origin', urdf('fixed', a => `<link name="b"><visual><origin ${a}/><geometry><mesh/></geometry></visual></link>`), ofUrdf.origin], // prettier-ignore
];
const wrongInUrdf: readonly Wrong[] = [
  ['origin', inJoint('fixed', 'origin'), {xyz: '1 2', rpy: 'x'}],
  ['origin', inLink('prismatic', 'origin', body), {xyz: '', rpy: '1 2 3 4'}],
  ['axis', inJoint('continuous', 'axis'), {xyz: '0 0 0'}],
  ['limit', inJoint('revolute', 'limit'), {lower: 'x', upper: '-1', effort: 'strong'}],
  ['dynamics', inJoint('floating', 'dynamics'), {damping: '-1', friction: '-2'}],
  ['mass', inLink('revolute', 'mass', '<inertia ixx="1" iyy="1" izz="1"/>'), {value: '-3'}],
  ['inertia', inLink('revolute', 'inertia', '<mass value="1"/>'), {ixx: 'a', ixy: 'b', ixz: '1 2', iyy: '', iyz: 'NaN', izz: 'Infinity'}], // prettier-ignore
];

const text = fc.oneof(
  fc.constantFrom('', '0', '-1', '1e999', 'NaN', '0 0 0', '1 2', '2 1', '1 2 3 4', 'true', 'false', 'auto', 'x'),
  fc.stringMatching(/^[ -!#-%'-;=?-~]{0,12}$/),
);
/** All of a model that is data. */
const content = ({spec, solids, links, joints, drives, keyframes}: RobotModel): string =>
  JSON.stringify([{...spec, forces: spec.forces?.length}, solids, links, joints, drives, keyframes]);

for (const [format, read, idle, wrong, known] of [
  ['MJCF', readMjcf, idleInMjcf, wrongInMjcf, ofMjcf],
  ['URDF', readUrdf, idleInUrdf, wrongInUrdf, ofUrdf],
] as const)
  describe(`attributes of ${format}`, () => {
    it('are accepted with any text where they have no effect, and change nothing', () => {
      const places = idle.map(([, place, names]) => {
        const all = names.split(' ');
        const turns = all.filter(name => orientations.includes(name));
        // An element has one orientation at most.
        const chosen = fc
          .tuple(
            fc.subarray(all.filter(name => !turns.includes(name))),
            fc.subarray(turns, {maxLength: Math.min(1, turns.length)}),
          )
          .chain(some => fc.tuple(...some.flat().map(name => text.map(value => `${name}="${value}"`))));
        return chosen.map(attributes => ({place, attributes: attributes.join(' ')}));
      });
      fc.assert(
        fc.property(fc.oneof(...places), ({place, attributes}) => {
          expect(content(read(place(attributes)))).to.equal(content(read(place(''))));
        }),
        runs(50),
      );
    });

    it('are refused with line, element, name and value where they act', () => {
      for (const [tag, place, values] of wrong) {
        for (const [name, value] of Object.entries(values)) {
          let said = 'it was read';
          try {
            read(place(`${name}="${value}"`));
          } catch (error) {
            if (!(error instanceof DataError)) throw error;
            said = error.message;
          }
          // What an element refers to is named by what it is.
          const what = /class/.exec(name)?.[0] ?? /body|joint|hfield/.exec(name)?.[0].replace('hf', 'height f') ?? name;
          for (const word of [/line 1: /, what, value]) expect(said, `${tag} ${name}`).to.match(new RegExp(word));
        }
      }
    });

    it('are all of the two tests above, but for names', () => {
      const tested = new Set([
        ...idle.flatMap(([tag, , names]) => names.split(' ').map(name => `${tag} ${name}`)),
        ...wrong.flatMap(([tag, , values]) => Object.keys(values).map(name => `${tag} ${name}`)),
      ]);
      const all = Object.entries(known).flatMap(([tag, names]) => names.split(' ').map(name => `${tag} ${name}`));
      const rest = all.filter(one => !tested.has(one) && !one.endsWith(' name'));
      expect(rest).to.deep.equal(format === 'MJCF' ? ['key ctrl'] : []);
    });
  });
