/** Settings of an MJCF file: compiler, option, size and default classes. */
import {origin, type V3} from '../multibody/numbers.js';
import {known} from './mjcf-attributes.js';
import {type ParsedElement, type FileReader} from './xml.js';

/** How the file is read. Each setting is read, and checked, where it acts. */
export interface Compiler {
  /** Radians per unit of the file's angles. */
  readonly degree: number;
  readonly sequence: string;
  readonly autolimits: boolean;
  readonly inertiaFromGeom: 'false' | 'true' | 'auto';
  /** Groups of the geoms that define inertias. */
  readonly groups: readonly number[];
  readonly boundMass: number;
  readonly boundInertia: number;
  readonly balance: boolean;
  readonly totalMass: number;
  /** Static bodies are merged with their parents, and leave the total mass where that is the world. */
  readonly fuses: boolean;
  /** Free bodies take the axes of their inertia. */
  readonly aligns: boolean;
}

export function compilerOf(root: ParsedElement, reader: FileReader): Compiler {
  const merged = mergedOf(root, 'compiler');
  reader.expect(merged, known.compiler);
  const yes = (name: string, otherwise: 'true' | 'false'): boolean =>
    reader.word(merged, name, ['true', 'false'], otherwise) === 'true';
  if (reader.word(merged, 'coordinate', ['local', 'global'], 'local') === 'global')
    reader.unsupported(merged, 'coordinate="global" of <compiler>');
  return {
    get degree() {
      return reader.word(merged, 'angle', ['degree', 'radian'], 'degree') === 'degree' ? Math.PI / 180 : 1;
    },
    get sequence() {
      const {eulerseq = 'xyz'} = merged.attributes;
      return /^[xyzXYZ]{3}$/.test(eulerseq)
        ? eulerseq
        : reader.refuse(merged, 'eulerseq', 'must be three letters of x, y, z');
    },
    get autolimits() {
      return yes('autolimits', 'true');
    },
    get inertiaFromGeom() {
      return reader.word(merged, 'inertiafromgeom', ['false', 'true', 'auto'], 'auto');
    },
    get groups() {
      return reader.numbers(merged, 'inertiagrouprange', 2) ?? [0, 5];
    },
    get boundMass() {
      return reader.number(merged, 'boundmass', 0);
    },
    get boundInertia() {
      return reader.number(merged, 'boundinertia', 0);
    },
    get balance() {
      return yes('balanceinertia', 'false');
    },
    get totalMass() {
      return reader.number(merged, 'settotalmass', -1);
    },
    get fuses() {
      return yes('fusestatic', 'false');
    },
    get aligns() {
      return yes('alignfree', 'false');
    },
  };
}

/** A section may occur several times: later attributes replace earlier ones. */
const mergedOf = (root: ParsedElement, tag: string): ParsedElement =>
  root.children
    .filter(child => child.tag === tag)
    .reduce(
      (sum, child) => ({
        ...child,
        attributes: {...sum.attributes, ...child.attributes},
        children: [...sum.children, ...child.children],
      }),
      {...root, tag, attributes: {}, children: [] as readonly ParsedElement[]},
    );

/** Flags by which MuJoCo leaves out forces of joints and equalities, and the flags that leave out several. */
const leaving: {readonly [flag: string]: readonly string[]} = {
  gravity: ['gravity'],
  equality: ['equality', 'constraint'],
  limit: ['limit', 'constraint'],
  frictionloss: ['frictionloss', 'constraint'],
  spring: ['spring', 'passive'],
  damper: ['damper', 'passive'],
  actuation: ['actuation'],
  clampctrl: ['clampctrl'],
};

/** Settings that act on the motion. */
export interface MjcfOptionElement {
  readonly gravity: V3;
  /** Whether flags leave that in: 'equality', 'limit', 'frictionloss', 'spring', 'damper', 'actuation', 'clampctrl'. */
  acts(flag: string): boolean;
}

/** Gravity's default is 9.81 downwards. */
export function optionsOf(root: ParsedElement, reader: FileReader): MjcfOptionElement {
  const merged = mergedOf(root, 'option');
  reader.expect(merged, known.option);
  for (const name of ['density', 'viscosity'])
    if (reader.number(merged, name, 0) !== 0) reader.unsupported(merged, `${name} of the medium`);
  for (const flag of merged.children)
    if (flag.tag === 'flag') reader.expect(flag, known.flag);
    else reader.unsupported(flag, `<${flag.tag}> of <option>`);
  // The last one that sets a flag holds.
  const disabled = (name: string): boolean => {
    const flag = merged.children.filter(({attributes}) => attributes[name] !== undefined).pop();
    return flag !== undefined && reader.word(flag, name, ['enable', 'disable'], 'enable') === 'disable';
  };
  const acts = (flag: string): boolean => !leaving[flag].some(disabled);
  return {gravity: acts('gravity') ? reader.vector(merged, 'gravity', [0, 0, -9.81]) : origin, acts};
}

