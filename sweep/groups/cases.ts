/** Lists of cases: grids, random and quasi-random designs, the rows of a table. */
export {grid, latinHypercube, linspace, logspace, sobol, table, uniform} from '../cases.js';
