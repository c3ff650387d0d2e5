// The parts of a drawn graph: a step, an edge, the legend of the data flow; and the graph as a view of a run.

/** The average width of a character of the id and of the tool, in graph units. */
const ID_WIDTH = 6.9;
const TOOL_WIDTH = 6.2;

const cutTo = (text, width, unit) => {
  const most = Math.max(1, Math.floor(width / unit));
  const line = oneLine(text, 200);
  return line.length > most ? `${line.slice(0, Math.max(1, most - 1))}…` : line;
};

class GraphNode extends Component {
  shouldComponentUpdate(next) {
    const { node, state, selected } = this.props;
    return next.node !== node || next.state !== state || next.selected !== selected;
  }

  render({ node, state, selected, toggles }) {
    const status = statusKey(state?.status);
    const isOpen = node.is_group && node.is_open;
    const classes = ['node', `s-${status}`, selected && 'selected', node.is_group && 'group', isOpen && 'open', node.flow && `flow-${flowKey(node.flow)}`];
    const note = nodeNote(node, state);
    const noteWidth = note ? note.length * 6 + 10 : 0;
    const toggle = node.is_group && toggles ? 26 : 0;
    const tall = node.h >= 36;
    const line = isOpen ? 17 : tall ? node.h / 2 - 3 : node.h / 2 + 4;
    return html`<g class=${classes.filter(Boolean).join(' ')} transform=${`translate(${node.x} ${node.y})`}>
      ${node.is_group && !isOpen && html`<rect class="behind" x="5" y="5" width=${node.w} height=${node.h} rx="7" />`}
      <rect class="box" width=${node.w} height=${node.h} rx="7" />
      <g class="icon" transform=${`translate(9 ${isOpen ? 6 : node.h / 2 - 7}) scale(0.875)`}>${symbolPaths(status)}</g>
      <text class="id" x="30" y=${line}>${cutTo(node.id, node.w - 36 - toggle - (tall && !isOpen ? 0 : noteWidth), ID_WIDTH)}</text>
      ${tall && !isOpen && html`<text class="tool" x="30" y=${node.h / 2 + 13}>${cutTo(node.tool ?? node.kind ?? '', node.w - 36 - noteWidth, TOOL_WIDTH)}</text>`}
      ${note && html`<text class="aside" text-anchor="end" x=${node.w - 8 - (isOpen ? toggle : 0)} y=${isOpen || !tall ? line : node.h / 2 + 13}>${note}</text>`}
      ${toggle > 0 && html`<g class="toggle" transform=${`translate(${node.w - 25} 5)`}><rect width="18" height="18" rx="4" />
        <path d=${isOpen ? 'M5 9h8' : 'M5 9h8M9 5v8'} /></g>`}
      ${node.flow && html`<${Flag} text=${flowName(node.flow)} x=${node.w - 8} />`}
      ${node.when && html`<circle class="when" cx=${node.w / 2} cy="0" r="4" />`}
    </g>`;
  }
}

/** A small label on the upper edge of a step. */
function Flag({ text, x }) {
  const width = text.length * 5.6 + 14;
  return html`<g class="flag" transform=${`translate(${x - width} -8)`}><rect width=${width} height="15" rx="7.5" />
    <text x=${width / 2} y="11" text-anchor="middle">${text}</text></g>`;
}

/** The text of a step's tooltip. */
function nodeTitle(node, state) {
  const lines = [node.id, node.tool, statusName(state?.status), node.when && `when ${node.when}`, state?.error && errorText(state.error)];
  return lines.filter(Boolean).map((line) => oneLine(line, 160)).join('\n');
}

/** The figure beside a step: items of a loop, the attempt, or its duration. */
function nodeNote(node, state) {
  if (!state) return '';
  if (state.items > 0) return `${(state.items_ended ?? 0).toLocaleString('en')}/${state.items.toLocaleString('en')}`;
  if (state.status === 'running' && state.progress) return progressText(state.progress);
  const attempts = state.attempt > 1 ? `×${state.attempt} ` : '';
  const took = state.ended_ms !== null && state.ended_ms !== undefined && state.started_ms !== null && state.started_ms !== undefined
    ? duration(state.ended_ms - state.started_ms) : '';
  return attempts + took;
}

