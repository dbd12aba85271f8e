/**
 * Specs are loaded as ES modules. Where require() can load such modules, mocha would require them, and tsx would turn
 * them into CommonJS modules, in which every use of an import calls a getter: 7 % of the suite's processor time.
 */
const canRequire = process.allowedNodeEnvironmentFlags.has('--experimental-require-module');

module.exports = {
  'node-option': ['import=tsx', ...(canRequire ? ['no-experimental-require-module'] : [])],
  parallel: true,
  jobs: 2,
  timeout: 120000,
};
