/**
 * The page of an animation: a canvas and its few lines of script. The frames travel as whole numbers of 1/4096 of the
 * picture's size, which is finer than a pixel. In space the view is axonometric and turned by the pointer or the arrow
 * keys.
 */

import {AMBIENT, BAR_HEIGHT, colorBar, LIGHT, palette, PLAIN, type ColorBar} from './shading.js';
import {htmlPage, markup, scriptJson, verbatim} from '../lib/markup.js';

/** The data of the script. */
export interface Frames {
  /** [frames] */
  readonly t: readonly number[];
  /** [frames][points · dim], whole numbers 0 … 4096 of the extent of the largest side. */
  readonly at: readonly (readonly number[])[];
  readonly dim: 2 | 3;
  readonly points: number;
  /** Places of fixed points among the points. */
  readonly fixed: readonly number[];
  readonly rods: readonly (readonly [number, number])[];
  readonly springs: readonly (readonly [number, number])[];
  /** Radius of each point, in the same units; 0 is a small dot. */
  readonly radius: readonly number[];
  /** Lines of the ground [2 · dim], from one end to the other, in the same units. */
  readonly ground: readonly (readonly number[])[];
  /** Sides of the box, [width, height] or [width, height, depth], in the same units. */
  readonly box: readonly number[];
  /** Points whose way is drawn. */
  readonly trails: readonly number[];
  /** [frames][arrows · 2 · dim]: foot and tip of every arrow, in the same units; empty where there are none. */
  readonly arrows: readonly (readonly number[])[];
  /** Points that are drawn as dots or balls: those of no face. */
  readonly dots: readonly number[];
  readonly faces: readonly (readonly number[])[];
  /** [frames][faces]: places in the palette; empty where the figure has no field. */
  readonly shades: readonly (readonly number[])[];
  readonly bar?: ColorBar;
  /** A sentence below the picture. */
  readonly note?: string;
  /** Seconds of animation a unit of simulated time takes. */
  readonly pace: number;
  readonly unit: string;
}

