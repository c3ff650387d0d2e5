// A run: its facts, its actions, and the tabs with its graph, timeline, steps and report.

const TABS = [['graph', 'Graph'], ['timeline', 'Timeline'], ['steps', 'Steps'], ['report', 'Report']];

function RunScreen({ id, tab, parameters }) {
  const [error, setError] = useState(null);
  const shown = useStore(current);
  const load = () => {
    setError(null);
    openRun(id).catch(setError);
  };
  useEffect(() => {
    load();
    return closeRun;
  }, [id]);
  if (error) return html`<section class="page"><header class="bar"><a class="up soft" href="#/runs">Runs</a><h1>Run <code>${oneLine(id, 20)}</code></h1></header><${ErrorNote} error=${error} retry=${load} /></section>`;
  if (!shown || !(shown.id === id || shown.id.startsWith(id))) return html`<section class="page"><h1 class="sr">Run</h1><${Busy} what="the run" /></section>`;

  const waiting = shown.questions.filter((question) => !question.decision).length;
  const at = parameters.get('at');
  const select = (next) => replaceRoute(route(['run', id, tab], { at: next }));
  const View = { graph: GraphTab, timeline: TimelineTab, steps: StepsTab, report: ReportTab }[tab] ?? GraphTab;
  return html`<section class="run" aria-labelledby="screen-title">
    <${RunHeader} shown=${shown} at=${at} />
    <nav class="tabs" aria-label="Views of the run">
      ${TABS.map(([key, name], index) => html`<a href=${route(['run', id, key], { at })} data-tab=${index + 1}
        aria-current=${key === tab ? 'page' : null}>${name}</a>`)}
      ${waiting > 0 && html`<a class="call" href=${route(['inbox'], { run: shown.id })}>
        <${Icon} status="waiting" />Decide ${count(waiting, 'call')}</a>`}
    </nav>
    <${View} shown=${shown} at=${at} select=${select} />
  </section>`;
}

