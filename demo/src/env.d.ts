/** By editor-types.js: declarations by their paths. */
declare module 'virtual:declarations' {
  const declarations: {readonly [path: string]: string};
  export default declarations;
}
