// Who reads from whom, drawn. Long chains go down, wide trees go to the right; holders that feed
// nobody stand in rows beneath. The server says which members matter most, and counts the rest.

const BOX = {width: 176, height: 36};
const GAP = {x: 34, y: 12};
const TIERS = {host: 'same host', rack: 'same rack', datacenter: 'same datacenter', remote: 'another datacenter'};

const nameOf = (group, rank) => `${group}/${rank}`;
const short = (text, most) => text.length > most ? `${text.slice(0, most - 9)}…${text.slice(-8)}` : text;

// The members as nodes {row, children, column, line}. A source comes before its readers.
function forestOf(replicas) {
  const byName = new Map();
  const roots = [];
  for (const row of replicas) {
    const node = {row, children: [], depth: 0};
    byName.set(nameOf(row.group, row.rank), node);
    const source = row.sources > 0 ? byName.get(nameOf(row.source_group, row.source_rank)) : undefined;
    if (source) source.children.push(node);
    else roots.push(node);
    node.depth = source ? source.depth + 1 : 0;
  }
  const isIdle = ({row, children}) => children.length === 0 && !row.reads && row.below_left_out === 0;
  return {byName, trees: roots.filter((node) => !isIdle(node)), idle: roots.filter(isIdle)};
}

// Gives each node a place across (by leaves) and along (by depth). Without recursion: chains are long.
function placeTrees(trees) {
  let across = 0;
  let deepest = 0;
  const order = [];
  const open = [...trees].reverse();
  while (open.length > 0) {
    const node = open.pop();
    order.push(node);
    deepest = Math.max(deepest, node.depth);
    open.push(...[...node.children].reverse());
    if (node.children.length === 0) node.across = across++;
  }
  for (const node of order.reverse()) {
    if (node.children.length > 0) node.across = (node.children[0].across + node.children.at(-1).across) / 2;
  }
  return {nodes: order, leaves: across, levels: trees.length > 0 ? deepest + 1 : 0};
}

function describe(row) {
  const lines = [nameOf(row.group, row.rank), `${row.state}, ${percent(row)} of ${many(row.chunks, 'chunk', 'chunks')}`];
  if (row.sources > 0) lines.push(`reads from ${nameOf(row.source_group, row.source_rank)} (${TIERS[row.tier] ?? row.tier})`);
  for (const more of row.more_sources ?? []) lines.push(`and from ${nameOf(more.source_group, more.source_rank)}`);
  if (row.way) lines.push(row.way);
  if (row.reads && row.sources === 0) lines.push('waits for a source');
  if (row.reads) lines.push(`for ${duration(row.running_ms)}`);
  lines.push(`${many(row.readers, 'reader', 'readers')}, ${row.location || 'no location'}, ${row.medium || 'memory not said'}`);
  return lines.join('\n');
}

function drawBox(node) {
  const {row, x, y} = node;
  const waits = row.reads && row.sources === 0;
  const bar = BOX.width - 12;
  return svg('g', {transform: `translate(${x} ${y})`},
             svg('title', {}, describe(row)),
             svg('rect', {class: `box ${waits ? 'waits' : row.state}`, width: BOX.width, height: BOX.height, rx: 5}),
             svg('text', {x: 6, y: 15}, short(nameOf(row.group, row.rank), 19)),
             svg('text', {x: BOX.width - 6, y: 15, class: 'small', 'text-anchor': 'end'},
                 waits ? 'waits' : row.state === 'complete' ? 'whole' : percent(row)),
             svg('rect', {class: 'track', x: 6, y: 24, width: bar, height: 6, rx: 3}),
             svg('rect', {class: `bar ${row.state}`, x: 6, y: 24, width: bar * share(row), height: 6, rx: 3}));
}

function drawEdge(from, to, tier, isDown, more) {
  const [x1, y1] = isDown ? [from.x + BOX.width / 2, from.y + BOX.height] : [from.x + BOX.width, from.y + BOX.height / 2];
  const [x2, y2] = isDown ? [to.x + BOX.width / 2, to.y] : [to.x, to.y + BOX.height / 2];
  const bend = isDown ? `${x1} ${(y1 + y2) / 2} ${x2} ${(y1 + y2) / 2}` : `${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2}`;
  return svg('path', {class: `edge ${tier in TIERS ? tier : ''} ${more ? 'more' : ''}`, d: `M${x1} ${y1}C${bend} ${x2} ${y2}`});
}

