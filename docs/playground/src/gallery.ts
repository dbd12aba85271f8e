/** The gallery's side of the page: sliders, and what the worker draws for them; the last move wins. */
import {by, widthOf} from './by.js';
import {isAnswer, type Answer, type Request, type SceneCard} from './messages.js';
import {showPictures, still, stillPreferred} from './picture.js';

export function galleryIn(make: () => Worker): {open(): void} {
  let worker: Worker | undefined;
  let cards: readonly SceneCard[] = [];
  let values: {[name: string]: number} = {};
  let moved = '';
  let motion = '';
  let [running, wanted, paused] = [false, false, stillPreferred()];
  const choice = by<HTMLSelectElement>('scene');
  const send = (request: Request): void => worker?.postMessage(request);

  function draw(): void {
    wanted = running;
    if (running || choice.value === '') return;
    running = true;
    send({kind: 'scene', id: choice.value, values, moved, width: widthOf('scene-curve')});
  }

  function choose(): void {
    const card = cards.find(({id}) => id === choice.value);
    if (card === undefined) return;
    by('scene-text').textContent = card.text;
    values = Object.fromEntries(card.sliders.map(({name, value}) => [name, value]));
    moved = card.sliders[0].name;
    by('sliders').replaceChildren(
      ...card.sliders.map(({name, label, unit, min, max, step, value}) => {
        const line = document.createElement('label');
        const [told, input] = [document.createElement('output'), document.createElement('input')];
        Object.assign(input, {type: 'range', min, max, step, name});
        input.valueAsNumber = value;
        const tell = (): void => {
          told.textContent = `${input.value} ${unit}`.trim();
          input.setAttribute('aria-valuetext', told.textContent);
        };
        input.oninput = () => {
          values = {...values, [name]: input.valueAsNumber};
          moved = name;
          tell();
          draw();
        };
        tell();
        line.append(`${label}: `, told, input);
        return line;
      }),
    );
    draw();
  }

  function show(answer: Answer): void {
    if (answer.kind === 'scenes') {
      ({cards} = answer);
      choice.replaceChildren(...cards.map(({id, title}) => new Option(title, id)));
      choose();
      return;
    }
    running = false;
    if (answer.kind === 'scene') {
      by('scene-status').textContent = answer.sentence;
      showPictures(by('scene-curve'), [answer.curve]);
      showPictures(by('scene-gradient'), [answer.gradient]);
      motion = answer.motion;
      by('pause').hidden = motion === '';
      move();
    } else if (answer.kind === 'failed') by('scene-status').textContent = answer.message;
    if (wanted) draw();
  }

  /** An image cannot be stopped: paused, its first picture stands. */
  function move(): void {
    showPictures(by('motion'), motion === '' ? [] : [paused ? still(motion) : motion]);
    by('pause').setAttribute('aria-pressed', String(paused));
  }

  choice.onchange = choose;
  by('pause').onclick = () => {
    paused = !paused;
    move();
  };
  return {
    open: () => {
      if (worker !== undefined) return;
      worker = make();
      worker.onmessage = ({data}: MessageEvent<unknown>) => {
        if (isAnswer(data)) show(data);
      };
      send({kind: 'scenes'});
    },
  };
}
