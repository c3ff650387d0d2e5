// The legible graph as SVG, in tiles: a tile is drawn once, when the view rests above it, and only its nodes change afterwards. The view
// moves all of them with one transform. Preact would compare every node at every move, so it draws none of them.

const SVG = 'http://www.w3.org/2000/svg';
/** The most and the fewest nodes that one frame draws: fewer after a frame that was late, in ms. */
const NODES_A_FRAME = 120;
const NODES_AT_LEAST = 12;
const LATE = 22;
/** The tiles beyond which those that are far from the view are dropped. */
const MANY_TILES = 90;
/** The width of the largest step that runs no open plan, in graph units. It may begin in a tile to the left of the view. */
const WIDEST = 320;
/** The height of a line of a box and the space around its text, as the server lays boxes out. */
const LINE_HEIGHT = 16;
const BOX_PADDING = 10;
/** The average width of a character below a box. */
const ASIDE_WIDTH = 6.4;

function svgElement(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  element.append(...children);
  return element;
}

/** A drawing in the coordinates of the graph. Each one is painted apart: a change of one costs nothing in the others. */
const drawing = (name, ...children) => svgElement('svg', { class: `drawing ${name}`, width: 1, height: 1 }, ...children);

class GraphTiles {
  /** Tiles of the graph of `index`, in the element `parent`. `toggles`: groups have a sign that opens them. */
  constructor(parent, index, { toggles }) {
    Object.assign(this, { index, toggles, tiles: new Map(), drawn: new Map(), isLarge: index.nodes.length >= MAP_FROM });
    const open = index.nodes.filter((node) => node.is_group && node.is_open).sort((a, b) => b.w * b.h - a.w * a.h);
    this.lines = Object.assign(document.createElement('div'), { className: 'lines' });
    this.near = drawing('near');
    this.boxes = Object.assign(document.createElement('div'), { className: 'boxes' });
    this.room = NODES_A_FRAME;
    parent.replaceChildren(drawing('', ...open.map((node) => this.add(node))), this.lines, this.near, this.boxes);
  }

  /** The state of every node that is drawn, and the selected one. */
  update(states, at) {
    this.states = states;
    if (this.at !== at) {
      const before = this.at;
      this.at = at;
      for (const address of [before, at]) this.drawn.get(address)?.show(states?.get(address), address === at);
      this.near.replaceChildren(...(at ? edgePaths(this.index.edgesOf(at)) : []));
    }
    for (const [address, drawn] of this.drawn) {
      const state = states?.get(address);
      if (state !== drawn.state) drawn.show(state, address === at);
    }
  }

  hover(at) {
    if (this.hovered === at) return;
    this.drawn.get(this.hovered)?.element.classList.remove('hover');
    this.drawn.get(at)?.element.classList.add('hover');
    this.hovered = at;
  }

  /** The tiles that a rect shows: `{left, right, top, bottom}`. */
  around({ x0, y0, x1, y1 }) {
    const { index } = this;
    return { left: index.column(x0 - WIDEST), right: index.column(x1), top: index.row(y0 - CELL), bottom: index.row(y1) };
  }

  /** The tiles of a rect that are not drawn, those in its middle first. */
  missing(rect) {
    const { left, right, top, bottom } = this.around(rect);
    const found = [];
    for (let row = top; row <= bottom; row += 1) {
      for (let column = left; column <= right; column += 1) {
        if (!this.tiles.has(row * this.index.columns + column)) found.push({ column, row, distance: Math.hypot(column - (left + right) / 2, row - (top + bottom) / 2) });
      }
    }
    return found.sort((a, b) => a.distance - b.distance);
  }

  /** Draws what is missing in a rect, as much as fits a frame. Returns whether all of it is drawn. */
  draw(rect, now) {
    const missing = this.missing(rect);
    const isLate = now - this.drew > LATE && now - this.drew < 10 * LATE;
    this.room = isLate ? Math.max(NODES_AT_LEAST, this.room / 2) : Math.min(NODES_A_FRAME, this.room * 1.5);
    this.drew = now;
    let place = 0;
    for (let { room } = this; place < missing.length && room > 0; place += 1) room -= this.addTile(missing[place].column, missing[place].row) + 1;
    if (this.tiles.size > MANY_TILES) this.drop(this.around(rect));
    return place === missing.length;
  }

  /** Draws a tile. Returns the number of its nodes. */
  addTile(column, row) {
    const [x, y] = [column * CELL, row * CELL];
    const rect = { x0: x, y0: y, x1: x + CELL, y1: y + CELL };
    const { nodes, edges } = this.index.inRect(rect);
    const isHere = (px, py) => this.index.column(px) === column && this.index.row(py) === row;
    const own = nodes.filter((node) => isHere(node.x, node.y) && !(node.is_group && node.is_open));
    const ends = edges.filter(({ points }) => isHere(...points[points.length - 1]));
    const lines = drawing('', ...edgePaths(edges, rect));
    const boxes = drawing('', ...edgeTips(ends), ...own.map((node) => this.add(node)));
    this.lines.append(lines);
    this.boxes.append(boxes);
    this.tiles.set(row * this.index.columns + column, { column, row, lines, boxes, nodes: own });
    return own.length;
  }

