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

function httpSource() {
  async function request(path, body) {
    let response;
    try {
      response = await fetch(`/api/${path}`, body === undefined ? {} : {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    } catch {
      throw new SourceError('the page cannot reach its server', 'check that `planwright ui` still runs', 0);
    }
    if (response.status === 204) return null;
    const text = await response.text();
    let value = null;
    try {
      value = JSON.parse(text);
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
    runs: (filter) => request(`runs${query(filter)}`),
    run: (id) => request(`runs/${part(id)}`),
    graph: (id, open, revision) => request(`runs/${part(id)}/graph${query({ open: open.join(','), revision })}`),
    timeline: (id) => request(`runs/${part(id)}/timeline`),
    step: (id, at, whole) => request(`runs/${part(id)}/steps/${part(at)}${query({ whole: whole ? 1 : '' })}`),
    report: (id) => request(`runs/${part(id)}/report`),
    cancel: (id) => request(`runs/${part(id)}/cancel`, {}),
    resume: (id, changes) => request(`runs/${part(id)}/resume`, changes),
    inbox: () => request('inbox'),
    decide: (decision) => request('decisions', decision),
    checkArguments: (call) => request('check_arguments', call),
    diff: (a, b) => request(`diff${query({ a, b })}`),
    checkPlan: (body) => request('plan/check', body),
    convertPlan: (body) => request('plan/convert', body),
    runPlan: (body) => request('plan/run', body),
    tools: () => request('tools'),
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
    const response = await fetch(address(last), { signal: abort.signal, headers: { accept: 'text/event-stream' } });
    if (response.status === 401 || response.status === 403) return 'denied';
    if (!response.ok) throw new SourceError('the stream of events failed', null, response.status);
    listener('connection', { state: 'open' });
    const parser = eventParser((kind, data, id) => {
      if (id) last = id;
      listener(kind, JSON.parse(data));
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

/** Returns a function that takes pieces of a stream of server-sent events and calls `emit(kind, data, id)` for each event. */
function eventParser(emit) {
  let rest = '';
  let event = { kind: 'message', data: [], id: null };
  return (piece) => {
    const lines = (rest + piece).split('\n');
    rest = lines.pop();
    for (const raw of lines) {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
      if (line === '') {
        if (event.data.length) emit(event.kind, event.data.join('\n'), event.id);
        event = { kind: 'message', data: [], id: null };
        continue;
      }
      const colon = line.indexOf(':');
      if (colon === 0) continue;
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (field === 'event') event.kind = value;
      else if (field === 'data') event.data.push(value);
      else if (field === 'id') event.id = value;
    }
  };
}
