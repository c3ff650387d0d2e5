// The source of the page's data. The screens call the methods of `source` and know no transport. `httpSource` asks the server that
// delivered the page; a page inside an MCP client gets another object with the same methods.

const { h, html, render, Component, useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback } = htmPreact;

/** A request that failed. `status` is the HTTP status, 0 if no response arrived. */
class SourceError extends Error {
  constructor(message, help, status) {
    super(message);
    this.help = help;
    this.status = status;
  }
}

/** The shortest and the longest time between two attempts to connect, in ms. */
const BACKOFF_MIN = 400;
const BACKOFF_MAX = 15000;

/** A number whose text JavaScript would change: more digits than a double has, or another form, as `1.0`. */
class ExactNumber {
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }

  toJSON() {
    return EXACT + this.text;
  }
}

/** Marks the text of an exact number inside JSON. It is random, so that no value of a tool can look like it. */
const EXACT = `exact ${[...crypto.getRandomValues(new Uint32Array(4))].join('-')} `;
const EXACT_TEXT = new RegExp(`"${EXACT}([^"]*)"`, 'g');

/** The next text or number of JSON, and a number. */
const NEXT_SCALAR = /["\d-]/g;
const NUMBER = /-?\d*(?:\.\d+)?(?:[eE][-+]?\d+)?/y;

/** The position behind the text of JSON that begins at `start`. A regular expression would need a stack for a long one. */
function endOfText(text, start) {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text[end - 1 - escapes] === '\\') escapes += 1;
    if (escapes % 2 === 0) return end + 1;
  }
  return text.length;
}

/** Turns each number of JSON that JavaScript would change into a marked text. Returns null if there is none. */
function markNumbers(text) {
  const parts = [];
  let done = 0;
  NEXT_SCALAR.lastIndex = 0;
  for (let found = NEXT_SCALAR.exec(text); found; found = NEXT_SCALAR.exec(text)) {
    const start = found.index;
    if (found[0] === '"') {
      NEXT_SCALAR.lastIndex = endOfText(text, start);
      continue;
    }
    NUMBER.lastIndex = start;
    const [part] = NUMBER.exec(text);
    NEXT_SCALAR.lastIndex = start + part.length;
    if (String(Number(part)) === part) continue;
    parts.push(text.slice(done, start), `"${EXACT}${part}"`);
    done = start + part.length;
  }
  return parts.length ? parts.join('') + text.slice(done) : null;
}

/** The fields with values of plans and tools. All other numbers are of Planwright, and are read as JavaScript does. */
const DATA_FIELDS = new Set(['arguments', 'args', 'output', 'content', 'inputs', 'data', 'example', 'input_schema', 'output_schema']);

/** Reads JSON without changing a number: of the fields with data, or of the whole value if `isData` is true. */
function readJson(text, isData = false) {
  // A text of a person is JSON or an error as it stands, before numbers in it become texts.
  if (isData) JSON.parse(text);
  const marked = markNumbers(text);
  return marked === null ? JSON.parse(text) : exactNumbers(JSON.parse(marked), isData);
}

function exactNumbers(value, isData) {
  if (typeof value === 'string' && value.startsWith(EXACT)) {
    const text = value.slice(EXACT.length);
    return isData ? new ExactNumber(text) : Number(text);
  }
  if (value === null || typeof value !== 'object') return value;
  for (const name of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    value[name] = exactNumbers(value[name], isData || (typeof name === 'string' && DATA_FIELDS.has(name)));
  }
  return value;
}

/** The keys that an object of valid JSON has twice: readers take the last one, and a person may have read the first. */
function repeatedKeys(text) {
  const found = new Set();
  const open = [];
  for (let index = 0; index < text.length; index += 1) {
    const at = text[index];
    if (at === '{' || at === '[') open.push(new Set());
    else if (at === '}' || at === ']') open.pop();
    else if (at === '"') {
      const end = endOfText(text, index);
      if (/^\s*:/.test(text.slice(end, end + 20))) {
        const key = JSON.parse(text.slice(index, end));
        if (open.at(-1).has(key)) found.add(key);
        open.at(-1).add(key);
      }
      index = end - 1;
    }
  }
  return [...found];
}

/** Writes a value as JSON, with the numbers as they were read. */
const writeJson = (value, indent) => JSON.stringify(value, null, indent)?.replace(EXACT_TEXT, '$1');

/**
 * The key of the session, which each request has to show beside the cookie: browsers send the cookie to all ports of this host, and no other
 * port can read the storage of this one. All tabs of the page share it.
 */
const SESSION_KEY = 'planwright-session';

const sessionHeaders = () => {
  const key = localStorage.getItem(SESSION_KEY);
  return key ? { [SESSION_KEY]: key } : {};
};

