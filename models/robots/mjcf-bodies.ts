/** Bodies of an MJCF file: frames, inertias, joints and geoms, with MuJoCo's rules and default values. */
import {principalMoments} from '../multibody/inertia.js';
import {identity, minus, norm, origin, outer, plus, scaled, turned, type Q4, type V3} from '../multibody/numbers.js';
import {
  still,
  world,
  type LinkFreedom,
  type Link,
  type M3,
  type LinkPose,
  type Solid,
  type Weight,
} from './description.js';
import {known} from './mjcf-attributes.js';
import {orientationOf, orientations, type Compiler, type Defaults, type MjcfOptionElement} from './mjcf-settings.js';
import {
  aboutAxis,
  alongZ,
  fromEuler,
  fromXY,
  here,
  isDiagonal,
  moved,
  principal,
  together,
  unit,
  within,
} from './rotations.js';
import {weightOf} from './solids.js';
import {FreeNames, namesWithin, notNegative, positive, type ParsedElement, type FileReader} from './xml.js';

/** An element of a body, with the frame and the default class in which it stands. */
interface Part {
  readonly element: ParsedElement;
  readonly frame: LinkPose;
  readonly style: string | undefined;
}

/** A geom with its defaults. */
interface Geom {
  readonly element: ParsedElement;
  readonly frame: LinkPose;
  readonly solid: Solid | undefined;
}

export class BodyReader {
  readonly links: Link[] = [];
  private collide = true;
  private bodyNames = new FreeNames([]);
  private jointNames = new FreeNames([]);
  private fields: readonly ParsedElement[] = [];
  constructor(
    private readonly reader: FileReader,
    private readonly compiler: Compiler,
    private readonly options: MjcfOptionElement,
    private readonly defaults: Defaults,
    private readonly limits: boolean,
  ) {}

  readWorld(root: ParsedElement): readonly Link[] {
    const worlds = root.children.filter(({tag}) => tag === 'worldbody');
    if (worlds.length === 0) this.reader.fail(root, '<mujoco> has no <worldbody>.');
    for (const one of worlds) this.reader.expect(one, '');
    const children = worlds.flatMap(element => element.children);
    this.bodyNames = new FreeNames(worlds.flatMap(one => namesWithin(one, ['body'])));
    this.jointNames = new FreeNames(worlds.flatMap(one => namesWithin(one, ['joint', 'freejoint'])));
    const assets = root.children.filter(({tag}) => tag === 'asset').flatMap(asset => asset.children);
    this.fields = assets.filter(({tag}) => tag === 'hfield');
    this.body({...worlds[0], children}, undefined, here, undefined, world, false);
    const {totalMass} = this.compiler;
    if (!(totalMass > 0)) return this.links;
    const sum = this.links.reduce((all, {weights}) => all + weights.reduce((s, {mass}) => s + mass, 0), 0);
    return this.links.map(link => ({...link, weights: link.weights.map(weight => heavier(weight, totalMass / sum))}));
  }

