// The dialogs that resume a run, with the steps that it retries, skips, or gives a value, and that undo what it did.

/** The statuses of steps that a resumed run can treat in another way than before. */
const OPEN_STATUSES = ['failed', 'unknown', 'cancelled', 'waiting'];

const CHOICES = [['as_is', 'Leave to the run'], ['retry', 'Retry'], ['skip', 'Skip'], ['set', 'Set a value']];

function ResumeDialog({ shown, at, first, onClose }) {
  const steps = [...shown.states].filter(([address, state]) => address === at || OPEN_STATUSES.includes(state.status))
    .map(([address, state]) => ({ ...state, at: address }));
  const [choices, setChoices] = useState(new Map(first && at ? [[at, first]] : []));
  const [values, setValues] = useState(new Map());
  const [secret, setSecret] = useState('');
  const action = useAction();

  const wanted = (choice) => steps.map((state) => state.at).filter((address) => choices.get(address) === choice);
  // An address may be the name of a member of each object.
  const set = Object.create(null);
  let invalid = null;
  for (const address of wanted('set')) {
    if (values.has(address)) set[address] = values.get(address).value;
    else invalid = address;
  }
  const resume = () => action.run(async () => {
    const choices = { retry: wanted('retry'), skip: wanted('skip'), set };
    if (secret) choices.passphrase = secret;
    const { run } = await source.resume(shown.id, choices);
    onClose();
    if (run !== shown.id) go(route(['run', run, 'graph']));
    else openRun(run).catch(() => live.touch());
  });

  return html`<${Dialog} title="Resume this run" onClose=${onClose} wide>
    <p class="soft">Completed calls are never repeated. Choose what happens to the steps below.</p>
    ${steps.length > 0 && html`<ul class="resume">${steps.slice(0, 200).map((state) => html`<li key=${state.at}>
      <div class="step"><${Icon} status=${state.status} /><code class="strong"><${Text} of=${state.at} line /></code>
        <span class=${`s-${statusKey(state.status)}`}>${statusName(state.status)}</span></div>
      ${state.error && html`<p class="soft cut"><${Text} of=${state.error} line /></p>`}
      <fieldset class="segmented"><legend class="sr">What happens to ${oneLine(state.at, 60)}</legend>
        ${CHOICES.map(([key, name]) => html`<label><input type="radio" name=${`resume-${state.at}`} value=${key}
          checked=${(choices.get(state.at) ?? 'as_is') === key} onChange=${() => setChoices(new Map(choices).set(state.at, key))} /><span>${name}</span></label>`)}
      </fieldset>
      ${choices.get(state.at) === 'set' && html`<${JsonEditor} label="Output of the step, as JSON" initial="" fits="The output fits the tool's schema."
        check=${(output) => source.checkOutput({ run: shown.id, at: state.at, output })} onChange=${(value) => setValues((before) => {
          const next = new Map(before);
          if (value) next.set(state.at, value);
          else next.delete(state.at);
          return next;
        })} />`}
      ${choices.get(state.at) === 'retry' && state.status === 'unknown' && html`<p class="caution">
        The earlier call was sent, and its outcome is unknown: a retry may repeat its effect.</p>`}
    </li>`)}</ul>`}
    ${live.value.config?.passphrase && wanted('retry').length > 0 && html`<label class="stack">Passphrase
      <input type="password" autocomplete="off" value=${secret} onInput=${(event) => setSecret(event.target.value)} /></label>`}
    <${ErrorNote} error=${action.error} />
    ${invalid && html`<p class="soft" role="status"><code>${oneLine(invalid, 60)}</code> has no value yet.</p>`}
    <footer><button onClick=${onClose}>Close</button>
      <button class="primary" disabled=${action.busy || invalid !== null} onClick=${resume}>Resume the run</button></footer>
  <//>`;
}

/** Shows each call that would be undone, and what stays, before anything is called. The revert is bound to what is shown. */
function RevertDialog({ run, onClose }) {
  const { data, error, reload } = useLoad(() => source.proposeRevert(run.id), []);
  const action = useAction();
  const revert = () => action.run(async () => {
    const begun = await source.revert(run.id, data.digest);
    onClose();
    go(route(['run', begun.run, 'graph']));
  });
  const failed = error ?? action.error;
  const call = (of) => html`<div class="step"><code class="strong"><${Text} of=${of.call} line /></code> called <code><${Text} of=${of.called ?? of.tool} line /></code></div>`;
  const stays = (of, why) => html`<li>${call(of)}<p class="caution"><${Text} of=${why} line /></p></li>`;
  const size = data?.undos.length;
  return html`<${Dialog} title="Undo what this run did?" onClose=${onClose} wide>
    <${ErrorNote} error=${failed} retry=${() => action.run(reload)} />
    ${!data && !failed && html`<${Busy} what="the calls to undo" />`}
    ${data && html`<p class="soft">${size ? 'Nothing is called yet. The undos are made one after the other.' : 'There is nothing to undo.'}
      ${data.undone_before > 0 && ` ${count(data.undone_before, 'call')} undone before.`}</p>
    <ul class="resume">
      ${data.undos.map((undo) => html`<li>${call(undo)}<div>undo: <code><${Text} of=${undo.tool} line /></code></div><${Value} of=${undo.args} depth=${4} /></li>`)}
      ${data.unreverted.map((of) => stays(of, `stays: ${of.reason ?? 'it has no undo'}`))}
      ${data.in_doubt.map((of) => stays(of, `stays: it may or may not have ${of.undone_by ? `been undone by the run ${of.undone_by}` : 'happened'}`))}
    </ul>`}
    <footer><button onClick=${onClose}>Leave it</button>
      <button class="danger primary" disabled=${action.busy || !size} onClick=${revert}>Undo ${count(size ?? 0, 'call')}</button></footer>
  <//>`;
}
