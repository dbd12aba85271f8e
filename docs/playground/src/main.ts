/** The page: what is chosen, what is shown. It computes nothing itself. */
import {editorIn} from './editor.js';
import {galleryIn} from './gallery.js';
import {confinedWorker} from './confined.js';
import {isAnswer, type Answer, type Request, type Row} from './messages.js';
import {showPictures, still, stillPreferred} from './picture.js';
import {samples} from './samples.js';
import {addressOf, LONGEST, sharedIn} from './share.js';
import {typesBy} from './types.js';
import address from './worker.ts?worker&url';
import {by, widthOf} from './by.js';

const computing = (): Worker => confinedWorker(address);
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
  clear();
  by('status').textContent = 'The model is compiled …';
  worker ??= computing();
  worker.onmessage = ({data}: MessageEvent<unknown>) => take(data);
  worker.onerror = event => show({kind: 'failed', message: event.message});
  worker.postMessage({kind: 'fit', code: editor.text(), csv: record.csv, width: widthOf('curve')} satisfies Request);
}

/** What an earlier fit left: no curve and no table stand beside another model. */
function clear(): void {
  by('failure').textContent = '';
  by('curve').replaceChildren();
  by('pictures').replaceChildren();
  by('estimates').hidden = true;
}

function end(): void {
  worker?.terminate();
  worker = undefined;
  busy(false);
}

/** A model may send anything, also when its fit is over. */
function take(message: unknown): void {
  if (by<HTMLButtonElement>('start').disabled === false) return;
  try {
    if (!isAnswer(message)) throw new Error('The model sent a message that this page does not know; it was stopped.');
    show(message);
  } catch (error) {
    end();
    show({kind: 'failed', message: (error as Error).message});
  }
}

function stop(): void {
  end();
  by('status').textContent = 'Stopped.';
  by('start').focus();
}

function show(answer: Answer): void {
  switch (answer.kind) {
    case 'progress':
      by('status').textContent = `Iteration ${answer.iteration}, cost ${answer.cost.toPrecision(5)}`;
      showPictures(by('curve'), [answer.curve]);
      rows(answer.rows);
      break;
    case 'fitted':
      busy(false);
      by('status').textContent = answer.sentence;
      showPictures(by('curve'), [answer.curve]);
      // Moving pictures stand where the reader prefers them to.
      showPictures(by('pictures'), stillPreferred() ? answer.pictures.map(still) : answer.pictures);
      rows(answer.rows);
      break;
    case 'failed':
      busy(false);
      clear();
      by('status').textContent = 'This could not be fitted.';
      by('failure').textContent = answer.message;
      break;
    case 'scenes':
    case 'scene':
      break;
  }
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

function takeRecord(next: typeof record): void {
  record = next;
  const lines = next.csv.trim().split(/\r?\n/);
  by('record').textContent = `${next.name}: ${lines.length - 1} rows; ${lines[0].slice(0, 120)}`;
}

function takeSample(place: number): void {
  const {name, csv, code} = samples[place];
  takeRecord({name, csv, sample: place});
  editor.show(code);
  by('foreign').hidden = true;
}

async function takeFile(file: File | undefined): Promise<void> {
  if (file === undefined) return;
  takeRecord({name: file.name, csv: await file.text()});
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
  addEventListener('hashchange', () => {
    route();
    if (location.hash.startsWith('#fit=')) open(sharedIn(location.hash));
  });
  route();
  const shared = sharedIn(location.hash);
  if (shared !== undefined) {
    open(shared);
    return;
  }
  takeSample(0);
  if (location.hash !== '#gallery') fit();
}

/** What came with an address: a program of somebody, which does not run before its reader has seen it. */
function open(shared: ReturnType<typeof sharedIn>): void {
  end();
  clear();
  if (shared === 'broken' || shared === undefined) {
    takeSample(0);
    by('status').textContent =
      'This link is broken: no model can be read from it. Ask for it again, or fit the model that stands here, which is ours.';
    return;
  }
  takeSample(shared.sample ?? 0);
  if (shared.csv !== undefined) takeRecord({name: shared.name ?? 'A record', csv: shared.csv});
  editor.show(shared.code);
  by<HTMLSelectElement>('sample').value = String(shared.sample ?? 0);
  by('foreign').hidden = false;
  by('status').textContent = 'This model came with the link. Look at it, then press Fit.';
}

begin();