  /** @param carried whether the body that carries it moves */
  private body(
    element: ParsedElement,
    parent: number | undefined,
    place: LinkPose,
    around: string | undefined,
    name: string,
    carried: boolean,
  ): void {
    const {reader, defaults, compiler} = this;
    const number = this.links.length;
    const parts = this.parts(element, here, around);
    const of = (...tags: string[]): Part[] => parts.filter(part => tags.includes(part.element.tag));
    for (const {element: odd} of parts)
      if (!['body', 'inertial', 'joint', 'freejoint', 'geom', 'site', 'camera', 'light'].includes(odd.tag))
        reader.unsupported(odd, `<${odd.tag}>`);
    const joints = of('joint', 'freejoint');
    if (parent === undefined && joints.length > 0) reader.fail(joints[0].element, '<worldbody> cannot have joints.');
    const freedoms = joints.map((joint, i) => this.joint(joint, `${name} joint ${i + 1}`));
    const moves = carried || freedoms.length > 0;
    if (moves && norm(this.options.gravity) > 0 && reader.number(element, 'gravcomp', 0) !== 0)
      reader.unsupported(element, 'gravcomp');
    const geoms = of('geom').map(({element: given, frame, style}): Geom => {
      const geom = defaults.complete(given, style);
      return {element: geom, frame, solid: this.solid(geom, frame)};
    });
    const solids = geoms.flatMap(({element: geom, solid}) => {
      if (solid?.kind === 'plane' && moves) reader.fail(geom, `a plane cannot be on body ${name}, which moves.`);
      return solid ?? [];
    });
    // The mass of what does not move acts on the total mass alone.
    const weighs = moves || (parent !== undefined && compiler.totalMass > 0);
    const weights = weighs ? this.weights(element, of('inertial'), geoms, name) : [];
    // MuJoCo leaves these out where it merges bodies, which depends on what refers to them.
    const weightless = weights.every(({mass}) => mass === 0);
    if (compiler.fuses && weights.length > 0 && freedoms.length === 0 && (!moves || weightless)) {
      const also = moves ? ' and an inertia without mass' : ', settotalmass and a static body that has a mass';
      reader.unsupported(element, `fusestatic${also}`);
    }
    this.links.push({name, element, parent, place, weights, freedoms, solids});
    for (const {element: child, frame, style} of of('body')) {
      reader.expect(child, known.body);
      if (child.attributes.sleep === 'init') reader.unsupported(child, 'sleep="init"');
      if (reader.word(child, 'mocap', ['true', 'false'], 'false') === 'true') reader.unsupported(child, 'a mocap body');
      const called = child.attributes.name ?? this.bodyNames.next(`body at line ${child.line}`);
      this.body(child, number, within(frame, this.place(child)), child.attributes.childclass ?? style, called, moves);
    }
  }

  /** Elements of a body, in its frames and outside them. */
  private parts({children}: ParsedElement, frame: LinkPose, style: string | undefined): Part[] {
    return children.flatMap(element => {
      if (element.tag !== 'frame') return [{element, frame, style}];
      this.reader.expect(element, known.frame);
      return this.parts(element, within(frame, this.place(element)), element.attributes.childclass ?? style);
    });
  }

  /** The inertia that is given or comes from the geoms, at least as large as the compiler's bounds. */
  private weights(body: ParsedElement, inertials: readonly Part[], geoms: readonly Geom[], name: string): Weight[] {
    const {reader} = this;
    const {inertiaFromGeom, boundMass, boundInertia} = this.compiler;
    const [given, second] = inertials;
    if (second !== undefined) reader.fail(second.element, `body ${name} has two of <inertial>.`);
    const grouped = (): readonly Geom[] => {
      const [first, last] = this.compiler.groups;
      const group = (element: ParsedElement): number => reader.number(element, 'group', 0);
      return geoms.filter(({element}) => group(element) >= first && group(element) <= last);
    };
    const explicit = given !== undefined && (inertiaFromGeom !== 'true' || grouped().length === 0);
    const weights = explicit
      ? [moved(given.frame, this.inertial(given.element))]
      : inertiaFromGeom === 'false'
        ? []
        : grouped().flatMap(geom => this.weight(geom));
    if (!(boundMass > 0 || boundInertia > 0)) return weights;
    const whole = together(weights) ?? weights[0];
    // MuJoCo gives it the least mass, but at a point that depends on the body that carries it.
    if (whole === undefined) reader.unsupported(body, 'bounds of a body without geoms and inertial');
    if (whole === undefined) return weights;
    const mass = Math.max(whole.mass, boundMass);
    if (principalMoments(whole.inertia)[0] >= boundInertia) return mass > 0 ? [{...whole, mass}] : [];
    const moments = whole.inertia.map((row, i) => Math.max(row[i], boundInertia)) as unknown as V3;
    if (!isDiagonal(whole.inertia)) reader.unsupported(body, 'bounds of an inertia that is not diagonal');
    return mass > 0 ? [principal(mass, moments, {position: whole.centre, rotation: identity})] : [];
  }

