/**
 * Pictures from a worker, in which a model of anybody runs: each is an image, in which no script runs and nothing is loaded. A
 * parser that runs nothing reads its size and its words.
 */

/** @throws Error where a text is no SVG */
function imageOf(svg: string): HTMLImageElement {
  const {documentElement: root} = new DOMParser().parseFromString(svg, 'image/svg+xml');
  if (root.localName !== 'svg') throw new Error('The picture of the model is no SVG.');
  const words = (name: string): string => root.querySelector(`:scope > ${name}`)?.textContent ?? '';
  const image = new Image(Number(root.getAttribute('width')) || 480, Number(root.getAttribute('height')) || 300);
  image.alt = `${words('title')}. ${words('desc')}`;
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  return image;
}

/** A picture without its movement. */
export const still = (svg: string): string => svg.replace(/<animate\b[^>]*\/>/g, '');

/** Whether the reader prefers that nothing moves. */
export const stillPreferred = (): boolean => matchMedia('(prefers-reduced-motion: reduce)').matches;

/** Shows pictures in place of what was there. */
export function showPictures(parent: HTMLElement, pictures: readonly string[]): void {
  parent.replaceChildren(...pictures.map(imageOf));
}
