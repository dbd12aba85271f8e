/** What a planned record can tell about the parameters. */
export {fisherInformation, identifiability, rankExperiments as rank} from './information.js';
