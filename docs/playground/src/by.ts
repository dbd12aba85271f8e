/** An element of the page by its id. */
export function by<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`The page has no element '${id}'.`);
  return found as T;
}

/** Pixels that a picture in it may be wide: letters keep their size on a narrow screen. */
export const widthOf = (id: string): number => Math.max(280, Math.min(720, Math.floor(by(id).clientWidth)));
