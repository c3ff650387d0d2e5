// The parts of the workbench: the editor with diagnostics in place, the estimate, conversion and runs.

/** The length of a text beyond which lines have no numbers and diagnostics no marks in the text. */
const LONG_TEXT = 300000;

/** A text area above a copy of its text, in which the places of diagnostics are marked. */
function Editor({ text, diagnostics, onInput }) {
  const area = useRef(null);
  const under = useRef(null);
  const gutter = useRef(null);
  const follow = () => {
    for (const layer of [under.current, gutter.current]) if (layer) layer.scrollTop = area.current.scrollTop;
    if (under.current) under.current.scrollLeft = area.current.scrollLeft;
  };
  useLayoutEffect(follow, [text, diagnostics]);
  const isLong = text.length > LONG_TEXT;
  const lines = useMemo(() => (isLong ? [] : lineMarks(text, diagnostics)), [text, diagnostics]);
  const marks = useMemo(() => (isLong ? [] : markedParts(text, diagnostics)), [text, diagnostics]);
  const onKeyDown = (event) => {
    if (event.key === 'F8' && diagnostics.length) {
      event.preventDefault();
      const sorted = [...diagnostics].sort((a, b) => a.start - b.start);
      const next = sorted.find((entry) => entry.start > area.current.selectionStart) ?? sorted[0];
      selectInEditor(next.start, next.end);
    }
  };
  return html`<div class="editor">
    <div class="gutter" ref=${gutter} aria-hidden="true">${lines.map((mark, index) => html`<div key=${index} class=${mark}>${index + 1}</div>`)}<div class="tail"></div></div>
    <div class="text">
      <pre class="under" ref=${under} aria-hidden="true">${marks}${'\n'}</pre>
      <textarea ref=${area} data-editor class="over" wrap="off" aria-label="Plan" spellcheck=${false} autocapitalize="off" autocomplete="off"
        placeholder="Paste or write a plan in any dialect, or drop a file here"
        value=${text} onScroll=${follow} onKeyDown=${onKeyDown} onInput=${(event) => onInput(event.target.value)}></textarea>
    </div>
  </div>`;
}

/** The class of each line's number: the worst severity of its diagnostics. */
function lineMarks(text, diagnostics) {
  const marks = new Array(text.split('\n').length).fill('');
  for (const { line, severity } of diagnostics) {
    if (line >= 1 && line <= marks.length && marks[line - 1] !== 'error') marks[line - 1] = severity;
  }
  return marks;
}

/** The text in parts, those of diagnostics marked. Where several overlap, the first marks the text. */
function markedParts(text, diagnostics) {
  const parts = [];
  let from = 0;
  for (const { start, end, severity } of [...diagnostics].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const low = Math.min(text.length, Math.max(from, start));
    const high = Math.min(text.length, Math.max(low, end > start ? end : start + 1));
    if (high <= low) continue;
    parts.push(text.slice(from, low), html`<mark class=${severity}>${text.slice(low, high)}</mark>`);
    from = high;
  }
  parts.push(text.slice(from));
  return parts;
}

/** The estimate of a plan from the durations of earlier calls. */
function Estimate({ result }) {
  const estimate = result?.estimate;
  if (!estimate) return html`<${Empty} title="No estimate">The estimate needs a plan without errors, and durations of earlier calls.<//>`;
  return html`<div class="pane"><dl class="grid">
    <${Field} label="Duration">about ${duration(estimate.expected_ms)}<//>
    <${Field} label="Calls">${estimate.calls.toLocaleString('en')}<//>
    <${Field} label="Work">${duration(estimate.work_ms)}, if the calls came one after another<//>
    <${Field} label="Longest path"><ol class="path">${estimate.path.slice(0, 200).map((at) => html`<li><code><${Text} of=${at} line /></code></li>`)}</ol><//>
  </dl></div>`;
}

