/** The command: what it prints, its exit codes, and what its check says of broken models. */
import {execFile} from 'node:child_process';
import {existsSync} from 'node:fs';
import {mkdtemp, mkdir, readFile, rm, writeFile} from 'node:fs/promises';
import path from 'node:path';
import {build} from 'esbuild';
import {expect} from 'chai';
import * as tf from '@tensorflow/tfjs';
import {checkModel as check} from '../../cli/check/check.js';
import type {Finding} from '../../cli/check/finding.js';
import {packageVersion} from '../../cli/commands.js';
import {main} from '../../cli/main.js';
import {loaded} from '../../cli/loaded.js';
import {checkModel, type ModelFile} from '../../cli/model-file.js';
import {runOptions} from '../../cli/options.js';
import {problemOf} from '../../cli/problem.js';
import {runPage} from '../../cli/run-page.js';
import {Usage} from '../../cli/usage.js';
import {filesOf, templates} from '../../cli/templates.js';
import {
  bilateral,
  explicitEuler,
  gaussLegendre,
  mechanics,
  ode,
  OptionError,
  rk4,
  signal,
  simulate,
  trapezoid,
  tsit5,
  type ForceTerm,
  type Scheme,
} from '../../lib/index.js';
import {chain, doublePendulum, pendulum} from '../../models/index.js';
import {fixed, identify as identifyParameters, positive, readTable} from '../../training/index.js';
import {root} from '../package/sources.js';
import {slow} from '../tiers.js';

const spring: ForceTerm = ({q}) => tf.mul(q, -4);
const two = {initial: {q: [1, 0.5], v: [0, 0]}, options: {dt: 0.01, steps: 50}};
const wrongIn = (forces: readonly ForceTerm[]): Finding[] =>
  check({system: mechanics({mass: 1, forces}), ...two}).filter(({ok}) => !ok);

