/**
 * URDF, the files of ROS, as systems of `multibody`: after the XML specification of the urdf package
 * (wiki.ros.org/urdf/XML). Links with inertias, joints with limits, damping and friction; drives are the efforts of
 * joints.
 */
import {oneOf, optional, readOptions, type Options} from '../../lib/checks.js';
import {origin, turned, units, vector} from '../multibody/numbers.js';
import {
  still,
  world,
  type JointDrive,
  type LinkFreedom,
  type Link,
  type LinkPose,
  type Solid,
  type Weight,
} from './description.js';
import {robotModel, type RobotModel} from './model.js';
import {robotOptions} from './read-options.js';
import {alongZ, fromEuler, here, moved} from './rotations.js';
import {FileReader, notNegative, readXml, type ParsedElement} from './xml.js';

const urdfOptions = {
  ...robotOptions,
  /** The root link is part of the world, or moves freely; default 'fixed'. */
  base: optional(oneOf('fixed', 'free'), 'fixed'),
  /** [length / time²], world axes, of which URDF says nothing; default [0, 0, −9.81]. */
  gravity: optional(vector, [0, 0, -9.81]),
};

/** Options of `readUrdf`. @interface */
export type UrdfOptions = Options<typeof urdfOptions>;

/**
 * A system of a URDF file. Drives are named by their joints: `controls` are efforts, cut off at the joint's limit.
 * @throws DataError 'bad-xml', 'bad-model-file', 'unsupported-model-file', with `data.line`; OptionError
 */
export function readUrdf(text: string, options: UrdfOptions = {}): RobotModel {
  const {file = 'URDF', base, gravity, ...read} = readOptions(options, urdfOptions, 'readUrdf', 'bad-option');
  const root = readXml(text, file);
  const reader = new FileReader(file);
  if (root.tag !== 'robot') reader.fail(root, `the root element must be <robot>, not <${root.tag}>.`);
  for (const {tag, ...element} of root.children) {
    if (['link', 'joint', 'material'].includes(tag)) continue;
    if (['transmission', 'gazebo'].includes(tag)) reader.note({tag, ...element}, `<${tag}> is left out`);
    else reader.unsupported({tag, ...element}, `<${tag}>`);
  }
  const links = new UrdfReader(reader, root, base, read.limits).read();
  const drives = links.flatMap(({freedoms}): JointDrive[] => {
    if (freedoms.length !== 1 || (freedoms[0].kind !== 'turn' && freedoms[0].kind !== 'slide')) return [];
    const [{name, element}] = freedoms;
    const limit = reader.child(element, 'limit');
    const effort = limit === undefined ? 0 : reader.number(limit, 'effort', 0);
    const forceRange = effort > 0 ? ([-effort, effort] as const) : undefined;
    return [{name, element, joint: name, gear: 1, gain: 1, bias: [0, 0, 0], controlRange: undefined, forceRange}];
  });
  return robotModel({links, drives, closures: [], gravity, balance: read.balanceInertia}, reader, read, []);
}

/** Attributes that are known, by the elements that have them; those of a limit's rates are not read. */
export const known = {
  origin: 'xyz rpy',
  mass: 'value',
  inertia: 'ixx ixy ixz iyy iyz izz',
  axis: 'xyz',
  dynamics: 'damping friction',
  limit: 'lower upper effort velocity acceleration deceleration jerk',
} as const;
const jointTags = ['origin', 'parent', 'child', 'axis', 'limit', 'dynamics', 'calibration', 'safety_controller'];

class UrdfReader {
  private readonly links: Link[] = [];
  private readonly elements = new Map<string, ParsedElement>();
  private readonly children = new Map<string, ParsedElement[]>();
  constructor(
    private readonly reader: FileReader,
    private readonly root: ParsedElement,
    private readonly base: 'fixed' | 'free',
    private readonly limits: boolean,
  ) {}

