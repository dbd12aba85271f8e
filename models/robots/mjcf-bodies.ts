/** Bodies of an MJCF file: frames, inertias, joints and geoms, with MuJoCo's rules and default values. */
import {principalMoments} from '../multibody/inertia.js';
import {identity, minus, norm, origin, plus, scaled, turned, type Q4, type V3} from '../multibody/numbers.js';
import {world, type Freedom, type Link, type M3, type Place, type Solid, type Weight} from './description.js';
import {orientationOf, orientations, type Compiler, type Defaults} from './mjcf-settings.js';
import {aboutAxis, alongZ, fromEuler, fromXY, here, moved, principal, together, unit, within} from './rotations.js';
import {weightOf} from './solids.js';
import {FreeNames, namesWithin, type Element, type FileReader} from './xml.js';

/** Attributes that do not affect the motion. */
const harmless = ['name', 'class', 'group', 'user', 'rgba', 'material'];

export class BodyReader {
  readonly links: Link[] = [];
  private collide = true;
  private bodyNames = new FreeNames([]);
  private jointNames = new FreeNames([]);
  private fields: readonly Element[] = [];
  constructor(
    private readonly reader: FileReader,
    private readonly compiler: Compiler,
    private readonly defaults: Defaults,
  ) {}

  readWorld(root: Element): readonly Link[] {
    const worlds = root.children.filter(({tag}) => tag === 'worldbody');
    if (worlds.length === 0) this.reader.fail(root, '<mujoco> has no <worldbody>.');
    for (const one of worlds) this.reader.expect(one, []);
    const children = worlds.flatMap(element => element.children);
    this.bodyNames = new FreeNames(worlds.flatMap(one => namesWithin(one, ['body'])));
    this.jointNames = new FreeNames(worlds.flatMap(one => namesWithin(one, ['joint', 'freejoint'])));
    const assets = root.children.filter(({tag}) => tag === 'asset').flatMap(asset => asset.children);
    this.fields = assets.filter(({tag}) => tag === 'hfield');
    this.body({...worlds[0], children}, undefined, here, undefined, world);
    const {totalMass} = this.compiler;
    if (!(totalMass > 0)) return this.links;
    const sum = this.links.reduce((all, {weights}) => all + weights.reduce((s, {mass}) => s + mass, 0), 0);
    return this.links.map(link => ({...link, weights: link.weights.map(weight => heavier(weight, totalMass / sum))}));
  }

  private body(
    element: Element,
    parent: number | undefined,
    place: Place,
    around: string | undefined,
    name: string,
  ): void {
    const number = this.links.length;
    const [weights, freedoms, solids]: [Weight[], Freedom[], Solid[]] = [[], [], []];
    const own: Link = {name, element, parent, place, weights, freedoms, solids};
    this.links.push(own);
    const inertials: Weight[] = [];
    let meshes: Element | undefined;
    const inner: (() => void)[] = [];
    const visit = (children: readonly Element[], frame: Place, style: string | undefined): void => {
      for (const child of children)
        switch (child.tag) {
          case 'body': {
            this.reader.expect(
              child,
              ['name', 'pos', 'childclass', 'mocap', 'gravcomp', 'sleep', ...orientations],
              ['user'],
            );
            if (child.attributes.sleep === 'init') this.reader.unsupported(child, 'sleep="init"');
            if (this.reader.word(child, 'mocap', ['true', 'false'], 'false') === 'true')
              this.reader.unsupported(child, 'a mocap body');
            if (this.reader.number(child, 'gravcomp', 0) !== 0) this.reader.unsupported(child, 'gravcomp');
            const there = within(frame, this.place(child));
            const called = child.attributes.name ?? this.bodyNames.next(`body at line ${child.line}`);
            inner.push(() => this.body(child, number, there, child.attributes.childclass ?? style, called));
            break;
          }
          case 'frame':
            this.reader.expect(child, ['name', 'pos', 'childclass', ...orientations]);
            visit(child.children, within(frame, this.place(child)), child.attributes.childclass ?? style);
            break;
          case 'inertial':
            if (inertials.length > 0) this.reader.fail(child, `body ${name} has two of <inertial>.`);
            inertials.push(moved(frame, this.inertial(child)));
            break;
          case 'joint':
          case 'freejoint':
            if (parent === undefined) this.reader.fail(child, '<worldbody> cannot have joints.');
            freedoms.push(this.joint(child, frame, style, `${name} joint ${freedoms.length + 1}`));
            break;
          case 'geom': {
            const geom = this.geom(this.defaults.complete(child, style), frame);
            if (geom === undefined) meshes ??= child;
            else {
              if (geom.solid !== undefined) solids.push(geom.solid);
              weights.push(geom.weight);
            }
            break;
          }
          case 'site':
          case 'camera':
          case 'light':
            break;
          default:
            this.reader.unsupported(child, `<${child.tag}>`);
        }
    };
    visit(element.children, here, around);
    this.settle(own, weights, inertials, meshes);
    for (const read of inner) read();
  }

