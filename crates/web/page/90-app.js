// The page as a whole: routes, the bar with the screens, the banner of the connection, and the keys.

const SCREENS = [
  ['runs', 'Runs', 'r'],
  ['inbox', 'Inbox', 'i'],
  ['workbench', 'Workbench', 'w'],
  ['tools', 'Tools', 't'],
  ['plans', 'Plans', 'p'],
];

/** The screens that a session has, with their names. The view of a client has its own run alone, or a plan that was checked. */
function screensOf({ view, can_run: canRun } = {}) {
  if (view) return view.run ? [['runs', 'Run'], ...SCREENS.slice(1, 3)] : [SCREENS[2]];
  return canRun === false ? SCREENS.slice(0, 3) : SCREENS;
}

/** The last route, to which the page returns after a token in the address. */
let lastRoute = '#/runs';

/** The route in the address: `{parts, parameters}`. */
function readRoute() {
  if (!tokenInAddress() && location.hash) lastRoute = location.hash;
  const [path, query] = lastRoute.replace(/^#\/?/, '').split('?');
  const decode = (part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  };
  return { parts: path.split('/').filter(Boolean).map(decode), parameters: new URLSearchParams(query ?? '') };
}

function useRoute() {
  const [place, setPlace] = useState(readRoute);
  useEffect(() => {
    const follow = () => setPlace(readRoute());
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return place;
}

function App() {
  const { parts, parameters } = useRoute();
  const state = useStore(live);
  const [help, setHelp] = useState(false);
  const [error, setError] = useState(null);
  const main = useRef(null);
  const screen = parts[0] ?? 'runs';

  const start = () => {
    setError(null);
    openSession().catch((problem) => (problem.status === 401 || problem.status === 403 ? live.set({ denied: true }) : setError(problem)));
  };
  useEffect(() => {
    start();
    const onHash = () => (tokenInAddress() || !live.value.config) && start();
    // Another tab may have opened a session meanwhile, perhaps that of another client.
    const onFocus = () => live.value.denied && start();
    const onStorage = ({ key }) => key === SESSION_KEY && start();
    const listeners = Object.entries({ hashchange: onHash, focus: onFocus, storage: onStorage });
    listeners.map((listener) => addEventListener(...listener));
    return () => listeners.map((listener) => removeEventListener(...listener));
  }, []);
  useEffect(() => {
    const onKey = (event) => handleKey(event, () => setHelp(true));
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const place = parts.join('/');
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) main.current?.focus();
    first.current = false;
  }, [screen, parts[1]]);

  const active = useErrorReport(place);
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current.focus(); }}>Skip to the content</a>
    <header class="top">
      <a class="brand" href="#/runs" aria-label="Planwright, runs"><svg viewBox="0 0 16 16" aria-hidden="true"><rect width="16" height="16" rx="4" class="full" />
          <path d="M5 4.5v7M5 8h3.2A2.8 2.8 0 0 0 11 5.2v-.7" class="cut" /><circle cx="5" cy="11.5" r="1.6" class="hole" /><circle cx="11" cy="4.5" r="1.6" class="hole" /></svg><span>Planwright</span></a>
      <nav aria-label="Screens">${screensOf(state.config ?? undefined).map(([key, name]) => html`<a href=${`#/${key}`}
        aria-current=${key === screen || (key === 'runs' && ['run', 'diff'].includes(screen)) ? 'page' : null}>${name}${key === 'inbox' && state.questions.length > 0
          ? html` <span class="badge" aria-label=${`${state.questions.length} waiting`}>${state.questions.length.toLocaleString('en')}</span>` : null}</a>`)}</nav>
      <${Connection} state=${state} />
      <button class="quiet keys" aria-label="Keys" title="Keys (?)" onClick=${() => setHelp(true)}>?</button>
      ${source.signOut && state.config && html`<button class="quiet keys" data-sign-out aria-label="Sign out" title="Sign out (g, then q)" onClick=${() => signOut().catch(setError)}><svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path class="line" d="M8 1.5v6m-3.2-4a5.5 5.5 0 1 0 6.4 0" /></svg></button>`}
    </header>
    <${Banner} state=${state} />
    <main id="main" tabindex="-1" ref=${main}>
      ${error && html`<section class="page"><h1>Planwright</h1><${ErrorNote} error=${error} retry=${start} /></section>`}
      ${active && html`<section class="page"><${ErrorNote} error=${active} /></section>`}
      ${!error && !state.denied && !state.config && html`<${Busy} what="the page" />`}
      ${state.denied && html`<${Denied} start=${start} isNew=${!state.config} />`}
      ${!error && !active && state.config && html`<${Screen} screen=${screen} parts=${parts} parameters=${parameters} />`}
    </main>
    ${help && html`<${Keys} onClose=${() => setHelp(false)} />`}`;
}

/** The last error of a program part, until the route changes. */
function useErrorReport(place) {
  const [problem, setProblem] = useState(null);
  useEffect(() => setProblem(null), [place]);
  useEffect(() => {
    const report = (event) => setProblem(new SourceError(`the page has a defect: ${event.error?.message ?? 'unknown'}`, 'load the page again', 0));
    addEventListener('error', report);
    return () => removeEventListener('error', report);
  }, []);
  return problem;
}

function Screen({ screen, parts, parameters }) {
  if (screen === 'run' && parts[1]) return html`<${RunScreen} key=${parts[1]} id=${parts[1]} tab=${parts[2] ?? 'graph'} parameters=${parameters} />`;
  if (screen === 'diff' && parts[2]) return html`<${DiffScreen} key=${`${parts[1]} ${parts[2]}`} a=${parts[1]} b=${parts[2]} />`;
  if (screen === 'inbox') return html`<${InboxScreen} parameters=${parameters} />`;
  if (screen === 'workbench') return html`<${WorkbenchScreen} parameters=${parameters} />`;
  if (screen === 'tools') return html`<${ToolsScreen} parameters=${parameters} />`;
  if (screen === 'plans') return html`<${PlansScreen} parameters=${parameters} />`;
  const { view } = live.value.config;
  if (view) return view.run ? html`<${RunScreen} key=${view.run} id=${view.run} tab="graph" parameters=${parameters} />` : html`<${WorkbenchScreen} parameters=${parameters} />`;
  return html`<${RunsScreen} parameters=${parameters} />`;
}

/** The way to a session: the address with its token, or the token of a client. */
function Denied({ start, isNew }) {
  const [token, setToken] = useState('');
  const action = useAction();
  const open = (event) => {
    event.preventDefault();
    action.run(async () => {
      await source.openSession(token.trim());
      start();
    });
  };
  return html`<section class="page">${isNew && html`<h1>No access</h1>`}
    <${Empty} title="This browser has no session">Open the address that <code>planwright ui</code> printed, or log in to a gateway with the token of your client.<//>
    <form class="stack login" onSubmit=${open}><label class="stack">Token<input type="password" autocomplete="off" value=${token} onInput=${(event) => setToken(event.target.value)} /></label>
      <${ErrorNote} error=${action.error} />
      <div class="buttons"><button class="primary" disabled=${action.busy || !token.trim()}>Log in</button></div></form></section>`;
}

const CONNECTIONS = { open: ['live', 'succeeded'], connecting: ['connecting', 'pending'], lost: ['not connected', 'failed'], denied: ['no session', 'failed'] };

function Connection({ state }) {
  const [name, status] = CONNECTIONS[state.connection.state];
  return html`<span class="connection soft" role="status"><${Icon} status=${status} /><span>${name}${state.config?.client && html` as <${Text} of=${state.config.client} line />`}</span></span>`;
}

/** Says that the connection is lost, what the page does, and since when its data may be old. */
function Banner({ state }) {
  const { connection, denied, config } = state;
  const since = useRef(null);
  if (connection.state === 'open') since.current = null;
  else since.current ??= new Date();
  if (denied && config) {
    return html`<div class="banner bad" role="alert"><${Icon} status="failed" /><p>This session has ended, or the program was started again.
      Open the address that <code>planwright ui</code> printed, and this page continues where it is.</p></div>`;
  }
  if (connection.state !== 'lost') return null;
  return html`<div class="banner wait" role="alert"><${Icon} status="waiting" /><p>The connection to Planwright is lost. The page shows the state of${' '}
    <${Time} at=${since.current.toISOString()} /> and connects again by itself.</p><button onClick=${() => stream?.retry()}>Connect now</button></div>`;
}

const KEY_LIST = [
  ['/', 'Search'],
  ['j or ↓, k or ↑', 'Next and previous row'],
  ['Enter', 'Open the row, or move to its details'],
  ['Esc', 'Close the details or the dialog'],
  ['g then r, i, w, t, p', 'Runs, Inbox, Workbench, Tools, Plans'],
  ['g then q', 'Sign out'],
  ['1 to 4', 'Views of a run or plan'],
  ['← ↑ → ↓', 'Graph: select the next step in that direction'],
  ['Shift and arrows', 'Graph: move the view'],
  ['+, −, 0', 'Graph and timeline: zoom in, zoom out, show all'],
  ['Space', 'Graph: open or close a group'],
  ['a, c, x', 'Inbox: move to Approve, Change, Reject'],
  ['F8', 'Workbench: next diagnostic'],
  ['?', 'This list'],
];

const Keys = ({ onClose }) => html`<${Dialog} title="Keys" onClose=${onClose}><dl class="keys">${KEY_LIST.map(([key, meaning]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${meaning}</dd></div>`)}</dl><//>`;