function httpSource() {
  async function request(path, body) {
    let response;
    try {
      response = await fetch(`/api/${path}`, body === undefined ? { headers: sessionHeaders() } : {
        method: 'POST',
        headers: { ...sessionHeaders(), 'content-type': 'application/json' },
        body: writeJson(body),
      });
    } catch {
      throw new SourceError('the page cannot reach its server', 'check that `planwright ui` still runs', 0);
    }
    if (response.status === 204) return null;
    const text = await response.text();
    let value = null;
    try {
      value = readJson(text);
    } catch {
      if (response.ok) throw new SourceError('the response is not JSON', null, response.status);
    }
    if (!response.ok) {
      const error = value?.error ?? {};
      throw new SourceError(error.message ?? `the server responded with status ${response.status}`, error.help, response.status);
    }
    return value;
  }

  const { query, ...paths } = pathSource(request);
  return {
    ...paths,
    openSession: async (token) => {
      const { key } = await paths.openSession(token);
      localStorage.setItem(SESSION_KEY, key);
    },
    signOut: async () => {
      await request('session/end', {});
      localStorage.removeItem(SESSION_KEY);
    },
    watch: (run, after, listener) => watchStream((last) => `/api/events${query({ run, after: last ?? after })}`, listener),
  };
}

/** The methods of a source that are one request each; `request(path, body)` asks the server, wherever it is. */
function pathSource(request) {
  const query = (parameters) => {
    const used = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== '');
    return used.length ? `?${new URLSearchParams(used)}` : '';
  };
  const part = encodeURIComponent;

  return {
    query,
    openSession: (token) => request('session', { token }),
    config: () => request('config'),
    code: (name) => request(`codes/${part(name)}`),
    runs: (filter) => request(`runs${query(filter)}`),
    run: (id) => request(`runs/${part(id)}`),
    graph: (id, open, revision) => request(`runs/${part(id)}/graph${query({ open: open.join(','), revision })}`),
    timeline: (id) => request(`runs/${part(id)}/timeline`),
    step: (id, at, whole) => request(`runs/${part(id)}/steps/${part(at)}${query({ whole: whole ? 1 : '' })}`),
    report: (id) => request(`runs/${part(id)}/report`),
    cancel: (id) => request(`runs/${part(id)}/cancel`, {}),
    resume: (id, changes) => request(`runs/${part(id)}/resume`, changes),
    proposeRevert: (id) => request(`runs/${part(id)}/revert/proposal`, {}),
    revert: (id, digest) => request(`runs/${part(id)}/revert`, { digest }),
    inbox: () => request('inbox'),
    decide: (decision) => request('decisions', decision),
    callArguments: (id, at) => request(`runs/${part(id)}/calls/${part(at)}`),
    checkArguments: (call) => request('check_arguments', call),
    checkOutput: (step) => request('check_output', step),
    diff: (a, b) => request(`diff${query({ a, b })}`),
    checkPlan: (body) => request('plan/check', body),
    convertPlan: (body) => request('plan/convert', body),
    runPlan: (body) => request('plan/run', body),
    tools: (isFresh) => request(`tools${query({ refresh: isFresh ? 1 : '' })}`),
    plans: () => request('plans'),
    savePlan: (plan) => request('plans', plan),
    plan: (name, version) => request(`plans/${part(name)}${query({ version })}`),
  };
}

/**
 * Follows one stream of events. It reconnects with a growing delay and continues after the last event that arrived.
 *
 * `listener(kind, data)` gets the events, and `connection` with `{state: "open" | "lost" | "denied", delay}`.
 * Returns `{stop(), retry()}`; `retry` ends a delay early.
 */
function watchStream(address, listener) {
  const abort = new AbortController();
  let last = null;
  let wake = () => {};

  async function read() {
    const response = await fetch(address(last), { signal: abort.signal, headers: { ...sessionHeaders(), accept: 'text/event-stream' } });
    if (response.status === 401 || response.status === 403) return 'denied';
    if (!response.ok) throw new SourceError('the stream of events failed', null, response.status);
    listener('connection', { state: 'open' });
    const parser = eventParser((kind, data, id) => {
      if (id) last = id;
      listener(kind, readJson(data));
    });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return 'ended';
      parser(value);
    }
  }

  async function follow() {
    let delay = BACKOFF_MIN;
    while (!abort.signal.aborted) {
      const began = Date.now();
      let result = 'lost';
      try {
        result = await read();
      } catch (error) {
        if (!abort.signal.aborted) console.warn('planwright: the stream of events ended', error);
      }
      if (abort.signal.aborted) return;
      if (result === 'denied') {
        listener('connection', { state: 'denied' });
        return;
      }
      if (Date.now() - began > BACKOFF_MAX) delay = BACKOFF_MIN;
      listener('connection', { state: 'lost', delay });
      await new Promise((resolve) => {
        wake = resolve;
        setTimeout(resolve, delay);
      });
      delay = Math.min(delay * 2, BACKOFF_MAX);
    }
  }

  const retry = () => wake();
  addEventListener('online', retry);
  follow();
  return {
    retry,
    stop() {
      removeEventListener('online', retry);
      abort.abort();
      wake();
    },
  };
}

/** Returns a function that takes pieces of a stream of server-sent events and calls `emit(kind, data, id)` for each event. Data are one line. */
function eventParser(emit) {
  let rest = '';
  return (piece) => {
    const blocks = (rest + piece).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const { event, data, id } = Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s, 2)));
      if (data) emit(event, data, id);
    }
  };
}
