// The workbench: a plan in any dialect, checked while you type, with its graph, estimate, conversion and runs.

/** The state of the workbench, which outlives a change of the screen. */
const bench = createStore({
  text: '',
  inputs: '',
  dialect: '',
  result: null,
  error: null,
  checking: false,
  checked: 0,
});

let checkTimer = 0;
let checkTurn = 0;

/** Changes the workbench and checks its plan soon. */
function editBench(changes) {
  bench.set(changes);
  clearTimeout(checkTimer);
  checkTimer = setTimeout(checkBench, CHECK_DELAY);
}

/** The inputs as a value, or an error text. */
function benchInputs() {
  const { inputs } = bench.value;
  if (!inputs.trim()) return { value: {} };
  try {
    const value = readJson(inputs, true);
    return isComposite(value) && !Array.isArray(value) ? { value } : { error: 'the inputs are not a JSON object' };
  } catch (error) {
    return { error: `the inputs are not JSON: ${error.message}` };
  }
}

async function checkBench() {
  const { text, dialect } = bench.value;
  const mine = ++checkTurn;
  if (!text.trim()) {
    bench.set({ result: null, error: null, checking: false });
    return;
  }
  bench.set({ checking: true });
  const body = { text };
  if (dialect) body.dialect = dialect;
  const inputs = benchInputs();
  if (inputs.value && Object.keys(inputs.value).length) body.inputs = inputs.value;
  try {
    const result = await source.checkPlan(body);
    if (mine === checkTurn) bench.set({ result, error: null, checking: false, checked: mine });
  } catch (error) {
    if (mine === checkTurn) bench.set({ error, checking: false });
  }
}

function WorkbenchScreen({ parameters }) {
  const state = useStore(bench);
  const { config } = useStore(live);
  const tab = parameters.get('tab') ?? 'graph';
  const [at, setAt] = useState(null);
  const { result } = state;
  const hidden = useMemo(() => hiddenCharacters(state.text), [state.text]);
  const diagnostics = [...hidden, ...(result?.diagnostics ?? [])];
  const file = useRef(null);
  const [isSaving, setSaving] = useState(false);
  const open = async (chosen) => chosen && editBench({ text: await chosen.text(), dialect: '' });
  const canRun = config?.can_run !== false;
  const tabs = [['graph', 'Graph'], canRun && ['estimate', 'Estimate'], ['convert', 'Convert'], canRun && ['run', 'Run']].filter(Boolean);
  return html`<section class="workbench" aria-labelledby="screen-title">
    <div class="editor-pane" onDragOver=${(event) => event.preventDefault()}
        onDrop=${(event) => { event.preventDefault(); open(event.dataTransfer.files[0]); }}>
      <header class="bar"><h1 id="screen-title">Workbench</h1>
        <label class="sr" for="dialect">Dialect</label>
        <select id="dialect" value=${state.dialect} onChange=${(event) => editBench({ dialect: event.target.value })}>
          <option value="">${result?.dialect && !state.dialect ? `recognised: ${result.dialect}` : 'recognise the dialect'}</option>
          ${(config?.dialects ?? []).map(({ name }) => html`<option value=${name} selected=${state.dialect === name}>${name}</option>`)}
        </select>
        <button onClick=${() => file.current.click()}>Open…</button>
        <input ref=${file} type="file" class="away" tabindex="-1" aria-label="Plan file" onChange=${(event) => open(event.target.files[0])} />
        ${result?.ok && canRun && html`<button onClick=${() => setSaving(true)}>Save…</button>`}
      </header>
      ${isSaving && html`<${SaveDialog} state=${state} onClose=${() => setSaving(false)} />`}
      <${Editor} text=${state.text} diagnostics=${diagnostics.filter(hasPlace)} onInput=${(text) => editBench({ text })} />
      <${BenchDiagnostics} state=${state} diagnostics=${diagnostics} />
    </div>
    <div class="result-pane">
      <nav class="tabs" aria-label="Views of the plan">${tabs.map(([key, name], index) => html`<a href=${route(['workbench'], { tab: key })} data-tab=${index + 1}
        aria-current=${key === tab ? 'page' : null}>${name}</a>`)}</nav>
      ${tab === 'graph' && (result?.graph
        ? html`<${GraphView} graph=${result.graph} version=${state.checked} at=${at} select=${setAt} label="Graph of the plan" />`
        : html`<${Empty} title="No graph">${state.text ? 'The graph appears when the plan has no errors.' : 'Write, paste or open a plan in any dialect.'}<//>`)}
      ${tab === 'estimate' && html`<${Estimate} result=${result} />`}
      ${tab === 'convert' && html`<${Convert} state=${state} dialects=${config?.dialects ?? []} />`}
      ${tab === 'run' && html`<${BenchRun} state=${state} config=${config} isSound=${Boolean(result?.ok)} />`}
    </div>
  </section>`;
}

/** The most invisible characters of a text that are listed. */
const MAX_HIDDEN = 50;

/** The characters of a text that a person does not see, as diagnostics of the page: an editor cannot show them. */
function hiddenCharacters(text) {
  const found = [];
  for (const { 0: character, index } of text.matchAll(INVISIBLE)) {
    const before = text.slice(0, index);
    const line = before.split('\n').length;
    found.push({ severity: 'warning', start: index, end: index + character.length, line, column: index - before.lastIndexOf('\n'),
      code: '', message: `the text has an invisible character, ${escapeOf(character)}` });
    if (found.length === MAX_HIDDEN) break;
  }
  return found;
}

/** The characters of the text of a field that a person does not see. */
const HiddenCharacters = ({ of }) => html`<ul class="findings" aria-live="polite">${hiddenCharacters(of).map(({ line, message }) => html`<li><${Icon} status="waiting" />line ${line}: ${message}</li>`)}</ul>`;

/** Saves the plan under a name, as its newest version. */
function SaveDialog({ state, onClose }) {
  const [name, setName] = useState('');
  const [saved, setSaved] = useState(null);
  const action = useAction();
  const save = (event) => {
    event.preventDefault();
    action.run(async () => {
      const body = { name: name.trim(), text: state.text };
      if (state.dialect) body.dialect = state.dialect;
      setSaved(await source.savePlan(body));
    });
  };
  return html`<${Dialog} title="Save the plan" onClose=${onClose}>
    <form class="stack" onSubmit=${save}><label class="stack">Name<input autofocus value=${name} autocomplete="off" spellcheck=${false} onInput=${(event) => setName(event.target.value)} /></label>
      <${ErrorNote} error=${action.error} />
      <p role="status">${saved && html`<${Text} of=${saved.name} line /> ${saved.is_new ? 'is saved as' : 'has already this plan as'} version ${saved.version}.`}</p>
      <footer><button type="button" onClick=${onClose}>Close</button><button class="primary" disabled=${action.busy || !name.trim()}>Save</button></footer></form>
  <//>`;
}