/** Runs in the page; it is turned into text, so it knows only its arguments. */
const script = `(root, data) => {
  const [canvas, button, sign, slider, clock] =
    ['canvas', 'button', 'button path', 'input', 'output'].map(name => root.querySelector(name));
  const context = canvas.getContext('2d'), last = data.t.length - 1, duration = (data.t[last] - data.t[0]) * data.pace;
  let frame = 0, playing = false, began = 0, turn = -0.6, tilt = 0.35;
  const color = name => getComputedStyle(root).getPropertyValue(name);
  const nearest = time => { const k = data.t.findIndex(t => t >= time); return k < 0 ? last : k; };
  const seen = (x, y, z) => {
    if (data.dim === 2) return [x, y, 0];
    const [w, h, d] = data.box, a = x - w / 2, b = y - h / 2, c = z - d / 2;
    const r = a * Math.cos(turn) - b * Math.sin(turn), s = a * Math.sin(turn) + b * Math.cos(turn);
    return [w / 2 + r, d / 2 + c * Math.cos(tilt) + s * Math.sin(tilt), s * Math.cos(tilt) - c * Math.sin(tilt)];
  };
  const farFirst = (list, away) =>
    data.dim === 2 ? list : list.map((one, k) => [one, away(one, k)]).sort((a, b) => b[1] - a[1]).map(([one]) => one);
  const faces = (row, places) => {
    const at = Array.from({length: data.points}, (_, i) => seen(...row.slice(i * data.dim, (i + 1) * data.dim)));
    const shades = data.shades[frame], {palette, plain, light: [u, v, w], ambient} = data.paint;
    const mean = face => face.reduce((sum, i) => sum + at[i][2], 0) / face.length;
    for (const f of farFirst([...data.faces.keys()], f => mean(data.faces[f]))) {
      const face = data.faces[f];
      let light = 1;
      if (data.dim === 3 && face.length > 2) {
        const n = [0, 0, 0];
        face.forEach((i, k) => {
          const a = at[i], b = at[face[(k + 1) % face.length]];
          for (let c = 0; c < 3; c++) n[c] -= a[(c + 1) % 3] * b[(c + 2) % 3] - a[(c + 2) % 3] * b[(c + 1) % 3];
        });
        const size = Math.hypot(...n) * (n[2] > 0 ? -1 : 1) || Infinity;
        light = ambient + (1 - ambient) * Math.max(0, (n[0] * u + n[1] * v + n[2] * w) / size);
      }
      trace(face.map(places));
      const style = 'rgb(' + (shades ? palette[shades[f]] : plain).map(c => Math.round(c * light)) + ')';
      context.strokeStyle = context.fillStyle = style;
      context.lineWidth = face.length > 2 ? 0.75 : 3;
      if (face.length > 2) { context.closePath(); context.fill(); }
      context.stroke();
    }
  };
  const draw = () => {
    const width = canvas.clientWidth, height = canvas.clientHeight, ratio = devicePixelRatio || 1;
    canvas.width = width * ratio; canvas.height = height * ratio; context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const flatBox = data.dim === 2 ? data.box : [data.box[0], data.box[2]];
    const across = Math.hypot(data.box[0], data.box[1]);
    const room = data.dim === 2 ? data.box : [across, data.box[2] + across * 0.4];
    const scale = Math.min((width - 32) / Math.max(room[0], 1), (height - 32) / Math.max(room[1], 1));
    const x = u => width / 2 + (u - flatBox[0] / 2) * scale, y = u => height / 2 - (u - flatBox[1] / 2) * scale;
    const placed = (row, i) => {
      const [a, b] = seen(...row.slice(i * data.dim, (i + 1) * data.dim));
      return [x(a), y(b)];
    };
    const place = (k, i) => placed(data.at[k], i);
    const path = (points, style, thick) => {
      trace(points);
      context.strokeStyle = color(style);
      context.lineWidth = thick;
      context.stroke();
    };
    context.lineJoin = context.lineCap = 'round';
    for (const line of data.ground) path([placed(line, 0), placed(line, 1)], '--soft', data.dim === 2 ? 1.5 : 0.5);
    for (const i of data.trails) {
      const from = Math.max(0, frame - 60);
      path(Array.from({length: frame - from + 1}, (_, k) => place(from + k, i)), '--trail', 1.5);
    }
    if (data.faces.length) faces(data.at[frame], i => place(frame, i));
    for (const [i, j] of data.springs)
      path(zigzag(place(frame, i), place(frame, j)), '--spring', data.springs.length > 60 ? 0.8 : 1.5);
    for (const [i, j] of data.rods) path([place(frame, i), place(frame, j)], '--rod', data.rods.length > 60 ? 1.5 : 3);
    const many = data.dots.length > 60, row = data.at[frame];
    for (const i of farFirst(data.dots, i => seen(...row.slice(3 * i, 3 * i + 3))[2])) {
      const [a, b] = place(frame, i), fixed = data.fixed.includes(i);
      const r = data.radius[i] > 0 ? data.radius[i] * scale : many ? 1.5 : fixed ? 4 : 5;
      context.beginPath();
      if (fixed) context.rect(a - r, b - r, 2 * r, 2 * r); else context.arc(a, b, r, 0, 2 * Math.PI);
      context.fillStyle = color(fixed ? '--soft' : '--ball'); context.fill();
      if (data.radius[i] > 0) { context.strokeStyle = color('--paper'); context.lineWidth = 0.75; context.stroke(); }
    }
    const ends = data.arrows[frame] ?? [];
    for (let i = 0; i < ends.length / data.dim; i += 2) arrow(placed(ends, i), placed(ends, i + 1));
    clock.textContent = 't = ' + data.t[frame].toFixed(2) + ' ' + data.unit;
    slider.value = frame; slider.setAttribute('aria-valuetext', clock.textContent);
  };
  const trace = points => {
    context.beginPath();
    points.forEach(([a, b], i) => i ? context.lineTo(a, b) : context.moveTo(a, b));
  };
  const along = ([a, b], [c, d], length) => (s, side) => [
    a + ((c - a) * s - (d - b) * side) / length,
    b + ((d - b) * s + (c - a) * side) / length,
  ];
  const arrow = ([a, b], [c, d]) => {
    const length = Math.hypot(c - a, d - b); if (length < 1) return;
    const head = Math.min(12, 0.6 * length), thick = Math.min(2, head / 4), neck = length - head;
    const at = along([a, b], [c, d], length), outline = [[0, thick], [neck, thick], [neck, head / 2]];
    const back = outline.map(([s, side]) => at(s, side)).reverse();
    trace([...outline.map(([s, side]) => at(s, -side)), [c, d], ...back]);
    context.closePath(); context.fillStyle = color('--force'); context.fill();
  };
  const zigzag = ([a, b], [c, d]) => {
    const length = Math.hypot(c - a, d - b); if (data.springs.length > 60 || length < 12) return [[a, b], [c, d]];
    const at = along([a, b], [c, d], length), turns = 9;
    const inner = Array.from({length: turns + 1}, (_, i) =>
      at(length * (0.15 + 0.7 * i / turns), i === 0 || i === turns ? 0 : i % 2 ? 5 : -5));
    return [[a, b], ...inner, [c, d]];
  };
  const tick = now => {
    if (!playing || !root.isConnected) return;
    const time = (now - began) / 1000;
    if (time >= duration) { frame = last; play(false); draw(); return; }
    frame = nearest(data.t[0] + time / data.pace); draw(); requestAnimationFrame(tick);
  };
  const play = on => {
    playing = on;
    sign.setAttribute('d', on ? 'M3 2h4v12h-4zM9 2h4v12h-4z' : 'M4 2v12l10-6z');
    button.setAttribute('aria-label', on ? 'Pause' : 'Play');
    if (!on) return;
    if (frame === last) frame = 0;
    began = performance.now() - (data.t[frame] - data.t[0]) * data.pace * 1000; requestAnimationFrame(tick);
  };
  const go = to => { play(false); frame = Math.max(0, Math.min(last, to)); draw(); };
  button.onclick = () => play(!playing);
  slider.oninput = () => go(Number(slider.value));
  const view = (by, up) => { turn += by; tilt += up; draw(); };
  root.onkeydown = event => {
    if (event.target === slider && event.key !== ' ') return;
    const turning = data.dim === 3 && !event.shiftKey;
    const actions = {
      ArrowLeft: () => turning ? view(-0.1, 0) : go(frame - 1),
      ArrowRight: () => turning ? view(0.1, 0) : go(frame + 1),
      Home: () => go(0),
      End: () => go(last),
      ...(event.target === button ? {} : {' ': () => play(!playing)}),
      ...(data.dim === 3 ? {ArrowUp: () => view(0, 0.1), ArrowDown: () => view(0, -0.1)} : {}),
    };
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  };
  if (data.dim === 3)
    canvas.onpointermove = event => event.buttons && view(event.movementX / 100, event.movementY / 100);
  new ResizeObserver(draw).observe(canvas);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  draw();
  if (!matchMedia('(prefers-reduced-motion: reduce)').matches) play(true);
}`;