describe('stiffgrad check', () => {
  slow('finds nothing wrong with right models', () => {
    expect(
      wrongIn([
        spring,
        function friction({v}) {
          return tf.mul(-0.5, tf.tanh(tf.div(v, 0.1)));
        },
      ]),
    ).to.deep.equal([]);
    expect(
      check({
        system: chain({count: 4, stiffness: ({k}) => k as tf.Tensor, cubic: 3, damping: 0.1}),
        initial: {q: [1, 0, 0, 0], v: [0, 0, 0, 0]},
        options: {dt: 0.01, t1: 0.5, params: {k: 4}},
      }).filter(({ok}) => !ok),
    ).to.deep.equal([]);
    expect(
      check({
        system: ode(({y}) => tf.neg(tf.pow(y, 3))),
        initial: {y: [1, 2]},
        options: {dt: 0.01, steps: 50},
      }).filter(({ok}) => !ok),
    ).to.deep.equal([]);
  });

  slow('says that explicit schemes have no matrix, and still finds what is wrong with a model', () => {
    const checked = (scheme: Scheme, forces: readonly ForceTerm[]): Finding[] =>
      check({system: mechanics({mass: 1, forces}), initial: two.initial, options: {...two.options, scheme}});
    const ofSteps = (findings: readonly Finding[]): Finding[] =>
      findings.filter(({check}) => check === 'matrix' || check === 'newton');
    for (const scheme of [tsit5(), rk4(), explicitEuler()]) {
      const findings = checked(scheme, [spring]);
      expect(findings.filter(({ok}) => !ok)).to.deep.equal([]);
      expect(findings.map(({check}) => check)).to.include('run');
      const [matrix, ...others] = ofSteps(findings);
      expect(others).to.deep.equal([]);
      expect(matrix.message).to.match(/does not apply: the scheme is explicit/);
    }
    expect(ofSteps(checked(trapezoid(), [spring])).map(({check}) => check)).to.deep.equal(['matrix', 'newton']);
    const jump: ForceTerm = ({v}) => tf.atan2(tf.sub(v, 0.01), tf.neg(tf.onesLike(v)));
    expect(checked(tsit5(), [jump]).some(({ok}) => !ok)).to.equal(true);
  });

  it('finds a wrong gradient of tf.customGrad, and where', () => {
    // The derivative of x³ declared as 2x² for 3x².
    const cube = tf.customGrad(x => ({
      value: tf.pow(x as tf.Tensor, 3),
      gradFunc: (dy: tf.Tensor) => tf.mul(dy, tf.mul(2, tf.square(x as tf.Tensor))),
    }));
    const [first, ...others] = wrongIn([
      spring,
      function cubic({q}) {
        return tf.neg(cube(q));
      },
    ]);
    expect(others).to.deep.equal([]);
    expect(first).to.include({check: 'gradient', where: 'forces[1] (cubic)'});
    const [, told, difference] = /declared as (\S+), differences give (\S+)\. /
      .exec(first.message)!
      .map(number => Number(number.replace('−', '-')));
    expect(told / difference).to.be.closeTo(2 / 3, 1e-4); // printed to five digits
  });

  // x² whose derivative is declared as 3x for 2x.
  const square = tf.customGrad(x => ({
    value: tf.square(x as tf.Tensor),
    gradFunc: (dy: tf.Tensor) => tf.mul(dy, tf.mul(3, x as tf.Tensor)),
  }));

  slow('finds wrong derivatives of a mass, and a mass that is not symmetric', () => {
    const massOf = (mass: (at: {q: tf.Tensor}) => tf.Tensor): Finding[] =>
      check({system: mechanics({mass, forces: spring}), ...two}).filter(({ok}) => !ok);
    expect(massOf(({q}) => tf.add(2, tf.square(q)))).to.deep.equal([]);
    const [wrong] = massOf(({q}) => tf.add(2, square(q)));
    expect(wrong).to.include({check: 'gradient', where: 'mass'});
    const [told, difference] = /declared as (\S+), differences give (\S+)\. /.exec(wrong.message)!.slice(1).map(Number);
    expect(told / difference).to.be.closeTo(3 / 2, 1e-4);
    // [[2, c], [0, 2]] with c = cos q₀.
    const [skew] = massOf(({q}) => {
      const [first, second] = tf.unstack(q);
      return tf.stack([tf.stack([2, tf.cos(first)]), tf.stack([tf.mul(0, second), 2])]);
    });
    expect(skew).to.include({check: 'mass', where: 'mass'});
    expect(skew.message).to.match(/not symmetric/);
    const [negative] = massOf(({q}) => tf.sub(tf.mul(0, q), 1));
    expect(negative.message).to.match(/not positive definite/);
  });

  slow('finds wrong derivatives of a gap; a pendulum held by a right one and minimal coordinates pass', () => {
    const pendulum = (gap: (q: tf.Tensor) => tf.Tensor): Finding[] =>
      check({
        system: mechanics<{l: tf.Tensor}>({
          mass: 1,
          forces: ({q}) => tf.sub(tf.mul(0, q), tf.tensor1d([0, 9.81])),
          constraints: [bilateral(({q, params: {l}}) => tf.sub(tf.sum(gap(q)), tf.square(l)))],
        }),
        initial: {q: [1, 0], v: [0, 0]},
        options: {dt: 0.01, steps: 50, params: {l: 1}},
      }).filter(({ok}) => !ok);
    expect(pendulum(q => tf.square(q))).to.deep.equal([]);
    expect(pendulum(square)[0]).to.include({check: 'gradient', where: 'constraints[0] (bilateral): gap'});
    expect(
      check({
        system: doublePendulum({lengths: [1, 1]}),
        initial: {q: [1, 0.5], v: [0, 0]},
        options: {dt: 0.01, steps: 50},
      }).filter(({ok}) => !ok),
    ).to.deep.equal([]);
  });

  slow('reads parameters in trees', () => {
    const model = {
      system: mechanics<{spring: {k: tf.Tensor}}>({
        mass: 1,
        forces: ({q, params}) => tf.mul(q, tf.neg(square(params.spring.k))),
      }),
      initial: {q: 1, v: 0},
      options: {dt: 0.01, steps: 10, params: {spring: {k: 2}}},
    };
    const [wrong] = check(model as never).filter(({ok}) => !ok);
    expect(wrong.message).to.match(/with respect to params\.spring\.k is declared/);
  });

  it('finds a hidden dataSync, and where', () => {
    const [first] = wrongIn([
      spring,
      function hidden({q}) {
        return q.dataSync()[0] > 0 ? tf.neg(q) : tf.mul(-2, q);
      },
    ]);
    expect(first).to.include({check: 'trace', where: 'forces[1] (hidden)'});
    expect(first.message).to.match(/^forces\[1\] \(hidden\) reads the value of a tensor/);
  });

  it('finds a jump: its size and its place', () => {
    const [first, ...others] = wrongIn([
      spring,
      function turned({v}) {
        return tf.div(tf.atan2(v, tf.neg(tf.onesLike(v))), -2 * Math.PI);
      },
    ]);
    expect(first).to.include({check: 'continuity', where: 'forces[1] (turned)'});
    expect(first.message).to.match(/jumps by 1 at v\[\d\] = 0\./);
    expect(others.every(({check}) => ['newton', 'run'].includes(check))).to.equal(true);
  });

  it('names the switches at which steps end, unless they are ignored', () => {
    const coulomb: ForceTerm = function coulomb({v}) {
      return tf.mul(-0.5, tf.sign(v));
    };
    const system = mechanics({mass: 1, forces: [spring, coulomb]});
    const found = (switches: 'locate' | 'ignore'): Finding | undefined =>
      check({system, ...two, options: {...two.options, switches}}).find(
        ({check: kind, where}) => kind === 'continuity' && where === 'forces[1] (coulomb)',
      );
    expect(found('locate')).to.include({ok: true});
    expect(found('locate')?.message).to.match(
      /^jumps by 1 at v\[\d\] = 0\. Steps end at its switches: sign in forces\[1\]\.$/,
    );
    expect(found('ignore')).to.include({ok: false});
  });
});