  add(node) {
    const drawn = drawNode(node, this);
    drawn.show(this.states?.get(node.at), node.at === this.at);
    this.drawn.set(node.at, drawn);
    return drawn.element;
  }

  /** Removes the tiles that are further from the view than it is large. */
  drop({ left, right, top, bottom }) {
    const [width, height] = [right - left, bottom - top];
    for (const [key, tile] of this.tiles) {
      if (tile.column >= left - width && tile.column <= right + width && tile.row >= top - height && tile.row <= bottom + height) continue;
      tile.lines.remove();
      tile.boxes.remove();
      for (const node of tile.nodes) this.drawn.delete(node.at);
      this.tiles.delete(key);
    }
  }
}

/** A step as SVG: `{element, state, show(state, isSelected)}`. It has no transform, since the browser composes each one apart. */
function drawNode(node, { toggles, isLarge }) {
  const { x, y, w, h } = node;
  const flow = isLarge && !node.violations?.length ? null : flowOf(node);
  const flowText = flow && (flow === 'violation' ? `violates ${node.violations[0].code}` : FLOWS[flow]);
  const classes = ['node', node.is_group && 'group', node.is_open && 'open', flow && `flow-${flow}`].filter(Boolean).join(' ');
  const box = (name, shift) => svgElement('rect', { class: name, x: x + shift, y: y + shift, width: w, height: h, rx: 7 });
  const lines = node.lines.map((line, place) => svgElement('tspan', { class: place ? 'tool' : 'id', x: x + BOX_PADDING, y: y + BOX_PADDING / 2 + 12 + place * LINE_HEIGHT }, visible(line)));
  const icon = svgElement('g', { class: 'icon' });
  // One text for all of it: each text is laid out by itself.
  const text = svgElement('text', {}, ...lines);
  const element = svgElement('g', {}, box('box', 0), text, icon);
  if ((node.is_group || node.for_each) && !node.is_open) element.prepend(box('behind', 4));
  if (flow) text.append(svgElement('tspan', { class: 'aside flag', x: x + 2, y: y + h + 12 }, flowText));
  if (node.is_group && toggles) {
    const sign = `M${x + w - 5} ${y}h8${node.is_open ? '' : `m-4-4v8`}`;
    element.append(svgElement('g', { class: 'toggle' }, svgElement('rect', { x: x + w - 10, y: y - 9, width: 18, height: 18, rx: 5 }), svgElement('path', { d: sign })));
  }
  let aside = null;
  const drawn = { element, state: null, status: null };
  drawn.show = (state, isSelected) => {
    const status = statusKey(state?.status);
    drawn.state = state;
    element.setAttribute('class', `${classes} s-${status}${isSelected ? ' selected' : ''}`);
    // A step inside of a loop stands for that of each item or round: it has no state of its own.
    if (drawn.status !== status && (state || !node.isPattern)) {
      icon.replaceChildren(...SYMBOLS[status].map(([kind, d]) => svgElement('path', { class: kind, d: `M${x - 8} ${y + 6}${d}` })));
      drawn.status = status;
    }
    const note = nodeNote(state);
    if (note && !aside) {
      aside = svgElement('tspan', { class: 'aside', 'text-anchor': 'end', x: x + w - 2 });
      text.append(aside);
    }
    if (!aside) return;
    const isTight = flow && (flowText.length + note.length) * ASIDE_WIDTH > w;
    aside.setAttribute('y', y + h + (isTight ? 24 : 12));
    aside.textContent = note;
  };
  return drawn;
}

/** The edges by the classes of their lines. */
function edgeKinds(edges) {
  const kinds = new Map();
  for (const edge of edges) {
    edge.kinds ??= `k-${edge.kind}${edge.optional ? ' optional' : ''}${edge.flow ? ` flow flow-${flowKey(edge.flow)}` : ''}`;
    const known = kinds.get(edge.kinds);
    if (known) known.push(edge);
    else kinds.set(edge.kinds, [edge]);
  }
  return [...kinds];
}

/** Edges as paths, one for all lines of a kind: a path for each edge would be too many elements. With a rect only the pieces in it, and no tips. */
function edgePaths(edges, rect) {
  const paths = edgeKinds(edges).map(([kind, list]) => svgElement('path', { class: `edge ${kind}`, d: list.map((edge) => edgePath(edge, rect)).join('') }));
  return rect ? paths : [...paths, ...edgeTips(edges)];
}

const edgeTips = (edges) => edgeKinds(edges).map(([kind, list]) => svgElement('path', { class: `tips ${kind}`, d: list.map(edgeTip).join('') }));