const light = `--paper: #ffffff; --ink: #1f2328; --soft: #59636e; --rod: #1f2328; --spring: #0072b2; --ball: #d55e00;
  --trail: #56b4e9; --force: #009e73`;
const dark = `--paper: #0d1117; --ink: #e6edf3; --soft: #9198a1; --rod: #e6edf3; --spring: #56b4e9; --ball: #f28e4b;
  --trail: #1f6f9f; --force: #65eeb6`;

const style = (theme: string): string => `.player { ${theme === 'dark' ? dark : light};
  background: var(--paper); color: var(--ink); font: 14px/1.4 system-ui, sans-serif; margin: 0; padding: 12px;
${theme === 'auto' ? `@media (prefers-color-scheme: dark) { & { ${dark} } }` : ''}
h1 { font-size: 1.05rem; margin: 0 0 8px; }
canvas { display: block; width: 100%; height: min(60vh, 26rem); touch-action: pan-y; }
canvas, button, input { &:focus-visible { outline: 3px solid var(--spring); } }
div { display: flex; gap: 10px; align-items: center; }
button { font: inherit; width: 2.4rem; height: 2.2rem; color: inherit; background: none; border: 1px solid var(--soft);
  border-radius: 6px; }
input { flex: 1; min-width: 4rem; accent-color: var(--spring); }
output { min-width: 7.5em; font-variant-numeric: tabular-nums; text-align: right; }
svg text { fill: currentColor; font-size: 12px; }
p { color: var(--soft); margin: 8px 0 0; font-size: 12px; } }`;

const PLAY = markup`<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
<path fill="currentColor" d="M4 2v12l10-6z"/></svg>`;

/** What the script needs to colour faces. */
const paint = {palette, plain: PLAIN, light: LIGHT, ambient: AMBIENT};

/** The whole page. */
export function playerPage(
  frames: Frames,
  title: string,
  description: string,
  theme: 'auto' | 'light' | 'dark',
): string {
  const keys =
    frames.dim === 3
      ? 'Space plays, Shift with ← → steps, arrows or dragging turn the view.'
      : 'Space plays, ← → step, Home and End.';
  const bar =
    frames.bar === undefined
      ? undefined
      : markup`<svg width="360" height="${BAR_HEIGHT}">${colorBar(frames.bar, 360, 4)}</svg>\n`;
  const note = frames.note === undefined ? undefined : markup`<p>${frames.note}</p>\n`;
  const body = markup`<h1>${title}</h1>
<canvas tabindex="0" role="img" aria-label="${description}"></canvas>
${bar}${note}<div><button type="button" aria-label="Play">${PLAY}</button>
<input type="range" min="0" max="${frames.t.length - 1}" value="0" aria-label="Time"><output></output></div>
<p>${keys}</p>`;
  const data = scriptJson(frames.faces.length > 0 ? {...frames, paint} : frames);
  const start = markup`(${verbatim(script)})(document.body, ${data});`;
  return htmlPage({title, style: style(theme), body, name: 'player', script: start});
}
