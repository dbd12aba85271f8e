/** Results for tests of stores, without a process that computes them. */
import {canonical} from '../../sweep/canonical.js';
import type {Case, Job} from '../../sweep/index.js';
import type {Store} from '../../sweep/store.js';
import {jobOf} from '../../sweep/task.js';

const task = {module: '/none.mjs', export: 'default', name: 'none', version: '1', hash: '0'.repeat(64)};

export const fakeJob = (one: Case): Job => jobOf(task, one, 0);

/** Stores a result of each case; gives the jobs. */
export async function filled(store: Store, results: readonly (readonly [Case, unknown])[]): Promise<Job[]> {
  return Promise.all(
    results.map(async ([one, result]) => {
      const job = fakeJob(one);
      await store.accept(job, canonical(result, 'result'), 0.25);
      return job;
    }),
  );
}

export const fileOf = ({name}: Job, folder = 'done', attempt = ''): string =>
  `${folder}/${name.slice(0, 3)}/${name}${attempt}.json`;
