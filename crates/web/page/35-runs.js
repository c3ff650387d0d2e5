// The list of runs: those that wait for a person first, with a search and filters. It stays current while it is on the screen.

const RUN_STATUSES = ['waiting', 'running', 'failed', 'succeeded', 'cancelled', 'interrupted'];
const TIMES = ['today', 'yesterday', 'last 7 days', 'this week', 'last week', 'this month'];
/** The runs that one request asks for. */
const PAGE_OF_RUNS = 200;
/** The most rows of one response of the server. */
const MAX_ROWS = 500;
/** The delay between an event and the next request for the list, in ms. */
const RELOAD_DELAY = 400;

function RunsScreen({ parameters }) {
  const filter = Object.fromEntries(['text', 'status', 'plan', 'client', 'time'].map((name) => [name, parameters.get(name) ?? '']));
  const key = JSON.stringify(filter);
  const state = useStore(live);
  const [limit, setLimit] = useState(PAGE_OF_RUNS);
  const { data, error, busy, reload } = useLoad(() => source.runs({ ...filter, limit }), [key, limit, state.opened]);
  const [older, setOlder] = useState({ key: '', runs: [], next: null });
  const rest = older.key === key ? older : { runs: [], next: data?.next };
  const listed = new Set((data?.runs ?? []).map((row) => row.id));
  const rows = [...(data?.runs ?? []), ...rest.runs.filter((row) => !listed.has(row.id))].map((row) => state.rows.get(row.id) ?? row);
  useChangedList(state.changed, data?.runs, filter, reload);
  const more = useAction();
  const showOlder = () => (limit < MAX_ROWS ? setLimit(MAX_ROWS) : more.run(async () => {
    const next = await source.runs({ ...filter, limit: MAX_ROWS, before: rest.next });
    setOlder({ key, runs: [...rest.runs, ...next.runs], next: next.next });
  }));

  const set = (name, value) => replaceRoute(route(['runs'], { ...filter, [name]: value }));
  const isFiltered = Object.values(filter).some(Boolean);
  const known = (name) => [...new Set(rows.map((row) => row[name]).filter(Boolean))].sort();

  return html`<section class="page" aria-labelledby="screen-title">
    <header class="bar">
      <h1 id="screen-title">Runs</h1>
      <span class="soft" aria-live="polite">${data ? `${count(rows.length, 'run')}${rest.next ? ' or more' : ''}` : ''}</span>
    </header>
    <div class="filters" role="search" aria-label="Filter runs">
      <${Search} value=${filter.text} onInput=${(text) => set('text', text)} label="Search runs" />
      <label class="sr" for="status">Status</label>
      <select id="status" value=${filter.status} onChange=${(event) => set('status', event.target.value)}>
        <option value="">any status</option>
        ${RUN_STATUSES.map((status) => html`<option value=${status} selected=${status === filter.status}>${statusName(status)}</option>`)}
      </select>
      <${Suggested} id="plan" label="plan" value=${filter.plan} choices=${known('plan')} onInput=${(value) => set('plan', value)} />
      <${Suggested} id="client" label="client" value=${filter.client} choices=${known('client')} onInput=${(value) => set('client', value)} />
      <${Suggested} id="time" label="time: last week" value=${filter.time} choices=${TIMES} onInput=${(value) => set('time', value)} />
      ${isFiltered && html`<button class="quiet" onClick=${() => { go(route(['runs'])); document.querySelector('[data-search]').focus(); }}>Clear</button>`}
    </div>
    <${ErrorNote} error=${error} retry=${reload} />
    ${!data && busy && html`<${Busy} what="the runs" />`}
    ${data && rows.length === 0 && (isFiltered
      ? html`<${Empty} title="No run matches">Change the filters, or clear them.<//>`
      : html`<${Empty} title="No runs yet">Start one with <code>planwright run PLAN</code>, or write a plan in the <a href="#/workbench">workbench</a>.<//>`)}
    ${rows.length > 0 && html`<${RunTable} rows=${rows} />`}
    <${ErrorNote} error=${more.error} />
    ${rest.next && html`<button class="more" disabled=${more.busy} onClick=${showOlder}>Show older runs</button>`}
  </section>`;
}

/** Loads the list again when an event concerns a run that it lacks or that may have moved. */
function useChangedList(changed, rows, filter, reload) {
  const timer = useRef(0);
  useEffect(() => {
    if (!rows || timer.current) return;
    const places = new Map(rows.map((row) => [row.id, row]));
    const moved = [...live.value.updates.values()].some((row) => {
      const before = places.get(row.id);
      if (!before) return ['plan', 'client'].every((name) => !filter[name] || filter[name] === row[name]);
      return before.status !== row.status || Boolean(before.waiting) !== Boolean(row.waiting);
    });
    if (!moved) return;
    timer.current = setTimeout(() => {
      timer.current = 0;
      live.value.updates.clear();
      reload();
    }, RELOAD_DELAY);
  }, [changed]);
  useEffect(() => () => clearTimeout(timer.current), []);
}

function Suggested({ id, label, value, choices, onInput }) {
  // The list draws itself again with every event, which must not take away a text that is not entered yet.
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  return html`<label class="sr" for=${id}>Filter by ${label}</label>
    <input id=${id} class="suggested" placeholder=${label} value=${text} list=${`${id}-choices`} autocomplete="off" spellcheck=${false}
      onInput=${(event) => setText(event.target.value)} onChange=${(event) => onInput(event.target.value.trim())} />
    <datalist id=${`${id}-choices`}>${choices.map((choice) => html`<option value=${visible(choice)} />`)}</datalist>`;
}

function RunTable({ rows }) {
  return html`<table class="runs">
    <thead><tr><th scope="col">Status</th><th scope="col">Plan</th><th scope="col">Run</th><th scope="col">Client</th>
      <th scope="col">Started</th><th scope="col" class="number">Duration</th><th scope="col">Steps</th></tr></thead>
    <tbody>${rows.map((row) => html`<${RunRow} key=${row.id} row=${row} />`)}</tbody>
  </table>`;
}

class RunRow extends Component {
  shouldComponentUpdate(next) {
    return next.row !== this.props.row;
  }

  render({ row }) {
    const address = route(['run', row.id, 'graph']);
    return html`<tr class=${row.waiting ? 'waits' : ''} onClick=${(event) => !event.target.closest('a') && !getSelection().toString() && go(address)}>
      <td><${Status} of=${row.status} />${row.waiting > 0 && html`<a class="badge" href=${route(['inbox'], { run: row.id })}>${count(row.waiting, 'decision')}</a>`}</td>
      <td class="plan"><a class="strong" href=${address} data-row>${row.plan ? html`<${Text} of=${row.plan} line />` : 'unnamed plan'}</a></td>
      <td class="id"><code>${row.id.slice(0, 8)}</code></td>
      <td class="client soft"><${Text} of=${row.client} line /></td>
      <td class="soft when"><${Time} at=${row.started} /></td>
      <td class="number took"><${Elapsed} run=${row} /></td>
      <td class="steps"><${Progress} done=${row.steps_ended} all=${row.steps} status=${row.status} /></td>
    </tr>`;
  }
}

/** The duration of a run, which grows while the run is running. */
function Elapsed({ run }) {
  const [, draw] = useState(0);
  useEffect(() => {
    if (!run.since) return undefined;
    const timer = setInterval(() => draw((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [run.since]);
  return duration(run.since ? Math.max(run.duration_ms, Date.now() - Date.parse(run.since)) : run.duration_ms);
}

/** The number of steps that ended, as text and as a bar. */
function Progress({ done, all, status }) {
  const share = all ? Math.min(1, done / all) : 0;
  return html`<span class=${`progress s-${statusKey(status)}`}>
    <span class="track" aria-hidden="true"><span class="fill" style=${{ width: `${share * 100}%` }}></span></span>
    <span class="figure">${done.toLocaleString('en')}<span class="soft">/${all.toLocaleString('en')}</span></span>
  </span>`;
}