  /** Whether the inertia comes from the geoms or is given, and its bounds. */
  private settle(
    {element, parent}: Link,
    weights: Weight[],
    inertials: readonly Weight[],
    meshes: Element | undefined,
  ): void {
    const {inertiaFromGeom, boundMass, boundInertia, balance} = this.compiler;
    const told = inertiaFromGeom !== 'true' && inertials.length > 0;
    if (!told && meshes !== undefined && inertiaFromGeom !== 'false')
      this.reader.unsupported(meshes, 'a mesh that defines the inertia of its body');
    if (told) weights.splice(0, weights.length, ...inertials);
    else if (inertiaFromGeom === 'false') weights.length = 0;
    if (parent === undefined) weights.length = 0;
    else if (boundMass > 0 || boundInertia > 0 || balance) {
      const whole = together(weights) ?? weights.find(({inertia}) => inertia !== none);
      // MuJoCo gives it the least mass, but at a point that depends on the body that carries it.
      if (whole === undefined)
        return boundMass > 0 || boundInertia > 0
          ? this.reader.unsupported(element, 'bounds of a body without geoms and inertial')
          : undefined;
      const mass = Math.max(whole.mass, boundMass);
      const [least, middle, greatest] = principalMoments(whole.inertia);
      const holds = least >= boundInertia && !(balance && greatest > least + middle);
      const plain = whole.inertia.every((row, i) => row.every((x, j) => i === j || x === 0));
      if (!holds && !plain) return this.reader.unsupported(element, 'bounds of an inertia that is not diagonal');
      let moments = whole.inertia.map((row, i) => Math.max(row[i], boundInertia)) as unknown as V3;
      const sum = moments[0] + moments[1] + moments[2];
      if (balance && moments.some(x => 2 * x > sum)) moments = [sum / 3, sum / 3, sum / 3];
      const bounded = holds ? {...whole, mass} : principal(mass, moments, {position: whole.centre, rotation: identity});
      weights.splice(0, weights.length, ...(mass > 0 ? [bounded] : []));
    }
    return undefined;
  }

  private rotation(element: Element): Q4 {
    const {reader} = this;
    orientationOf(element, reader);
    const {degree, sequence} = this.compiler;
    const quat = reader.numbers(element, 'quat', 4);
    if (quat !== undefined) return unit(quat as unknown as Q4);
    const turn = reader.numbers(element, 'axisangle', 4);
    if (turn !== undefined) return aboutAxis([turn[0], turn[1], turn[2]], turn[3] * degree);
    const axes = reader.numbers(element, 'xyaxes', 6);
    if (axes !== undefined) return fromXY([axes[0], axes[1], axes[2]], [axes[3], axes[4], axes[5]]);
    const z = reader.vector(element, 'zaxis');
    if (z !== undefined) return alongZ(z);
    const angles = reader.vector(element, 'euler');
    return angles === undefined
      ? identity
      : fromEuler(
          angles.map(x => x * degree),
          sequence,
        );
  }
  private place(element: Element): Place {
    return {position: this.reader.vector(element, 'pos') ?? origin, rotation: this.rotation(element)};
  }

