// The geometry of a graph: an index of its nodes and edges by place, the path of an edge, and the overview that is drawn when a graph is
// too small on the screen for text.

/** The width and height of a cell of the index, in graph units. */
const CELL = 256;
/** The cells beyond which an edge is listed apart, instead of in each of them. */
const MANY_CELLS = 24;

/** An index of a graph, where a rect is `{x0, y0, x1, y1}` in graph units. */
function indexGraph(graph) {
  const columns = Math.max(1, Math.ceil(graph.width / CELL));
  const rows = Math.max(1, Math.ceil(graph.height / CELL));
  const cells = new Array(columns * rows);
  const long = [];
  const byAddress = new Map();
  const neighbours = new Map();
  const edges = graph.edges.filter((edge) => edge.points?.length);
  const column = (x) => Math.min(columns - 1, Math.max(0, Math.floor(x / CELL)));
  const row = (y) => Math.min(rows - 1, Math.max(0, Math.floor(y / CELL)));
  let turn = 0;
  const put = (kind, item, x0, y0, x1, y1) => {
    const [left, right, top, bottom] = [column(x0), column(x1), row(y0), row(y1)];
    if ((right - left + 1) * (bottom - top + 1) > MANY_CELLS) {
      long.push({ kind, item, box: { x0, y0, x1, y1 } });
      return;
    }
    for (let y = top; y <= bottom; y += 1) {
      for (let x = left; x <= right; x += 1) (cells[y * columns + x] ??= { node: [], edge: [] })[kind].push(item);
    }
  };
  const link = (at, edge) => {
    const known = neighbours.get(at);
    if (known) known.push(edge);
    else neighbours.set(at, [edge]);
  };
  graph.nodes.forEach((node, order) => {
    node.order = order;
    byAddress.set(node.at, node);
    // A group comes before the nodes in it.
    const group = byAddress.get(node.group);
    node.isPattern = node.part ? node.part === 'rest' : Boolean(group && (group.for_each || group.repeat || group.isPattern));
    put('node', node, node.x, node.y, node.x + node.w, node.y + node.h);
  });
  edges.forEach((edge, order) => {
    edge.order = order;
    const { x0, y0, x1, y1 } = boxOf(edge.points);
    put('edge', edge, x0, y0, x1, y1);
    link(edge.from, edge);
    link(edge.to, edge);
  });

  return {
    nodes: graph.nodes,
    byAddress,
    columns,
    rows,
    column,
    row,
    edgesOf: (at) => neighbours.get(at) ?? [],
    /** The number of nodes in the cells that a rect touches. */
    countIn(rect) {
      let sum = 0;
      for (let y = row(rect.y0); y <= row(rect.y1); y += 1) {
        for (let x = column(rect.x0); x <= column(rect.x1); x += 1) sum += cells[y * columns + x]?.node.length ?? 0;
      }
      return sum;
    },
    /** The nodes and edges that may touch a rect, each once. */
    inRect(rect) {
      if (rect.x0 <= 0 && rect.y0 <= 0 && rect.x1 >= graph.width && rect.y1 >= graph.height) return { nodes: graph.nodes, edges };
      turn += 1;
      const found = { node: [], edge: [] };
      const add = (kind, item) => {
        if (item.turn === turn) return;
        item.turn = turn;
        found[kind].push(item);
      };
      for (let y = row(rect.y0); y <= row(rect.y1); y += 1) {
        for (let x = column(rect.x0); x <= column(rect.x1); x += 1) {
          const cell = cells[y * columns + x];
          if (!cell) continue;
          for (const node of cell.node) add('node', node);
          for (const edge of cell.edge) add('edge', edge);
        }
      }
      for (const { kind, item, box } of long) if (touches(box, rect)) add(kind, item);
      const inOrder = (a, b) => a.order - b.order;
      return { nodes: found.node.sort(inOrder), edges: found.edge.sort(inOrder) };
    },
  };
}

const touches = (a, b) => a.x0 <= b.x1 && a.x1 >= b.x0 && a.y0 <= b.y1 && a.y1 >= b.y0;

function boxOf(points) {
  const box = { x0: Infinity, y0: Infinity, x1: -Infinity, y1: -Infinity };
  for (const [x, y] of points) {
    box.x0 = Math.min(box.x0, x);
    box.y0 = Math.min(box.y0, y);
    box.x1 = Math.max(box.x1, x);
    box.y1 = Math.max(box.y1, y);
  }
  return box;
}

/** The path of an edge: curves that leave and arrive vertically. If a rect is passed, only the pieces that may touch it. */
function edgePath({ points }, rect) {
  let path = '';
  let isBroken = true;
  for (let index = 1; index < points.length; index += 1) {
    const [fromX, fromY] = points[index - 1];
    const [toX, toY] = points[index];
    if (rect && !touches(boxOf([points[index - 1], points[index]]), rect)) {
      isBroken = true;
      continue;
    }
    if (isBroken) path += `M${fromX} ${fromY}`;
    isBroken = false;
    const middle = (fromY + toY) / 2;
    path += Math.abs(fromX - toX) < 1 ? `L${toX} ${toY}` : `C${fromX} ${middle} ${toX} ${middle} ${toX} ${toY}`;
  }
  return path;
}

/** The tip of an edge: a triangle at its end, where every edge arrives vertically. */
function edgeTip({ points }) {
  const [x, y] = points[points.length - 1];
  const side = points.length > 1 && points[points.length - 2][1] > y ? 8 : -8;
  return `M${x - 4} ${y + side}h8L${x} ${y}z`;
}

