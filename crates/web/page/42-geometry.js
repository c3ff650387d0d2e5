// The geometry of a graph: an index of its nodes and edges by place, the path of an edge, and the overview that is drawn when a graph is
// too small on the screen for text.

/** The width and height of a cell of the index, in graph units. */
const CELL = 500;
/** The cells beyond which an edge is listed apart, instead of in each of them. */
const MANY_CELLS = 24;

/** An index of a graph: `{nodes, edges, byAddress, inRect(rect)}`, where a rect is `{x0, y0, x1, y1}`. */
function indexGraph(graph) {
  const cells = new Map();
  const long = [];
  const byAddress = new Map();
  const neighbours = new Map();
  const put = (kind, item, box) => {
    const columns = [Math.floor(box.x0 / CELL), Math.floor(box.x1 / CELL)];
    const rows = [Math.floor(box.y0 / CELL), Math.floor(box.y1 / CELL)];
    if ((columns[1] - columns[0] + 1) * (rows[1] - rows[0] + 1) > MANY_CELLS) {
      long.push({ kind, item, box });
      return;
    }
    for (let column = columns[0]; column <= columns[1]; column += 1) {
      for (let row = rows[0]; row <= rows[1]; row += 1) {
        const key = column * 65536 + row;
        let cell = cells.get(key);
        if (!cell) cells.set(key, cell = { node: [], edge: [] });
        cell[kind].push(item);
      }
    }
  };
  for (const node of graph.nodes) {
    byAddress.set(node.at, node);
    put('node', node, { x0: node.x, y0: node.y, x1: node.x + node.w, y1: node.y + node.h });
  }
  graph.edges.forEach((edge, order) => {
    if (!edge.points?.length) return;
    edge.order = order;
    put('edge', edge, boxOf(edge.points));
    for (const end of [edge.from, edge.to]) {
      if (!neighbours.has(end)) neighbours.set(end, []);
      neighbours.get(end).push(edge);
    }
  });

  return {
    nodes: graph.nodes,
    edges: graph.edges,
    byAddress,
    edgesOf: (at) => neighbours.get(at) ?? [],
    inRect(rect) {
      const found = { node: new Set(), edge: new Set() };
      for (let column = Math.floor(rect.x0 / CELL); column <= Math.floor(rect.x1 / CELL); column += 1) {
        for (let row = Math.floor(rect.y0 / CELL); row <= Math.floor(rect.y1 / CELL); row += 1) {
          const cell = cells.get(column * 65536 + row);
          if (!cell) continue;
          for (const node of cell.node) found.node.add(node);
          for (const edge of cell.edge) found.edge.add(edge);
        }
      }
      for (const { kind, item, box } of long) {
        if (box.x0 <= rect.x1 && box.x1 >= rect.x0 && box.y0 <= rect.y1 && box.y1 >= rect.y0) found[kind].add(item);
      }
      return found;
    },
  };
}

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

/** The path of an edge: curves that leave and arrive vertically. */
function edgePath({ points }) {
  const [[x, y]] = points;
  let path = `M${x} ${y}`;
  for (let index = 1; index < points.length; index += 1) {
    const [fromX, fromY] = points[index - 1];
    const [toX, toY] = points[index];
    if (Math.abs(fromX - toX) < 1) path += `L${toX} ${toY}`;
    else {
      const middle = (fromY + toY) / 2;
      path += `C${fromX} ${middle} ${toX} ${middle} ${toX} ${toY}`;
    }
  }
  return path;
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
    if (other === node || (other.is_group && other.is_open)) continue;
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
  const colours = {};
  for (const name of [...Object.keys(STATUS_NAMES).map((status) => `s-${status}`), 'c-line', 'c-group', 'c-accent', 'c-idle']) {
    const probe = document.createElement('span');
    probe.className = name;
    parent.append(probe);
    colours[name] = getComputedStyle(probe).color;
    probe.remove();
  }
  return colours;
}

/** Draws nodes as blocks in the colours of their statuses, and edges as lines, on a canvas of `width` × `height` pixels. */
function drawOverview(canvas, { index, states, view, width, height, colours, selected, withEdges }) {
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext('2d');
  const scale = view.k * ratio;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.setTransform(scale, 0, 0, scale, -view.x * scale, -view.y * scale);
  const rect = { x0: view.x, y0: view.y, x1: view.x + width / view.k, y1: view.y + height / view.k };
  const visibleItems = index.inRect(rect);
  if (withEdges) {
    context.strokeStyle = colours['c-line'];
    context.lineWidth = Math.max(1, 0.6 / view.k) / (view.k < 0.1 ? 1.6 : 1);
    context.globalAlpha = visibleItems.edge.size > 4000 ? 0.35 : 0.7;
    context.beginPath();
    for (const { points } of visibleItems.edge) {
      context.moveTo(points[0][0], points[0][1]);
      for (let place = 1; place < points.length; place += 1) context.lineTo(points[place][0], points[place][1]);
    }
    context.stroke();
    context.globalAlpha = 1;
  }
  const least = 1.5 / view.k;
  let colour = null;
  for (const node of visibleItems.node) {
    const isContainer = node.is_group && node.is_open;
    const status = statusKey(states?.get(node.at)?.status);
    const next = colours[isContainer ? 'c-group' : status === 'pending' ? 'c-idle' : `s-${status}`];
    if (next !== colour) context.fillStyle = colour = next;
    context.fillRect(node.x, node.y, Math.max(node.w, least), Math.max(node.h, least));
  }
  if (selected) {
    context.strokeStyle = colours['c-accent'];
    context.lineWidth = 3 / view.k;
    context.strokeRect(selected.x - 3 / view.k, selected.y - 3 / view.k, selected.w + 6 / view.k, selected.h + 6 / view.k);
  }
}