  /** The tree from its root; joints of a link in the order of the file. */
  read(): readonly Link[] {
    const {reader, root, elements, children} = this;
    const carried = new Set<string>();
    for (const element of root.children) {
      if (element.tag === 'link') {
        const name = reader.required(element, 'name');
        if (elements.has(name)) reader.fail(element, `two links are called ${name}.`);
        elements.set(name, element);
      }
      if (element.tag !== 'joint') continue;
      const [parent, child] = ['parent', 'child'].map(side =>
        reader.required(reader.requiredChild(element, side), 'link'),
      );
      if (carried.has(child))
        reader.fail(element, `link ${child} is the child of two joints; URDF does not support loops.`);
      carried.add(child);
      children.set(parent, [...(children.get(parent) ?? []), element]);
    }
    const roots = [...elements.keys()].filter(name => !carried.has(name));
    if (roots.length !== 1)
      reader.fail(
        root,
        'there must be one root link, which is the child of no joint, '
          + `not ${roots.length}: ${roots.slice(0, 4).join(', ')}.`,
      );
    this.links.push({
      name: world,
      element: root,
      parent: undefined,
      place: here,
      weights: [],
      freedoms: [],
      solids: [],
    });
    const [first] = roots;
    if (first === world) {
      if (this.base === 'free')
        reader.fail(
          elements.get(first) as ParsedElement,
          "base is 'free', but the root link is the world: name it otherwise.",
        );
      this.carry(first, 0, false);
    } else {
      const element = elements.get(first) as ParsedElement;
      const free: LinkFreedom = {...still, name: 'root', element, kind: 'free', axis: [0, 0, 1], at: origin};
      this.link(first, element, 0, here, this.base === 'free' ? [free] : []);
    }
    for (const [name, [element]] of children)
      if (!elements.has(name)) reader.fail(element, `there is no link ${name}.`);
    if (this.links.filter(({name}) => elements.has(name)).length !== elements.size)
      reader.fail(root, 'some links are their own ancestors: their joints form a loop.');
    return this.links;
  }

  /** @param moves whether that link moves */
  private carry(name: string, number: number, moves: boolean): void {
    const {reader} = this;
    for (const joint of this.children.get(name) ?? []) {
      const child = reader.required(reader.requiredChild(joint, 'child'), 'link');
      const element = this.elements.get(child) ?? reader.fail(joint, `there is no link ${child}.`);
      this.link(child, element, number, this.place(joint), this.freedoms(joint), moves);
    }
  }

  private link(
    name: string,
    element: ParsedElement,
    parent: number,
    place: LinkPose,
    freedoms: readonly LinkFreedom[],
    carried = false,
  ): void {
    const {reader} = this;
    const moves = carried || freedoms.length > 0;
    const inertial = moves ? reader.child(element, 'inertial') : undefined;
    const weights = (inertial === undefined ? [] : [this.weight(inertial)]).filter(({mass, inertia}) => {
      if (mass > 0 || inertia.every(row => row.every(x => x === 0))) return mass > 0;
      if (freedoms.length > 0) reader.fail(element, `link ${name} has an inertia, but its mass is 0.`);
      reader.note(element, `the inertia of link ${name}, whose mass is 0, is left out`);
      return false;
    });
    const solids = element.children.filter(({tag}) => tag === 'visual').flatMap(visual => this.solid(visual));
    for (const child of element.children)
      if (!['inertial', 'visual', 'collision'].includes(child.tag))
        reader.unsupported(child, `<${child.tag}> of a link`);
    const number = this.links.length;
    this.links.push({name, element, parent, place, weights, freedoms, solids});
    this.carry(name, number, moves);
  }

  private place(element: ParsedElement): LinkPose {
    const {reader} = this;
    const given = reader.child(element, 'origin');
    if (given === undefined) return here;
    reader.expect(given, known.origin);
    return {position: reader.vector(given, 'xyz'), rotation: fromEuler(reader.vector(given, 'rpy'), 'XYZ')};
  }

  private weight(element: ParsedElement): Weight {
    const {reader} = this;
    const [mass, inertia] = ['mass', 'inertia'].map(tag => reader.requiredChild(element, tag));
    const of = (name: string): number => reader.number(inertia, name, 0);
    reader.expect(mass, known.mass);
    reader.expect(inertia, known.inertia);
    return moved(this.place(element), {
      mass: reader.requiredNumber(mass, 'value', notNegative),
      centre: origin,
      inertia: [
        [of('ixx'), of('ixy'), of('ixz')],
        [of('ixy'), of('iyy'), of('iyz')],
        [of('ixz'), of('iyz'), of('izz')],
      ],
    });
  }