  private weight({element: geom, frame, solid: drawn}: Geom): Weight[] {
    const {reader} = this;
    const mass = reader.number(geom, 'mass', undefined, notNegative);
    const density = mass === undefined ? reader.number(geom, 'density', 1000, notNegative) : 0;
    if (mass === undefined ? density === 0 : mass === 0) return [];
    if (reader.word(geom, 'shellinertia', ['true', 'false'], 'false') === 'true')
      reader.unsupported(geom, 'shellinertia="true"');
    const solid = geom.attributes.type === 'hfield' ? this.fieldBox(geom, frame) : drawn;
    if (solid === undefined) reader.unsupported(geom, 'a mesh that defines the inertia of its body');
    return solid === undefined ? [] : [weightOf(solid, mass === undefined ? {density} : {mass})];
  }

  private rotation(element: ParsedElement): Q4 {
    const {reader} = this;
    const kind = orientationOf(element, reader);
    if (kind === undefined) return identity;
    const numbers = (count: number): number[] => reader.numbers(element, kind, count) as number[];
    const direct = (axis: readonly number[]): V3 =>
      Math.hypot(...axis) >= 1e-10 ? (axis as unknown as V3) : reader.refuse(element, kind, 'must not be zero');
    switch (kind) {
      case 'axisangle': {
        const [x, y, z, angle] = numbers(4);
        return aboutAxis(direct([x, y, z]), angle * this.compiler.degree);
      }
      case 'xyaxes': {
        const [x, y] = [numbers(6).slice(0, 3), numbers(6).slice(3)].map(direct);
        if (!(norm(outer(x, y)) > 1e-10 * norm(x) * norm(y))) reader.refuse(element, kind, 'must be two directions');
        return fromXY(x, y);
      }
      case 'zaxis':
        return alongZ(direct(numbers(3)));
      case 'euler':
        return fromEuler(
          numbers(3).map(x => x * this.compiler.degree),
          this.compiler.sequence,
        );
      default:
        direct(numbers(4));
        return unit(numbers(4) as unknown as Q4);
    }
  }
  private place(element: ParsedElement): LinkPose {
    return {position: this.reader.vector(element, 'pos'), rotation: this.rotation(element)};
  }

  private inertial(element: ParsedElement): Weight {
    const {reader} = this;
    reader.expect(element, known.inertial);
    reader.required(element, 'pos');
    const mass = reader.requiredNumber(element, 'mass', notNegative);
    const place = this.place(element);
    const full = reader.numbers(element, 'fullinertia', 6);
    if (full !== undefined) {
      const other = ['diaginertia', ...orientations].find(name => element.attributes[name] !== undefined);
      if (other !== undefined) reader.fail(element, `<inertial> cannot have both fullinertia and ${other}.`);
      const [xx, yy, zz, xy, xz, yz] = full;
      const inertia: M3 = [
        [xx, xy, xz],
        [xy, yy, yz],
        [xz, yz, zz],
      ];
      return moved(place, {mass, centre: origin, inertia});
    }
    if (element.attributes.diaginertia === undefined)
      reader.fail(element, '<inertial> has neither diaginertia nor fullinertia.');
    return principal(mass, reader.vector(element, 'diaginertia'), place);
  }

