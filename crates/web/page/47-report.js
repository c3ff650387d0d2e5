// The report of a run: its output, its failures and its diagnostics; and the comparison of two runs side by side.

function ReportTab({ shown }) {
  const ended = hasEnded(shown.run.status);
  const { data, error, busy, reload } = useLoad(() => source.report(shown.id), [shown.id, shown.run.status]);
  const failed = (data?.steps ?? []).filter((step) => step.error);
  return html`<div class="page report">
    <${ErrorNote} error=${error} retry=${reload} />
    ${!data && busy && html`<${Busy} what="the report" />`}
    ${data && html`
      ${!ended && html`<p class="caution">The run has not ended: this is the report up to now. <button class="small" onClick=${reload}>Load again</button></p>`}
      <section><div class="part-head"><h2>Output</h2>${data.output !== null && html`<${CopyValue} of=${data.output} />`}</div>
        ${data.output === null ? html`<p class="soft">The run has no output.</p>` : html`<${Value} of=${data.output} />`}</section>
      ${failed.length > 0 && html`<section><h2>${count(failed.length, 'failed step')}</h2><ul class="failures">${failed.slice(0, 200).map((step) => html`<li>
        <a href=${route(['run', shown.id, 'steps'], { at: step.id })}><${Text} of=${step.id} line /></a>${' '}
        <code class="soft"><${Text} of=${step.tool} line /></code> <${Text} of=${step.error.message} /></li>`)}</ul></section>`}
      ${data.diagnostics.length > 0 && html`<section><h2>Diagnostics</h2><ul class="failures">${data.diagnostics.slice(0, 200).map((entry) => html`<li>
        <strong>${oneLine(entry.code, 12)}</strong> <${Message} of=${entry.message} /><${CodePage} code=${entry.code} /></li>`)}</ul></section>`}
      <section><h2>Figures</h2><dl class="grid">
        <${Field} label="Duration">${duration(data.duration_ms)}<//>
        <${Field} label="Steps">${data.steps.length.toLocaleString('en')}<//>
        <${Field} label="Calls">${data.calls.length.toLocaleString('en')}<//>
        <${Field} label="Dialect">${data.dialect}<//>
        <${Field} label="Plan"><code>${data.plan.digest.slice(0, 16)}</code><//>
      </dl></section>
      <section><div class="part-head"><h2>As JSON</h2><${CopyValue} of=${data} /></div><${Value} of=${data} depth=${1} /></section>
      <section><h2>To hand on</h2><p><code>planwright show ${shown.id.slice(0, 8)} --as html</code> writes one file with the graph, the timeline and the steps.
        Secrets in it are redacted, and it loads nothing.</p></section>`}
  </div>`;
}

function DiffScreen({ a, b }) {
  const { data, error, busy, reload } = useLoad(() => source.diff(a, b), [a, b]);
  const [onlyChanged, setOnlyChanged] = useState(true);
  const steps = (data?.steps ?? []).filter((step) => !onlyChanged || !step.same);
  return html`<section class="page diff" aria-labelledby="screen-title">
    <header class="bar"><a class="up soft" href="#/runs">Runs</a><h1 id="screen-title">Two runs side by side</h1>
      <span class="soft" aria-live="polite">${data && (data.same ? 'the same but for times' : count(steps.length, 'step') + (onlyChanged ? ' differ' : ''))}</span></header>
    <${ErrorNote} error=${error} retry=${reload} />
    ${!data && busy && html`<${Busy} what="the comparison" />`}
    ${data && html`
      <div class="sides">${[['Before', data.before, a], ['After', data.after, b]].map(([name, run, id]) => html`<div class="side">
        <h2>${name}</h2><p><a href=${route(['run', run?.id ?? id, 'graph'])}><${Text} of=${run?.plan ?? 'unnamed plan'} line /></a> <code class="soft">${(run?.id ?? id).slice(0, 8)}</code></p>
        ${run && html`<p class="facts soft"><${Status} of=${run.status} /><span>${duration(run.duration_ms)}</span><span>${count(run.calls ?? 0, 'call')}</span><${Time} at=${run.created} /></p>`}</div>`)}</div>
      ${data.plan && html`<p>${data.plan.same ? 'Both runs have the same plan.' : html`The plans differ: ${['added', 'removed', 'changed'].filter((kind) => data.plan[kind]?.length)
        .map((kind) => html`<span class="strong">${kind}</span> ${data.plan[kind].slice(0, 40).map((id) => html`<code><${Text} of=${id} line /></code> `)}`)}`}</p>`}
      ${data.inputs?.length > 0 && html`<h2>Inputs</h2><table class="diff-table"><thead><tr><th scope="col">Input</th><th scope="col">Before</th><th scope="col">After</th><td></td></tr></thead>
        <tbody><${ChangeRows} name="" of=${data.inputs} /></tbody></table>`}
      <div class="part-head"><h2>Steps</h2><label class="check"><input type="checkbox" checked=${onlyChanged} onChange=${() => setOnlyChanged(!onlyChanged)} /> Only differences</label></div>
      ${steps.length === 0 && html`<${Empty} title="No step differs">Arguments, outputs and outcomes are the same.<//>`}
      ${steps.length > 0 && html`<${DiffTable} steps=${steps} />`}`}
  </section>`;
}

function DiffTable({ steps }) {
  const [shown, setShown] = useState(200);
  const side = (outcome) => (outcome ? html`<${Status} of=${outcome.status} />${outcome.attempts > 1 && html`<span class="soft"> ×${outcome.attempts}</span>`}
    <span class="soft"> ${duration(outcome.duration_ms)}</span>` : html`<span class="soft">no such step</span>`);
  return html`<table class="diff-table"><thead><tr><th scope="col">Step</th><th scope="col">Before</th><th scope="col">After</th><th scope="col" class="number">Time</th></tr></thead>
    <tbody>${steps.slice(0, shown).map((step) => html`<tr>
      <th scope="row"><code><${Text} of=${step.address} line /></code></th><td>${side(step.before)}</td><td>${side(step.after)}</td>
      <td class="number">${typeof step.duration_ratio === 'number' ? `× ${step.duration_ratio.toFixed(2)}` : ''}</td></tr>
      ${[['arguments', step.args], ['output', step.output]].map(([name, list]) => html`<${ChangeRows} name=${name} of=${list ?? []} />`)}`)}</tbody></table>
    ${shown < steps.length && html`<button class="more" onClick=${() => setShown(shown + 400)}>Show ${Math.min(400, steps.length - shown)} more of ${steps.length.toLocaleString('en')}</button>`}`;
}

/** The most differences of one value that are listed. */
const MAX_CHANGES = 60;

/** A row for each place at which two values differ. */
function ChangeRows({ name, of }) {
  const side = (change, key) => (key in change ? html`<${Value} of=${change[key]} depth=${0} />` : html`<span class="soft">nothing</span>`);
  return html`${of.slice(0, MAX_CHANGES).map((change) => html`<tr class="changes">
      <th scope="row"><span class="soft">${name}</span> <code>${oneLine(change.pointer || '', 120)}</code></th>
      <td><div class="before">${side(change, 'before')}</div></td><td><div class="after">${side(change, 'after')}</div></td><td></td></tr>`)}
    ${of.length > MAX_CHANGES && html`<tr class="changes"><th></th><td class="soft" colspan="3">and ${(of.length - MAX_CHANGES).toLocaleString('en')} more</td></tr>`}`;
}
