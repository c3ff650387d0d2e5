// The source of the page inside an MCP client (the extension `io.modelcontextprotocol/ui`, revision 2026-01-26). The client shows the page in a
// frame and passes its calls on to the gateway's tools `read_run_view` and `decide_call`.

/**
 * The interval at which the run is read, in ms. The extension has no stream of events. It is read by `read_run_view`, since the gateway counts
 * what `get_run` returns as read by the model, and its results must not carry tokens to decide.
 */
const RUN_INTERVAL = 1000;
/** The height that the view asks for, in pixels, where the client lets it choose: its screens fill what they get, and scroll. */
const VIEW_HEIGHT = 640;

/** JSON-RPC with the client around the page. `notified(method, params)` gets its notifications. */
function clientChannel(notified) {
  const pending = new Map();
  let count = 0;
  const post = (message) => parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
  addEventListener('message', ({ source: from, data }) => {
    if (from !== parent || data?.jsonrpc !== '2.0') return;
    if (data.method !== undefined) {
      if (data.id === undefined) notified(data.method, data.params ?? {});
      else post({ id: data.id, result: {} });
      return;
    }
    const waiting = pending.get(data.id);
    pending.delete(data.id);
    if (data.error) waiting?.reject(new SourceError(data.error.message ?? 'the client refused the request', null, 0));
    else waiting?.resolve(data.result);
  });
  return {
    notify: (method, params) => post({ method, params }),
    request: (method, params) => new Promise((resolve, reject) => {
      count += 1;
      pending.set(count, { resolve, reject });
      post({ id: count, method, params });
    }),
  };
}