  private joint({element: given, frame, style}: Part, otherwise: string): LinkFreedom {
    const {reader, compiler, options} = this;
    const freed = given.tag === 'freejoint';
    const element = freed ? given : this.defaults.complete(given, style);
    reader.expect(element, freed ? known.freejoint : known.joint);
    const type = freed ? 'free' : reader.word(element, 'type', ['hinge', 'slide', 'ball', 'free'], 'hinge');
    const list = (name: string): readonly number[] => reader.numbers(element, name, 1, 3) ?? [0];
    const stiffness = options.acts('spring') ? list('stiffness') : [0];
    const common: LinkFreedom = {
      ...still,
      name: element.attributes.name ?? this.jointNames.next(otherwise),
      element,
      kind: type === 'hinge' ? 'turn' : type,
      axis: [0, 0, 1],
      at: origin,
      armature: reader.number(element, 'armature', 0, notNegative),
      damping: options.acts('damper') ? list('damping') : [0],
      friction: options.acts('frictionloss') ? reader.number(element, 'frictionloss', 0) : 0,
    };
    const at = (): V3 => plus(frame.position, turned(frame.rotation, reader.vector(element, 'pos')));
    if ((type === 'ball' || type === 'free') && stiffness.some(x => x !== 0))
      reader.unsupported(element, `stiffness of a ${type} joint`);
    // MuJoCo takes spring and damper from these where both are given.
    if (reader.numbers(element, 'springdamper', 2)?.some(x => x !== 0) === true)
      reader.unsupported(element, 'attribute springdamper of <joint>');
    if (type === 'free') {
      const align = freed ? reader.word(element, 'align', ['true', 'false', 'auto'], 'auto') : 'auto';
      if (align === 'true' || (align === 'auto' && compiler.aligns)) reader.unsupported(element, 'align="true"');
      return common;
    }
    const limited = this.limits && options.acts('limit');
    // The unit of angles is read where there are any.
    const inRadians = (x: number): number => (type === 'slide' || x === 0 ? x : x * compiler.degree);
    if (type === 'ball') {
      if (limited && this.range(element, 'range', 'limited') !== undefined)
        reader.unsupported(element, 'the limit of a ball joint');
      return {...common, at: at()};
    }
    return {
      ...common,
      axis: turned(frame.rotation, reader.direction(element, 'axis', [0, 0, 1])),
      // A slide moves all points alike.
      at: type === 'slide' ? origin : at(),
      reference: inRadians(reader.number(element, 'ref', 0)),
      range: limited ? this.stops(element, inRadians) : undefined,
      effort: this.range(element, 'actuatorfrcrange', 'actuatorfrclimited'),
      stiffness,
      rest: stiffness.some(x => x !== 0) ? inRadians(reader.number(element, 'springref', 0)) : 0,
    };
  }

  /** Limits of the joint: MuJoCo holds it by its margin within its range, in radians for all files. */
  private stops(element: ParsedElement, inRadians: (x: number) => number): readonly [number, number] | undefined {
    const {reader} = this;
    const range = this.range(element, 'range', 'limited');
    if (range === undefined) return undefined;
    const margin = reader.number(element, 'margin', 0);
    const [low, high] = range.map(inRadians);
    if (margin < (high - low) / 2) return [low + margin, high - margin];
    reader.note(element, 'the joint is held in the middle of its range, as its margin is the larger');
    // Two stops need a distance.
    return [-0.5e-9, 0.5e-9].map(x => (low + high) / 2 + x * (high - low)) as [number, number];
  }

  /**
   * A range, if it applies: if `limited` says so, or with autolimits wherever one is given whose first number is the
   * smaller.
   */
  range(element: ParsedElement, name: string, limited: string): readonly [number, number] | undefined {
    const {reader} = this;
    const held = reader.word(element, limited, ['true', 'false', 'auto', '1', '0'], 'auto');
    if (held === 'false' || held === '0') return undefined;
    const text = element.attributes[name] ?? '';
    const [low, high] = (text.trim() === '' ? undefined : reader.numbers(element, name, 2)) ?? [0, 0];
    if (held === 'auto' && (low !== 0 || high !== 0) && !this.compiler.autolimits)
      reader.fail(element, `${name} is given without ${limited}, and autolimits is off.`);
    if (low < high) return [low, high];
    if (held !== 'auto' && text === '')
      reader.fail(element, `<${element.tag}> has ${limited}="${held}" and no ${name}.`);
    if (held !== 'auto') reader.refuse(element, name, 'must be two numbers, the smaller first');
    if (low !== 0 || high !== 0)
      reader.note(element, `${name}="${text}" is no limit: the smaller number is not the first`);
    return undefined;
  }

