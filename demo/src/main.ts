/** The page: what is chosen, what is shown. It computes nothing itself. */
import {editorIn} from './editor.js';
import {galleryIn} from './gallery.js';
import type {Answer, Request, Row} from './messages.js';
import {samples} from './samples.js';
import {addressOf, LONGEST, sharedIn} from './share.js';
import {typesBy} from './types.js';
import {by, widthOf} from './by.js';

const computing = (): Worker => new Worker(new URL('./worker.ts', import.meta.url), {type: 'module'});
const compiling = (): Worker => new Worker(new URL('./types-worker.ts', import.meta.url), {type: 'module'});

let worker: Worker | undefined;
let record: {readonly name: string; readonly csv: string; readonly sample?: number} = {name: '', csv: ''};

const editor = editorIn(
  by('editor'),
  typesBy(compiling, sentence => (by('types').textContent = sentence)),
  () => fit(),
);

function busy(now: boolean): void {
  by<HTMLButtonElement>('start').disabled = now;
  by<HTMLButtonElement>('stop').disabled = !now;
  by('curve').setAttribute('aria-busy', String(now));
}

function fit(): void {
  if (by<HTMLButtonElement>('start').disabled) return;
  busy(true);
  by('failure').textContent = '';
  by('pictures').replaceChildren();
  by('status').textContent = 'The model is compiled …';
  worker ??= computing();
  worker.onmessage = ({data}: MessageEvent<Answer>) => show(data);
  worker.onerror = event => show({kind: 'failed', message: event.message});
  worker.postMessage({kind: 'fit', code: editor.text(), csv: record.csv, width: widthOf('curve')} satisfies Request);
}

function stop(): void {
  worker?.terminate();
  worker = undefined;
  busy(false);
  by('status').textContent = 'Stopped.';
  by('start').focus();
}

function show(answer: Answer): void {
  switch (answer.kind) {
    case 'progress':
      by('status').textContent = `Iteration ${answer.iteration}, cost ${answer.cost.toPrecision(5)}`;
      by('curve').innerHTML = answer.curve;
      rows(answer.rows);
      break;
    case 'fitted':
      busy(false);
      by('status').textContent = answer.sentence;
      by('curve').innerHTML = answer.curve;
      by('pictures').innerHTML = answer.pictures.join('');
      quiet(by('pictures'));
      rows(answer.rows);
      break;
    case 'failed':
      busy(false);
      by('status').textContent = 'This could not be fitted.';
      by('failure').textContent = answer.message;
      break;
    case 'scenes':
    case 'scene':
      break;
  }
}

/** Moving pictures stand where the reader prefers them to. */
function quiet(parent: HTMLElement): void {
  if (matchMedia('(prefers-reduced-motion: reduce)').matches)
    parent.querySelectorAll('svg').forEach(svg => svg.pauseAnimations());
}

function rows(list: readonly Row[]): void {
  by('estimates').hidden = false;
  by('estimates')
    .querySelector('tbody')
    ?.replaceChildren(
      ...list.map(row => {
        const line = document.createElement('tr');
        line.append(
          ...[row.name, row.value, row.error === '' ? '' : `± ${row.error}`].map(text => {
            const field = document.createElement('td');
            field.textContent = text;
            return field;
          }),
        );
        return line;
      }),
    );
}

function take(next: typeof record): void {
  record = next;
  const lines = next.csv.trim().split(/\r?\n/);
  by('record').textContent = `${next.name}: ${lines.length - 1} rows; ${lines[0].slice(0, 120)}`;
}

function takeSample(place: number): void {
  const {name, csv, code} = samples[place];
  take({name, csv, sample: place});
  editor.show(code);
}

async function takeFile(file: File | undefined): Promise<void> {
  if (file === undefined) return;
  take({name: file.name, csv: await file.text()});
  by('status').textContent = `${file.name} is here. Fit fits the model to it.`;
}

async function share(): Promise<void> {
  const {name, csv, sample} = record;
  const hash = addressOf({code: editor.text(), ...(sample === undefined ? {csv, name} : {sample})});
  if (hash.length > LONGEST) {
    by('shared').textContent =
      'The record is too long for a link: it would be cut off. Share the file, and the model by its text.';
    return;
  }
  history.replaceState(null, '', hash);
  const copied = await navigator.clipboard?.writeText(location.href).then(
    () => true,
    () => false,
  );
  by('shared').textContent = copied ? 'The link is copied.' : 'The link is in the address bar.';
}

const gallery = galleryIn(computing);

function route(): void {
  const toGallery = location.hash === '#gallery';
  by('fit').hidden = toGallery;
  by('gallery').hidden = !toGallery;
  by('to-fit').toggleAttribute('aria-current', !toGallery);
  by('to-gallery').toggleAttribute('aria-current', toGallery);
  if (toGallery) gallery.open();
}

function begin(): void {
  const choice = by<HTMLSelectElement>('sample');
  choice.append(...samples.map(({name}, i) => new Option(name, String(i))));
  choice.onchange = () => {
    takeSample(Number(choice.value));
    fit();
  };
  by<HTMLInputElement>('file').onchange = ({target}) => void takeFile((target as HTMLInputElement).files?.[0]);
  const drop = by('drop');
  for (const kind of ['dragover', 'dragleave', 'drop'] as const)
    document.addEventListener(kind, event => {
      event.preventDefault();
      drop.classList.toggle('over', kind === 'dragover');
      if (kind === 'drop') void takeFile(event.dataTransfer?.files[0]);
    });
  by('start').onclick = fit;
  by('stop').onclick = stop;
  by('share').onclick = () => void share();
  addEventListener('hashchange', route);
  const shared = sharedIn(location.hash);
  takeSample(shared?.sample ?? 0);
  route();
  if (shared === undefined) {
    if (location.hash !== '#gallery') fit();
    return;
  }
  // A program that came with an address does not run before its reader has seen it.
  if (shared.csv !== undefined) take({name: shared.name ?? 'A record', csv: shared.csv});
  editor.show(shared.code);
  choice.value = String(shared.sample ?? 0);
  by('status').textContent = 'This model came with the link. Look at it, then press Fit.';
}

begin();
