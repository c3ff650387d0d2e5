// The steps of a run as a list, and the details of one step: arguments with their origins, output, attempts, errors and logs.

function StepsTab({ shown, at, select }) {
  const [text, setText] = useState('');
  const [status, setStatus] = useState('');
  const all = useMemo(() => stepRows(shown), [shown.graph, shown.states.size]);
  const wanted = text.trim().toLowerCase();
  const rows = useMemo(() => all.filter(({ at: address, tool }) => (!wanted || address.toLowerCase().includes(wanted) || tool.toLowerCase().includes(wanted))
    && (!status || statusKey(stateOf(shown, address)?.status) === status)), [all, wanted, status, status ? shown.version : 0]);
  const counts = useMemo(() => countStatuses(all, shown), [all, shown.version]);
  const selected = useMemo(() => rows.findIndex((row) => row.at === at), [rows, at]);

  const row = (index) => {
    const { at: address, tool } = rows[index];
    const state = stateOf(shown, address);
    return html`<span class="c-status"><${Status} of=${state?.status ?? 'pending'} /></span>
      <span class="c-id"><${Text} of=${address} line /></span>
      <span class="c-tool soft"><${Text} of=${tool} line /></span>
      <span class="c-note soft">${state?.error ? html`<${Text} of=${oneLine(state.error, 120)} />` : loopText(state)}</span>
      <span class="c-number soft">${state?.attempt > 1 ? `×${state.attempt}` : ''}</span>
      <span class="c-number">${took(state)}</span>`;
  };
  return html`<${StepSplit} shown=${shown} at=${at} select=${select}>
    <div class="filters" role="search" aria-label="Filter steps">
      <${Search} value=${text} onInput=${setText} label="Search steps" />
      <div class="chips" role="group" aria-label="Status">${Object.entries(counts).map(([key, number]) => html`<button class="chip" aria-pressed=${status === key ? 'true' : 'false'}
        onClick=${() => setStatus(status === key ? '' : key)}><${Icon} status=${key} />${statusName(key)} <span class="figure">${number.toLocaleString('en')}</span></button>`)}</div>
    </div>
    ${rows.length === 0
      ? html`<${Empty} title="No step matches">Change the search or the status.<//>`
      : html`<${VirtualList} length=${rows.length} rowHeight=${30} row=${row} rowClass="step-row" selected=${selected} label="Steps of the run"
        onSelect=${(index) => select(rows[index].at)} />`}
  <//>`;
}

/** All steps, those of the plan in its order, then the items and rounds that the run added, each behind its step. */
function stepRows(shown) {
  const tools = new Map(shown.graph.nodes.filter((node) => !node.isPattern).map((node) => [node.at, node.tool ?? node.plan ?? node.kind]));
  const places = new Map([...tools.keys()].map((address, place) => [address, place]));
  const parent = (address) => {
    for (let end = address.length; end > 0; end -= 1) {
      const prefix = address.slice(0, end);
      if (tools.has(prefix) && (end === address.length || '/[#@'.includes(address[end]))) return prefix;
    }
    return address;
  };
  const rows = [...new Set([...tools.keys(), ...shown.states.keys()])].map((address) => {
    const owner = tools.has(address) ? address : parent(address);
    return { at: address, tool: shown.states.get(address)?.tool ?? tools.get(owner) ?? '', place: places.get(owner) ?? Infinity };
  });
  return rows.sort((a, b) => a.place - b.place || compareAddresses(a.at, b.at));
}

const compareAddresses = new Intl.Collator('en', { numeric: true }).compare;

/** The items and rounds of a loop. */
const loopText = (state) => [state?.items_ended > 0 && count(state.items_ended, 'item'), state?.rounds > 0 && count(state.rounds, 'round')].filter(Boolean).join(", ");