let isGoing = false;

/** The keys of the page as a whole. Keys that are typed into a field belong to the field. */
function handleKey(event, showHelp) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.querySelector('dialog[open]')) return;
  if (target.closest('input:not([type=radio], [type=checkbox]), textarea, select')) return;
  const focus = (selector) => {
    const node = document.querySelector(selector);
    if (node) event.preventDefault();
    node?.focus();
  };
  if (isGoing) {
    isGoing = false;
    const screen = SCREENS.find(([, , letter]) => letter === key);
    if (screen) go(`#/${screen[0]}`);
    else if (key === 'q') document.querySelector('[data-sign-out]')?.click();
  } else if (key === 'g') isGoing = true;
  else if (key === '?') showHelp();
  else if (key === '/') {
    focus('[data-search]');
    document.activeElement.select?.();
  } else if (/^[1-9]$/.test(key)) document.querySelector(`[data-tab="${key}"]`)?.click();
  else if (key === 'a') focus('[data-decide=approve]');
  else if (key === 'c') focus('[data-decide=change]');
  else if (key === 'x') focus('[data-decide=reject]');
  else if (key === 'j' || key === 'k') {
    event.preventDefault();
    moveRow(key === 'j' ? 1 : -1);
  }
}

/** Moves to the next row: by focus where rows are links, else by the keys of the list or graph. */
function moveRow(step) {
  const list = document.querySelector('[data-list], [data-graph]');
  if (list) {
    list.focus();
    list.dispatchEvent(new KeyboardEvent('keydown', { key: step > 0 ? 'ArrowDown' : 'ArrowUp', bubbles: true, cancelable: true }));
    return;
  }
  const rows = [...document.querySelectorAll('[data-row]')];
  const place = rows.indexOf(document.activeElement);
  rows[Math.min(rows.length - 1, Math.max(0, place + step))]?.focus();
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => dispatchEvent(new Event('scheme')));

render(html`<${App} />`, document.getElementById('app'));
