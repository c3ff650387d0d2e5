// The inbox: every call of every run that waits for a decision, and the decision about one call, a loop or a run.

const questionKey = (question) => `${question.run} ${question.at}`;

/** An item or a round of a loop in an address, which the steps of an inner plan may follow. */
const LOOP_PART = /\[[^[\]]*\]|#\d+/g;

/** The addresses of the loops of a call, the innermost first: the address without its last item or round, without the last two, and so on. */
function loopsOf(at) {
  const parts = [...at.matchAll(LOOP_PART)].reverse();
  let address = at;
  return parts.map(({ 0: part, index }) => {
    address = `${address.slice(0, index)}[]${address.slice(index + part.length)}`;
    return address;
  });
}

function InboxScreen({ parameters }) {
  const { questions, decided, config, connection, isInboxRead, inboxError } = useStore(live);
  const [text, setText] = useState('');
  const [said, setSaid] = useState('');
  const [refusal, setRefusal] = useState(null);
  // The call that was decided last, here.
  const [mine, setMine] = useState(null);
  // The list may be older than the screen: a call that was decided meanwhile would be selected, and be gone with the response.
  const [isFresh, setFresh] = useState(false);
  useEffect(() => {
    refreshInbox().then(() => setFresh(true));
  }, []);
  // The banner says that the connection is lost, and since when the calls may be old.
  const error = refusal ?? (isInboxRead && connection.state === 'lost' ? null : inboxError);
  const wanted = text.trim().toLowerCase();
  const rows = useMemo(() => questions.filter((question) => !wanted
    || [question.tool, question.server, question.plan, question.at, question.run].join(' ').toLowerCase().includes(wanted)), [questions, wanted]);
  // The list is gone with its last call.
  useEffect(() => refocus('main'), [rows.length === 0]);
  const run = parameters.get('run');
  const at = parameters.get('at');
  const open = questions.find((question) => question.run === run && question.at === at);
  // A call that goes away stays in its pane: another one under the same buttons would be decided by a click that was meant for this one.
  const last = useRef(null);
  if (open) last.current = open;
  const question = last.current?.run === run && last.current.at === at ? last.current : null;
  const isMine = mine !== null && mine === question?.digest;
  const isOpen = Boolean(open) && !isMine;
  const select = (target) => {
    setRefusal(null);
    replaceRoute(route(['inbox'], { run: target.run, at: target.at }));
  };
  const next = rows.find((other) => other.run === run) ?? rows[0];
  // A wide window always shows a call, a narrow one the list or a call.
  const isWide = innerWidth > NARROW;
  useLayoutEffect(() => {
    if (isFresh && !at && next && (run ? next.run === run : isWide)) select(next);
  }, [isFresh, run, at, next]);
  const onDecided = (message, done) => {
    setSaid(message);
    setRefusal(null);
    setMine(question.digest);
    live.set({ questions: live.value.questions.filter((other) => !done.has(questionKey(other))) });
    refreshInbox();
  };
  const decision = decided.find((other) => other.run === run && other.at === at)?.decision;
  const end = isFresh && isInboxRead && run && !isOpen && html`<${Ended} key=${`${run} ${at}`} isMine=${isMine} onNext=${next && (() => { select(next); focusDetails(); })}>${isMine ? said
    : !at ? 'No call of this run waits for a decision.'
      : DECISIONS[decision] ? `Decided elsewhere: ${DECISIONS[decision]}.` : 'This call no longer waits for a decision.'}<//>`;
  const row = (index) => {
    const { tool, server, plan, step, at: address, asked, run: id } = rows[index];
    return html`<span class="q-tool strong"><${CallTool} of=${{ server, tool }} /></span>
      <span class="q-when soft"><${Time} at=${asked} /></span>
      <span class="q-args soft"><${Text} of=${brief(rows[index].arguments, 140)} line /></span>
      <span class="q-where soft"><${Text} of=${plan ?? 'unnamed plan'} line /> <code>${id.slice(0, 8)}</code> <${Text} of=${address ?? step} line /></span>`;
  };
  const side = question ? html`<${Question} key=${questionKey(question)} question=${question} all=${questions} end=${end} isMine=${isMine} passphrase=${config?.passphrase}
    onDecided=${onDecided} onRefused=${setRefusal} />` : end;
  return html`<section class="inbox" aria-labelledby="screen-title">
    <header class="bar"><h1 id="screen-title">Inbox</h1>
      <span class="soft" aria-live="polite">${count(questions.length, 'call')} ${questions.length === 1 ? 'waits' : 'wait'} for a decision</span>
      ${questions.length > 0 && html`<${Search} value=${text} onInput=${setText} label="Search the inbox" />`}</header>
    <p class="sr" role="status">${said}</p>
    <${ErrorNote} error=${error} />
    ${isInboxRead && html`<${Split} side=${side} label="The call" onClose=${isWide ? null : () => replaceRoute('#/inbox')}>
      ${rows.length > 0 ? html`<${VirtualList} length=${rows.length} rowHeight=${72} row=${row} rowClass="question-row" selected=${rows.indexOf(open)}
        label="Calls that wait for a decision" onSelect=${(index) => select(rows[index])} />`
    : questions.length > 0 ? html`<${Empty} title="No call matches">Change the search.<//>`
      : html`<${Empty} title="Nothing waits for you">${said || 'A call that needs an approval appears here, from every run of every process.'}<//>`}
    <//>`}
    <${Undelivered} decided=${decided} />
  </section>`;
}

/** The end of a call that waits no more. The next call takes a choice of its own, so that a second click on a button decides nothing. */
function Ended({ isMine, onNext, children }) {
  useEffect(() => refocus(isMine && onNext ? '.ended button' : '[data-detail]'), []);
  return html`<div class="caution ended" role=${isMine ? null : 'alert'}><p>${children}</p>${onNext && html`<button class="small" onClick=${onNext}>Next call</button>`}</div>`;
}

/** The runs with decisions that are stored and apply when the run is resumed, because no process drives it now. */
function Undelivered({ decided }) {
  const action = useAction();
  const runs = new Map();
  for (const question of decided) {
    const row = live.value.rows.get(question.run);
    if (row && row.status !== 'running') runs.set(question.run, { question, count: (runs.get(question.run)?.count ?? 0) + 1 });
  }
  if (!runs.size) return null;
  const resume = (run) => action.run(async () => {
    await source.resume(run, {});
    go(route(['run', run, 'graph']));
  });
  return html`<section class="undelivered" aria-label="Stored decisions"><${ErrorNote} error=${action.error} />
    <ul>${[...runs].map(([run, entry]) => html`<li><span><${Icon} status="succeeded" /> ${count(entry.count, 'decision')} about <a href=${route(['run', run, 'graph'])}><${Text} of=${entry.question.plan ?? 'an unnamed plan'} line /></a>
      ${' '}<code class="soft">${run.slice(0, 8)}</code> ${entry.count === 1 ? 'applies' : 'apply'} when the run is resumed.</span>
      ${live.value.config?.can_run !== false && html`<button disabled=${action.busy} onClick=${() => resume(run)}>Resume the run</button>`}</li>`)}</ul></section>`;
}

/** The annotations of a tool as sentences about its effects. */
const HINTS = {
  read_only: ['changes nothing', 'may change something'],
  destructive: ['may destroy something', 'destroys nothing'],
  idempotent: ['has no further effect if it is repeated', 'has a further effect if it is repeated'],
  open_world: ['reaches systems outside', 'reaches no system outside'],
};

const DECISIONS = { approve: 'approved', change: 'approved with changes', reject: 'rejected' };

/** The statements of a server about the effects of a tool, as texts. */
function effectTexts(effects) {
  if (!effects) return [];
  const stated = Object.entries(HINTS).filter(([name]) => typeof effects[name] === 'boolean' && !(effects.read_only && ['destructive', 'idempotent'].includes(name)));
  return stated.map(([name, [yes, no]]) => (effects[name] ? yes : no));
}

/** The tool of a call, with its server. */
const CallTool = ({ of }) => html`${of.server && html`<span class="soft"><${Text} of=${of.server} line />.</span>`}<${Text} of=${of.tool} line />`;

/** The reason of the question about a call, and the differences from the call of the last decision. */
const WhyAsked = ({ of: { reason, changes } }) => html`${reason && html`<p class="why"><${Icon} status="waiting" /><span>Asks because <${Message} of=${reason} /></span></p>`}
  ${changes?.length > 0 && html`<section><h3>Differences from the call of the last decision</h3><ul class="findings">${changes.map((change) => html`<li><${Text} of=${change} /></li>`)}</ul></section>`}`;

/** The number of calls that are shown at first, of several. */
const FIRST_CALLS = 100;

/** The text that the whole arguments of a call take, beyond which the page says that parts are closed at first. */
const LONG_ARGUMENTS = 4000;

function Question({ question, all, end, isMine, passphrase, onDecided, onRefused }) {
  const [scope, setScope] = useState('call');
  const [mode, setMode] = useState(null);
  const bound = [question.digest, scope === 'plan' && question.plan_digest].filter(Boolean).join();
  const first = useRef(bound);
  const hasChanged = first.current !== bound;
  const ofRun = all.filter((other) => other.run === question.run);
  const members = { call: [question], run: ofRun, plan: ofRun };
  const scopes = [['call', 'This call']];
  let most = 1;
  for (const [depth, loop] of loopsOf(question.at).entries()) {
    const calls = ofRun.filter((other) => loopsOf(other.at)[depth] === loop);
    if (calls.length <= most) continue;
    most = calls.length;
    const key = `loop${depth}`;
    members[key] = calls;
    scopes.push([key, `All ${most} of ${depth ? `the loop ${oneLine(loop.slice(0, loop.indexOf('[]')), 60)}` : 'this loop'}`]);
  }
  if (ofRun.length > most) scopes.push(['run', `All ${ofRun.length} of this run`]);
  if (question.plan_digest) scopes.push(['plan', 'The whole plan']);
  // Calls that come later, or change, were not shown when the person chose these.
  const [chosen, setChosen] = useState(() => new Set([question.digest]));
  const [shown, setShown] = useState(FIRST_CALLS);
  const waiting = members[scope] ?? [];
  const calls = end ? [question] : hasChanged ? [] : waiting.filter((call) => chosen.has(call.digest));
  const further = waiting.length - calls.length;
  const whole = useLoad(() => wholeArguments(calls.slice(0, shown)), [calls.slice(0, shown).map((call) => call.digest).join()]);
  const isWhole = (call) => !call.is_cut || whole.data?.has(call.digest);
  const [shownCalls, isShown] = [calls.map((call) => ({ ...call, ...whole.data?.get(call.digest) })), shown >= calls.length && calls.every(isWhole)];
  const tools = calls.filter((call, index) => calls.findIndex((other) => other.server === call.server && other.tool === call.tool) === index);
  const choose = (key) => {
    setScope(key);
    setChosen(new Set(members[key].map((call) => call.digest)));
    setShown(FIRST_CALLS);
    setMode(null);
    first.current = [question.digest, key === 'plan' && question.plan_digest].filter(Boolean).join();
  };
  return html`<article class="question">
    <header>
      <h2><${CallTool} of=${question} /></h2>
      <p class="soft">asked <${Time} at=${question.asked} /> by step <a href=${route(['run', question.run, 'graph'], { at: question.at })}><${Text} of=${question.at} line /></a>
        ${' '}of <${Text} of=${question.plan ?? 'an unnamed plan'} line /> <code>${question.run.slice(0, 8)}</code></p>
    </header>
    ${end}
    ${hasChanged && !end && html`<p class="caution" role="alert">The call has changed since you opened it. Look at it again before you decide. <button class="small" onClick=${() => choose(scope)}>Show it</button></p>`}
    ${question.description && html`<p>The plan says: <${Text} of=${question.description} /></p>`}
    ${calls.length === 1 && html`<${WhyAsked} of=${calls[0]} />`}
    ${scopes.length > 1 && !end && html`<fieldset class="segmented"><legend>Decide about</legend>${scopes.map(([key, name]) => html`<label>
      <input type="radio" name="scope" value=${key} checked=${scope === key} onChange=${() => choose(key)} /><span>${name}</span></label>`)}</fieldset>`}
    ${further > 0 && !hasChanged && !end && html`<p class="caution" role="alert">${count(further, 'further call')} of the ${scope.replace(/\d/, '')} ${further === 1 ? 'waits' : 'wait'} since you chose. <button class="small" onClick=${() => choose(scope)}>Show all</button></p>`}
    ${scope === 'plan' && html`<${WholePlan} question=${question} />`}
    <${ErrorNote} error=${whole.error} retry=${whole.reload} />
    ${calls.length === 1 && (isShown ? html`<${QuestionCall} question=${shownCalls[0]} />` : html`<${Busy} what="the arguments" />`)}
    ${calls.length > 1 && html`<${QuestionCalls} calls=${shownCalls} shown=${shown} setShown=${setShown} />`}
    ${tools.map((call) => html`<${ToolSays} question=${call} isOnly=${tools.length === 1} />`)}
    ${question.earlier?.length > 0 && html`<section><h3>Earlier decisions about this step</h3><ul>${question.earlier.map((entry) => html`<li>
      <strong>${DECISIONS[entry.decision] ?? oneLine(entry.decision, 20)}</strong> <code><${Text} of=${entry.at} line /></code> <span class="soft"><${Time} at=${entry.time} /></span>
      ${entry.because && html` <${Text} of=${entry.because} />`}</li>`)}</ul></section>`}
    ${calls.length > 0 && (!end || (mode && !isMine)) && html`<${Decide} question=${shownCalls[0]} calls=${calls} isOpen=${!end} isShown=${isShown} plan=${scope === 'plan' ? question.plan_digest : null} mode=${mode} setMode=${setMode} passphrase=${passphrase} onDecided=${onDecided} onRefused=${onRefused} />`}
  </article>`;
}

/** The whole arguments of calls, by the digest: lists and events have the beginning of long ones. */
async function wholeArguments(calls) {
  const loaded = await Promise.all(calls.filter((call) => call.is_cut).map((call) => source.callArguments(call.run, call.at)));
  return new Map(loaded.map((call) => [call.digest, { ...call, is_cut: false }]));
}

/** The section about a whole plan: its graph and everything else that an approval of the plan is bound to, beside the waiting calls. */
function WholePlan({ question }) {
  const { data, error } = useLoad(() => source.graph(question.run, []), [question.run, question.plan_digest]);
  return html`<section><h3>The whole plan</h3>
    <p class="caution">You approve the calls below, and every later call of this plan with whatever arguments it computes, as long as the plan, its
      inputs and its tools stay as they are. The run asks no more.</p>
    <${ErrorNote} error=${error} />
    ${data && html`<div class="framed"><${GraphView} graph=${data} version=${0} at=${null} label="The plan that you approve" /></div>`}
    <p class="soft digest">digest of the plan <code>${oneLine(question.plan_digest, 64)}</code></p></section>`;
}

/** The arguments of one call, in full, with the origin of each value. */
function QuestionCall({ question }) {
  const length = useMemo(() => writeJson(question.arguments ?? null).length, [question.arguments]);
  const [asText, setAsText] = useState(false);
  return html`<section><div class="part-head"><h3>Arguments</h3>
      ${question.arguments_shown && html`<button class="quiet small" aria-pressed=${asText ? 'true' : 'false'} onClick=${() => setAsText(!asText)}>As text</button>`}
      <${CopyValue} of=${question.arguments} /></div>
    ${length > LONG_ARGUMENTS && html`<p class="caution">The arguments take ${length.toLocaleString('en')} characters. Parts of them are closed until you open them.</p>`}
    ${asText ? html`<${Scalar} value=${question.arguments_shown.join('\n')} />` : html`<${Value} of=${question.arguments} sources=${question.sources} depth=${4} />`}
    <p class="soft digest">digest <code>${oneLine(question.digest ?? '', 64)}</code></p></section>`;
}

/** The calls up to which all of them are open at first. */
const FEW_CALLS = 20;

/** The arguments of several calls, each of them in full when it is opened. */
function QuestionCalls({ calls, shown, setShown }) {
  return html`<section><h3>${count(calls.length, 'call')}</h3><ol class="calls">${calls.slice(0, shown).map((call) => html`<li key=${questionKey(call)}>
    <details open=${calls.length <= FEW_CALLS}><summary><code class="strong"><${CallTool} of=${call} /></code> <span class="soft"><${Text} of=${call.at} line /></span>
      ${calls.length > FEW_CALLS && html`<code class="cut"><${Text} of=${brief(call.arguments, 200)} line /></code>`}</summary>
      <${Value} of=${call.arguments} sources=${call.sources} depth=${4} /></details><${WhyAsked} of=${call} /></li>`)}</ol>
    ${shown < calls.length && html`<button class="small" onClick=${() => setShown(shown + 400)}>Show more of ${calls.length.toLocaleString('en')} calls</button>`}</section>`;
}

/** The statements of a server about its tool, which Planwright cannot verify. */
function ToolSays({ question, isOnly }) {
  const hints = effectTexts(question.annotations);
  return html`<section><h3>What ${isOnly ? 'the tool' : html`<${CallTool} of=${question} />`} says of itself</h3>
    ${question.tool_description && html`<blockquote><${Scalar} value=${question.tool_description} /></blockquote>`}
    ${hints.length > 0 ? html`<ul class="hints">${hints.map((hint) => html`<li>${hint}</li>`)}</ul>` : html`<p class="soft">It does not state its effects.</p>`}
    ${question.annotations?.trusted === false && html`<p class="soft">The server is not trusted to say so.</p>`}</section>`;
}

function Decide({ question, calls, isOpen, isShown, plan, mode, setMode, passphrase, onDecided, onRefused }) {
  const [reason, setReason] = useState('');
  const [secret, setSecret] = useState('');
  const [changed, setChanged] = useState(null);
  const action = useAction();
  const field = useRef(null);
  const last = useRef(null);
  useEffect(() => {
    if (mode) field.current.focus();
    // The button that led back is gone.
    else refocus(`[data-decide=${last.current}]`);
    last.current = mode;
  }, [mode]);
  const many = calls.length > 1;

  const decide = (decision) => action.run(async () => {
    const body = { run: question.run, decisions: calls.map(({ at, digest }) => ({ at, digest })), decision };
    if (plan) body.plan_digest = plan;
    if (decision === 'change') body.arguments = changed.value;
    if (decision === 'reject' && reason.trim()) body.reason = reason.trim();
    if (secret) body.passphrase = secret;
    try {
      await source.decide(body);
    } catch (error) {
      // The call may be gone from the screen by now, so the message stands above the list.
      if (error.status !== 409) throw error;
      onRefused(error);
      refreshInbox();
      return;
    }
    const name = { approve: 'Approved', change: 'Approved with changes', reject: 'Rejected' }[decision];
    onDecided(plan ? 'Approved: the whole plan.' : `${name}: ${many ? count(calls.length, 'call') : oneLine(question.tool, 60)}.`, new Set(calls.map(questionKey)));
  });

  return html`<footer class="decide">
    <${ErrorNote} error=${action.error} />
    ${mode === 'change' && html`<${JsonEditor} label="Arguments, as JSON" initial=${escapeInvisible(writeJson(question.arguments ?? {}, 2))} field=${field} onChange=${setChanged}
      fits="The arguments fit the tool's schema." check=${(value) => source.checkArguments({ run: question.run, server: question.server, tool: question.tool, arguments: value })} />`}
    ${mode === 'reject' && html`<label class="stack">Reason, which the plan's author sees
      <textarea ref=${field} rows="2" value=${reason} onInput=${(event) => setReason(event.target.value)}></textarea></label>`}
    ${passphrase && isOpen && html`<label class="stack">Passphrase<input type="password" autocomplete="off" value=${secret} onInput=${(event) => setSecret(event.target.value)} /></label>`}
    ${isOpen && html`<div class="buttons">
      ${mode === null && html`${isShown ? html`<button class="primary" data-decide="approve" disabled=${action.busy || (passphrase && !secret)} onClick=${() => decide('approve')}>
          ${plan ? 'Approve the whole plan' : many ? `Approve ${count(calls.length, 'call')}` : 'Approve'}</button>` : html`<p class="soft">Show all calls before you approve them.</p>`}
        ${!many && !plan && isShown && html`<button data-decide="change" onClick=${() => { setChanged(null); setMode('change'); }}>Change…</button>`}
        ${!plan && html`<button class="danger" data-decide="reject" onClick=${() => setMode('reject')}>${many ? `Reject ${count(calls.length, 'call')}…` : 'Reject…'}</button>`}`}
      ${mode === 'change' && html`<button class="primary" disabled=${action.busy || !changed || (passphrase && !secret)} onClick=${() => decide('change')}>Approve with changes</button>
        <button onClick=${() => setMode(null)}>Back</button>`}
      ${mode === 'reject' && html`<button class="danger primary" disabled=${action.busy || (passphrase && !secret)} onClick=${() => decide('reject')}>${many ? `Reject ${count(calls.length, 'call')}` : 'Reject'}</button>
        <button onClick=${() => setMode(null)}>Back</button>`}
    </div>`}
  </footer>`;
}

/** The delay between the last key and the check of a text, in ms. */
const CHECK_DELAY = 180;

/** An editor of JSON, with what `check` finds wrong with the value as you type; `onChange` gets `{value}`, or null as long as there is something. */
function JsonEditor({ label, initial, check, fits, onChange, field }) {
  const [text, setText] = useState(initial);
  const [findings, setFindings] = useState(null);
  const [error, setError] = useState(null);
  const id = useMemo(() => `findings-${Math.random()}`, []);
  useEffect(() => {
    if (!text.trim()) return undefined;
    let value;
    try {
      value = readJson(text, true);
    } catch (problem) {
      setFindings([{ pointer: '', message: `the text is not JSON: ${problem.message}` }]);
      return undefined;
    }
    let isCurrent = true;
    const timer = setTimeout(() => check(value).then((data) => {
      if (!isCurrent) return;
      const twice = repeatedKeys(text).map((key) => ({ pointer: '', message: `the key \`${key}\` is there twice` }));
      const found = [...data.findings, ...twice];
      setError(null);
      setFindings(found);
      onChange(found.length ? null : { value });
    }, (problem) => { if (isCurrent) { setFindings(null); setError(problem); } }), CHECK_DELAY);
    return () => { isCurrent = false; clearTimeout(timer); };
  }, [text]);
  return html`<div class="stack"><label class="stack">${label}
      <textarea ref=${field} class="code" rows=${Math.min(18, text.split('\n', 18).length + 1)} spellcheck=${false} value=${text} aria-describedby=${id}
        aria-invalid=${findings?.length ? 'true' : null} onInput=${(event) => { setText(event.target.value); onChange(null); }}></textarea></label>
    <${ErrorNote} error=${error} />
    <${HiddenCharacters} of=${text} />
    <ul id=${id} class="findings" aria-live="polite">${findings?.length === 0
      ? html`<li class="soft">${fits}</li>`
      : findings?.slice(0, 50).map((finding) => html`<li><${Icon} status="failed" />${finding.pointer && html`<code>${oneLine(finding.pointer, 120)}</code> `}<${Message} of=${finding.message} /></li>`)}</ul></div>`;
}