function countStatuses(rows, shown) {
  const counts = {};
  for (const { at } of rows) {
    const key = statusKey(stateOf(shown, at)?.status);
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return Object.fromEntries(Object.keys(SYMBOLS).filter((key) => counts[key]).map((key) => [key, counts[key]]));
}

/** The duration of a step, if it ended. */
const took = (state) => (typeof state?.ended_ms === 'number' && typeof state.started_ms === 'number' ? duration(state.ended_ms - state.started_ms) : '');

/** The details of the step at an address. They load again when the step's state changes. */
function StepPanel({ shown, at }) {
  const [whole, setWhole] = useState(false);
  const [dialog, setDialog] = useState(null);
  const { data, error, busy, reload } = useLoad(() => source.step(shown.id, at, whole), [shown.id, at, whole]);
  // Events tell of steps; the state of an item or round comes with its details.
  const state = shown.states.get(at) ?? data?.state ?? stateOf(shown, at);
  const seen = useRef(null);
  const mark = `${state?.status} ${state?.attempt} ${state?.items_ended} ${state?.rounds}`;
  useEffect(() => {
    if (seen.current !== null && seen.current !== mark) {
      reload();
      // The button that changed the step is gone.
      refocus('[data-detail]');
    }
    seen.current = mark;
  }, [mark]);
  const question = shown.questions.find((asked) => asked.at === at && !asked.decision);
  return html`<article class="step-panel">
    <header><h2><${Text} of=${at} line /></h2><${Status} of=${state?.status ?? 'pending'} /></header>
    <dl class="grid">
      ${data?.tool && html`<${Field} label="Tool"><code><${Text} of=${data.tool} line /></code><//>`}
      ${typeof state?.started_ms === 'number' && html`<${Field} label="Time">${duration(state.started_ms)} after the start${took(state) && `, for ${took(state)}`}<//>`}
      ${loopText(state) && html`<${Field} label="Loop">${loopText(state)}<//>`}
      ${data?.reason && html`<${Field} label="Reason"><${Message} of=${data.reason} /><//>`}
    </dl>
    ${question && html`<p><a class="button primary" href=${route(['inbox'], { run: shown.id, at })}>Decide this call</a></p>`}
    <${StepError} error=${data?.error ?? (state?.error && { message: state.error })} />
    ${data?.is_in_doubt && html`<p class="caution">A call of this step was sent and has no response: its effect may have happened.</p>`}
    ${shown.can_resume && ['failed', 'unknown', 'cancelled'].includes(state?.status) && html`<div class="actions" role="group" aria-label="Resume with a change">
      <button onClick=${() => setDialog('retry')}>Retry…</button><button onClick=${() => setDialog('skip')}>Skip…</button>
      <button onClick=${() => setDialog('set')}>Set a value…</button></div>`}
    ${dialog && html`<${ResumeDialog} shown=${shown} at=${at} first=${dialog} onClose=${() => setDialog(null)} />`}
    <${ErrorNote} error=${error} retry=${reload} />
    ${!data && busy && html`<${Busy} what="the step" />`}
    ${data && html`<${StepContent} shown=${shown} data=${data} onWhole=${() => setWhole(true)} />`}
  </article>`;
}

function StepContent({ shown, data, onWhole }) {
  return html`
    ${data.description && html`<p class="soft"><${Text} of=${data.description} /></p>`}
    ${data.cut && html`<p class="caution">Large values are cut. <button class="small" onClick=${onWhole}>Load all</button></p>`}
    <${Part} title="Arguments" value=${data.arguments} sources=${data.sources} />
    <${Part} title="Output" value=${data.output} />
    ${data.content?.length > 0 && html`<${Part} title="Other content" value=${data.content} />`}
    ${data.parts?.length > 0 && html`<section><h3>Parts</h3><ul class="parts">${data.parts.slice(0, 200).map((part) => html`<li>
      <a href=${route(['run', shown.id, 'steps'], { at: part.at })}><${Icon} status=${part.status} /><span class="sr">${statusName(part.status)} </span><${Text} of=${part.at} line /></a></li>`)}</ul>
      ${data.parts.length + data.more_parts > 200 && html`<p class="soft">and ${(data.parts.length + data.more_parts - 200).toLocaleString('en')} more, in the list of steps</p>`}</section>`}
    ${data.attempts?.length > 0 && html`<section><h3>Attempts</h3><table class="attempts">
      <thead><tr><th scope="col">#</th><th scope="col">Outcome</th><th scope="col" class="number">Start</th><th scope="col" class="number">Duration</th></tr></thead>
      <tbody>${data.attempts.map((attempt) => html`<tr><td>${attempt.n}</td><td><${Status} of=${attempt.status} />
        ${attempt.error && html`<div class="soft"><${Text} of=${attempt.error.message} /></div>`}</td>
        <td class="number">${duration(attempt.started_ms)}</td>
        <td class="number">${typeof attempt.ended_ms === 'number' ? duration(attempt.ended_ms - attempt.started_ms) : ''}</td></tr>`)}</tbody></table></section>`}
    ${data.log?.length > 0 && html`<section><h3>Log</h3><ol class="log">${data.log.slice(0, 200).map((line) => html`<li>
      <span class="number soft">${duration(line.at_ms)}</span> <span>${logText(line)}${line.because && html`: <${Text} of=${line.because} />`}
        ${line.error && html` <span class="soft"><${Text} of=${line.error.message} /></span>`}</span></li>`)}</ol></section>`}`;
}

/** The text of a line of the log. */
function logText(line) {
  if (line.what === 'call') return `attempt ${line.attempt} ${statusName(line.status)}${line.took_ms === undefined ? '' : ` after ${duration(line.took_ms)}`}`;
  if (line.what === 'asked') return 'asked for a decision';
  if (line.what === 'decided') return line.approved ? `approved${line.args ? ' with changes' : ''}` : 'rejected';
  if (line.what === 'chosen') return `a person chose: ${line.choice}`;
  return oneLine(line.what, 40).replaceAll('_', ' ');
}

/** A titled value with a button that copies it. */
function Part({ title, value, sources }) {
  if (value === undefined || value === null) return null;
  return html`<section><div class="part-head"><h3>${title}</h3><${CopyValue} of=${value} /></div><${Value} of=${value} sources=${sources} /></section>`;
}

/** The error of a step, with the meaning of its kind. */
function StepError({ error }) {
  if (!error) return null;
  return html`<div class="note bad"><${Icon} status="failed" /><div>
    <p>${error.kind && html`<strong>${oneLine(error.kind, 20)}</strong> `}<${Message} of=${error.message} /></p>
    ${error.help && html`<p class="soft"><${Message} of=${error.help} /></p>`}
    ${error.data !== null && error.data !== undefined && html`<details><summary>Data of the error</summary><${Value} of=${error.data} /></details>`}
    ${error.kind && html`<${CodePage} code=${error.kind} />`}
  </div></div>`;
}

/** The page of a code as text. It is loaded when it is opened. */
function CodePage({ code }) {
  const [page, setPage] = useState('');
  const [error, setError] = useState(null);
  const open = () => page || source.code(code).then((data) => setPage(data.page), setError);
  return html`<details onToggle=${open}><summary>What ${code} means</summary><${ErrorNote} error=${error} /><pre class="code-block"
    tabindex="0"><${Text} of=${page} /></pre></details>`;
}
