/** Files that an MJCF file includes stand in the place of their <include>, wherever they lie. */
import {expect} from 'chai';
import {DataError} from '../../../lib/index.js';
import {readMjcf} from '../../../models/robots/index.js';

const main = `<mujoco>
<include file="./parts/classes.xml"/>
<worldbody><body name="a"><joint class="stiff"/>
<include file="parts/arm.xml"/></body></worldbody>
</mujoco>`;
const files = {
  'parts/classes.xml': '<any><default><default class="stiff"><joint armature="3"/></default></default></any>',
  // From the including file's folder, as the main file's has none of the name.
  'parts/arm.xml': '<any>\n<geom size=".1" mass="2"/>\n<include file="deep/hand.xml"/></any>',
  'parts/deep/hand.xml': '<any><body name="b" pos="1 0 0"><joint/><geom size=".1" mass="5"/></body>\n<frame/></any>',
};
const told = (read: () => unknown): string => {
  try {
    read();
  } catch (error) {
    return error instanceof DataError ? `${error.code} ${error.message}` : `raw ${String(error)}`;
  }
  return 'read';
};

describe('files that MJCF includes', () => {
  it('are read, nested and from their own folders', () => {
    const {spec, links} = readMjcf(main, {files});
    expect(links.map(({name}) => name)).to.deep.equal(['a', 'b']);
    expect([spec.bodies.a.mass, spec.bodies.b.mass]).to.deep.equal([2, 5]);
    expect(JSON.stringify(spec.joints)).to.contain('"armature":3');
    // The main file's folder comes first.
    const both = {...files, 'deep/hand.xml': files['parts/deep/hand.xml'].replace('"5"', '"7"')};
    expect(readMjcf(main, {files: both}).spec.bodies.b.mass).to.equal(7);
  });

  it('that are not given are asked for, all at once', () => {
    const missing = told(() => readMjcf(main, {file: 'robot.xml'}));
    expect(missing).to.match(
      /^unsupported-model-file robot.xml .* line 2: .*pass files: \{'parts\/classes.xml': text\}/,
    );
    expect(missing).to.match(/line 4: .*pass files: \{'parts\/arm.xml': text\}/);
    const {'parts/deep/hand.xml': _, ...some} = files;
    expect(told(() => readMjcf(main, {files: some}))).to.match(/parts\/arm.xml, line 3: .*\{'deep\/hand.xml': text\}/);
    const without = main.replace('class="stiff"', '').replace('</body>', '<geom size="1"/></body>');
    const {notes} = readMjcf(without, {unsupported: 'note'});
    expect(notes.filter(({text}) => text.includes('pass files')).map(({line}) => line)).to.deep.equal([2, 4]);
  });

  it('are named in errors and notes, and included once', () => {
    const wrong = {...files, 'parts/arm.xml': files['parts/arm.xml'].replace('"2"', '"-2"')};
    expect(told(() => readMjcf(main, {files: wrong}))).to.match(
      /^bad-model-file parts\/arm.xml, line 2: mass="-2" of <geom>/,
    );
    const broken = {...files, 'parts/arm.xml': '<any>\n<geom></any>'};
    expect(told(() => readMjcf(main, {files: broken}))).to.match(/^bad-xml parts\/arm.xml, line 2: /);
    const odd = {...files, 'parts/deep/hand.xml': '<any>\n<composite/></any>'};
    const {notes} = readMjcf(main, {files: odd, unsupported: 'note'});
    expect(notes).to.deep.include({file: 'parts/deep/hand.xml', line: 2, text: 'not supported: <composite>'});
    const round = {...files, 'parts/deep/hand.xml': '<any><include file="../arm.xml"/></any>'};
    expect(told(() => readMjcf(main, {files: round}))).to.match(
      /hand.xml, line 1: file parts\/arm.xml is included twice/,
    );
  });
});
