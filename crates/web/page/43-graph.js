// The graph of a plan or run: zoom and pan by mouse, touch and keys; only what the viewport shows is drawn, as tiles of SVG. A canvas shows
// the overview where text is not legible, and what has no tiles yet while the view moves.

/** The scale below which text is not legible. */
const LEGIBLE = 0.45;
/** The same for a graph that moves. */
const LEGIBLE_MOVING = 0.7;
/** The nodes in the view beyond which the overview is drawn at any scale. */
const MANY_NODES = 2500;
/** The part of the viewport that the canvas has beyond each of its edges, so that a small move draws nothing. */
const MARGIN = 0.25;
/** The time without a move after which the graph is drawn sharp again, in ms. */
const REST = 120;
const ZOOM_MIN = 0.01;
const ZOOM_MAX = 2.5;
/** The nodes from which on a small map helps. */
const MAP_FROM = 60;

const SPACE_AROUND = 24;
/** The width of a view, in pixels, from which on a small graph is drawn larger. */
const WIDE = 1500;

class GraphView extends Component {
  constructor(props) {
    super(props);
    this.view = null;
    this.size = { width: 0, height: 0 };
    this.pointers = new Map();
    this.index = indexGraph(props.graph);
    this.frame = 0;
    this.onScheme = () => { this.colours = null; this.redraw(); };
    this.onWheel = this.onWheel.bind(this);
    this.onKeyDown = this.onKeyDown.bind(this);
  }

  componentDidMount() {
    this.observer = new ResizeObserver(([entry]) => {
      const { width, height } = entry.contentRect;
      this.size = { width, height };
      if (width && (!this.view || !this.isMoved)) this.view = this.start();
      else if (this.props.at) this.reveal(this.index.byAddress.get(this.props.at));
      // Before this frame is on the screen, not in the next one.
      this.region = null;
      this.paint(performance.now());
    });
    this.observer.observe(this.box);
    this.box.addEventListener('wheel', this.onWheel, { passive: false });
    addEventListener('scheme', this.onScheme);
  }

  componentWillUnmount() {
    this.observer.disconnect();
    this.box.removeEventListener('wheel', this.onWheel);
    removeEventListener('scheme', this.onScheme);
    cancelAnimationFrame(this.frame);
    clearTimeout(this.rest);
    // Their memory is large, and the next garbage collection may be far.
    for (const canvas of [this.canvas, this.map]) if (canvas) canvas.width = 0;
  }

  componentDidUpdate(before) {
    if (before.at !== this.props.at && this.props.at) this.reveal(this.index.byAddress.get(this.props.at));
    this.draw();
  }

  /** Shows the current view in the next frame. */
  draw() {
    this.frame ||= requestAnimationFrame((now) => {
      this.frame = 0;
      this.paint(now);
    });
  }

