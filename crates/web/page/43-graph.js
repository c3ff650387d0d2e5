// The graph of a plan or run: zoom and pan by mouse, touch and keys; only what the viewport shows is drawn, as SVG where text is legible
// and as an overview on a canvas where it is not.

/** The scale below which text is not legible. */
const LEGIBLE = 0.42;
/** The nodes beyond which the overview is drawn at any scale. */
const MANY_NODES = 700;
const ZOOM_MIN = 0.01;
const ZOOM_MAX = 2.5;
/** The nodes from which on a small map helps. */
const MAP_FROM = 60;

const SPACE_AROUND = 24;

class GraphView extends Component {
  constructor(props) {
    super(props);
    this.view = null;
    this.size = { width: 0, height: 0 };
    this.pointers = new Map();
    this.index = indexGraph(props.graph);
    this.frame = 0;
    this.dark = matchMedia('(prefers-color-scheme: dark)');
    this.onScheme = () => { this.colours = null; this.draw(); };
    this.onWheel = this.onWheel.bind(this);
    this.onKeyDown = this.onKeyDown.bind(this);
  }

  componentDidMount() {
    this.observer = new ResizeObserver(([entry]) => {
      const { width, height } = entry.contentRect;
      this.size = { width, height };
      if (width && (!this.view || !this.isMoved)) this.view = this.start();
      else if (this.props.at) this.reveal(this.index.byAddress.get(this.props.at));
      this.draw();
    });
    this.observer.observe(this.box);
    this.box.addEventListener('wheel', this.onWheel, { passive: false });
    this.dark.addEventListener('change', this.onScheme);
  }

  componentWillUnmount() {
    this.observer.disconnect();
    this.box.removeEventListener('wheel', this.onWheel);
    this.dark.removeEventListener('change', this.onScheme);
    cancelAnimationFrame(this.frame);
  }

  componentDidUpdate(before) {
    if (before.at !== this.props.at && this.props.at) this.reveal(this.index.byAddress.get(this.props.at));
    this.paint();
  }

