/** What a planned record can tell about the parameters. */
export {fisherInformation, identifiability, rank} from '../estimate/information.js';