  private inertial(element: Element): Weight {
    const {reader} = this;
    reader.expect(element, ['pos', 'mass', 'diaginertia', 'fullinertia', ...orientations]);
    for (const name of ['mass', 'pos']) reader.required(element, name);
    const mass = reader.number(element, 'mass', 0);
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
    const moments = reader.vector(element, 'diaginertia');
    if (moments === undefined) return reader.fail(element, '<inertial> has neither diaginertia nor fullinertia.');
    return principal(mass, moments, place);
  }

  private joint(given: Element, frame: Place, around: string | undefined, otherwise: string): Freedom {
    const {reader} = this;
    const freed = given.tag === 'freejoint';
    const element = freed ? given : this.defaults.complete(given, around);
    const ignored = ['solreflimit', 'solimplimit', 'solreffriction', 'solimpfriction', 'actuatorfrclimited', 'actuatorgravcomp', 'align', ...harmless]; // prettier-ignore
    reader.expect(element, ['type', 'pos', 'axis', 'stiffness', 'damping', 'frictionloss', 'armature', 'range', 'limited', 'margin', 'ref', 'springref'], ignored); // prettier-ignore
    if (reader.word(element, 'align', ['true', 'false', 'auto'], 'auto') === 'true')
      reader.unsupported(element, 'align="true"');
    const type = freed ? 'free' : reader.word(element, 'type', ['hinge', 'slide', 'ball', 'free'], 'hinge');
    const angular = type === 'hinge' || type === 'ball' ? this.compiler.degree : 1;
    // A free joint has no limit, whatever its default class says.
    const range = type === 'free' ? undefined : this.range(element, 'range', 'limited');
    const stiffness = reader.number(element, 'stiffness', 0);
    if (type === 'ball' && range !== undefined) reader.unsupported(element, 'the limit of a ball joint');
    if ((type === 'ball' || type === 'free') && stiffness !== 0)
      reader.unsupported(element, `stiffness of a ${type} joint`);
    const axis = reader.vector(element, 'axis') ?? [0, 0, 1];
    if ((type === 'hinge' || type === 'slide') && norm(axis) === 0) reader.fail(element, 'axis must not be zero.');
    const reference = reader.number(element, 'ref', 0) * angular;
    const scalar = type === 'hinge' || type === 'slide';
    // MuJoCo holds a joint by its margin within its range, in radians for all files.
    const margin = reader.number(element, 'margin', 0);
    const bounds = range && ([range[0] * angular + margin, range[1] * angular - margin] as const);
    if (scalar && bounds !== undefined && !(bounds[0] < bounds[1]))
      reader.fail(element, `margin ${margin} leaves nothing of the range.`);
    return {
      name: element.attributes.name ?? this.jointNames.next(otherwise),
      element,
      kind: type === 'hinge' ? 'turn' : type,
      axis: turned(frame.rotation, axis),
      at:
        type === 'free'
          ? origin
          : plus(frame.position, turned(frame.rotation, reader.vector(element, 'pos') ?? origin)),
      reference: scalar ? reference : 0,
      range: scalar ? bounds : undefined,
      armature: reader.number(element, 'armature', 0),
      damping: reader.number(element, 'damping', 0),
      friction: reader.number(element, 'frictionloss', 0),
      stiffness: scalar ? stiffness : 0,
      rest: reader.number(element, 'springref', 0) * angular,
    };
  }

  /** A range, if it applies: if `limited` says so, or with autolimits wherever one is given. */
  range(element: Element, name: string, limited: string): readonly [number, number] | undefined {
    const range = this.reader.numbers(element, name, 2);
    const held = this.reader.word(element, limited, ['true', 'false', 'auto', '1', '0'], 'auto');
    const holds = held === 'auto' ? range !== undefined : held === 'true' || held === '1';
    if (held === 'auto' && range !== undefined && !this.compiler.autolimits)
      this.reader.fail(element, `${name} is given without ${limited}, and autolimits is off.`);
    if (!holds) return undefined;
    if (range === undefined || !(range[0] < range[1]))
      return this.reader.fail(element, `${name} must be two numbers, the smaller first.`);
    return [range[0], range[1]];
  }

