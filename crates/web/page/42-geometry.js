// The geometry of a graph: an index of its nodes and edges by place, the path of an edge, and the overview that is drawn when a graph is
// too small on the screen for text.

/** The width and height of a cell of the index, in graph units. */
const CELL = 500;
/** The cells beyond which an edge is listed apart, instead of in each of them. */
const MANY_CELLS = 24;

/** An index of a graph: `{nodes, byAddress, edgesOf(address), inRect(rect)}`, where a rect is `{x0, y0, x1, y1}`. */
function indexGraph(graph) {
  const cells = new Map();
  const long = [];
  const byAddress = new Map();
  const neighbours = new Map();
  const edges = graph.edges.filter((edge) => edge.points?.length);
  let turn = 0;
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
  graph.nodes.forEach((node, order) => {
    node.order = order;
    byAddress.set(node.at, node);
    put('node', node, { x0: node.x, y0: node.y, x1: node.x + node.w, y1: node.y + node.h });
  });
  edges.forEach((edge, order) => {
    edge.order = order;
    put('edge', edge, boxOf(edge.points));
    for (const end of [edge.from, edge.to]) {
      if (!neighbours.has(end)) neighbours.set(end, []);
      neighbours.get(end).push(edge);
    }
  });

  return {
    nodes: graph.nodes,
    byAddress,
    edgesOf: (at) => neighbours.get(at) ?? [],
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
      for (let column = Math.floor(rect.x0 / CELL); column <= Math.floor(rect.x1 / CELL); column += 1) {
        for (let row = Math.floor(rect.y0 / CELL); row <= Math.floor(rect.y1 / CELL); row += 1) {
          const cell = cells.get(column * 65536 + row);
          if (!cell) continue;
          for (const node of cell.node) add('node', node);
          for (const edge of cell.edge) add('edge', edge);
        }
      }
      for (const { kind, item, box } of long) {
        if (box.x0 <= rect.x1 && box.x1 >= rect.x0 && box.y0 <= rect.y1 && box.y1 >= rect.y0) add(kind, item);
      }
      // A stable order lets a renderer keep what it has drawn.
      const inOrder = (a, b) => a.order - b.order;
      return { nodes: found.node.sort(inOrder), edges: found.edge.sort(inOrder) };
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
  const names = [...Object.keys(STATUS_NAMES).map((status) => `s-${status}`), 'c-line', 'c-group', 'c-accent', 'c-idle'];
  const probes = document.createElement('span');
  probes.append(...names.map((name) => Object.assign(document.createElement('span'), { className: name })));
  parent.append(probes);
  const colours = Object.fromEntries(names.map((name, place) => [name, getComputedStyle(probes.children[place]).color]));
  probes.remove();
  return colours;
}

/**
 * Draws the nodes of a rect as blocks in the colours of their statuses, and edges as lines, `k` pixels for each unit of the graph.
 * Returns a function that draws the nodes whose status has changed since.
 */
function drawOverview(canvas, { index, states, rect, k, colours, selected, withEdges }) {
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