  draw() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.setState({ tick: {} });
    });
  }

  /** The scale at which the whole graph is visible. */
  fitScale() {
    const { graph } = this.props;
    return Math.min(1, (this.size.width - 2 * SPACE_AROUND) / Math.max(1, graph.width), (this.size.height - 2 * SPACE_AROUND) / Math.max(1, graph.height));
  }

  /** The first view: all of a small graph, else the top of it, or the selected step. */
  start() {
    const fit = this.fitScale();
    const k = fit >= 0.5 ? fit : Math.max(fit, 0.75);
    const { graph, at } = this.props;
    const node = this.index.byAddress.get(at) ?? (fit >= 0.5 ? null : this.index.nodes[0]);
    const width = this.size.width / k;
    let x = (node ? node.x + node.w / 2 : graph.width / 2) - width / 2;
    if (fit < 0.5) x = Math.min(Math.max(x, -SPACE_AROUND / k), Math.max(graph.width + SPACE_AROUND / k - width, (graph.width - width) / 2));
    const y = node && at ? node.y + node.h / 2 - this.size.height / k / 2 : -SPACE_AROUND / k;
    return { x, y: fit >= 0.5 ? Math.min(y, -Math.max(SPACE_AROUND, (this.size.height / k - graph.height) / 3)) : y, k };
  }

  fit() {
    const { graph } = this.props;
    const k = Math.max(ZOOM_MIN, this.fitScale());
    this.view = { x: graph.width / 2 - this.size.width / k / 2, y: graph.height / 2 - this.size.height / k / 2, k };
    this.draw();
  }

  zoom(factor, x = this.size.width / 2, y = this.size.height / 2) {
    const { view } = this;
    const k = Math.min(ZOOM_MAX, Math.max(ZOOM_MIN, view.k * factor));
    this.isMoved = true;
    this.view = { x: view.x + x / view.k - x / k, y: view.y + y / view.k - y / k, k };
    this.draw();
  }

  pan(dx, dy) {
    this.isMoved = true;
    this.view = { ...this.view, x: this.view.x - dx / this.view.k, y: this.view.y - dy / this.view.k };
    this.draw();
  }

  /** Moves the view so that a node is inside of it. */
  reveal(node) {
    if (!node || !this.view) return;
    const { view, size } = this;
    const margin = 60 / view.k;
    const shift = (low, high, from, length) => {
      if (low < from + margin) return low - margin;
      return high > from + length - margin ? high - length + margin : from;
    };
    this.view = {
      ...view,
      x: shift(node.x, node.x + node.w, view.x, size.width / view.k),
      y: shift(node.y, node.y + node.h, view.y, size.height / view.k),
    };
    this.draw();
  }

  onWheel(event) {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    if (event.ctrlKey || event.metaKey) {
      const box = this.box.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * unit * 0.004), event.clientX - box.left, event.clientY - box.top);
    } else if (event.shiftKey && !event.deltaX) this.pan(-event.deltaY * unit, 0);
    else this.pan(-event.deltaX * unit, -event.deltaY * unit);
  }

  onPointerDown(event) {
    if (event.button !== 0 || event.target.closest('button')) return;
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    this.moved = 0;
    this.box.setPointerCapture(event.pointerId);
  }

  onPointerMove(event) {
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) return;
    const [dx, dy] = [event.clientX - pointer.x, event.clientY - pointer.y];
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const distance = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);
      const box = this.box.getBoundingClientRect();
      const next = { x: event.clientX, y: event.clientY };
      this.zoom(distance(next, other) / Math.max(1, distance(pointer, other)), (next.x + other.x) / 2 - box.left, (next.y + other.y) / 2 - box.top);
    } else {
      this.moved += Math.abs(dx) + Math.abs(dy);
      if (this.moved > 4) this.pan(dx, dy);
    }
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }

  onPointerUp(event) {
    if (!this.pointers.delete(event.pointerId) || this.moved > 4 || event.type === 'pointercancel') return;
    const box = this.box.getBoundingClientRect();
    const x = this.view.x + (event.clientX - box.left) / this.view.k;
    const y = this.view.y + (event.clientY - box.top) / this.view.k;
    const hit = this.hit(x, y);
    if (!hit) {
      this.props.select?.(null);
    } else if (hit.is_group && this.props.onToggle && x > hit.x + hit.w - 30 && y < hit.y + 34) {
      this.props.onToggle(hit);
    } else this.props.select?.(hit.at);
  }

  /** The innermost node at a point. */
  hit(x, y) {
    let found = null;
    for (const node of this.index.inRect({ x0: x, y0: y, x1: x, y1: y }).node) {
      const isInside = x >= node.x && x <= node.x + node.w && y >= node.y && y <= node.y + node.h;
      if (isInside && (!found || node.w * node.h < found.w * found.h)) found = node;
    }
    return found;
  }

  onKeyDown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.box) return;
    const node = this.index.byAddress.get(this.props.at);
    const { key } = event;
    if (key.startsWith('Arrow') && event.shiftKey) {
      const step = 80;
      this.pan({ ArrowLeft: step, ArrowRight: -step }[key] ?? 0, { ArrowUp: step, ArrowDown: -step }[key] ?? 0);
    } else if (key.startsWith('Arrow')) {
      const next = nearestNode(this.index, node, key);
      if (next) this.props.select?.(next.at);
    } else if (key === '+' || key === '=') this.zoom(1.25);
    else if (key === '-') this.zoom(0.8);
    else if (key === '0') this.fit();
    else if (key === 'Escape' && node) this.props.select?.(null);
    else if ((key === ' ' || key === 'Enter') && node?.is_group) this.props.onToggle?.(node);
    else if (key === 'Enter' && node) document.querySelector('[data-detail]')?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  render({ graph, states, at, onToggle, label }) {
    if (this.index.nodes !== graph.nodes) this.index = indexGraph(graph);
    const { index, view, size } = this;
    const selected = index.byAddress.get(at);
    let content = null;
    this.overview = false;
    if (view) {
      const rect = { x0: view.x - 20, y0: view.y - 20, x1: view.x + size.width / view.k + 20, y1: view.y + size.height / view.k + 20 };
      if (view.k >= LEGIBLE) {
        const items = index.inRect(rect);
        if (items.node.size <= MANY_NODES) content = this.detail(items, selected, onToggle);
      }
      this.overview = content === null;
    }
    const state = selected && states?.get(at);
    return html`<div class="graph">
      <div class="canvas" role="application" tabindex="0" data-graph ref=${(box) => { this.box = box; }}
          aria-label=${`${label}, ${count(graph.nodes.length, 'step')}`} aria-describedby="graph-keys"
          onKeyDown=${this.onKeyDown} onPointerDown=${(event) => this.onPointerDown(event)} onPointerMove=${(event) => this.onPointerMove(event)}
          onPointerUp=${(event) => this.onPointerUp(event)} onPointerCancel=${(event) => this.onPointerUp(event)}>
        <canvas ref=${(canvas) => { this.canvas = canvas; }} class=${this.overview ? '' : 'away'} aria-hidden="true"></canvas>
        ${content}
      </div>
      <p id="graph-keys" class="sr">Arrow keys select a step, Shift and arrow keys move the view, plus and minus zoom, 0 shows all, Space opens a group.</p>
      <p class="sr" aria-live="polite">${selected ? `${oneLine(selected.id, 60)}, ${oneLine(selected.tool ?? '', 60)}, ${statusName(state?.status)}` : ''}</p>
      <div class="zoom" role="group" aria-label="Zoom">
        <button aria-label="Zoom in" onClick=${() => this.zoom(1.25)}>+</button>
        <button aria-label="Zoom out" onClick=${() => this.zoom(0.8)}>−</button>
        <button onClick=${() => this.fit()}>Fit</button>
      </div>
      ${graph.nodes.length >= MAP_FROM && html`<div class="map" aria-hidden="true" onPointerDown=${(event) => this.jump(event)}>
        <canvas ref=${(canvas) => { this.map = canvas; }}></canvas><div class="map-view" ref=${(node) => { this.mapView = node; }}></div></div>`}
      <${FlowLegend} graph=${graph} />
    </div>`;
  }

  /** The nodes and edges as SVG. */
  detail(items, selected, onToggle) {
    const { view, size } = this;
    const { states, at } = this.props;
    const near = new Set(selected ? this.index.edgesOf(at) : []);
    const isOpen = (node) => node.is_group && node.is_open;
    const open = [...items.node].filter(isOpen).sort((a, b) => b.w * b.h - a.w * a.h);
    const steps = [...items.node].filter((node) => !isOpen(node));
    const draw = (node) => html`<${GraphNode} key=${node.at} node=${node} state=${states?.get(node.at)} selected=${node.at === at}
      toggles=${Boolean(onToggle)} />`;
    return html`<svg class="drawing" width=${size.width} height=${size.height} aria-hidden="true">
      <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0.5L8 4 0 7.5z" /></marker></defs>
      <g transform=${`scale(${view.k}) translate(${-view.x} ${-view.y})`}>
        <g>${open.map(draw)}</g>
        <g>${[...items.edge].map((edge) => html`<${GraphEdge} key=${edge.order} edge=${edge} near=${near.has(edge)} />`)}</g>
        <g>${steps.map(draw)}</g>
      </g>
    </svg>`;
  }

  /** Draws the canvases after the component. */
  paint() {
    if (!this.view || !this.canvas) return;
    const { states, at, graph } = this.props;
    const selected = this.index.byAddress.get(at);
    this.colours ??= readColours(this.box);
    const common = { index: this.index, states, colours: this.colours, selected };
    if (this.overview) drawOverview(this.canvas, { ...common, view: this.view, ...this.size, withEdges: true });
    if (!this.map) return;
    const k = Math.min(168 / graph.width, 112 / graph.height);
    const [width, height] = [Math.max(8, graph.width * k), Math.max(8, graph.height * k)];
    if (this.mapped !== this.props.version || this.mapOf !== graph) {
      this.map.style.width = `${width}px`;
      this.map.style.height = `${height}px`;
      drawOverview(this.map, { ...common, selected: null, view: { x: 0, y: 0, k }, width, height, withEdges: false });
      this.mapped = this.props.version;
      this.mapOf = graph;
    }
    const clip = (value, most) => Math.min(most, Math.max(0, value));
    const left = clip(this.view.x * k, width);
    const top = clip(this.view.y * k, height);
    Object.assign(this.mapView.style, {
      left: `${left}px`,
      top: `${top}px`,
      width: `${Math.max(3, clip((this.view.x + this.size.width / this.view.k) * k, width) - left)}px`,
      height: `${Math.max(3, clip((this.view.y + this.size.height / this.view.k) * k, height) - top)}px`,
    });
  }

  /** Centres the view at a point of the small map. */
  jump(event) {
    const box = this.map.getBoundingClientRect();
    const { graph } = this.props;
    const x = ((event.clientX - box.left) / box.width) * graph.width;
    const y = ((event.clientY - box.top) / box.height) * graph.height;
    this.view = { ...this.view, x: x - this.size.width / this.view.k / 2, y: y - this.size.height / this.view.k / 2 };
    this.draw();
  }
}
