/** A short form of kills.ts: a few workers, the server and the program are killed while a sweep goes through a queue. */
import {expect} from 'chai';
import {survive} from './kills.js';
import {serverProgram} from './server.js';

describe('a sweep whose processes are killed', function () {
  this.timeout(120_000);

  it('has one whole result a case, and nothing else', async function () {
    if (serverProgram === undefined) this.skip();
    const {failures, killed, parts, results, right} = await survive({
      cases: 200,
      ms: 100,
      workers: 2,
      killWorkers: 3,
      killServer: 1,
      killProgram: 1,
      seed: 7,
    });
    expect(killed.workers + killed.server + killed.program).to.be.above(2);
    expect({results, right, failures, parts}).to.deep.equal({results: 200, right: 200, failures: 0, parts: 0});
  });
});