/** The plan in another dialect, and the parts that the dialect cannot express. */
function Convert({ state, dialects }) {
  const targets = dialects.filter(({ can_print: canPrint }) => canPrint);
  const [to, setTo] = useState('');
  const target = to || targets.find(({ name }) => name !== state.result?.dialect)?.name || '';
  const body = { text: state.text, to: target };
  if (state.dialect) body.dialect = state.dialect;
  const { data, error, busy } = useLoad(() => (state.text.trim() && target ? source.convertPlan(body) : Promise.resolve(null)), [state.checked, target]);
  return html`<div class="pane"><div class="filters"><label for="convert-to">Convert to</label>
      <select id="convert-to" value=${target} onChange=${(event) => setTo(event.target.value)}>${targets.map(({ name }) => html`<option value=${name} selected=${name === target}>${name}</option>`)}</select>
      ${typeof data?.text === 'string' && html`<${Copy} text=${() => data.text} label="Copy the plan" /><button class="small" onClick=${() => { editBench({ text: data.text, dialect: target }); document.querySelector('[data-editor]').focus(); }}>Edit this one</button>`}</div>
    <${ErrorNote} error=${error} />
    ${!data && !busy && !error && html`<${Empty} title="Nothing to convert">Write, paste or open a plan.<//>`}
    ${data?.losses?.length > 0 && html`<section><h3>${count(data.losses.length, 'part')} that ${oneLine(target, 30)} cannot express</h3><ul class="findings">${data.losses.map((loss) => html`<li>
      <${Icon} status="waiting" /><${Message} of=${loss} /></li>`)}</ul></section>`}
    ${data && data.text === null && html`<p class="caution">${oneLine(target, 30)} cannot express this plan.</p>`}
    ${typeof data?.text === 'string' && html`<pre class="code-block" tabindex="0" aria-label="Converted plan"><${Text} of=${data.text} /></pre>`}</div>`;
}

/** The calls that a run would make, from the report of a dry run. */
function Preview({ of }) {
  return html`<section aria-live="polite"><h3>Dry run: no tool was called</h3><table class="properties">
    <thead><tr><th scope="col">Step</th><th scope="col">Tool</th><th scope="col">Arguments</th><th scope="col">After</th></tr></thead>
    <tbody>${of.steps.slice(0, 500).map((step) => html`<tr><th scope="row"><code><${Text} of=${step.id} line /></code></th>
      <td><code><${Text} of=${step.tool ?? ''} line /></code>${step.approval && html` <span class="badge">asks first</span>`}</td>
      <td><${Value} of=${step.args ?? undefined} depth=${1} /></td><td class="soft"><${Text} of=${(step.after ?? []).join(", ")} line /></td></tr>`)}</tbody></table>
    ${of.steps.length > 500 && html`<p class="soft">and ${(of.steps.length - 500).toLocaleString('en')} more steps</p>`}</section>`;
}

/** Dry run, simulated run and real run of the plan. */
function BenchRun({ state, config, isSound }) {
  const [preview, setPreview] = useState(null);
  const [isAsking, setAsking] = useState(false);
  const [script, setScript] = useState(null);
  const action = useAction();
  const inputs = benchInputs();
  useEffect(() => setPreview(null), [state.text, state.inputs]);
  const start = (mode) => action.run(async () => {
    const body = { text: state.text, inputs: inputs.value, mode };
    if (state.dialect) body.dialect = state.dialect;
    if (mode === 'simulated' && script) body.simulate = await script.text();
    const result = await source.runPlan(body);
    setAsking(false);
    if (result.run) go(route(['run', result.run, 'graph']));
    else setPreview(result.preview);
  });
  const isReady = isSound && inputs.value && !action.busy;
  const canRun = config?.can_run !== false;
  return html`<div class="pane">
    <label class="stack">Inputs, as a JSON object
      <textarea class="code" rows="4" spellcheck=${false} value=${state.inputs} aria-invalid=${inputs.error ? 'true' : null} aria-describedby="inputs-error"
        placeholder="{}" onInput=${(event) => editBench({ inputs: event.target.value })}></textarea></label>
    <p id="inputs-error" class="soft" role="status">${inputs.error ?? ''}</p><${HiddenCharacters} of=${state.inputs} />
    ${state.result?.inputs?.length > 0 && html`<dl class="grid">${state.result.inputs.map((input) => html`<${Field} label=${html`<code><${Text} of=${input.name} line /></code>`}>
      ${oneLine(schemaKind(input.schema, input.schema), 80)}${input.required ? ', required' : html`, default <code>${brief(input.default, 80)}</code>`}<//>`)}</dl>`}
    <div class="buttons">
      <button class="primary" disabled=${!isReady} onClick=${() => start('dry')}>Dry run</button>
      ${canRun && html`<button disabled=${action.busy || !inputs.value || !(isSound || script)} onClick=${() => start('simulated')}>Run with simulated tools</button>
        <button disabled=${!isReady} onClick=${() => setAsking(true)}>Run with real tools…</button>`}
    </div>
    ${canRun && html`<label class="stack">File of simulated tools, as for <code>--simulate</code>
        <input type="file" accept=".json" onChange=${(event) => setScript(event.target.files[0] ?? null)} /></label>
      <p class="soft">A dry run calls no tool. Without a file, each simulated tool answers with an example of its output schema.</p>`}
    ${!isSound && html`<p class="soft">${state.text.trim() ? 'A plan with errors does not run.' : 'Write, paste or open a plan first.'}</p>`}
    <${ErrorNote} error=${action.error} />
    ${isAsking && html`<${Dialog} title="Run with real tools?" onClose=${() => setAsking(false)}>
      <p>The run calls the tools of your servers. Calls that need an approval wait in the <strong>inbox</strong>.</p><${ErrorNote} error=${action.error} />
      <footer><button onClick=${() => setAsking(false)}>Back</button><button class="primary" disabled=${action.busy} onClick=${() => start('real')}>Run the plan</button></footer><//>`}
    ${preview !== null && html`<${Preview} of=${preview} />`}
  </div>`;
}