// Those that are not drawn, below the lowest of the nodes above them that is.
function drawRest(node) {
  const hidden = node.row.below_left_out - node.hiddenBelow;
  return hidden <= 0 ? null : svg('text', {x: node.x + 6, y: node.y + BOX.height + 11, class: 'small'}, `+ ${count(hidden)} below`);
}

function drawTree(replicas, width) {
  const {byName, trees, idle} = forestOf(replicas);
  const {nodes, leaves, levels} = placeTrees(trees);
  const isDown = levels > leaves;
  const step = isDown ? {across: BOX.width + 2 * GAP.x, along: BOX.height + 2 * GAP.y}
                      : {across: BOX.height + GAP.y, along: BOX.width + 2 * GAP.x};
  for (const node of nodes) {
    const [across, along] = [GAP.y + node.across * step.across, GAP.y + node.depth * step.along];
    [node.x, node.y] = isDown ? [across, along] : [along, across];
    node.hiddenBelow = node.children.reduce((sum, child) => sum + child.row.below_left_out, 0);
  }
  const [treeWidth, treeHeight] = isDown ? [leaves * step.across, levels * step.along] : [levels * step.along, leaves * step.across];
  const perRow = Math.max(1, Math.floor((width - GAP.y) / (BOX.width + GAP.y)));
  const top = GAP.y + (trees.length > 0 ? treeHeight + GAP.y : 0);
  idle.forEach((node, i) => {
    node.x = GAP.y + (i % perRow) * (BOX.width + GAP.y);
    node.y = top + Math.floor(i / perRow) * (BOX.height + GAP.y);
  });
  const edges = [];
  for (const node of nodes) {
    for (const child of node.children) edges.push(drawEdge(node, child, child.row.tier, isDown, false));
    for (const more of node.row.more_sources ?? []) {
      const source = byName.get(nameOf(more.source_group, more.source_rank));
      if (source) edges.push(drawEdge(source, node, more.tier, isDown, true));
    }
  }
  const idleRows = Math.ceil(idle.length / perRow);
  // Room for what the lowest say of those below them.
  const size = {width: GAP.y + Math.max(treeWidth, Math.min(perRow, idle.length) * (BOX.width + GAP.y)),
                height: top + idleRows * (BOX.height + GAP.y) + GAP.y};
  return svg('svg', {...size, viewBox: `0 0 ${size.width} ${size.height}`, role: 'img',
                     'aria-label': `${count(nodes.length)} members in trees, ${count(idle.length)} that feed nobody`},
             edges, nodes.map(drawRest), [...nodes, ...idle].map(drawBox));
}

function showLegend() {
  const line = (tier) => svg('svg', {viewBox: '0 0 34 10', 'aria-hidden': 'true'}, svg('path', {class: `edge ${tier}`, d: 'M0 5H34'}));
  put('legend', Object.entries(TIERS).map(([tier, text]) => el('span', {}, line(tier), text)),
      el('span', {}, 'lines lead from a source to its readers, and a bar is what has arrived'));
}

function showTree(tree, limit) {
  byId('tree-title').textContent = tree.version === null
    ? 'No version became visible yet' : `Who reads version ${tree.version} from whom`;
  byId('tree-note').textContent = tree.members === 0 ? 'Nobody holds it.'
    : `${many(tree.members, 'worker holds', 'workers hold')} it, ${count(tree.complete)} of them whole.`;
  byId('tree').hidden = byId('legend').hidden = tree.members === 0;
  if (tree.members > 0) put('tree', drawTree(tree.replicas, byId('tree').clientWidth || 800));
  const rest = [];
  if (tree.left_out > 0) {
    rest.push(`${many(tree.left_out, 'more is', 'more are')} not drawn, of which ${count(tree.idle_left_out)} feed nobody. `);
  }
  const draw = (number) => el('button', {type: 'button', 'data-key': `draw ${number}`, onclick: () => choose({draw: number})}, `Draw ${number}`);
  if (tree.left_out > 0 && limit < 1000) rest.push(draw(limit < 300 ? 300 : 1000));
  if (limit > 60) rest.push(' ', draw(60));
  put('tree-rest', rest);
}
