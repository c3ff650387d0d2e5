// The texts of a drawn graph, the legend of the data flow, and the graph as a view of a run.

/** The text of a step's tooltip. */
function nodeTitle(node, state) {
  const status = state || !node.isPattern ? statusName(state?.status) : 'once for each item or round';
  const lines = [...node.lines, node.when && `when ${node.when}`, status, state?.error];
  return lines.filter(Boolean).map((line) => oneLine(line, 160)).join('\n');
}

/** The figure below a step: the items or rounds of a loop, the attempt, the duration. */
function nodeNote(state) {
  if (!state) return '';
  const parts = [];
  if (state.items_ended > 0) parts.push(count(state.items_ended, 'item'));
  if (state.rounds > 0) parts.push(count(state.rounds, 'round'));
  if (state.attempt > 1) parts.push(`×${state.attempt}`);
  if (took(state)) parts.push(took(state));
  return parts.join(' ');
}

/** The marks of the data flow. */
const FLOWS = { untrusted: 'untrusted', private: 'private', both: 'untrusted, private', violation: 'violates the flow policy' };

const flowKey = (flow) => (flow === 'untrusted, private' ? 'both' : Object.hasOwn(FLOWS, flow) ? flow : 'untrusted');

/** The mark of a step: a violation of the flow policy, or the labels of the values that it passes on. */
const flowOf = (node) => (node.violations?.length ? 'violation' : node.flow ? flowKey(node.flow) : null);

/** The meaning of the marks of the data flow, if the graph has some. */
function FlowLegend({ graph }) {
  const kinds = useMemo(() => {
    const found = new Set();
    for (const edge of graph.edges) if (edge.flow) found.add(flowKey(edge.flow));
    for (const node of graph.nodes) if (flowOf(node)) found.add(flowOf(node));
    return [...found];
  }, [graph]);
  if (!kinds.length) return null;
  return html`<ul class="legend" aria-label="Marks of the data flow">${kinds.map((flow) => html`<li class=${`flow-${flow}`}>
    <svg width="26" height="8" aria-hidden="true"><path class=${`edge flow flow-${flow}`} d="M0 4H26" /></svg>${FLOWS[flow]}${flow === 'violation' ? '' : ' values'}</li>`)}</ul>`;
}

/** Two panes, the second of them only if it has content. On a narrow screen it covers the first. Without `onClose` it stays. */
function Split({ children, side, onClose, label }) {
  const isOpen = Boolean(side);
  useEffect(() => {
    if (isOpen && innerWidth <= NARROW) focusDetails();
    return () => refocus('[data-list], [data-graph]');
  }, [isOpen]);
  return html`<div class=${`split ${side ? 'has-side' : ''}`}
      onKeyDown=${(event) => event.key === 'Escape' && side && !event.target.closest('dialog, textarea, [type=search]') && onClose?.()}>
    <div class="main-pane">${children}</div>
    ${side && html`<aside class="side-pane" aria-label=${label} tabindex="-1" data-detail>
      ${onClose && html`<div class="close"><button class="quiet" aria-label="Close details" onClick=${onClose}>✕</button></div>`}${side}</aside>`}
  </div>`;
}

/** A view of a run, and the details of the selected step. */
const StepSplit = ({ shown, at, select, children }) => html`<${Split} side=${at && html`<${StepPanel} key=${at} shown=${shown} at=${at} />`}
  label="Details of the step" onClose=${() => select(null)}>${children}<//>`;

/** The graph of the run on the screen. Loops, inner plans and instances are closed until they are opened. */
function GraphTab({ shown, at, select }) {
  const [error, setError] = useState(null);
  const toggle = (node) => {
    const open = node.is_open ? shown.open.filter((address) => address !== node.at) : [...shown.open, node.at];
    setError(null);
    loadGraph(open).catch(setError);
  };
  return html`<${StepSplit} shown=${shown} at=${at} select=${select}>
    <${ErrorNote} error=${error} />
    ${shown.graph.nodes.length === 0
      ? html`<${Empty} title="No graph">${shown.no_graph ? html`<${Message} of=${shown.no_graph} />` : 'The plan of this run has no steps.'}<//>`
      : html`<${GraphView} graph=${shown.graph} states=${shown.graphStates} version=${shown.version} at=${at} select=${select} onToggle=${toggle} label="Graph of the run" />`}
  <//>`;
}
