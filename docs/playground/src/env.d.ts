/** By editor-types.js: declarations by their paths. */
declare module 'virtual:declarations' {
  const declarations: {readonly [path: string]: string};
  export default declarations;
}

/** The address of a worker's file, by Vite. */
declare module '*?worker&url' {
  const address: string;
  export default address;
}