  private geom(element: Element, frame: Place): {readonly solid?: Solid; readonly weight: Weight} | undefined {
    const {reader} = this;
    const ignored = ['contype', 'conaffinity', 'condim', 'priority', 'friction', 'solmix', 'solref', 'solimp', 'margin', 'gap', 'hfield', 'mesh', 'fitscale', ...harmless]; // prettier-ignore
    reader.expect(element, ['type', 'size', 'pos', 'fromto', 'mass', 'density', ...orientations], ignored);
    const kinds = ['sphere', 'capsule', 'cylinder', 'box', 'ellipsoid', 'plane', 'mesh', 'hfield', 'sdf'] as const;
    const kind = reader.word(element, 'type', kinds, element.attributes.mesh === undefined ? 'sphere' : 'mesh');
    if (this.collide && element.attributes.contype !== '0') {
      this.collide = false;
      reader.note(
        element,
        'geoms do not collide: they only define mass and shapes; for contacts use contact() of stiffgrad/models',
      );
    }
    // A solid with a mesh has the size that fits the mesh.
    if (kind === 'mesh' || kind === 'sdf' || element.attributes.mesh !== undefined) return undefined;
    const mass = reader.number(element, 'mass', undefined);
    const given = mass === undefined ? {density: reader.number(element, 'density', 1000)} : {mass};
    if (kind === 'hfield') {
      reader.note(element, 'a height field, which is not drawn');
      const box: Solid = {
        kind: 'box',
        size: this.fieldBox(element),
        place: within(frame, this.place(element)),
        colour: undefined,
      };
      return {weight: weightOf(box, given)};
    }
    const ends = reader.numbers(element, 'fromto', 6);
    const sizes = {sphere: 1, capsule: 2, cylinder: 2, box: 3, ellipsoid: 3, plane: 3}[kind];
    if (ends !== undefined && (kind === 'sphere' || kind === 'plane')) reader.fail(element, `a ${kind} has no fromto.`);
    if (ends !== undefined && norm(reader.vector(element, 'pos') ?? [0, 0, 0]) > 0)
      reader.fail(element, '<geom> cannot have both fromto and pos.');
    const size = reader.numbers(element, 'size', 1, 3) ?? reader.fail(element, '<geom> has no size.');
    let place = this.place(element);
    if (ends !== undefined) {
      const [from, to]: [V3, V3] = [
        [ends[0], ends[1], ends[2]],
        [ends[3], ends[4], ends[5]],
      ];
      const along = minus(to, from);
      place = {position: scaled(0.5, plus(from, to)), rotation: alongZ(scaled(-1, along))};
      // The first size alone is read: boxes and ellipsoids are as wide across as that.
      size.splice(0, size.length, ...(sizes === 3 ? [size[0], size[0]] : [size[0]]), norm(along) / 2);
    }
    if (kind !== 'plane' && (size.length < sizes || size.slice(0, sizes).some(x => !(x > 0))))
      reader.fail(element, `size of a ${kind} must be ${sizes} positive number${sizes > 1 ? 's' : ''}.`);
    const colour = reader.numbers(element, 'rgba', 4);
    const solid: Solid = {kind, size: size.slice(0, sizes), place: within(frame, place), colour};
    return {solid, weight: weightOf(solid, given)};
  }

  /**
   * Half edges of the box whose mass and inertia MuJoCo gives a height field, whatever its elevations: as high as half of
   * the greatest elevation and the base.
   */
  private fieldBox(element: Element): V3 {
    const {reader} = this;
    const name = reader.required(element, 'hfield');
    const field =
      this.fields.find(one => fieldName(one) === name) ?? reader.fail(element, `there is no height field ${name}.`);
    const [x, y, elevation, base] =
      reader.numbers(field, 'size', 4) ?? reader.fail(field, `height field ${name} has no size.`);
    return [x, y, elevation / 4 + base / 2];
  }
}

/** A height field without a name has that of its file, without folder and extension. */
const fieldName = ({attributes: {name, file = ''}}: Element): string =>
  name ?? file.replace(/^.*[\\/]/, '').replace(/\.[^.]*$/, '');

const none: M3 = [origin, origin, origin];

const heavier = ({mass, centre, inertia}: Weight, by: number): Weight => ({
  mass: mass * by,
  centre,
  inertia: inertia.map(row => scaled(by, row)) as unknown as M3,
});
