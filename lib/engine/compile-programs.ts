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
  const inputs = Object.entries<Shape>(shapes).map(([name, shape]) => ({name, shape}));
  const graphs = Object.entries(programs).map(([name, program]) => {
    requireValue(program, callable, `compilePrograms: ${name}`);
    const {graph, captured} = trace(
      at => within(name, () => (program as (at: unknown) => {[name: string]: tf.Tensor})(at)),
      inputs,
    );
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
