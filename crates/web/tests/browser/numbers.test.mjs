// JSON that is read without changing a number, by the page's own code, which needs no browser for it.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';

const SOURCE = new URL('../../page/10-source.js', import.meta.url);

let readJson;
let writeJson;

before(async () => {
  const text = await readFile(SOURCE, 'utf8');
  const part = text.slice(text.indexOf('class ExactNumber'), text.indexOf('/**\n * The key of the session'));
  ({ readJson, writeJson } = new Function(`${part}; return { readJson, writeJson };`)());
});

test('numbers of data stay as they were written, beside texts of any length', () => {
  for (const length of [0, 1, 12_000_000]) {
    const texts = JSON.stringify({ args: 'x'.repeat(length), output: '\\"-1.50\n'.repeat(length / 8) });
    const json = `${texts.slice(0, -1)},"inputs":[1,2.50,12345678901234567890,-0,1e400,{"2.50":-7}],"seq":1.0}`;
    const value = readJson(json);
    assert.equal(writeJson(value), json.replace('1.0}', '1}'));
    assert.equal(value.args.length, length);
    assert.equal(value.seq, 1);
    assert.equal(value.inputs[0], 1);
    assert.equal(String(value.inputs[2]), '12345678901234567890');
  }
});

test('a text of a person that is not JSON is an error', () => {
  for (const text of ['', '-', '[01]', '[1.]', '[.5]', '"abc', '"abc\\"', '{"a":-}', '[1 2]']) {
    assert.throws(() => readJson(text, true), SyntaxError, text);
  }
});
