/**
 * URDF, the files of ROS, as systems of `multibody`: after the XML specification of the urdf package (wiki.ros.org/urdf/XML).
 * Links with inertias, joints with limits, damping and friction; drives are the efforts of joints.
 */
import {any, oneOf, refuseUnknownOptions} from '../../lib/checks.js';
import {norm, origin, requireVector, turned, type V3} from '../multibody/numbers.js';
import {world, type Drive, type Freedom, type Link, type Place, type Solid, type Weight} from './description.js';
import {optionChecks, readOptions, type ReadOptions} from './mjcf.js';
import {robotModel, type RobotModel} from './model.js';
import {alongZ, fromEuler, here, moved} from './rotations.js';
import {FileReader, readXml, type Element} from './xml.js';

/** Options of `readUrdf` besides `ReadOptions`. */
export interface UrdfOptions extends ReadOptions {
  /** The root link is part of the world, or moves freely; default 'fixed'. */
  readonly base?: 'fixed' | 'free';
  /** [length / time²], world axes, of which URDF says nothing; default [0, 0, −9.81]. */
  readonly gravity?: readonly [number, number, number];
}

/**
 * A system of a URDF file. Drives are named by their joints: `controls` are efforts, cut off at the joint's limit.
 * @throws DataError 'bad-xml', 'bad-model-file', 'unsupported-model-file', with `data.line`; OptionError
 */
export function readUrdf(text: string, options: UrdfOptions = {}): RobotModel {
  refuseUnknownOptions(
    options,
    {...optionChecks, base: oneOf('fixed', 'free'), gravity: any},
    'readUrdf',
    'bad-option',
  );
  const {file = 'URDF', base = 'fixed'} = options;
  const gravity = requireVector(options.gravity ?? [0, 0, -9.81], 'readUrdf: gravity');
  const root = readXml(text, file);
  const reader = new FileReader(file);
  if (root.tag !== 'robot') reader.fail(root, `the root element must be <robot>, not <${root.tag}>.`);
  for (const {tag, ...element} of root.children) {
    if (['link', 'joint', 'material'].includes(tag)) continue;
    if (['transmission', 'gazebo'].includes(tag)) reader.note({tag, ...element}, `<${tag}> is left out`);
    else reader.unsupported({tag, ...element}, `<${tag}>`);
  }
  refuseRepeated(root, reader);
  const links = new UrdfReader(reader, root, base).read();
  const drives = links.flatMap(({freedoms}): Drive[] => {
    const [freedom] = freedoms;
    if (freedoms.length !== 1 || (freedom.kind !== 'turn' && freedom.kind !== 'slide')) return [];
    const limit = one(freedom.element, 'limit');
    const effort = limit === undefined ? undefined : reader.number(limit, 'effort', undefined);
    return [
      {
        name: freedom.name,
        element: freedom.element,
        joint: freedom.name,
        gear: 1,
        gain: 1,
        bias: [0, 0, 0],
        controlRange: undefined,
        forceRange: effort === undefined || effort <= 0 ? undefined : [-effort, effort],
      },
    ];
  });
  return robotModel({links, drives, closures: [], gravity}, reader, readOptions(options), []);
}

const one = (element: Element, tag: string): Element | undefined => element.children.find(child => child.tag === tag);

/** Of what stands once in its element. */
const single = ['origin', 'parent', 'child', 'axis', 'limit', 'dynamics', 'mass', 'inertia', 'geometry'];

function refuseRepeated({tag: around, children}: Element, reader: FileReader): void {
  children.forEach((child, i) => {
    if (single.includes(child.tag) && children.findIndex(({tag}) => tag === child.tag) < i)
      reader.fail(child, `<${around}> has two of <${child.tag}>.`);
    refuseRepeated(child, reader);
  });
}

const still = {reference: 0, range: undefined, armature: 0, damping: 0, friction: 0, stiffness: 0, rest: 0} as const;

