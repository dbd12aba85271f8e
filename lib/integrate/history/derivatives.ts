/** The derivatives of a run along its course. */
import type {Gradient} from '../../adjoint/gradient.js';
import type {CourseCotangents} from '../../adjoint/history-backward.js';
import {sweepCourseBack} from '../../adjoint/history-backward.js';
import type {CourseTangents} from '../../adjoint/history-tangent.js';
import {sweepCourseForward} from '../../adjoint/history-tangent.js';
import type {Watch} from '../../adjoint/not-finite.js';
import type {Directions} from '../../adjoint/directions.js';
import type {Runnable} from '../runnable.js';
import type {Keep, Path} from '../path.js';
import {noCounts} from '../counters.js';
import {restart} from './integrator.js';

type Kept = Extract<Keep, {course: unknown}>;

export function pullCourse(prepared: Runnable, {start}: Path, {course, keeper, end}: Kept, cotangents: CourseCotangents, watch?: Watch): Gradient {
  return sweepCourseBack(prepared, course, start, restart(prepared, noCounts()), keeper.backwards(course, end), cotangents, watch);
}

export function pushCourse(prepared: Runnable, {start}: Path, {course, keeper, end}: Kept, directions: Directions): CourseTangents {
  const record = keeper.whole;
  if (record === undefined) throw new Error('a run for a tangent keeps its steps');
  return sweepCourseForward(prepared, course, start, restart(prepared, noCounts()), {record, first: 0, end}, directions);
}
