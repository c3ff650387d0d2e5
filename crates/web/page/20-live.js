// The live state of the page: the connection, the runs, the questions and the run on the screen, fed by one stream of events.

/** A value with subscribers. They are notified once a frame, however often the value changed. */
function createStore(value) {
  const listeners = new Set();
  let scheduled = false;
  const store = {
    value,
    set(changes) {
      store.value = { ...store.value, ...changes };
      store.touch();
    },
    touch() {
      if (scheduled) return;
      scheduled = true;
      requestAnimationFrame(() => {
        scheduled = false;
        for (const listener of listeners) listener();
      });
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return store;
}

/** The value of a store; the component draws itself again when it changes. */
function useStore(store) {
  const [, draw] = useState(0);
  useLayoutEffect(() => store.subscribe(() => draw((n) => n + 1)), [store]);
  return store.value;
}

/** Loads data when `deps` change: `{data, error, busy, reload()}`. The result of an earlier request never replaces that of a later one. */
function useLoad(load, deps) {
  const [state, setState] = useState({ data: null, error: null, busy: true });
  const turn = useRef(0);
  const reload = useCallback(() => {
    const mine = ++turn.current;
    setState((before) => ({ ...before, busy: true }));
    return load().then(
      (data) => mine === turn.current && setState({ data, error: null, busy: false }),
      (error) => mine === turn.current && setState((before) => ({ data: before.data, error, busy: false })),
    );
  }, deps);
  useEffect(() => {
    setState({ data: null, error: null, busy: true });
    reload();
    return () => { turn.current += 1; };
  }, deps);
  return { ...state, reload };
}

/**
 * The state that all screens share. `rows` has the runs of all events, `updates` those since the list was loaded; `changed` counts
 * these events. `questions` are the calls without a decision, `decided` those whose decision is stored and not yet applied; `inboxError` is the
 * reason why they could not be read last.
 */
const live = createStore({
  connection: { state: 'connecting' },
  config: null,
  denied: false,
  questions: [],
  decided: [],
  isInboxRead: false,
  inboxError: null,
  rows: new Map(),
  updates: new Map(),
  changed: 0,
  opened: 0,
});

/** The run on the screen: `{id, run, seq, inputs, graph, states, questions, revisions, open, version, …}`, or null. */
const current = createStore(null);

let stream = null;
let streamed = null;

/** Follows the events, those of `run` too if it is not null, from `after`. A stream of the same run is ahead of a run that was read again. */
function followEvents(run, after) {
  if (stream && run === null && streamed === null) return;
  stream?.stop();
  streamed = run;
  const mine = source.watch(run, after, (kind, data) => {
    if (stream === mine) applyEvent(kind, data);
  });
  stream = mine;
}

function applyEvent(kind, data) {
  if (kind === 'connection') {
    const denied = data.state === 'denied';
    live.set({ connection: data, denied, opened: live.value.opened + (data.state === 'open' ? 1 : 0) });
    if (data.state === 'open') refreshInbox();
    if (data.state === 'open' && bench.value.error?.status === 0) checkBench();
  } else if (kind === 'runs') {
    for (const row of data.changed) {
      live.value.rows.set(row.id, row);
      live.value.updates.set(row.id, row);
    }
    live.set({ changed: live.value.changed + 1 });
  } else if (kind === 'inbox') {
    setQuestions(data.questions);
  } else if (kind === 'run') {
    applyRun(data);
  }
}

function applyRun(data) {
  const shown = current.value;
  if (!shown || (data.run && data.run.id !== shown.id)) return;
  if (data.seq < shown.seq) return;
  shown.seq = data.seq;
  // What can be done with a run depends on the process that has it, too: it leaves after it has stored the end.
  const isOther = data.run && (data.run.status !== shown.run.status || data.run.pid !== shown.run.pid);
  if (data.run) shown.run = data.run;
  if (data.questions) shown.questions = data.questions;
  for (const [at, state] of Object.entries(data.states ?? {})) shown.states.set(at, state);
  shown.version += 1;
  // A run that was read as it began may have had no plan to show yet.
  if (data.grew || isOther || shown.no_graph) refreshRun(shown);
  else if (shown.open.some((at) => data.states?.[at])) refreshParts(shown);
  current.touch();
}

/** Reads the run again after its plan or status changed. The states follow the events, which may be ahead. */
async function refreshRun(shown) {
  const mine = shown.read = {};
  try {
    const data = await source.run(shown.id);
    // A response that is late does not replace a newer one.
    if (current.value !== shown || shown.read !== mine) return;
    for (const key of ['revisions', 'no_graph', 'can_cancel', 'can_resume', 'can_revert']) shown[key] = data[key];
    shown.version += 1;
    if (shown.open.length) await loadGraph(shown.open);
    else if (data.graph) shown.graph = data.graph;
    current.touch();
  } catch (error) {
    // The stream reports a lost connection; the next event tries again.
    console.warn('planwright: the run could not be read again', error);
  }
}

/** The state of the step at an address. A step that has none is pending, or was not run if the run has ended. */
function stateOf(shown, at) {
  return shown.states.get(at) ?? (hasEnded(shown.run.status) ? NOT_RUN : undefined);
}

const NOT_RUN = { status: 'not_run' };

function setQuestions(questions) {
  const open = questions.filter((question) => !question.decision).sort((a, b) => String(a.asked).localeCompare(String(b.asked))
    || a.run.localeCompare(b.run) || compareAddresses(a.at, b.at));
  live.set({ questions: open, decided: questions.filter((question) => question.decision), isInboxRead: true, inboxError: null });
  // A decision is no entry of the run's journal, so that no event of the run tells of it.
  const shown = current.value;
  if (shown) {
    shown.questions = open.filter((question) => question.run === shown.id);
    current.touch();
  }
  document.title = open.length ? `(${open.length}) Planwright` : 'Planwright';
}

/** Reads the calls that wait for a decision again. Returns a promise that ends with the response, also if it is an error. */
function refreshInbox() {
  return source.inbox().then(
    ({ questions }) => setQuestions(questions),
    (error) => live.set(error.status === 401 ? { denied: true } : { inboxError: error }),
  );
}

/** The number of runs that were opened or closed, so that a late response does not replace the run on the screen. */
let openings = 0;

/** Loads a run and follows it. Returns a promise that fails as the request does. */
async function openRun(id) {
  openings += 1;
  const opening = openings;
  const data = await source.run(id);
  if (opening !== openings) return;
  const states = new Map(Object.entries(data.states));
  current.value = {
    ...data,
    id: data.run.id,
    states,
    parts: new Map(),
    graphStates: { get: (at) => current.value?.parts.get(at) ?? states.get(at) },
    graph: data.graph ?? NO_GRAPH,
    open: [],
    version: 0,
  };
  current.touch();
  followEvents(data.run.id, data.seq);
}

/** Loads the graph of the run on the screen with the groups `open`. */
async function loadGraph(open) {
  const shown = current.value;
  shown.open = open;
  const { parts, ...graph } = await source.graph(shown.id, open);
  if (current.value !== shown || shown.open !== open) return;
  shown.parts = new Map(Object.entries(parts ?? {}));
  if (placesOf(graph) !== placesOf(shown.graph)) shown.graph = graph;
  shown.version += 1;
  current.touch();
}

/** The places of a graph's nodes as text: a graph with the same ones need not be drawn again. */
const placesOf = ({ nodes }) => nodes.map(({ at, x, y, is_open: isOpen, is_group: isGroup }) => [at, x, y, isOpen, isGroup]).join();

/** Reads the parts of open steps again, soon after one of them has changed. */
function refreshParts(shown) {
  shown.refresh ??= setTimeout(() => {
    shown.refresh = null;
    if (current.value === shown) loadGraph(shown.open).catch((error) => console.warn('planwright: the graph could not be read again', error));
  }, 250);
}

const NO_GRAPH = { width: 1, height: 1, nodes: [], edges: [] };

function closeRun() {
  openings += 1;
  current.value = null;
  current.touch();
  followEvents(null, undefined);
}

const tokenInAddress = () => /^#token=(.+)$/.exec(location.hash)?.[1];

/** Exchanges the token in the fragment for a session, returns to the route before it, and loads the configuration. */
async function openSession() {
  const token = tokenInAddress();
  if (token) {
    replaceRoute(lastRoute);
    try {
      await source.openSession(decodeURIComponent(token));
    } catch (error) {
      // Any page can have a link with a token: the session that the browser has, if any, goes on.
      console.warn('planwright: the token in the address opened no session', error);
    }
  }
  const config = await source.config();
  const before = live.value.config;
  // Another tab has logged in as another client: nothing of the first one may stay.
  if (before && before.client !== config.client) {
    location.reload();
    return;
  }
  live.set({ config, denied: false });
  const run = streamed;
  stream?.stop();
  stream = null;
  streamed = undefined;
  followEvents(run, current.value?.seq);
}

/** Ends the session, and shows nothing of it any more. */
async function signOut() {
  await source.signOut();
  stream?.stop();
  stream = null;
  streamed = undefined;
  current.value = null;
  current.touch();
  live.set({ config: null, denied: true, questions: [], decided: [], isInboxRead: false, rows: new Map(), updates: new Map() });
}