  /** The shape of a geom in its body; undefined for height fields, meshes, and what has the size that fits a mesh. */
  private solid(element: ParsedElement, frame: LinkPose): Solid | undefined {
    const {reader} = this;
    reader.expect(element, known.geom);
    const kinds = ['sphere', 'capsule', 'cylinder', 'box', 'ellipsoid', 'plane', 'mesh', 'hfield', 'sdf'] as const;
    const kind = reader.word(element, 'type', kinds, element.attributes.mesh === undefined ? 'sphere' : 'mesh');
    if (this.collide && element.attributes.contype !== '0') {
      this.collide = false;
      reader.note(
        element,
        'geoms do not collide: they only define mass and shapes; for contacts use contact() of stiffgrad/models',
      );
    }
    if (kind === 'hfield') reader.note(element, 'a height field, which is not drawn');
    if (kind === 'mesh' || kind === 'sdf' || kind === 'hfield' || element.attributes.mesh !== undefined)
      return undefined;
    const colour = reader.numbers(element, 'rgba', 4);
    const sizes = {sphere: 1, capsule: 2, cylinder: 2, box: 3, ellipsoid: 3, plane: 3}[kind];
    const ends = reader.numbers(element, 'fromto', 6);
    const sized = (count: number): number[] => {
      const size = reader.numbers(element, 'size', 1, 3) ?? reader.fail(element, '<geom> has no size.');
      // The first two numbers of a plane are for pictures, and zero where it has no end.
      const holds = kind === 'plane' ? size[2] > 0 : size.length >= count && size.slice(0, count).every(positive.holds);
      const needs =
        kind === 'plane' ? 'three numbers, the last one positive' : `${count} positive number${count > 1 ? 's' : ''}`;
      return holds ? size.slice(0, count) : reader.refuse(element, 'size', `must be ${needs} for a ${kind}`);
    };
    if (ends === undefined) return {kind, size: sized(sizes), place: within(frame, this.place(element)), colour};
    if (kind === 'sphere' || kind === 'plane') return reader.fail(element, `a ${kind} has no fromto.`);
    if (norm(reader.vector(element, 'pos')) > 0) reader.fail(element, '<geom> cannot have both fromto and pos.');
    const [from, to] = [ends.slice(0, 3), ends.slice(3)] as unknown as [V3, V3];
    const along = minus(to, from);
    if (!(norm(along) > 0)) reader.refuse(element, 'fromto', 'must be two points');
    const place = {position: scaled(0.5, plus(from, to)), rotation: alongZ(scaled(-1, along))};
    // The first size alone is read: boxes and ellipsoids are as wide across as that.
    const [width] = sized(1);
    const size = [...(sizes === 3 ? [width, width] : [width]), norm(along) / 2];
    return {kind, size, place: within(frame, place), colour};
  }

  /** The box by which a height field weighs in MuJoCo: as high as half of the greatest elevation and the base. */
  private fieldBox(element: ParsedElement, frame: LinkPose): Solid {
    const {reader} = this;
    const name = reader.required(element, 'hfield');
    const field =
      this.fields.find(one => fieldName(one) === name) ?? reader.fail(element, `there is no height field ${name}.`);
    const [x, y, elevation, base] =
      reader.numbers(field, 'size', 4) ?? reader.fail(field, `height field ${name} has no size.`);
    const place = within(frame, this.place(element));
    return {kind: 'box', size: [x, y, elevation / 4 + base / 2], place, colour: undefined};
  }
}

/** A height field without a name has that of its file, without folder and extension. */
const fieldName = ({attributes: {name, file = ''}}: ParsedElement): string =>
  name ?? file.replace(/^.*[\\/]/, '').replace(/\.[^.]*$/, '');

const heavier = ({mass, centre, inertia}: Weight, by: number): Weight => ({
  mass: mass * by,
  centre,
  inertia: inertia.map(row => scaled(by, row)) as unknown as M3,
});