class UrdfReader {
  private readonly links: Link[] = [];
  private readonly elements = new Map<string, Element>();
  private readonly children = new Map<string, Element[]>();
  constructor(
    private readonly reader: FileReader,
    private readonly root: Element,
    private readonly base: 'fixed' | 'free',
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
      const [parent, child] = ['parent', 'child'].map(side => {
        const end = one(element, side) ?? reader.fail(element, `<joint> has no <${side}>.`);
        return reader.required(end, 'link');
      });
      if (carried.has(child))
        reader.fail(element, `link ${child} is the child of two joints; URDF does not support loops.`);
      carried.add(child);
      children.set(parent, [...(children.get(parent) ?? []), element]);
    }
    const roots = [...elements.keys()].filter(name => !carried.has(name));
    if (roots.length !== 1)
      reader.fail(
        root,
        `there must be one root link, which is the child of no joint, not ${roots.length}: ${roots.slice(0, 4).join(', ')}.`,
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
          elements.get(first) as Element,
          "base is 'free', but the root link is the world: name it otherwise.",
        );
      this.carry(first, 0);
    } else {
      const element = elements.get(first) as Element;
      const free: Freedom = {...still, name: 'root', element, kind: 'free', axis: [0, 0, 1], at: origin};
      this.link(first, element, 0, here, this.base === 'free' ? [free] : []);
    }
    for (const [name, [element]] of children)
      if (!elements.has(name)) reader.fail(element, `there is no link ${name}.`);
    if (this.links.filter(({name}) => elements.has(name)).length !== elements.size)
      reader.fail(root, 'some links are their own ancestors: their joints form a loop.');
    return this.links;
  }

  private carry(name: string, number: number): void {
    for (const joint of this.children.get(name) ?? []) {
      const child = (one(joint, 'child') as Element).attributes.link;
      const element = this.elements.get(child) ?? this.reader.fail(joint, `there is no link ${child}.`);
      this.link(child, element, number, this.place(joint), this.freedoms(joint));
    }
  }

  private link(name: string, element: Element, parent: number, place: Place, freedoms: readonly Freedom[]): void {
    const {reader} = this;
    const inertials = element.children.filter(({tag}) => tag === 'inertial');
    if (inertials.length > 1) reader.fail(inertials[1], `link ${name} has two of <inertial>.`);
    const weights = inertials.map(inertial => this.weight(inertial));
    weights.forEach(({mass, inertia}, i) => {
      if (mass !== 0 || inertia.every(row => row.every(x => x === 0))) return;
      if (freedoms.length > 0 || this.moves(parent))
        reader.fail(inertials[i], `link ${name} has an inertia, but its mass is 0.`);
      reader.note(inertials[i], `the inertia of link ${name}, whose mass is 0, is left out`);
    });
    const solids = element.children.filter(({tag}) => tag === 'visual').flatMap(visual => this.solid(visual));
    for (const child of element.children)
      if (!['inertial', 'visual', 'collision'].includes(child.tag))
        reader.unsupported(child, `<${child.tag}> of a link`);
    const number = this.links.length;
    this.links.push({name, element, parent, place, weights: weights.filter(({mass}) => mass !== 0), freedoms, solids});
    this.carry(name, number);
  }

  private moves(number: number): boolean {
    const {parent, freedoms} = this.links[number];
    return parent !== undefined && (freedoms.length > 0 || this.moves(parent));
  }

  private place(element: Element): Place {
    const given = one(element, 'origin');
    if (given === undefined) return here;
    this.reader.expect(given, ['xyz', 'rpy']);
    const angles = this.reader.vector(given, 'rpy') ?? origin;
    return {position: this.reader.vector(given, 'xyz') ?? origin, rotation: fromEuler(angles, 'XYZ')};
  }

  private weight(element: Element): Weight {
    const {reader} = this;
    const mass = one(element, 'mass') ?? reader.fail(element, '<inertial> has no <mass>.');
    const inertia = one(element, 'inertia') ?? reader.fail(element, '<inertial> has no <inertia>.');
    const of = (name: string): number => reader.number(inertia, name, 0);
    reader.expect(mass, ['value']);
    reader.expect(inertia, ['ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz']);
    reader.required(mass, 'value');
    return moved(this.place(element), {
      mass: reader.number(mass, 'value', 0),
      centre: origin,
      inertia: [
        [of('ixx'), of('ixy'), of('ixz')],
        [of('ixy'), of('iyy'), of('iyz')],
        [of('ixz'), of('iyz'), of('izz')],
      ],
    });
  }

  private freedoms(joint: Element): Freedom[] {
    const {reader} = this;
    const kinds = ['fixed', 'revolute', 'continuous', 'prismatic', 'floating', 'planar'] as const;
    reader.required(joint, 'type');
    const type = reader.word(joint, 'type', kinds, 'fixed');
    for (const child of joint.children)
      if (
        !['origin', 'parent', 'child', 'axis', 'limit', 'dynamics', 'calibration', 'safety_controller'].includes(
          child.tag,
        )
      )
        reader.unsupported(child, `<${child.tag}> of a joint`);
    const name = reader.required(joint, 'name');
    const given = one(joint, 'axis');
    if (given !== undefined) reader.expect(given, ['xyz']);
    const axis: V3 = (given === undefined ? undefined : reader.vector(given, 'xyz')) ?? [1, 0, 0];
    // The others have no axis.
    if (['revolute', 'continuous', 'prismatic', 'planar'].includes(type) && norm(axis) === 0)
      reader.fail(joint, 'axis must not be zero.');
    const dynamics = one(joint, 'dynamics');
    if (dynamics !== undefined) reader.expect(dynamics, ['damping', 'friction']);
    const bounds = one(joint, 'limit');
    if (bounds !== undefined)
      reader.expect(bounds, ['lower', 'upper', 'effort'], ['velocity', 'acceleration', 'deceleration', 'jerk']);
    const rub = (key: string): number => {
      if (dynamics === undefined) return 0;
      const value = reader.number(dynamics, key, 0);
      return value >= 0 ? value : reader.fail(dynamics, `${key} of joint ${name} must not be negative.`);
    };
    const base = {...still, element: joint, at: origin, damping: rub('damping'), friction: rub('friction')};
    switch (type) {
      case 'fixed':
        return [];
      case 'floating':
        return [{...base, name, kind: 'free', axis}];
      case 'planar': {
        if (bounds !== undefined && reader.number(bounds, 'lower', 0) !== reader.number(bounds, 'upper', 0))
          reader.unsupported(bounds, 'the limit of a planar joint');
        // Along x and y as the shortest turn of z to the axis leaves them, which is what MuJoCo does.
        const [e, f, g] = ([[1, 0, 0], [0, 1, 0], [0, 0, 1]] as const).map(unit => turned(alongZ(axis), unit)); // prettier-ignore
        return [
          {...base, name: `${name} x`, kind: 'slide', axis: e},
          {...base, name: `${name} y`, kind: 'slide', axis: f},
          {...base, name: `${name} angle`, kind: 'turn', axis: g},
        ];
      }
      case 'continuous':
        return [{...base, name, kind: 'turn', axis}];
      default: {
        const limit = bounds ?? reader.fail(joint, `a ${type} joint must have a <limit>.`);
        const range = [reader.number(limit, 'lower', 0), reader.number(limit, 'upper', 0)] as const;
        // Files without bounds leave both out, or give zero twice.
        const bounded = range[0] < range[1];
        if (range[0] > range[1]) reader.fail(limit, 'lower is greater than upper.');
        return [
          {...base, name, kind: type === 'revolute' ? 'turn' : 'slide', axis, range: bounded ? range : undefined},
        ];
      }
    }
  }

  private solid(visual: Element): Solid[] {
    const {reader} = this;
    const shape = one(visual, 'geometry')?.children[0] ?? reader.fail(visual, '<visual> has no geometry.');
    const material = one(visual, 'material');
    const colours = this.root.children.filter(
      ({tag, attributes}) => tag === 'material' && attributes.name === material?.attributes.name,
    );
    const colour = [material, ...colours]
      .map(element => element && one(element, 'color'))
      .find(found => found !== undefined);
    const rgba = colour === undefined ? undefined : reader.numbers(colour, 'rgba', 4);
    const place = this.place(visual);
    const as = (kind: Solid['kind'], size: number[]): Solid[] => [{kind, size, place, colour: rgba}];
    switch (shape.tag) {
      case 'box':
        return as(
          'box',
          (reader.vector(shape, 'size') ?? reader.fail(shape, '<box> has no size.')).map(x => x / 2),
        );
      case 'sphere':
        return as('sphere', [reader.number(shape, 'radius', 0)]);
      case 'cylinder':
      case 'capsule':
        return as(shape.tag, [reader.number(shape, 'radius', 0), reader.number(shape, 'length', 0) / 2]);
      default:
        reader.note(shape, `<${shape.tag}> is not drawn`);
        return [];
    }
  }
}
