// The parts of a drawn graph: a step, an edge, the legend of the data flow; and the graph as a view of a run.

/** The height of a line of a box and the space around its text, as the server lays boxes out. */
const LINE_HEIGHT = 16;
const BOX_PADDING = 10;
/** The average width of a character below a box. */
const ASIDE_WIDTH = 6.4;

class GraphNode extends Component {
  shouldComponentUpdate(next) {
    const { node, state, selected } = this.props;
    return next.node !== node || next.state !== state || next.selected !== selected;
  }

  render({ node, state, selected, toggles, isLarge }) {
    const status = statusKey(state?.status);
    const flow = isLarge && !node.violations?.length ? null : flowOf(node);
    const classes = ['node', `s-${status}`, selected && 'selected', node.is_group && 'group', node.is_open && 'open', flow && `flow-${flow}`];
    const note = nodeNote(state);
    const toggle = node.is_group && toggles;
    const flowText = flow && (flow === 'violation' ? `violates ${node.violations[0].code}` : FLOWS[flow]);
    const isTight = flow && note && (flowText.length + note.length) * ASIDE_WIDTH > node.w;
    return html`<g class=${classes.filter(Boolean).join(' ')} transform=${`translate(${node.x} ${node.y})`}>
      ${(node.is_group || node.for_each) && !node.is_open && html`<rect class="behind" x="4" y="4" width=${node.w} height=${node.h} rx="7" />`}
      <rect class="box" width=${node.w} height=${node.h} rx="7" />
      ${node.lines.map((line, place) => html`<text class=${place ? 'tool' : 'id'} x=${BOX_PADDING} y=${BOX_PADDING / 2 + 12 + place * LINE_HEIGHT}>${visible(line)}</text>`)}
      <g class="icon" transform="translate(-7.5 6.5) scale(0.94)">${symbolPaths(status)}</g>
      ${flow && html`<text class="aside flag" x="2" y=${node.h + 12}>${flowText}</text>`}
      ${note && html`<text class="aside" text-anchor="end" x=${node.w - 2} y=${node.h + (isTight ? 24 : 12)}>${note}</text>`}
      ${toggle && html`<g class="toggle" transform=${`translate(${node.w - 10} -9)`}><rect width="18" height="18" rx="5" />
        <path d=${node.is_open ? 'M5 9h8' : 'M5 9h8M9 5v8'} /></g>`}
    </g>`;
  }
}

/** The text of a step's tooltip. */
function nodeTitle(node, state) {
  const lines = [...node.lines, node.when && `when ${node.when}`, statusName(state?.status), state?.error && errorText(state.error)];
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

/** Edges as paths, one for all lines of a kind and one for their tips: a path for each edge would be too many elements. */
function edgePaths(edges) {
  const kinds = new Map();
  for (const edge of edges) {
    const kind = `k-${String(edge.kind).replace(/\W/g, '')}${edge.optional ? ' optional' : ''}${edge.flow ? ` flow flow-${flowKey(edge.flow)}` : ''}`;
    if (!kinds.has(kind)) kinds.set(kind, [[], []]);
    const [lines, tips] = kinds.get(kind);
    lines.push(edge.line ??= edgePath(edge));
    tips.push(edge.tip ??= edgeTip(edge));
  }
  return [...kinds].map(([kind, [lines, tips]]) => html`<path key=${kind} class=${`edge ${kind}`} d=${lines.join('')} /><path key=${`${kind} tips`} class=${`tips ${kind}`} d=${tips.join('')} />`);
}

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
      ? html`<${Empty} title="No graph">${shown.no_graph ? html`<${Message} of=${shown.no_graph} />` : 'The plan of this run has no steps.'}<//>`
      : html`<${GraphView} graph=${shown.graph} states=${shown.states} version=${shown.version} at=${at} select=${select} onToggle=${toggle} label="Graph of the run" />`}
  <//>`;
}