/** The nearest node from `node` in a direction, or from the upper left if there is no node yet. */
function nearestNode(index, node, key) {
  if (!node) return index.nodes[0] ?? null;
  const centre = (other) => [other.x + other.w / 2, other.y + other.h / 2];
  const [x, y] = centre(node);
  const isSideways = key === 'ArrowLeft' || key === 'ArrowRight';
  const sign = key === 'ArrowRight' || key === 'ArrowDown' ? 1 : -1;
  let best = null;
  let bestCost = Infinity;
  for (const other of index.nodes) {
    if (other === node || other.part === 'rest' || (other.is_group && other.is_open)) continue;
    const [ox, oy] = centre(other);
    const ahead = (isSideways ? ox - x : oy - y) * sign;
    const aside = Math.abs(isSideways ? oy - y : ox - x);
    if (ahead < 4) continue;
    const cost = ahead + 2.5 * aside;
    if (cost < bestCost) {
      bestCost = cost;
      best = other;
    }
  }
  return best;
}

/** The colours of the statuses and lines, as the style sheet computes them for the current colour scheme. */
function readColours(parent) {
  const names = [...Object.keys(SYMBOLS).map((status) => `s-${status}`), 'c-line', 'c-group', 'c-accent', 'c-idle', 'c-ink', 'c-surface'];
  const probes = document.createElement('span');
  probes.append(...names.map((name) => Object.assign(document.createElement('span'), { className: name })));
  parent.append(probes);
  const colours = Object.fromEntries(names.map((name, place) => [name, getComputedStyle(probes.children[place]).color]));
  colours.font = getComputedStyle(probes).getPropertyValue('--mono');
  probes.remove();
  return colours;
}

/**
 * Draws the nodes of a rect as blocks in the colours of their statuses, and edges as lines, `k` pixels for each unit of the graph.
 * Returns a function that draws the nodes whose status has changed since.
 */
function drawOverview(canvas, { index, states, rect, k, colours, selected, withEdges, withText }) {
  const ratio = devicePixelRatio || 1;
  const scale = k * ratio;
  canvas.width = Math.max(1, Math.round((rect.x1 - rect.x0) * scale));
  canvas.height = Math.max(1, Math.round((rect.y1 - rect.y0) * scale));
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, -rect.x0 * scale, -rect.y0 * scale);
  const { nodes, edges } = index.inRect(rect);
  if (withEdges) {
    context.strokeStyle = colours['c-line'];
    context.lineWidth = (k < 0.1 ? 0.6 : 1) / scale;
    context.globalAlpha = edges.length > 4000 ? 0.4 : 0.7;
    context.beginPath();
    for (const { points } of edges) {
      context.moveTo(points[0][0], points[0][1]);
      for (let place = 1; place < points.length; place += 1) context.lineTo(points[place][0], points[place][1]);
    }
    context.stroke();
    context.globalAlpha = 1;
  }
  if (withText) {
    drawSteps(context, nodes, states, colours);
    return () => {};
  }
  const least = 1.5 / k;
  const drawn = new Array(nodes.length).fill(null);
  const drawNodes = (current) => {
    let colour = null;
    nodes.forEach((node, place) => {
      const status = node.is_group && node.is_open ? 'group' : statusKey(current?.get(node.at)?.status);
      if (status === drawn[place]) return;
      const [width, height] = [Math.max(node.w, least), Math.max(node.h, least)];
      if (drawn[place] !== null) context.clearRect(node.x, node.y, width, height);
      drawn[place] = status;
      const next = colours[status === 'group' ? 'c-group' : status === 'pending' ? 'c-idle' : `s-${status}`];
      if (next !== colour) context.fillStyle = colour = next;
      context.fillRect(node.x, node.y, width, height);
    });
  };
  drawNodes(states);
  if (selected) {
    context.strokeStyle = colours['c-accent'];
    context.lineWidth = 3 / k;
    context.strokeRect(selected.x - 3 / k, selected.y - 3 / k, selected.w + 6 / k, selected.h + 6 / k);
  }
  return drawNodes;
}

/** Draws the nodes with their text, much like their tiles, for which they stand in. */
function drawSteps(context, nodes, states, colours) {
  const byStatus = new Map();
  for (const node of nodes) {
    const status = statusKey(states?.get(node.at)?.status);
    if (byStatus.has(status)) byStatus.get(status).push(node);
    else byStatus.set(status, [node]);
  }
  for (const [status, list] of byStatus) {
    context.beginPath();
    for (const { x, y, w, h } of list) context.rect(x, y, w, h);
    context.fillStyle = colours['c-surface'];
    context.fill();
    context.strokeStyle = colours[status === 'pending' ? 'c-line' : `s-${status}`];
    context.lineWidth = 1.1;
    context.stroke();
    context.fillStyle = context.strokeStyle;
    for (const { x, y } of list) context.fillRect(x - 6, y + 8, 12, 12);
  }
  context.fillStyle = colours['c-ink'];
  [600, 400].forEach((weight, place) => {
    context.font = `${weight} 12px ${colours.font}`;
    for (const { x, y, lines } of nodes) if (lines[place]) context.fillText(visible(lines[place]), x + BOX_PADDING, y + BOX_PADDING / 2 + 12 + place * LINE_HEIGHT);
  });
}