  /** Shows a further view. The tiles that it wants are drawn when it rests. */
  move() {
    this.isMoving = true;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      this.isMoving = this.zoomed = false;
      this.layer.style.willChange = '';
      if (this.region?.k !== this.view.k) this.region = null;
      this.draw();
    }, REST);
    this.draw();
  }

  redraw() {
    this.region = null;
    this.draw();
  }

  /** The part of the graph that the view shows, and `margin` of its size around it. */
  rect(margin = 0) {
    const { view, size } = this;
    const [width, height] = [size.width / view.k, size.height / view.k];
    return { x0: view.x - margin * width, y0: view.y - margin * height, x1: view.x + (1 + margin) * width, y1: view.y + (1 + margin) * height, k: view.k };
  }

  /** Returns whether the view shows all of a graph. */
  shows({ width, height }) {
    const { x0, y0, x1, y1 } = this.rect();
    return x0 <= 0 && y0 <= 0 && x1 >= width && y1 >= height;
  }

  /** Returns whether the overview covers the part of the graph in the view. While the view moves, a finer one will do as well. */
  covers() {
    const { region, view, props: { graph } } = this;
    const rect = this.rect();
    const scale = view.k / region.k;
    return Math.max(0, rect.x0) >= region.x0 && Math.max(0, rect.y0) >= region.y0 && Math.min(graph.width, rect.x1) <= region.x1
      && Math.min(graph.height, rect.y1) <= region.y1 && scale <= 2 && (this.isMoving || scale > 0.6);
  }

  /** Moves what is drawn to its place in the view. */
  place() {
    const { view, layer } = this;
    const shift = (length) => `${Math.round(-length * view.k)}px`;
    if (this.placed !== view.k) layer.style.willChange = this.placed ? 'transform' : '';
    this.placed = view.k;
    layer.style.transform = `translate3d(${shift(view.x)}, ${shift(view.y)}, 0) scale(${view.k})`;
    this.placeMap();
  }

  /** The scale at which the whole graph is visible. */
  fitScale() {
    const { graph } = this.props;
    const most = this.size.width > WIDE ? 1.5 : 1.1;
    return Math.min(most, (this.size.width - 2 * SPACE_AROUND) / Math.max(1, graph.width), (this.size.height - 2 * SPACE_AROUND) / Math.max(1, graph.height));
  }

  /** The first view: all of a small graph, else the top of it, or the selected step. */
  start() {
    const fit = this.fitScale();
    const k = fit >= 0.5 ? fit : Math.max(fit, 0.9);
    const { graph, at } = this.props;
    const node = fit >= 0.5 ? null : this.index.byAddress.get(at) ?? this.index.nodes[0];
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
    this.move();
  }

  zoom(factor, x = this.size.width / 2, y = this.size.height / 2) {
    const { view } = this;
    const k = Math.min(ZOOM_MAX, Math.max(ZOOM_MIN, view.k * factor));
    this.isMoved = true;
    this.zoomed = factor;
    this.view = { x: view.x + x / view.k - x / k, y: view.y + y / view.k - y / k, k };
    this.move();
  }

  pan(dx, dy) {
    this.isMoved = true;
    this.view = { ...this.view, x: this.view.x - dx / this.view.k, y: this.view.y - dy / this.view.k };
    this.move();
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
    this.move();
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
    if (event.button !== 0) return;
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    this.moved = 0;
    this.box.setPointerCapture(event.pointerId);
  }

  onPointerMove(event) {
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) {
      const node = this.view ? this.hit(...this.pointOf(event)) : null;
      this.box.title = node ? nodeTitle(node, this.props.states?.get(node.at)) : '';
      this.box.style.cursor = node ? 'pointer' : '';
      this.tiles?.hover(node?.at);
      return;
    }
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
    const [x, y] = this.pointOf(event);
    const near = this.index.inRect({ x0: x - 16, y0: y - 16, x1: x + 16, y1: y + 16 }).nodes;
    const group = near.find((node) => node.is_group && Math.abs(x - node.x - node.w + 1) < 13 && Math.abs(y - node.y) < 13);
    if (group && this.props.onToggle) this.props.onToggle(group);
    else this.props.select?.(this.hit(x, y)?.at ?? null);
  }

  /** The place of the pointer in the graph. */
  pointOf(event) {
    const box = this.box.getBoundingClientRect();
    return [this.view.x + (event.clientX - box.left) / this.view.k, this.view.y + (event.clientY - box.top) / this.view.k];
  }

  /** The innermost node at a point. */
  hit(x, y) {
    let found = null;
    for (const node of this.index.inRect({ x0: x, y0: y, x1: x, y1: y }).nodes) {
      const isInside = x >= node.x && x <= node.x + node.w && y >= node.y && y <= node.y + node.h;
      // What is not drawn is in the details of the step.
      if (isInside && node.part !== 'rest' && (!found || node.w * node.h < found.w * found.h)) found = node;
    }
    return found;
  }

  onKeyDown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.box) return;
    // In a narrow window, the details cover the graph until the selection is cleared: the keyboard goes on from the last node.
    const node = this.index.byAddress.get(this.last);
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
    else if (key === 'Escape' && this.props.at) this.props.select?.(null);
    else if ((key === ' ' || key === 'Enter') && node?.is_group) this.props.onToggle?.(node);
    else if (key === 'Enter' && node) focusDetails();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** The listeners are on an element above the drawing, not around it: the browser would collect the places of all that is inside of it. */
  render({ graph, states, at, label }) {
    if (at) this.last = at;
    if (this.index.nodes !== graph.nodes) {
      const wasWhole = this.view && !this.isMoved && this.shows(this.graph);
      this.index = indexGraph(graph);
      this.region = this.tiles = null;
      if (wasWhole && !this.shows(graph)) this.view = this.start();
    }
    this.graph = graph;
    const selected = this.index.byAddress.get(at);
    const state = selected && states?.get(at);
    return html`<div class="graph">
      <div class="layer" aria-hidden="true" ref=${(layer) => { this.layer = layer; }} style=${{ width: `${graph.width}px`, height: `${graph.height}px` }}>
        <canvas class="away" ref=${(canvas) => { this.canvas = canvas; }}></canvas><div ref=${(holder) => { this.holder = holder; }}></div></div>
      <div class="canvas" role="application" tabindex="0" data-graph ref=${(box) => { this.box = box; }}
          aria-label=${`${label}, ${count(graph.nodes.length, 'step')}`} aria-describedby="graph-keys"
          onKeyDown=${this.onKeyDown} onPointerDown=${(event) => this.onPointerDown(event)} onPointerMove=${(event) => this.onPointerMove(event)}
          onPointerUp=${(event) => this.onPointerUp(event)} onPointerCancel=${(event) => this.onPointerUp(event)}></div>
      <p id="graph-keys" class="sr">Arrow keys select a step, Shift and arrow keys move the view, plus and minus zoom, 0 shows all, Space opens a group.</p>
      <p class="sr" aria-live="polite">${selected ? `${selected.lines.map((line) => oneLine(line, 60)).join(", ")}, ${statusName(state?.status)}` : ''}</p>
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

  /** Draws the view as far as it is not drawn. What does not fit one frame follows in the next ones. */
  paint(now) {
    if (!this.view || !this.size.width) return;
    const { states, at, onToggle } = this.props;
    const rect = this.rect();
    const nodes = this.index.countIn(rect);
    const isFirst = !this.hasPainted;
    this.hasPainted = true;
    // A large graph is on the screen before its tiles and the small map are drawn.
    if (isFirst && nodes > NODES_A_FRAME) this.move();
    const isFar = rect.k < LEGIBLE || nodes > MANY_NODES;
    if (isFar && !this.isMoving && this.tiles) {
      this.tiles = null;
      this.holder.replaceChildren();
    }
    let isComplete = false;
    if (!isFar) {
      this.tiles ??= new GraphTiles(this.holder, this.index, { toggles: Boolean(onToggle) });
      this.tiles.update(states, at);
      isComplete = this.isMoving ? !this.tiles.missing(rect).length : this.tiles.draw(rect, now);
    }
    // At each scale, the browser would lay out the texts of the tiles again.
    this.holder.classList.toggle('asleep', isFar || Boolean(this.zoomed && !isComplete));
    if (isComplete) {
      // The memory of the canvas is worth more than the time to draw it again.
      if (this.region) this.canvas.width = this.canvas.height = 0;
      this.region = null;
    } else if (!this.region || !this.covers() || (!this.isMoving && this.region.isFar !== isFar)) {
      // A view that grows would soon leave an overview of its own size, so it gets a coarser one of more of the graph.
      const isGrowing = isFar && this.zoomed < 1;
      this.region = { ...this.rect(isFirst ? 0 : isGrowing ? 1 : MARGIN), isFar };
      if (isGrowing) this.region.k /= 2;
    }
    this.canvas.classList.toggle('away', isComplete);
    if (!isComplete) this.paintCanvas();
    if (!isFirst && (this.mapOf || !this.isMoving)) this.paintMap();
    this.place();
    if (!this.isMoving && (!(isFar || isComplete) || (this.map && !this.mapOf))) this.draw();
  }

  /** Draws the canvas: all of it if the view or the selection is another, else the nodes whose status has changed. */
  paintCanvas() {
    const { region, canvas, index } = this;
    const { states, at } = this.props;
    this.colours ??= readColours(this.box);
    if (this.painted === region && this.paintedAt === at) {
      this.update(states);
      return;
    }
    this.update = drawOverview(canvas, { index, states, colours: this.colours, rect: region, k: region.k, selected: index.byAddress.get(at), withEdges: true, withText: !region.isFar && (region.k > LEGIBLE_MOVING || !this.isMoving) });
    Object.assign(canvas.style, { left: `${region.x0}px`, top: `${region.y0}px`, width: `${region.x1 - region.x0}px`, height: `${region.y1 - region.y0}px` });
    this.painted = region;
    this.paintedAt = at;
  }

  /** Draws the small map: all of it for another graph, else the nodes whose status has changed. */
  paintMap() {
    if (!this.map) return;
    const { graph, states } = this.props;
    this.colours ??= readColours(this.box);
    if (this.mapOf === graph && this.mapColours === this.colours) {
      if (this.mapVersion !== this.props.version) this.updateMap(states);
    } else {
      const k = Math.min(168 / graph.width, 112 / graph.height);
      this.updateMap = drawOverview(this.map, { index: this.index, states, colours: this.colours, rect: { x0: 0, y0: 0, x1: graph.width, y1: graph.height }, k, withEdges: false });
      this.map.style.width = `${graph.width * k}px`;
      this.map.style.height = `${graph.height * k}px`;
      Object.assign(this, { mapScale: k, mapOf: graph, mapColours: this.colours });
    }
    this.mapVersion = this.props.version;
  }

  placeMap() {
    if (!this.map || !this.mapView) return;
    const { view, size, mapScale: k, props: { graph } } = this;
    const clip = (value, most) => Math.min(most, Math.max(0, value)) * k;
    const [left, top] = [clip(view.x, graph.width), clip(view.y, graph.height)];
    Object.assign(this.mapView.style, {
      transform: `translate(${left}px, ${top}px)`,
      width: `${Math.max(3, clip(view.x + size.width / view.k, graph.width) - left)}px`,
      height: `${Math.max(3, clip(view.y + size.height / view.k, graph.height) - top)}px`,
    });
  }

  /** Centres the view at a point of the small map. */
  jump(event) {
    const box = this.map.getBoundingClientRect();
    const { graph } = this.props;
    const x = ((event.clientX - box.left) / box.width) * graph.width;
    const y = ((event.clientY - box.top) / box.height) * graph.height;
    this.view = { ...this.view, x: x - this.size.width / this.view.k / 2, y: y - this.size.height / this.view.k / 2 };
    this.move();
  }
}