  /** Only elements that the type of joint uses are read. */
  private freedoms(joint: ParsedElement): LinkFreedom[] {
    const {reader} = this;
    const kinds = ['fixed', 'revolute', 'continuous', 'prismatic', 'floating', 'planar'] as const;
    reader.required(joint, 'type');
    const type = reader.word(joint, 'type', kinds, 'fixed');
    const name = reader.required(joint, 'name');
    if (type === 'fixed') return [];
    for (const {tag, ...child} of joint.children)
      if (!jointTags.includes(tag)) reader.unsupported({tag, ...child}, `<${tag}> of a joint`);
    const dynamics = reader.child(joint, 'dynamics') ?? {...joint, attributes: {}};
    reader.expect(dynamics, known.dynamics);
    const rub = (key: string): number => reader.number(dynamics, key, 0, notNegative);
    const base = {...still, element: joint, at: origin, damping: [rub('damping')], friction: rub('friction')};
    if (type === 'floating') return [{...base, name, kind: 'free', axis: [0, 0, 1]}];
    const given = reader.child(joint, 'axis') ?? {...joint, attributes: {}};
    reader.expect(given, known.axis);
    const axis = reader.direction(given, 'xyz', [1, 0, 0]);
    const limit = reader.child(joint, 'limit');
    if (limit !== undefined) reader.expect(limit, known.limit);
    const range = (): readonly [number, number] => {
      const bounds = limit ?? reader.fail(joint, `a ${type} joint must have a <limit>.`);
      return [reader.number(bounds, 'lower', 0), reader.number(bounds, 'upper', 0)];
    };
    switch (type) {
      case 'planar': {
        if (this.limits && limit !== undefined && range()[0] !== range()[1])
          reader.unsupported(limit, 'the limit of a planar joint');
        // Along x and y as the shortest turn of z to the axis leaves them, which is what MuJoCo does.
        const [e, f, g] = units.map(unit => turned(alongZ(axis), unit));
        return [
          {...base, name: `${name} x`, kind: 'slide', axis: e},
          {...base, name: `${name} y`, kind: 'slide', axis: f},
          {...base, name: `${name} angle`, kind: 'turn', axis: g},
        ];
      }
      case 'continuous':
        return [{...base, name, kind: 'turn', axis}];
      default: {
        const kind = type === 'revolute' ? 'turn' : 'slide';
        const [lower, upper] = this.limits ? range() : [0, 0];
        if (lower > upper) reader.fail(limit as ParsedElement, `lower="${lower}" is greater than upper="${upper}".`);
        // Files without bounds leave both out, or give one number twice.
        return [{...base, name, kind, axis, range: lower < upper ? [lower, upper] : undefined}];
      }
    }
  }

  private solid(visual: ParsedElement): Solid[] {
    const {reader} = this;
    const [shape] = reader.requiredChild(visual, 'geometry').children;
    if (shape === undefined) return reader.fail(visual, '<geometry> is empty.');
    const size = (): readonly number[] => {
      const number = (name: string): number => reader.requiredNumber(shape, name, notNegative);
      if (shape.tag === 'sphere') return [number('radius')];
      if (shape.tag !== 'box') return [number('radius'), number('length') / 2];
      reader.required(shape, 'size');
      return (reader.numbers(shape, 'size', 3, 3, notNegative) as number[]).map(x => x / 2);
    };
    const {tag: kind} = shape;
    if (kind !== 'box' && kind !== 'sphere' && kind !== 'cylinder' && kind !== 'capsule') {
      reader.note(shape, `<${kind}> is not drawn`);
      return [];
    }
    const material = reader.child(visual, 'material');
    const colours = this.root.children.filter(
      ({tag, attributes}) => tag === 'material' && attributes.name === material?.attributes.name,
    );
    const colour = [material, ...colours]
      .map(element => element && reader.child(element, 'color'))
      .find(found => found !== undefined);
    const rgba = colour === undefined ? undefined : reader.numbers(colour, 'rgba', 4);
    return [{kind, size: size(), place: this.place(visual), colour: rgba}];
  }
}