/** Elements allowed in default classes: without effect on the motion, or refused where the model uses them. */
const defaultTags = (
  'default mesh material joint geom site camera light pair equality tendon general motor position velocity '
  + 'intvelocity damper cylinder muscle adhesion dcmotor plugin include'
).split(' ');

/** Default classes: the elements of each, after those of the enclosing classes. */
export class Defaults {
  private readonly classes = new Map<string, readonly ParsedElement[]>([['main', []]]);
  constructor(
    root: ParsedElement,
    private readonly reader: FileReader,
  ) {
    for (const child of root.children.filter(({tag}) => tag === 'default')) this.read(child, 'main', true);
  }
  private read(element: ParsedElement, around: string, top: boolean): void {
    const name = element.attributes.class ?? (top ? 'main' : this.reader.required(element, 'class'));
    const elements = [...(this.classes.get(around) ?? [])];
    for (const child of element.children) {
      if (!defaultTags.includes(child.tag)) this.reader.unsupported(child, `<${child.tag}> of <default>`);
      if (child.tag !== 'default') elements.push(child);
    }
    if (this.classes.has(name) && !top) this.reader.fail(element, `two default classes are named ${name}.`);
    this.classes.set(name, elements);
    if (top) this.classes.set('main', elements);
    for (const child of element.children) if (child.tag === 'default') this.read(child, name, false);
  }
  /**
   * Defaults for an element: of its class, or of the enclosing body's child class. Later ones override earlier ones.
   */
  elements(element: ParsedElement, around?: string): readonly ParsedElement[] {
    const name = element.attributes.class ?? around ?? 'main';
    return (
      this.classes.get(name) ?? this.reader.fail(element, `<${element.tag}>: there is no default class '${name}'.`)
    );
  }
  /** The element with the defaults of its class, or of the enclosing body's child class. */
  complete(element: ParsedElement, around: string | undefined, tag = element.tag): ParsedElement {
    const given = [...this.elements(element, around).filter(one => one.tag === tag), element];
    for (const one of given) orientationOf(one, this.reader);
    return {
      ...element,
      attributes: given.reduce<ParsedElement['attributes']>((sum, {attributes}) => over(sum, attributes), {}),
    };
  }
}

/** The attributes by which an orientation is given. */
export const orientations = ['quat', 'axisangle', 'xyaxes', 'zaxis', 'euler'];

/** Which of them an element has; undefined for none. */
export function orientationOf(element: ParsedElement, reader: FileReader): string | undefined {
  const given = orientations.filter(name => element.attributes[name] !== undefined);
  if (given.length > 1) reader.fail(element, `<${element.tag}> has several orientations: ${given.join(', ')}.`);
  return given[0];
}

/** Lists of numbers of which MuJoCo keeps those that a shorter one does not name. */
const lists = ['size', 'damping', 'stiffness'];

/**
 * Attributes after those of their defaults. The last orientation holds, but a quaternion does not replace one of
 * another kind.
 */
function over(before: ParsedElement['attributes'], given: ParsedElement['attributes']): ParsedElement['attributes'] {
  const words = (text = ''): string[] => text.split(/\s+/).filter(word => word !== '');
  const angular = (one: ParsedElement['attributes']): boolean =>
    orientations.some(name => name !== 'quat' && one[name] !== undefined);
  const dropped = angular(given) ? orientations : [];
  const replaced = !angular(given) && angular(before) ? ['quat'] : [];
  const without = (one: ParsedElement['attributes'], names: readonly string[]): ParsedElement['attributes'] =>
    Object.fromEntries(Object.entries(one).filter(([name]) => !names.includes(name)));
  const kept = lists.flatMap(name => {
    const rest = words(before[name]).slice(words(given[name]).length);
    return rest.length === 0 ? [] : [[name, [...words(given[name]), ...rest].join(' ')]];
  });
  return {
    ...without(before, dropped),
    ...without(given, replaced),
    ...(Object.fromEntries(kept) as ParsedElement['attributes']),
  };
}
