/** Settings of an MJCF file: compiler, option, size and default classes. */
import type {V3} from '../multibody/numbers.js';
import type {Element, FileReader} from './xml.js';

/** How the file is read. */
export interface Compiler {
  /** Radians per unit of the file's angles. */
  readonly degree: number;
  readonly sequence: string;
  readonly autolimits: boolean;
  readonly inertiaFromGeom: 'false' | 'true' | 'auto';
  readonly boundMass: number;
  readonly boundInertia: number;
  readonly balance: boolean;
  readonly totalMass: number;
}

export function compilerOf(root: Element, reader: FileReader): Compiler {
  const merged = mergedOf(root, 'compiler');
  reader.expect(
    merged,
    ['angle', 'coordinate', 'eulerseq', 'autolimits', 'inertiafromgeom', 'boundmass', 'boundinertia', 'balanceinertia', 'settotalmass'], // prettier-ignore
    ['meshdir', 'texturedir', 'assetdir', 'strippath', 'discardvisual', 'usethread', 'convexhull', 'exactmeshinertia', 'fusestatic', 'saveinertial', 'conflict'], // prettier-ignore
  );
  if (merged.attributes.coordinate === 'global') reader.unsupported(merged, 'coordinate="global"');
  const sequence = merged.attributes.eulerseq ?? 'xyz';
  if (!/^[xyzXYZ]{3}$/.test(sequence)) reader.fail(merged, `eulerseq="${sequence}" must be three letters of x, y, z.`);
  const yes = (name: string, otherwise: 'true' | 'false'): boolean =>
    reader.word(merged, name, ['true', 'false'], otherwise) === 'true';
  return {
    degree: reader.word(merged, 'angle', ['degree', 'radian'], 'degree') === 'degree' ? Math.PI / 180 : 1,
    sequence,
    autolimits: yes('autolimits', 'true'),
    inertiaFromGeom: reader.word(merged, 'inertiafromgeom', ['false', 'true', 'auto'], 'auto'),
    boundMass: reader.number(merged, 'boundmass', 0),
    boundInertia: reader.number(merged, 'boundinertia', 0),
    balance: yes('balanceinertia', 'false'),
    totalMass: reader.number(merged, 'settotalmass', -1),
  };
}

/** A section may occur several times: later attributes replace earlier ones. */
const mergedOf = (root: Element, tag: string): Element =>
  root.children
    .filter(child => child.tag === tag)
    .reduce(
      (sum, child) => ({
        ...child,
        attributes: {...sum.attributes, ...child.attributes},
        children: [...sum.children, ...child.children],
      }),
      {
        tag,
        line: root.line,
        attributes: {},
        children: [] as readonly Element[],
      },
    );

/** Settings of MuJoCo's own solver, which this package does not use. */
const solver = ['timestep', 'apirate', 'impratio', 'tolerance', 'ls_tolerance', 'noslip_tolerance', 'ccd_tolerance', 'mpr_tolerance', 'o_margin', 'o_solref', 'o_solimp', 'o_friction', 'integrator', 'cone', 'jacobian', 'solver', 'iterations', 'ls_iterations', 'noslip_iterations', 'ccd_iterations', 'mpr_iterations', 'sdf_iterations', 'sdf_initpoints', 'sleep_tolerance', 'collision', 'magnetic', 'wind']; // prettier-ignore

/** Gravity; default 9.81 downwards. */
export function optionsOf(root: Element, reader: FileReader): {readonly gravity: V3} {
  const merged = mergedOf(root, 'option');
  reader.expect(merged, ['gravity', 'density', 'viscosity'], solver);
  for (const name of ['density', 'viscosity'])
    if (reader.number(merged, name, 0) !== 0) reader.unsupported(merged, `${name} of the medium`);
  let weightless = false;
  for (const flag of merged.children.filter(({tag}) => tag === 'flag')) {
    if (reader.word(flag, 'gravity', ['enable', 'disable'], 'enable') === 'disable') weightless = true;
    for (const name of [
      'constraint',
      'equality',
      'frictionloss',
      'limit',
      'passive',
      'spring',
      'damper',
      'clampctrl',
      'actuation',
    ])
      if (flag.attributes[name] === 'disable') reader.unsupported(flag, `flag ${name}="disable"`);
  }
  return {gravity: weightless ? [0, 0, 0] : (reader.vector(merged, 'gravity') ?? [0, 0, -9.81])};
}

/** Default classes: attributes by class and tag, including those inherited from enclosing classes. */
export class Defaults {
  private readonly classes = new Map<string, {readonly [tag: string]: {readonly [name: string]: string}}>();
  constructor(
    root: Element,
    private readonly reader: FileReader,
  ) {
    this.classes.set('main', {});
    for (const child of root.children.filter(({tag}) => tag === 'default')) this.read(child, 'main', true);
  }
  private read(element: Element, around: string, top: boolean): void {
    const name = element.attributes.class ?? (top ? 'main' : this.reader.required(element, 'class'));
    const tags: {[tag: string]: {readonly [name: string]: string}} = {...this.classes.get(around)};
    for (const {tag, attributes} of element.children) if (tag !== 'default') tags[tag] = {...tags[tag], ...attributes};
    this.classes.set(name, tags);
    if (top) this.classes.set('main', tags);
    for (const child of element.children) if (child.tag === 'default') this.read(child, name, false);
  }
  /** The element with the defaults of its class, or of the enclosing body's child class. */
  complete(element: Element, around: string | undefined, tags: readonly string[] = [element.tag]): Element {
    const name = element.attributes.class ?? around ?? 'main';
    const found = this.classes.get(name) ?? this.reader.fail(element, `there is no default class '${name}'.`);
    const given = tags.reduce<Element['attributes']>((sum, tag) => ({...sum, ...found[tag]}), {});
    return {...element, attributes: {...given, ...element.attributes}};
  }
}
