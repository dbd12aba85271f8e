/** Writes the animation of an example: a page with the player, and beside it an animated SVG. */
import {mkdir, writeFile} from 'node:fs/promises';
import path from 'node:path';
import type {Animation} from '../plot/index.js';

export async function writeAnimation(page: string, animation: Animation): Promise<void> {
  await mkdir(path.dirname(page), {recursive: true});
  await writeFile(page, animation.html());
  await writeFile(page.replace(/(\.html)?$/, '.svg'), `${animation.svg()}\n`);
  console.log(`Report: ${page}`);
}
