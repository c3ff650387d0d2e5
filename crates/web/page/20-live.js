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

/** The state that all screens share. `changed` counts the events about runs, so that lists know when to load again. */
const live = createStore({
  connection: { state: 'connecting' },
  config: null,
  denied: false,
  questions: [],
  updates: new Map(),
  changed: 0,
  opened: 0,
});

/** The run on the screen: `{id, run, seq, inputs, graph, states, questions, revisions, open, version}`, or null. */
const current = createStore(null);

let stream = null;
let streamed = null;

/** Follows the events, those of `run` too if it is not null, from `after`. */
function followEvents(run, after) {
  if (stream && streamed === run) return;
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
  } else if (kind === 'runs') {
    for (const row of data.changed) live.value.updates.set(row.id, row);
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
  if (data.seq <= shown.seq) return;
  shown.seq = data.seq;
  if (data.run) shown.run = data.run;
  if (data.questions) shown.questions = data.questions;
  for (const [at, state] of Object.entries(data.states ?? {})) shown.states.set(at, state);
  shown.version += 1;
  if (data.grew) loadGraph(shown.open);
  current.touch();
}

function setQuestions(questions) {
  live.set({ questions });
  document.title = questions.length ? `(${questions.length}) Planwright` : 'Planwright';
}

function refreshInbox() {
  source.inbox().then(
    ({ questions }) => setQuestions(questions),
    (error) => error.status === 401 && live.set({ denied: true }),
  );
}

/** Loads a run and follows it. Returns a promise that fails as the request does. */
async function openRun(id) {
  const data = await source.run(id);
  current.value = {
    ...data,
    id: data.run.id,
    states: new Map(Object.entries(data.states)),
    revisions: data.revisions ?? [],
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
  const graph = await source.graph(shown.id, open);
  if (current.value !== shown || shown.open !== open) return;
  shown.graph = graph;
  shown.version += 1;
  current.touch();
}

function closeRun() {
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
    await source.openSession(decodeURIComponent(token));
  }
  const config = await source.config();
  live.set({ config, denied: false });
  const run = streamed;
  stream?.stop();
  stream = null;
  streamed = undefined;
  followEvents(run, current.value?.seq);
}