/** The progress of a call that its server reports: a share, a pair of numbers, or a text. */
function progressText(progress) {
  if (typeof progress === 'number') return progress <= 1 ? `${Math.round(progress * 100)} %` : String(progress);
  if (isComposite(progress)) return progress.total ? `${Math.round((progress.progress / progress.total) * 100)} %` : oneLine(progress.message ?? progress.progress ?? '', 24);
  return oneLine(progress, 24);
}

const FLOWS = { untrusted: 'untrusted', private: 'private', both: 'untrusted, private', guarded: 'guarded', violation: 'violates the flow policy' };
const flowKey = (flow) => (Object.hasOwn(FLOWS, flow) ? flow : 'untrusted');
const flowName = (flow) => FLOWS[flow] ?? oneLine(flow, 40);

class GraphEdge extends Component {
  shouldComponentUpdate(next) {
    return next.edge !== this.props.edge || next.near !== this.props.near;
  }

  render({ edge, near }) {
    const flow = edge.flow ? `flow flow-${flowKey(edge.flow)}` : '';
    return html`<path class=${`edge k-${String(edge.kind).replace(/\W/g, '')} ${flow} ${near ? 'near' : ''}`} d=${edgePath(edge)}
      marker-end="url(#tip)" />`;
  }
}

/** The meaning of the marks of the data flow, if the graph has some. */
function FlowLegend({ graph }) {
  const kinds = useMemo(() => {
    const found = new Set();
    for (const edge of graph.edges) if (edge.flow) found.add(edge.flow);
    for (const node of graph.nodes) if (node.flow) found.add(node.flow);
    return [...found];
  }, [graph]);
  if (!kinds.length) return null;
  return html`<ul class="legend" aria-label="Marks of the data flow">${kinds.map((flow) => html`<li class=${`flow-${flowKey(flow)}`}>
    <svg width="26" height="8" aria-hidden="true"><path class=${`edge flow flow-${flowKey(flow)}`} d="M0 4H26" /></svg>${flowName(flow)}${flow in { untrusted: 1, private: 1 } ? ' values' : ''}</li>`)}</ul>`;
}

/** Two panes, the second of them only if it has content. On a narrow screen it covers the first. */
function Split({ children, side, onClose, label }) {
  return html`<div class=${`split ${side ? 'has-side' : ''}`}>
    <div class="main-pane">${children}</div>
    ${side && html`<aside class="side-pane" aria-label=${label} tabindex="-1" data-detail
      onKeyDown=${(event) => event.key === 'Escape' && !event.target.closest('dialog') && onClose()}>
      <div class="close"><button class="quiet" aria-label="Close details" onClick=${onClose}>✕</button></div>${side}</aside>`}
  </div>`;
}

/** The graph of the run on the screen. Loops, inner plans and instances are closed until they are opened. */
function GraphTab({ shown, at, select }) {
  const [error, setError] = useState(null);
  const toggle = (node) => {
    const open = node.is_open ? shown.open.filter((address) => address !== node.at) : [...shown.open, node.at];
    setError(null);
    loadGraph(open).catch(setError);
  };
  const side = at ? html`<${StepPanel} key=${at} shown=${shown} at=${at} />` : null;
  return html`<${Split} side=${side} label="Details of the step" onClose=${() => { select(null); document.querySelector('[data-graph]')?.focus(); }}>
    <${ErrorNote} error=${error} />
    ${shown.graph.nodes.length === 0
      ? html`<${Empty} title="No steps">The plan of this run has no steps.<//>`
      : html`<${GraphView} graph=${shown.graph} states=${shown.states} version=${shown.version} at=${at} select=${select} onToggle=${toggle} label="Graph of the run" />`}
  <//>`;
}
