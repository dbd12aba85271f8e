/** A deformable body as a figure of `animate`: the surface of its mesh, displaced, in the colours of a field. */
import * as tf from '@tensorflow/tfjs';
import {evaluator, type Body} from '../fem/internal.js';
import {callable, nested, optional, positive, readOptions, text, typed, numbers, type Options} from '../lib/checks.js';
import type {Figure} from '../models/index.js';
import {scaleWords} from './shading.js';
import {surfaceOf} from './surface.js';

type BodyFunction = Body['displacement'];

const bodyFigureOptions = {
  /** Displacements are drawn so many times as large; default 1. */
  scale: optional(positive, 1),
  /** Colours: `values` is a function of the body's state that returns a number for each node or cell. */
  field: optional(
    nested(
      {
        values: typed<BodyFunction>(callable),
        /** Name of the field at the colour bar. */
        name: text,
        unit: optional(text),
        /** Values of the lowest and the highest colour; default those of all frames. */
        range: optional(typed<readonly [number, number]>(numbers)),
      },
      'bad-option',
    ),
  ),
};

/** Options of `bodyFigure`. @interface */
export type BodyFigureOptions = Options<typeof bodyFigureOptions>;

/** Pieces in all: each of them is in every frame. */
const PIECES = 400;

/** Whether a system is a body of `stiffgrad/fem`. */
export const isBody = (system: object): system is Body => 'mesh' in system && 'displacement' in system;

/**
 * The figure of a deformable body for `animate`, which takes it with its defaults where none is given: the facets of a
 * solid, the cells of a sheet or of a body in the plane, or lines.
 * @throws OptionError 'bad-option'
 * @example
 * ```ts
 * import {simulate, trapezoid} from 'stiffgrad';
 * import {box, loads, materials, solid, supports} from 'stiffgrad/fem';
 * import {animate, bodyFigure} from 'stiffgrad/plot';
 *
 * const beam = solid({
 *   mesh: box([4, 1], [8, 2]),
 *   material: materials.neoHookean({E: 1000, nu: 0.3}),
 *   density: 1,
 *   supports: [supports.held('left')],
 *   loads: [loads.gravity([0, -9.81])],
 * });
 * const run = simulate(beam, beam.start, {scheme: trapezoid(), dt: 0.02, t1: 0.2});
 * const figure = bodyFigure(beam, {
 *   field: {values: at => beam.stress('vonMises', at), name: 'von Mises stress', unit: 'Pa'},
 * });
 * console.log(animate(run, {figure}).svg()); // → <svg class="still"…
 * ```
 */
export function bodyFigure(body: Body, options: BodyFigureOptions = {}): Figure {
  const {scale, field} = readOptions(options, bodyFigureOptions, 'bodyFigure', 'bad-option');
  const {mesh} = body;
  const nodes = mesh.points.length / mesh.dimension;
  const surface = surfaceOf(mesh, (facets, order) =>
    Math.min(4, Math.max(order, Math.floor(Math.sqrt(PIECES / facets)))),
  );
  const pieces = surface.facets.flatMap(({pieces: own, cell}) => own.map(piece => ({piece, cell})));
  const compiled = new Map<BodyFunction, ReturnType<typeof evaluator>>();
  const numbersOf = (f: BodyFunction, at: Parameters<Figure['points']>[0]): Float64Array => {
    const state = {q: at.q, t: at.t.dataSync()[0], params: at.params as {[name: string]: tf.Tensor}};
    if (!compiled.has(f)) compiled.set(f, evaluator(f, state));
    return compiled.get(f)!(state);
  };
  return {
    points: at => {
      const u = numbersOf(body.displacement, at);
      const places = surface.sampled(
        mesh.points.map((x, i) => x + scale * u[i]),
        mesh.dimension,
      );
      const found = tf.tensor2d(Float32Array.from(places), [surface.samples, mesh.dimension]);
      // A picture is in the plane or in space.
      return mesh.dimension === 1 ? tf.concat([found, tf.zerosLike(found)], 1) : found;
    },
    faces: pieces.map(({piece}) => piece),
    ...(field === undefined
      ? {}
      : {
          field: {
            ...field,
            values: at => {
              const values = numbersOf(field.values, at);
              const isNodal = values.length === nodes;
              return tf.tensor1d(
                isNodal ? Float32Array.from(surface.sampled(values, 1)) : pieces.map(({cell}) => values[cell]),
              );
            },
          },
        }),
    ...(scale === 1 ? {} : {note: scaleWords(scale)}),
  };
}
