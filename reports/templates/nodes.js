// The grid of nodes: a tile each, coloured and marked by its worst verdict. A tile chooses its node for all that is below.
const most_tiles = 6000;

function tally_text(tally) {
  return by_urgency.filter((verdict) => tally[verdict]).map((verdict) => `${tally[verdict]} ${verdict_words[verdict]}`).join(', ') || 'no case';
}

/// The arrow keys go from tile to tile, as rows lie on the screen.
function walk(event, tiles) {
  const at = tiles.indexOf(document.activeElement);
  if (at < 0) return;
  const top = tiles[at].offsetTop;
  const left = tiles[at].offsetLeft;
  const steps = {ArrowRight: () => at + 1, ArrowLeft: () => at - 1, Home: () => 0, End: () => tiles.length - 1,
                 ArrowDown: () => tiles.findIndex((tile, i) => i > at && tile.offsetTop > top && tile.offsetLeft >= left),
                 ArrowUp: () => tiles.findLastIndex((tile, i) => i < at && tile.offsetTop < top && tile.offsetLeft <= left)};
  const to = steps[event.key] && tiles[steps[event.key]()];
  if (!steps[event.key]) return;
  event.preventDefault();
  if (!to) return;
  tiles[at].tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}

function build_nodes() {
  if (!nodes.length) return;
  at_id('nodes').hidden = false;
  const size = nodes.length <= 64 ? 'named' : nodes.length <= 400 ? 'middle' : 'small';
  let order = nodes.map((_, node) => node).sort((a, b) => natural.compare(nodes[a], nodes[b]));
  const left_out = order.length - most_tiles;
  if (left_out > 0) order = order.filter((node) => needs_look(node_verdicts[node])).slice(0, most_tiles);
  const grid = h('div', {class: `grid ${size}`, role: 'group', 'aria-label': 'Nodes; arrow keys move, Enter chooses'});
  const tiles = [];
  const tile_of = new Map();
  for (const node of order) {
    const verdict = node_verdicts[node];
    const tile = document.createElement('button');
    tile.type = 'button';
    tile.className = `tile v-${verdict_words[verdict]}`;
    tile.dataset.node = node;
    tile.tabIndex = tiles.length ? -1 : 0;
    tile.setAttribute('aria-label', `${nodes[node]}: ${tally_text(node_tallies[node])}`);
    tile.append(h('span', {class: 'sign', 'aria-hidden': 'true'}, verdict_signs[verdict]));
    if (size === 'named') tile.append(h('span', {class: 't'}, nodes[node]));
    tiles.push(tile);
    tile_of.set(node, tile);
  }
  grid.append(...tiles);
  grid.addEventListener('click', (event) => {
    const tile = event.target.closest('.tile');
    if (tile) choose_node(Number(tile.dataset.node), event.ctrlKey || event.metaKey || event.shiftKey);
  });
  grid.addEventListener('keydown', (event) => walk(event, tiles));
  const tell = (event) => {
    const tile = event.target.closest('.tile');
    if (!tile) return hide_tip();
    const node = Number(tile.dataset.node);
    const box = tile.getBoundingClientRect();
    show_tip([nodes[node].slice(0, 300), tally_text(node_tallies[node])], box.left, box.bottom - 10);
  };
  grid.addEventListener('mouseover', tell);
  grid.addEventListener('focusin', tell);
  grid.addEventListener('mouseleave', hide_tip);
  grid.addEventListener('focusout', hide_tip);
  let marked = new Set();
  listeners.push(() => {
    for (const node of new Set([...marked, ...state.nodes])) tile_of.get(node)?.setAttribute('aria-pressed', state.nodes.has(node));
    marked = new Set(state.nodes);
    grid.classList.toggle('chosen', marked.size > 0);
  });
  const counts = [0, 0, 0, 0, 0];
  for (const verdict of node_verdicts) counts[verdict] += 1;
  const legend = h('p', {class: 'legend'}, by_urgency.filter((verdict) => counts[verdict]).map((verdict) =>
    h('span', {}, badge(verdict), ` ${counted(counts[verdict], 'node')}`)),
    h('span', {class: 'faint hint'}, 'Click to select a node for all parts below, with Ctrl or Shift several.'));
  body_of('nodes').append(legend, grid);
  if (left_out > 0) body_of('nodes').append(h('p', {class: 'faint'}, `${counted(nodes.length, 'node')}: only those with problems have a tile.`));
}
