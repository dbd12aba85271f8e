/** Tensor functions of a user, traced and compiled by an engine for numbers in double precision. */
import type * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {callable, requireValue} from '../checks.js';
import {namedGraph} from '../graph/named-graph.js';
import type {Shape} from '../graph/node.js';
import {trace, within} from '../trace/trace.js';
import type {Engine, Executable} from './engine.js';
import {chooseEngine, type EngineName} from './index.js';

/** A function from tensors by name to tensors by name. */
export type TensorProgram<In extends string, Out extends string> = (at: {readonly [name in In]: tf.Tensor}) => {
  readonly [name in Out]?: tf.Tensor;
};

/**
 * Compiles tensor functions: each is traced once, and becomes a program of the executable that reads its inputs'
 * buffers and writes its outputs', row-major Float64Arrays in one memory. Buffers are shared by name, and an input is
 * no program's output. What a function reads comes as an input.
 * @param shapes of the inputs
 * @throws TraceError; ShapeError; OptionError 'captured' where a function reads a tensor or variable from outside
 */
export function compilePrograms<Program extends string, In extends string, Out extends string>(
  programs: {readonly [name in Program]: TensorProgram<In, Out>},
  shapes: {readonly [name in In]: Shape},
  engine: EngineName | Engine = 'auto',
): Executable<Program, In | Out> {
  const graphs = Object.entries(programs).map(([name, program]) => {
    requireValue(program, callable, `compilePrograms: ${name}`);
    const {graph, captured} = tracedProgram(name, program as TensorProgram<In, Out>, shapes);
    if (captured.length > 0)
      throw new OptionError(
        'captured',
        `compilePrograms: ${name} reads a tensor of shape [${captured[0].tensor.shape.join(', ')}] from outside. `
          + 'Give it as an input, or as plain numbers.',
      );
    const own = graph.outputs.find(output => Object.hasOwn(shapes, output.name));
    if (own !== undefined)
      throw new OptionError(
        'name-clash',
        `compilePrograms: ${name} writes '${own.name}', which is also an input: give the output a name of its own.`,
      );
    return [name, namedGraph(Object.fromEntries(graph.outputs.map(output => [output.name, output.node])))] as const;
  });
  return chooseEngine(engine).compile(Object.fromEntries(graphs));
}

/**
 * Compiles one tensor function, which may read tensors and variables from outside: they are inputs of the names in
 * `captured`, whose values the caller writes before a run.
 * @param shapes of the other inputs
 * @throws TraceError; ShapeError
 */
export function compileCapturing<In extends string, Out extends string>(
  program: TensorProgram<In, Out>,
  shapes: {readonly [name in In]: Shape},
): {
  readonly executable: Executable<'value', In | Out>;
  readonly captured: readonly {readonly name: string; readonly tensor: tf.Tensor}[];
} {
  const {graph, captured} = tracedProgram('value', program, shapes);
  const value = namedGraph(Object.fromEntries(graph.outputs.map(output => [output.name, output.node])));
  return {executable: chooseEngine('auto').compile({value}), captured};
}

const tracedProgram = <In extends string, Out extends string>(
  name: string,
  program: TensorProgram<In, Out>,
  shapes: {readonly [name in In]: Shape},
): ReturnType<typeof trace> =>
  trace(
    at => within(name, () => (program as (at: unknown) => {[name: string]: tf.Tensor})(at)),
    Object.entries<Shape>(shapes).map(([input, shape]) => ({name: input, shape})),
  );
