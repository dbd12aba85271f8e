/**
 * Mutation testing by Stryker, on a sample (docs/testing.md says how to run it and what came out). The pool are the
 * files of one layer where a mutant that no test notices could mean a wrong number. They are cut into blocks of
 * twelve lines, and a seeded generator takes one block in so many: LAYER=graph SEED=1 npx stryker run spec/mutation/...
 */
import {readFileSync} from 'node:fs';

const specs = (folder, names) => names.split(' ').map(name => `spec/${folder}/${name}.spec.ts`);

/** Each layer's pool, and the specs that ought to notice, the fast ones first: those that go through it and take seconds. */
const LAYERS = {
  graph: {
    files: ['simplify', 'scales', 'masks', 'hoist', 'coloring', 'sparsity', 'differentiate', 'key'],
    specs: [
      ...specs(
        'graph',
        'ahead bicoloring differentiate functions narrowest-cut star-coloring contents masks scales edges programs',
      ),
      ...specs('graph', 'hoist'),
      ...specs('linear', 'singularity'),
      ...specs('integrate', 'scales'),
      ...specs('simulate', 'cancellation'),
      ...specs('newton', 'rounding'),
      ...specs('trace', 'custom-gradients'),
    ],
  },
  newton: {
    files: ['tolerances', 'residual-noise', 'iteration', 'emit-newton', 'step-length'],
    specs: [
      ...specs(
        'newton',
        'residual-noise simplified-newton step-length approximate-jacobian iteration strategies solvers forms unsymmetric-mesh rounding',
      ),
      ...specs('simulate', 'cancellation'),
    ],
  },
  adjoint: {
    files: ['schedule', 'implicit-pull', 'jacobian-factor', 'not-finite', 'dense-pull'],
    specs: [...specs('adjoint', 'schedule gradient-not-finite'), ...specs('step', 'constant-matrix')],
  },
  linear: {
    files: ['refinement', 'error-amplification', 'sparse-ldlt', 'amd', 'pivots', 'equilibration', 'null-space'],
    specs: specs('linear', 'ordering dense krylov kkt singularity sparse supernodal refusal handed-on'),
  },
};

const layer = process.env.LAYER ?? 'graph';
const seed = Number(process.env.SEED ?? 1);
/** One block in this many. */
const ONE_IN = Number(process.env.ONE_IN ?? 8);
const LINES = 12;

/** Mulberry32: 32 bits of state, the same numbers everywhere. */
function generator(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** The blocks taken of the files of a layer, as Stryker's `mutate` names them: file:first-last. */
function sample(layer) {
  const random = generator(seed);
  return LAYERS[layer].files.flatMap(name => {
    const file = `lib/${layer}/${name}.ts`;
    const lines = readFileSync(file, 'utf8').split('\n').length;
    const blocks = Array.from(
      {length: Math.ceil(lines / LINES)},
      (_, k) => `${file}:${k * LINES + 1}-${(k + 1) * LINES}`,
    );
    return blocks.filter(() => random() * ONE_IN < 1);
  });
}

export default {
  mutate: sample(layer),
  // Texts are tested in spec/errors, by pattern: a changed word there is not a wrong number.
  mutator: {excludedMutations: ['StringLiteral']},
  testRunner: 'mocha',
  testRunnerNodeArgs: ['--import', 'tsx'],
  mochaOptions: {spec: LAYERS[layer].specs},
  coverageAnalysis: 'perTest',
  ignoreStatic: true,
  symlinkNodeModules: true,
  disableTypeChecks: '{lib,models,training,spec}/**/*.ts',
  concurrency: 1,
  timeoutMS: 8000,
  reporters: ['clear-text', 'json', 'progress-append-only'],
  jsonReporter: {fileName: `reports/mutation/${layer}-${seed}.json`},
  clearTextReporter: {logTests: false, reportTests: false, allowColor: false},
  ignorePatterns: ['.stryker-tmp-*', 'reports', 'dist'],
  tempDirName: `.stryker-tmp-${layer}`,
};
