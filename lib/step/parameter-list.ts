/** The parameters that several traces of one system read, and their outputs over shared inputs. */
import {input} from '../graph/build.js';
import type {Form} from '../graph/newton-matrix.js';
import {formsOf, settled} from '../graph/newton-matrix.js';
import type {Node} from '../graph/node.js';
import {rerolled} from '../graph/reroll.js';
import {simplifyNodes, replaceNodes} from '../graph/simplify.js';
import type {Blocks} from '../system/equations.js';
import type {Leaf, Params} from '../system/params.js';
import {typedTree} from '../system/params.js';
import type {Trace, TraceInput} from '../trace/trace.js';
import {ParameterReads} from './parameter-reads.js';
import type {TracedParameter} from './traced-step.js';

/** An output's name in one of the forms that Newton's matrix is made from (graph/newton-matrix.ts). */
export const nameOf = (output: string, form: Form): string => (form === 'value' ? output : `${output}, ${form}`);

/** Traces collect parameters; one captured by two of them is one parameter. */
export class ParameterList {
  readonly parameters: TracedParameter[];

  readonly reads = new ParameterReads();

  constructor(private readonly leaves: readonly Leaf[]) {
    this.parameters = leaves.map((leaf, i) => ({node: input(`p.${i}`, leaf.shape), leaf}));
  }

  traceInputs(): TraceInput[] {
    return this.leaves.map((leaf, i) => ({name: `p.${i}`, shape: leaf.shape}));
  }

  /** What a parameter was given as, by its name in a trace. */
  valuesOf(name: string): Float64Array | undefined {
    return this.leaves[this.parameters.findIndex(({node, leaf}) => leaf !== undefined && node.attributes.name === name)]
      ?.values;
  }

  tree(tensors: Blocks): Params {
    return this.reads.watched(
      typedTree(
        this.leaves,
        this.leaves.map((_, i) => tensors[`p.${i}`]),
      ),
    );
  }

  /** The outputs of a trace over the shared inputs: those given by name, then the parameters. */
  adopt({graph, captured}: Trace, shared: readonly Node<'input'>[]): Map<string, Node> {
    const replacements = new Map<Node, Node>();
    const byName = new Map(
      [...shared, ...this.parameters.map(({node}) => node)].map(node => [node.attributes.name, node]),
    );
    const capturedNodes = new Set<Node>(captured.map(({node}) => node));
    for (const node of graph.inputs) {
      const same = byName.get(node.attributes.name);
      if (same !== undefined && !capturedNodes.has(node)) replacements.set(node, same);
    }
    for (const {tensor, node} of captured) {
      let known = this.parameters.find(parameter => parameter.tensor === tensor);
      if (known === undefined) {
        known = {node: input(`p.${this.parameters.length}`, node.shape), tensor};
        this.parameters.push(known);
      }
      replacements.set(node, known.node);
    }
    const nodes = replaceNodes(
      graph.outputs.map(output => output.node),
      replacements,
    );
    const outputs = graph.outputs.map(({name}, i) => ({name, node: nodes[i]}));
    const forms = outputs.flatMap(({name, node}) =>
      formsOf(node).map(form => ({name: nameOf(name, form), node, form})),
    );
    const all = (['value', 'jacobian', 'matrix'] as const).flatMap(form => {
      const these = forms.filter(output => output.form === form);
      return settled(
        these.map(({node}) => node),
        form,
      ).map((node, i) => ({name: these[i].name, node}));
    });
    const inputs = [...shared, ...this.parameters.map(({node}) => node)];
    const plain = simplifyNodes(
      all.map(({node}) => node),
      inputs,
    );
    const simplified = simplifyNodes(rerolled(plain), inputs);
    return new Map(all.map(({name}, i) => [name, simplified[i]]));
  }
}