const SEVERITIES = { error: 'failed', warning: 'waiting', note: 'not_run' };

/** Returns whether a diagnostic is about a place in the text. Others are about the configuration. */
const hasPlace = ({ start }) => typeof start === 'number';

function BenchDiagnostics({ state, diagnostics }) {
  const kinds = ['error', 'warning', 'note'].map((kind) => [kind, diagnostics.filter((entry) => entry.severity === kind).length]);
  let summary = '';
  if (state.checking) summary = 'Checking…';
  else if (state.result || diagnostics.length) summary = diagnostics.length ? kinds.filter(([, number]) => number).map(([kind, number]) => count(number, kind)).join(", ") : 'The plan is sound.';
  return html`<section class="diagnostics" aria-label="Diagnostics">
    <p class="summary" role="status">${summary}</p>
    <${ErrorNote} error=${state.error} retry=${checkBench} />
    ${diagnostics.length > 0 && html`<ol>${diagnostics.slice(0, 100).map((entry, index) => html`<li key=${`${index} ${entry.code}`}>
      <button class="diagnostic" data-row disabled=${!hasPlace(entry)} onClick=${() => selectInEditor(entry.start, entry.end)}>
        <${Icon} status=${SEVERITIES[entry.severity] ?? 'not_run'} /><span class="sr">${entry.severity}: </span>
        ${hasPlace(entry) && html`<span class="soft figure">${entry.line}:${entry.column}</span> `}${entry.code && html`<strong>${oneLine(entry.code, 12)}</strong> `}<${Message} of=${entry.message} /></button>
      ${entry.help && html`<p class="soft help"><${Message} of=${entry.help} /></p>`}
      ${entry.code && html`<${CodePage} key=${entry.code} code=${entry.code} />`}
    </li>`)}</ol>`}
  </section>`;
}

/** Selects a part of the plan's text, in UTF-16 units, and scrolls to it. */
function selectInEditor(start, end) {
  const area = document.querySelector('[data-editor]');
  area.focus();
  area.setSelectionRange(start, Math.max(end, start));
  const line = area.value.slice(0, start).split('\n').length - 1;
  const height = parseFloat(getComputedStyle(area).lineHeight);
  area.scrollTop = Math.max(0, line * height - area.clientHeight / 3);
}
