/** A command that was given what it cannot use: told in one sentence, with exit code 2. */
export class Usage extends Error {}
