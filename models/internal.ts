/** What other folders of the project use of models/ and users do not: no part of the public interface. */
export type {Ground} from './figure.js';