function clientSource() {
  let input = null;
  /** The plan that the client has a check of, as the workbench shows it, and its findings. */
  let checkedPlan = null;
  let opened;
  let refused;
  let isRefused = false;
  /** The run of the view, if it has one, and the token to read it. */
  let key = new Promise((resolve, reject) => {
    opened = resolve;
    refused = (message) => { isRefused = true; reject(new SourceError(message, null, 0)); };
  });
  /** The tokens to decide, by the digest of the call. They come beside the results, where no model reads them. */
  const deciding = new Map();

  const channel = clientChannel((method, params) => {
    if (method === 'ui/notifications/tool-input') input = params.arguments ?? null;
    if (method === 'ui/notifications/tool-result') showResult(params);
    if (method === 'ui/notifications/tool-cancelled') refused('the client cancelled the call');
    if (method === 'ui/notifications/host-context-changed') fitClient(params);
  });

  /** Moves to the run, or the plan, that the client has a result for. */
  function showResult(result) {
    const found = result._meta?.['planwright/view'];
    if (found) {
      opened(found);
      key = Promise.resolve(found);
      // The page starts again, whatever the client sent before.
      if (isRefused) dispatchEvent(new HashChangeEvent('hashchange'));
      isRefused = false;
    } else refused('the client passed the result on without its `_meta`, which has the key of the view');
    // A person who writes a decision stays with it.
    if (document.querySelector('.decide textarea')) return;
    if (live.value.config) live.set({ config: { ...live.value.config, view: found ?? {} } });
    if (found?.run) go(`#/run/${encodeURIComponent(found.run)}/graph`);
    else if (input?.plan) {
      const text = typeof input.plan === 'string' ? input.plan : writeJson(input.plan, 2);
      checkedPlan = { text, result: result.structuredContent ?? {} };
      editBench({ text });
      go('#/workbench');
    }
  }

  /** Takes the theme of the client, and the height that it leaves to the view, as far as they are new. */
  function fitClient({ theme, containerDimensions: room }) {
    if (theme) {
      document.documentElement.style.colorScheme = theme;
      dispatchEvent(new Event('scheme'));
    }
    if (room && !('height' in room)) channel.notify('ui/notifications/size-changed', { height: Math.min(VIEW_HEIGHT, room.maxHeight ?? VIEW_HEIGHT) });
  }

  async function call(name, given) {
    const result = await channel.request('tools/call', { name, arguments: given });
    for (const [digest, one] of Object.entries(result._meta?.['planwright/decide'] ?? {})) deciding.set(digest, one);
    const { status, text: answer } = result.structuredContent ?? {};
    if (result.isError || status === undefined) {
      const text = result.content?.map((part) => part.text ?? '').join(' ');
      throw new SourceError(text || 'the gateway refused the request', null, 0);
    }
    // The client has read the message as JSON, and has rounded its numbers, so that the answer is a text.
    const body = readJson(answer);
    if (status >= 400) {
      const error = body?.error ?? {};
      throw new SourceError(error.message ?? `the gateway responded with status ${status}`, error.help, status);
    }
    return body;
  }

  const read = async (path, body) => call('read_run_view', { ...await key, path, ...(body === undefined ? {} : { body: writeJson(body) }) });
  const readRun = (id) => read(`runs/${encodeURIComponent(id)}`);
  const say = (text) => channel.request('ui/message', { role: 'user', content: [{ type: 'text', text }] });
  const notHere = async () => {
    throw new SourceError('a view inside a client only reads and decides', 'do it with `planwright ui`, or ask the model', 0);
  };

  // The address of such a page is none that links could be relative to.
  addEventListener('click', (event) => {
    const route = event.target.closest?.('a[href^="#"]')?.getAttribute('href');
    if (!route) return;
    event.preventDefault();
    go(route);
  });

  channel.request('ui/initialize', {
    protocolVersion: '2026-01-26',
    appInfo: { name: 'planwright', version: '1' },
    appCapabilities: {},
  }).then(({ hostContext }) => {
    channel.notify('ui/notifications/initialized', {});
    fitClient({ containerDimensions: {}, ...hostContext });
  }, (error) => console.warn('planwright: the client did not answer', error));

  return {
    ...pathSource(read),
    openSession: async () => {},
    config: async () => ({ ...await read('config'), view: await key }),
    inbox: async () => {
      const { run } = await key;
      return run ? readRun(run) : { questions: [] };
    },
    checkPlan: async (body) => {
      const drawn = await read('plan/check', body);
      if (body.text !== checkedPlan?.text) return drawn;
      // The gateway says no severity: a sound plan has no errors.
      const severity = checkedPlan.result.status === 'sound' ? 'warning' : 'error';
      const findings = (checkedPlan.result.findings ?? []).map(({ code, message, help, at }) => (
        { code, message: at ? `${message} (${at})` : message, help, severity, pointer: at ?? '' }
      ));
      return { ...drawn, ok: checkedPlan.result.status === 'sound', diagnostics: findings };
    },
    decide: async (decision) => {
      const decided = await call('decide_call', {
        ...decision,
        ...(decision.arguments === undefined ? {} : { arguments: writeJson(decision.arguments) }),
        tokens: Object.fromEntries([...decision.decisions.map(({ digest }) => digest), decision.plan_digest].filter(Boolean)
          .map((digest) => [digest, deciding.get(digest) ?? ''])),
      });
      // The run waits until the model resumes it, so the conversation goes on with that.
      say(`I have decided about calls of the run ${decision.run}: resume it with resume_plan.`)
        .catch((error) => console.warn('planwright: the client took no message', error));
      return decided;
    },
    run: async (id) => {
      const data = await readRun(id);
      return { ...data, can_cancel: false, can_revert: false, can_resume: !data.run.pid && ['failed', 'waiting', 'cancelled', 'interrupted'].includes(data.run.status) };
    },
    cancel: notHere,
    resume: async (run, { retry = [], skip = [], set = {} }) => {
      // A model never decides what becomes of a call whose outcome is unknown.
      if (retry.length || skip.length || Object.keys(set).length) return notHere();
      await say(`Resume the run ${run} with resume_plan.`);
      return { run };
    },
    runPlan: notHere,
    watch: (run, after, listener) => pollEvents(async () => {
      const { run: own } = await key;
      return own && readRun(own);
    }, run, listener),
  };
}

/** Reads the run again and again, and calls `listener` as a stream of events would. */
function pollEvents(read, run, listener) {
  let known = null;
  let size = null;
  let stopped = false;
  let wake = () => {};
  let isOpen = null;

  async function poll() {
    try {
      const data = await read();
      if (stopped) return;
      if (isOpen !== true) listener('connection', { state: 'open' });
      isOpen = true;
      if (!data) return;
      // The process that has the run, and decisions, change without an entry of its journal.
      const now = JSON.stringify([data.seq, data.run, data.questions.map(({ digest, decision }) => [digest, decision])]);
      if (now === known) return;
      known = now;
      const last = size;
      size = JSON.stringify([data.graph?.nodes.length, data.revisions?.length]);
      listener('inbox', data);
      if (run) listener('run', { ...data, grew: last !== null && last !== size });
    } catch (error) {
      if (stopped) return;
      if (isOpen !== false) listener('connection', { state: 'lost', delay: RUN_INTERVAL });
      isOpen = false;
      console.warn('planwright: the gateway was not reached', error);
    }
  }

  async function follow() {
    while (!stopped) {
      if (!document.hidden) await poll();
      await new Promise((resolve) => {
        wake = resolve;
        setTimeout(resolve, RUN_INTERVAL);
      });
    }
  }

  follow();
  return {
    retry: () => wake(),
    stop() {
      stopped = true;
      wake();
    },
  };
}

const source = document.documentElement.dataset.source === 'client' ? clientSource() : httpSource();