function RunHeader({ shown, at }) {
  const { run } = shown;
  const [dialog, setDialog] = useState(null);
  const inputs = Object.keys(shown.inputs);
  const { view } = live.value.config;
  // The button that resumed or cancelled the run is gone, perhaps that of a step.
  useEffect(() => refocus('[data-detail]') ?? refocus('main'), [shown.can_resume, shown.can_cancel]);
  return html`<header class="run-header">
    <div class="title">
      ${!view && html`<a class="up soft" href="#/runs">Runs</a>`}
      <h1 id="screen-title" title=${shown.title?.length > 80 ? oneLine(shown.title, 2000) : null}><${Text} of=${shown.title ?? run.plan ?? 'Unnamed plan'} line /></h1>
      <code class="soft" title=${run.id}>${run.id.slice(0, 8)}</code>
    </div>
    <div class="facts" aria-live="polite">
      <${Status} of=${run.status} />
      <${Progress} done=${run.steps_ended} all=${run.steps} status=${run.status} />
    </div>
    <div class="facts soft">
      <span><${Elapsed} run=${run} /></span>
      <span>started <${Time} at=${run.started} /></span>
      ${run.imported && html`<span>imported</span>`}
      ${run.pid && html`<span>process ${run.pid}</span>`}
      ${run.client && html`<span>by <${Text} of=${run.client} line /></span>`}
      ${inputs.length > 0 && html`<button class="quiet small" onClick=${() => setDialog('inputs')}>${count(inputs.length, 'input')}</button>`}
      ${shown.revisions.length > 0 && html`<button class="quiet small" onClick=${() => setDialog('revisions')}>${count(shown.revisions.length, 'revision')}</button>`}
    </div>
    <div class="actions">
      ${!view && html`<button onClick=${() => setDialog('compare')}>Compare…</button>`}
      ${shown.can_resume && html`<button onClick=${() => setDialog('resume')}>Resume…</button>`}
      ${shown.can_revert && html`<button class="danger" onClick=${() => setDialog('revert')}>Revert…</button>`}
      ${shown.can_cancel && html`<button class="danger" onClick=${() => setDialog('cancel')}>Cancel…</button>`}
    </div>
    ${dialog === 'inputs' && html`<${Dialog} title="Inputs" onClose=${() => setDialog(null)}><${Value} of=${shown.inputs} /><//>`}
    ${dialog === 'revisions' && html`<${Revisions} shown=${shown} onClose=${() => setDialog(null)} />`}
    ${dialog === 'resume' && html`<${ResumeDialog} shown=${shown} at=${at} onClose=${() => setDialog(null)} />`}
    ${dialog === 'revert' && html`<${RevertDialog} run=${run} onClose=${() => setDialog(null)} />`}
    ${dialog === 'cancel' && html`<${CancelDialog} run=${run} onClose=${() => setDialog(null)} />`}
    ${dialog === 'compare' && html`<${CompareDialog} run=${run} onClose=${() => setDialog(null)} />`}
  </header>`;
}

const REVISION_KINDS = { replanned: 'A model wrote further steps', repaired: 'A model corrected the arguments of a step' };

/** The plans that the run had, one after another, each with its graph. */
function Revisions({ shown, onClose }) {
  const last = shown.revisions.length + 1;
  const [number, setNumber] = useState(last);
  const { data, error, busy } = useLoad(() => source.graph(shown.id, [], number), [number]);
  const revision = shown.revisions.find((entry) => entry.number === number);
  return html`<${Dialog} title="Revisions of the plan" onClose=${onClose} wide>
    <fieldset class="segmented"><legend class="sr">Revision</legend>${Array.from({ length: last }, (_, index) => index + 1).map((choice) => html`<label>
      <input type="radio" name="revision" checked=${choice === number} onChange=${() => setNumber(choice)} /><span>${choice === 1 ? 'First plan' : `Plan ${choice}`}</span></label>`)}</fieldset>
    ${revision?.reason && html`<p>${REVISION_KINDS[revision.reason.kind] ?? 'The plan changed'} after <code><${Text} of=${revision.reason.step} line /></code> failed:
      ${' '}<${Text} of=${revision.reason.error} />${revision.reason.model && html` <span class="soft">(<${Text} of=${revision.reason.model} line />)</span>`}</p>`}
    ${revision?.ends_beginning && html`<p class="soft">The plan before it was a beginning that the model did not continue.</p>`}
    <${ErrorNote} error=${error} />
    ${!data && busy && html`<${Busy} what="the plan" />`}
    ${data && html`<div class="framed"><${GraphView} key=${number} graph=${data} states=${number === last ? shown.states : new Map(Object.entries(data.parts ?? {}))} version=${number} at=${null} label=${`Plan ${number}`} /></div>`}
  <//>`;
}

function CancelDialog({ run, onClose }) {
  const action = useAction();
  const cancel = () => action.run(async () => {
    await source.cancel(run.id);
    onClose();
  });
  return html`<${Dialog} title="Cancel this run?" onClose=${onClose}>
    <p>${run.pid ? 'Calls in flight may still end, and nothing new starts.' : 'Nothing more is called.'} You can resume the run later.</p>
    <${ErrorNote} error=${action.error} />
    <footer><button onClick=${onClose}>Leave it</button>
      <button class="danger primary" disabled=${action.busy} onClick=${cancel}>Cancel the run</button></footer>
  <//>`;
}

/** The choice of a second run, those of the same plan first. */
function CompareDialog({ run, onClose }) {
  const [text, setText] = useState('');
  const { data, error, busy } = useLoad(() => source.runs({ text, limit: 60 }), [text]);
  const rows = (data?.runs ?? []).filter((row) => row.id !== run.id)
    .sort((a, b) => (b.plan === run.plan) - (a.plan === run.plan) || String(b.started).localeCompare(String(a.started)));
  return html`<${Dialog} title="Compare with another run" onClose=${onClose}>
    <${Search} id="compare-search" value=${text} onInput=${setText} label="Search runs" />
    <${ErrorNote} error=${error} />
    ${!data && busy && html`<${Busy} what="the runs" />`}
    ${data && rows.length === 0 && html`<${Empty} title="No other run">There is no other run to compare with.<//>`}
    <ul class="choices">${rows.map((row) => html`<li><a href=${route(['diff', row.id, run.id])} data-row>
      <${Icon} status=${row.status} /><span class="strong"><${Text} of=${row.plan ?? 'unnamed plan'} line /></span>
      <code class="soft">${row.id.slice(0, 8)}</code><span class="soft"><${Time} at=${row.started} /></span></a></li>`)}</ul>
  <//>`;
}