describe('the command', function () {
  this.timeout(60_000);
  let place: string;

  before(async () => {
    // Within the project, so that a model finds stiffgrad.
    await mkdir(path.join(root, 'reports'), {recursive: true});
    place = await mkdtemp(path.join(root, 'reports', 'command-'));
    for (const [file, content] of Object.entries(filesOf('identify', 'demo', '^0.1.0')))
      await writeFile(path.join(place, file), content);
  });
  after(() => rm(place, {recursive: true}));

  interface Said {
    readonly code: number;
    readonly out: string;
    readonly err: string;
  }
  const said = async (...args: string[]): Promise<Said> => {
    const [out, err]: string[][] = [[], []];
    const code = await main(args, {out: text => void out.push(text), err: text => void err.push(text)});
    return {code, out: out.join('\n'), err: err.join('\n')};
  };
  const saidByProgram = (...args: string[]): Promise<Said> =>
    new Promise(resolve => {
      execFile(
        process.execPath,
        ['--import', 'tsx', path.join(root, 'cli/main.ts'), ...args],
        {cwd: root},
        (error, stdout, stderr) => {
          resolve({code: typeof error?.code === 'number' ? error.code : 0, out: stdout.trim(), err: stderr.trim()});
        },
      );
    });
  const at = (file: string): string => path.join(place, file);

  slow('identifies the model of its template: k = 40, c = 0.6', async () => {
    const {code, out, err} = await saidByProgram(
      'identify',
      at('model.ts'),
      at('record.csv'),
      '--report',
      at('page.html'),
      '--json',
    );
    expect({code, err}).to.deep.equal({code: 0, err: ''});
    const {estimate, standardError} = JSON.parse(out) as {
      estimate: {k: number; c: number};
      standardError: {k: number; c: number};
    };
    expect(Math.abs(estimate.k - 40)).to.be.below(3 * standardError.k);
    expect(Math.abs(estimate.c - 0.6)).to.be.below(3 * standardError.c);
    expect(await readFile(at('page.html'), 'utf8')).to.match(/^<!doctype html>/);
    const spoken = await said('identify', at('model.ts'), at('record.csv'));
    expect(spoken.out).to.match(/k = 40\.0\d+ ± /);
    expect(spoken.err).to.match(/iteration 1, cost/);
  });

  slow('checks, simulates and reports it', async () => {
    expect(await said('check', at('model.ts'))).to.deep.include({code: 0, err: ''});
    const {code, out} = await said(
      'simulate',
      at('model.ts'),
      '--csv',
      at('run.csv'),
      '--plot',
      at('run.svg'),
      '--animate',
      at('run.html'),
      '--json',
    );
    expect(code).to.equal(0);
    expect(JSON.parse(out)).to.include({status: 'completed', saved: 1601});
    expect((await readFile(at('run.csv'), 'utf8')).split('\n').slice(0, 2)).to.deep.equal(['t,q,v', '0,0.1,0']);
    expect(await readFile(at('run.svg'), 'utf8')).to.match(/^<svg/);
    expect(await readFile(at('run.html'), 'utf8')).to.include('<canvas');
    expect(await said('report', at('model.ts'), '--output', at('report.html'))).to.deep.include({code: 0});
    const page = await readFile(at('report.html'), 'utf8');
    for (const title of ['Over time', 'Phase portrait', 'Motion', 'Not shown']) expect(page).to.include(title);
  });

  const damped = mechanics<{k: tf.Tensor; c: tf.Tensor}>({mass: 1, forces: ({q, v, params: {k, c}}) => tf.neg(tf.add(tf.mul(k, q), tf.mul(c, v)))}); // prettier-ignore
  const model = (options: object): ModelFile =>
    ({system: damped, initial: {q: 0.1, v: 0}, options: {dt: 0.01, t1: 4, params: {k: 30, c: 0.6}, ...options}, parameters: {k: positive(30)}}) as never; // prettier-ignore
  const own = model({residuals: 'independent', scheme: gaussLegendre()});

  it('takes for a fit all options of identify, and constants of params', async () => {
    const table = await readTable(new TextEncoder().encode(filesOf('identify', 'demo', '')['record.csv']));
    checkModel(own, 'The model');
    const found = await identifyParameters(problemOf(own, table) as never);
    const fit = await identifyParameters({
      system: damped,
      initial: {q: 0.1, v: 0},
      dt: 0.01,
      scheme: gaussLegendre(),
      residuals: 'independent',
      data: {t: table.column('t'), q: table.column('q')},
      parameters: {k: positive(30), c: fixed(0.6)},
    });
    expect(JSON.stringify(found.estimate)).to.equal(JSON.stringify({c: 0.6, k: fit.estimate.k}));
    expect((found.standardError as {k: number}).k).to.equal(fit.standardError.k);
  });

  it('refuses options that neither a run nor a fit reads; each ignores those of the other', () => {
    for (const [option, nearest] of [
      ['noize', 'noise'],
      ['t_1', 't1'],
      ['residual', 'residuals'],
      ['shoting', 'shooting'],
    ])
      expect(() => checkModel(model({[option]: 1}), 'The model')).to.throw(
        OptionError,
        new RegExp(`^The model: options has no option '${option}'.*Did you mean '${nearest}'`, 's'),
      );
    // Each has its own: what the other knows is no error there.
    const run = simulate(damped, {q: 0.1, v: 0}, runOptions(own.options) as never);
    expect(run.status).to.equal('completed');
    run.dispose();
  });

  it('checks a model with inputs, by names and in trees', () => {
    const input = signal([0, 0.3, 1], [0, 1, -2]);
    const system = mechanics<{k: tf.Tensor; drive: {u: tf.Tensor}}>({
      mass: 1,
      forces: ({q, params: {k, drive}}) => tf.sub(drive.u, tf.mul(k, q)),
    });
    const findings = check({
      system: system as never,
      initial: {q: 0.1, v: 0, t: 0.2},
      options: {dt: 0.01, t1: 0.5, params: {k: 30}, inputs: {'drive.u': input}},
    });
    expect(
      findings.filter(({ok}) => !ok && ok !== undefined).map(({check, message}) => `${check}: ${message}`),
    ).to.deep.equal([]);
    expect(findings.map(({check}) => check)).to.include.members(['gradient', 'second derivative', 'run']);
  });

  it('tells as a finding what a function of the model throws', () => {
    const broken: ForceTerm = () => (undefined as unknown as {q: tf.Tensor}).q;
    expect(wrongIn([broken])[0]).to.include({check: 'trace', ok: false}).and.to.have.property('message').that.match(/undefined/); // prettier-ignore
  });

  it('says in sentences of its own what is wrong with a file or a command line, and writes nothing', async () => {
    await writeFile(at('syntax.ts'), 'export default {\n  system: ,\n};\n');
    await writeFile(at('imports.ts'), "import './not-there.js';\nexport default {};\n");
    await writeFile(at('throws.ts'), "throw new RangeError('of mine');\n");
    for (const [file, pattern] of [
      ['syntax.ts', /syntax\.ts cannot be loaded: line 2, column 11: Unexpected ","/],
      ['imports.ts', /imports\.ts cannot be loaded: it imports .*not-there\.js, which is not there/],
      ['throws.ts', /throws\.ts cannot be loaded: RangeError: of mine \(.*throws\.ts:1/],
    ] as const) {
      const reason: unknown = await loaded(at(file)).catch((error: unknown) => error);
      expect(reason, file).to.be.instanceOf(Usage);
      expect((reason as Usage).message).to.match(pattern);
    }
    for (const [args, pattern] of [
      [['check', at('none.mts')], /^There is no file .*none\.mts\.$/],
      [['sweep', at('none.mts')], /^There is no file .*none\.mts\.$/],
      [
        ['simulate', 'm', '--plto', 'x'],
        /^simulate has no option '--plto'\. Did you mean '--plot'\? See stiffgrad simulate --help\.$/,
      ],
      [['simulate', 'm', '-x'], /^simulate has no option '-x'\./],
      [['simulate', 'm', '--csv'], /^--csv needs a text: file for the saved states/],
      [['simulate', 'm', '--csv='], /^--csv needs a text/],
      [['simulate', 'm', '--csv', 'a', '--csv', 'b'], /^--csv is given twice/],
      [['simulate', 'm', '--json=yes'], /^--json takes no text, and has no use for 'yes'/],
      [['simulate', 'm', '--csv', at('no/such/x.csv')], /^There is no folder .*no\/such for --csv/],
      [['report', 'm', '--output', place], /is a folder: name a file/],
    ] as const) {
      const {code, err} = await said(...args);
      expect(code, args.join(' ')).to.equal(2);
      expect(err, args.join(' ')).to.match(pattern);
    }
    expect(existsSync(at('no'))).to.equal(false);
    for (const word of ['--version', 'version'])
      expect(await said(word)).to.deep.equal({code: 0, out: packageVersion(), err: ''});
    expect(packageVersion()).to.match(/^\d+\.\d+\.\d+/);
  });

  it('reports a run beside the page of a fit, without a picture of a matrix of one number', async () => {
    const options = {dt: 0.01, steps: 5};
    const run = simulate(mechanics({mass: 1, forces: spring}), {q: 0.1, v: 0}, options);
    const one = runPage('one', {system: run.system, initial: {q: 0.1, v: 0}, options}, run);
    expect(one.left.join()).to.match(/matrix: it is one number/);
    expect(one.html).not.to.include('1 entries of 1 × 1');
    expect((await said('report', '--help')).out).to.match(/default run\.html/);
    expect(filesOf('identify', 'demo', '')['package.json']).not.to.include('run.html');
  });

  slow('has a page in its template that shows the angle and its derivative', async () => {
    const {outputFiles} = await build({
      stdin: {contents: filesOf('page', 'demo', '')['main.js'], resolveDir: root, loader: 'js'},
      alias: Object.fromEntries(
        ['', '/models', '/plot'].map(part => [
          `stiffgrad${part}`,
          path.join(root, part === '' ? 'lib' : part, 'index.ts'),
        ]),
      ),
      bundle: true,
      platform: 'node',
      format: 'esm',
      external: ['@tensorflow/tfjs'],
      write: false,
      banner: {
        js: "globalThis.shownParts = {length: {value: '1.3'}, told: {}, picture: {}, gradient: {}};\nglobalThis.document = {getElementById: id => globalThis.shownParts[id]};",
      },
      footer: {js: 'console.log(JSON.stringify(globalThis.shownParts));'},
      logLevel: 'silent',
    });
    await writeFile(at('page.mjs'), outputFiles[0].text);
    const {out, err, code} = await new Promise<{out: string; err: string; code: unknown}>(resolve => {
      execFile(process.execPath, [at('page.mjs')], {cwd: root}, (error, stdout, stderr) =>
        resolve({out: stdout, err: stderr, code: error?.code}),
      );
    });
    expect(code, err).to.equal(undefined);
    const {told, picture, gradient} = JSON.parse(out.trim().split('\n').at(-1)!) as {
      [part: string]: {textContent: string; innerHTML: string};
    };
    expect(told.textContent).to.equal('1.30 m');
    expect(picture.innerHTML).to.match(/^<svg/);
    // Central differences of the last angle by the length.
    const last = (l: number): number => {
      const run = simulate(pendulum({length: l, damping: 0.2}), {q: 2, v: 0}, {dt: 0.01, t1: 6, saveAt: 'end'});
      const angle = run.values('q')[1];
      run.dispose();
      return angle;
    };
    const slope = (last(1.3 + 1e-5) - last(1.3 - 1e-5)) / 2e-5;
    expect(Number(/by (-?[\d.]+) rad/.exec(gradient.textContent)![1])).to.be.closeTo(slope, 6e-4);
  });

  it('makes projects whose files are there', async () => {
    for (const template of templates) {
      const {code, out} = await said('new', at(`new-${template}`), '--template', template);
      expect(code).to.equal(0);
      expect(out).to.include('npm install && npm start');
      const {scripts, dependencies} = JSON.parse(await readFile(at(`new-${template}/package.json`), 'utf8')) as {
        scripts: {start: string};
        dependencies: object;
      };
      expect(dependencies).to.have.all.keys('stiffgrad', '@tensorflow/tfjs');
      for (const word of scripts.start.split(' ').filter(one => /\.(ts|js|csv)$/.test(one)))
        await readFile(at(`new-${template}/${word}`));
    }
    expect(await said('new', at('new-page'))).to.deep.include({
      code: 2,
      err: `${at('new-page')} is not empty: choose another name.`,
    });
  });

  it('refuses arguments that it would not read', async () => {
    for (const [args, pattern] of [
      [
        ['identify', 'model.ts', 'a.csv', 'b.csv'],
        /^identify takes 2 arguments, and has no use for 'b\.csv': .* a list of them as data/,
      ],
      [
        ['simulate', 'model.ts', 'other.ts'],
        /^simulate takes one argument, and has no use for 'other\.ts': stiffgrad simulate <model\.ts>/,
      ],
      [['check', 'model.ts', 'x', 'y'], /no use for 'x', 'y'/],
      [['report', 'model.ts', 'page.html'], /no use for 'page\.html': .*--output page\.html/],
      [['new', 'a', 'b'], /no use for 'b'/],
      [['sweep', 'collect', 'store', 'out.csv'], /no use for 'out\.csv'/],
      [['sweep', 'one.ts', 'two.ts'], /sweep takes one file, and has no use for 'two\.ts'/],
      [['worker', 'store'], /^worker takes no arguments/],
    ] as const) {
      const {code, err} = await said(...args);
      expect(code, args.join(' ')).to.equal(2);
      expect(err, args.join(' ')).to.match(pattern);
    }
    expect((await said('check', 'a', 'b', '--help')).code).to.equal(0);
  });

  it('says what it cannot do, with exit codes', async () => {
    expect((await said()).code).to.equal(2);
    expect((await said('--help')).out).to.include('npx stiffgrad new demo');
    expect((await said('check', '--help')).out).to.match(/^stiffgrad check <model.ts>/);
    expect(await said('identfy'))
      .to.deep.include({code: 2})
      .and.to.have.property('err')
      .that.includes("no command 'identfy'");
    expect(await said('simulate'))
      .to.deep.include({code: 2})
      .and.to.have.property('err')
      .that.includes('needs a model');
    expect(await said('simulate', '--plto', 'x')).to.deep.include({code: 2});
    expect(await said('new', at('x'), '--template', 'y'))
      .to.deep.include({code: 2})
      .and.to.have.property('err')
      .that.includes('identify, train, notebook, page');
    await writeFile(at('empty.ts'), 'export default 5;\n');
    expect(await said('check', at('empty.ts')))
      .to.deep.include({code: 2})
      .and.to.have.property('err')
      .that.includes('export default {system');
    await writeFile(at('bad.csv'), 't,q\n0,one\n');
    const failed = await said('identify', at('model.ts'), at('bad.csv'), '--json');
    expect(failed.code).to.equal(3);
    expect(JSON.parse(failed.out)).to.have.nested.property('error.name', 'DataError');
  });
});
