// The catalog of tools with their schemas and example calls, and the saved plans with their versions.

function ToolsScreen({ parameters }) {
  const [text, setText] = useState('');
  /** True if the servers are asked again; without it, their lists are read once. */
  const isFresh = useRef(false);
  const { data, error, busy, reload } = useLoad(() => source.tools(isFresh.current), []);
  const wanted = text.trim().toLowerCase();
  const rows = useMemo(() => (data?.servers ?? []).flatMap((server) => server.tools.map((tool) => ({ ...tool, server: server.name })))
    .filter((tool) => !wanted || `${tool.name} ${tool.title ?? ''} ${tool.description ?? ''}`.toLowerCase().includes(wanted)), [data, wanted]);
  const wantedTool = parameters.get('tool');
  const selected = rows.findIndex((tool) => tool.name === wantedTool);
  const select = (index) => replaceRoute(route(['tools'], { tool: rows[index]?.name }));
  const row = (index) => html`<span class="strong"><${ToolName} of=${rows[index]} /></span>
    <span class="soft cut"><${Text} of=${oneLine(rows[index].description ?? '', 160)} line /></span>`;
  const tool = rows[selected];
  return html`<section class="inbox" aria-labelledby="screen-title">
    <header class="bar"><h1 id="screen-title">Tools</h1><span class="soft" aria-live="polite">${data && !busy ? count(rows.length, 'tool') : 'Loading…'}</span>
      <${Search} value=${text} onInput=${setText} label="Search tools" />
      <button onClick=${() => { isFresh.current = true; reload(); }}>Refresh</button></header>
    <${ErrorNote} error=${error} retry=${reload} />
    ${!data && busy && html`<${Busy} what="the tools" />`}
    ${data && rows.length === 0 && (wanted
      ? html`<${Empty} title="No tool matches">Change the search.<//>`
      : html`<${Empty} title="No tools">Name your servers with <code>planwright ui --servers mcp.json</code>.<//>`)}
    ${rows.length > 0 && html`<${Split} side=${tool ? html`<${Tool} key=${wantedTool} tool=${tool} />` : null} label="The tool" onClose=${() => replaceRoute('#/tools')}>
      <${VirtualList} length=${rows.length} rowHeight=${50} row=${row} rowClass="tool-row" selected=${selected} label="Tools"
        onSelect=${select} /><//>`}
  </section>`;
}

/** The name of a tool with that of its server in a lighter colour. */
function ToolName({ of: { name, server } }) {
  const own = name.startsWith(`${server}.`) ? name.slice(server.length + 1) : name;
  return html`<span class="soft"><${Text} of=${server} line />.</span><${Text} of=${own} line />`;
}

function Tool({ tool }) {
  const { example } = tool;
  const useExample = () => {
    const plan = { steps: [{ id: 'call', tool: tool.name, args: example }] };
    editBench({ text: `${writeJson(plan, 2)}\n`, dialect: '' });
    go('#/workbench');
  };
  return html`<article class="step-panel">
    <header><h2><${ToolName} of=${tool} /></h2>${tool.approval && html`<span class="badge">asks first</span>`}</header>
    ${tool.description && html`<blockquote><${Scalar} value=${tool.description} /></blockquote>`}
    <ul class="hints">${effectTexts(tool.effects).map((effect) => html`<li>${effect}</li>`)}</ul>
    <section><h3>Arguments</h3><${Properties} schema=${tool.input_schema} /></section>
    ${tool.output_schema && html`<section><h3>Output</h3><${Properties} schema=${tool.output_schema} /></section>`}
    ${example !== undefined && example !== null && html`<section><div class="part-head"><h3>Example call</h3><${CopyValue} of=${example} />
      <button class="small" onClick=${useExample}>Open in the workbench</button></div><${Value} of=${example} depth=${4} /></section>`}
    <section><div class="part-head"><h3>Input schema</h3><${CopyValue} of=${tool.input_schema} /></div><${Value} of=${tool.input_schema} depth=${1} /></section>
  </article>`;
}

/** The type of a schema in a few words. */
function schemaKind(part, root, depth = 5) {
  if (!isComposite(part)) return 'any';
  if (Array.isArray(part.enum)) return part.enum.slice(0, 12).map((value) => writeJson(value)).join(' | ');
  const choices = part.anyOf ?? part.oneOf;
  if (Array.isArray(choices) && depth) return [...new Set(choices.slice(0, 12).map((choice) => schemaKind(choice, root, depth - 1)))].join(' | ');
  const target = depth && /^#\/(.*)/.exec(part.$ref)?.[1].split('/').reduce((value, name) => value?.[name.replaceAll('~1', '/').replaceAll('~0', '~')], root);
  if (target) return schemaKind(target, root, depth - 1);
  const type = Array.isArray(part.type) ? part.type.join(' | ') : part.type ?? 'any';
  return type === 'array' ? `list of ${schemaKind(part.items, root, depth)}` : type;
}

/** The properties of an object schema as a table. */
function Properties({ schema }) {
  const properties = Object.entries(schema?.properties ?? {});
  if (!properties.length) return html`<p class="soft">The schema names no properties.</p>`;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  return html`<table class="properties"><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
    <tbody>${properties.slice(0, 200).map(([name, part]) => html`<tr><th scope="row"><code><${Text} of=${name} line /></code>${required.has(name) && html` <span class="badge">required</span>`}</th>
      <td class="soft">${oneLine(schemaKind(part, schema), 120)}</td><td><${Text} of=${part?.description ?? ''} line /></td></tr>`)}</tbody></table>`;
}

function PlansScreen({ parameters }) {
  const [text, setText] = useState('');
  const { data, error, busy, reload } = useLoad(() => source.plans(), []);
  const wanted = text.trim().toLowerCase();
  const rows = useMemo(() => (data?.plans ?? []).filter((plan) => plan.name.toLowerCase().includes(wanted)), [data, wanted]);
  const name = parameters.get('plan');
  const selected = rows.findIndex((plan) => plan.name === name);
  const row = (index) => html`<span class="strong"><${Text} of=${rows[index].name} line /> <span class="soft">version ${rows[index].version}</span></span>
    <span class="soft cut">saved <${Time} at=${rows[index].saved} />, <${Text} of=${rows[index].dialect ?? ''} line /></span>`;
  return html`<section class="inbox" aria-labelledby="screen-title">
    <header class="bar"><h1 id="screen-title">Plans</h1><span class="soft" aria-live="polite">${data ? count(rows.length, 'saved plan') : ''}</span>
      <${Search} value=${text} onInput=${setText} label="Search plans" /></header>
    <${ErrorNote} error=${error} retry=${reload} />
    ${!data && busy && html`<${Busy} what="the plans" />`}
    ${data && rows.length === 0 && (wanted ? html`<${Empty} title="No plan matches">Change the search.<//>`
      : html`<${Empty} title="No saved plans">Save one in the <a href="#/workbench">workbench</a>, or with <code>planwright save plan.json</code>.<//>`)}
    ${rows.length > 0 && html`<${Split} side=${name ? html`<${SavedPlan} key=${name} name=${name} version=${parameters.get('version')} />` : null} label="The plan" onClose=${() => replaceRoute('#/plans')}>
      <${VirtualList} length=${rows.length} rowHeight=${50} row=${row} rowClass="tool-row" selected=${selected} label="Saved plans"
        onSelect=${(index) => replaceRoute(route(['plans'], { plan: rows[index].name }))} /><//>`}
  </section>`;
}

/** One version of a saved plan, and its difference from another version. */
function SavedPlan({ name, version }) {
  const { data, error, busy } = useLoad(() => source.plan(name, version), [name, version]);
  const [chosen, setOther] = useState('');
  const versions = data?.versions ?? [];
  const shown = String(version ?? data?.version);
  const other = chosen === shown ? '' : chosen;
  const against = useLoad(() => (other ? source.plan(name, other) : Promise.resolve(null)), [name, other]);
  return html`<article class="step-panel">
    <header><h2><${Text} of=${name} line /></h2></header>
    <${ErrorNote} error=${error ?? against.error} />
    ${!data && busy && html`<${Busy} what="the plan" />`}
    ${data && html`<div class="filters"><label for="version">Version</label>
        <select id="version" value=${shown} onChange=${(event) => replaceRoute(route(['plans'], { plan: name, version: event.target.value }))}>
          ${versions.map((entry) => html`<option value=${entry.version} selected=${String(entry.version) === shown}>${entry.version}</option>`)}</select>
        <label for="against">compared with</label>
        <select id="against" value=${other} onChange=${(event) => setOther(event.target.value)}><option value="">none</option>
          ${versions.filter((entry) => String(entry.version) !== shown).map((entry) => html`<option value=${entry.version}>${entry.version}</option>`)}</select>
        <${Copy} text=${() => data.text} label="Copy the plan" />
        <button class="primary" onClick=${() => { editBench({ text: data.text, dialect: '' }); go('#/workbench'); }}>Open in the workbench</button></div>
      ${other && against.data
        ? html`<pre class="code-block lines" tabindex="0" aria-label="Differences">${lineDiff(against.data.text, data.text).map(([kind, line]) => html`<span class=${`line ${kind}`}><span
            class="sign">${{ added: '+', removed: '−' }[kind] ?? ' '}</span><${Text} of=${line} />${'\n'}</span>`)}</pre>`
        : html`<pre class="code-block" tabindex="0" aria-label="Plan"><${Text} of=${data.text} /></pre>`}`}
  </article>`;
}

/** The most lines on each side that are compared one by one. */
const MAX_DIFF_LINES = 2000;

/** The lines of two texts as `[kind, line]`, where a kind is `same`, `removed` or `added`. */
function lineDiff(before, after) {
  const [a, b] = [before.split('\n'), after.split('\n')];
  if (a.length > MAX_DIFF_LINES || b.length > MAX_DIFF_LINES) {
    return [...a.map((line) => ['removed', line]), ...b.map((line) => ['added', line])];
  }
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = a[i] === b[j] ? lengths[(i + 1) * width + j + 1] + 1 : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const lines = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push(['same', a[i]]);
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])) {
      lines.push(['removed', a[i]]);
      i += 1;
    } else {
      lines.push(['added', b[j]]);
      j += 1;
    }
  }
  return lines;
}
