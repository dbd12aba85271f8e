/** Schemes for an `sde`, and random numbers that a seed fixes: Brownian paths, and probes of a trace. */
export {eulerMaruyama, heun, milstein, sra1, sri1} from './scheme/stochastic.js';
export {brownianPath, rademacher} from './system/sde.js';
