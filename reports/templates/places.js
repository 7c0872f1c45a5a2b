// Placement of ranks: CPUs, GPU and network card of each, node by node. Nodes that look the same are drawn once.
const most_cpus = 1024;

/// `0-3,8` -> [0, 1, 2, 3, 8]
function cpus_of(text) {
  const found = [];
  for (const part of (text || '').split(',')) {
    const [first, last] = part.split('-').map(Number);
    for (let cpu = first; cpu <= (Number.isNaN(last) || last === undefined ? first : last) && found.length < most_cpus; cpu += 1)
      if (Number.isInteger(cpu) && cpu >= 0 && cpu < 65536) found.push(cpu);
  }
  return found;
}

/// Of every node: its ranks with what they use.
function ranks_by_node(one) {
  if (one.by_node) return one.by_node;
  const facts = one.rank_facts;
  const fact_of = (key, rank) => (facts[key] ? text_of(facts[key][rank]) : undefined);
  const by_node_number = new Map();
  one.rank_nodes.forEach((node, rank) => {
    if (!by_node_number.has(node)) by_node_number.set(node, []);
    const tested = fact_of('tested', rank);
    const gpu = fact_of('device.address', rank) || fact_of('gpu', rank) || (tested ? tested.split(' ')[0] : undefined) || fact_of('device', rank);
    by_node_number.get(node).push({rank, mask: fact_of('mask', rank), gpu, uuid: fact_of('device.uuid', rank), numa: fact_of('device.numa', rank),
                                   nic: fact_of('device.nic', rank) || fact_of('nics_near', rank)});
  });
  one.by_node = by_node_number;
  return by_node_number;
}

/// Nodes in groups that look the same, the smallest group (the outliers) first.
function layouts(one) {
  if (one.layouts) return one.layouts;
  const groups = new Map();
  for (const [node, ranks] of ranks_by_node(one)) {
    const key = JSON.stringify(ranks.map((each) => [each.mask, each.gpu, each.numa, each.nic]));
    if (!groups.has(key)) groups.set(key, {nodes: [], ranks, is_odd: false});
    groups.get(key).nodes.push(node);
  }
  const all = [...groups.values()].sort((a, b) => a.nodes.length - b.nodes.length);
  for (const group of all) group.is_odd = all.length > 1 && group.nodes.length === 1;
  one.layouts = all;
  return all;
}

const node_fact = (node, key) => {
  const column = (page.facts || []).find((one) => one.key === key);
  return column && column.values ? text_of(column.values[node]) : undefined;
};

/// CPU numbers that are shown, in order: all of the node where their number is known, else those of its ranks.
function shown_cpus(layout) {
  const used = layout.ranks.flatMap((each) => cpus_of(each.mask));
  const known = cpus_of(node_fact(layout.nodes[0], 'cpus'));
  return [...new Set([...known, ...used])].sort((a, b) => a - b).slice(0, 512);
}

function curve_between(x1, y1, x2, y2, series) {
  const middle = (x1 + x2) / 2;
  return s('path', {d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`, class: `wire s${series % 8}`});
}

/// Boxes of one column, each at the height of the ranks that lead to it.
function column_boxes(ranks, pick, y_of) {
  const boxes = new Map();
  for (const [i, each] of ranks.entries()) {
    const name = pick(each);
    if (!name) continue;
    if (!boxes.has(name)) boxes.set(name, {name, ranks: []});
    boxes.get(name).ranks.push(i);
  }
  let below = -Infinity;
  for (const box of boxes.values()) {
    box.y = Math.max(below + 22, box.ranks.reduce((sum, i) => sum + y_of(i), 0) / box.ranks.length);
    below = box.y;
  }
  return [...boxes.values()];
}

function named_box(box, x, width, is_shared, lines) {
  const name = box.name.replace(/^0000:/, '').replace(/^NIC /, '').replace(/ \([0-9a-f:.]+\)/g, '');
  const most = Math.floor(width / 7) - 2;
  const group = s('g', {class: 'lane'}, s('rect', {x, y: box.y - 9, width, height: 18, rx: 4, class: is_shared ? 'part shared' : 'part'}),
    s('text', {x: x + 6, y: box.y + 4, class: 'name'}, (is_shared ? '\u26a0 ' : '') + (name.length > most ? `${name.slice(0, most - 1)}\u2026` : name)));
  group.tip = lines;
  return group;
}

function draw_places(layout, width) {
  const {ranks} = layout;
  const cpus = shown_cpus(layout);
  const owners = new Map();
  for (const each of ranks) for (const cpu of cpus_of(each.mask)) owners.set(cpu, (owners.get(cpu) || 0) + 1);
  const has_gpus = ranks.some((each) => each.gpu);
  const has_nics = ranks.some((each) => each.nic);
  const nic_width = has_nics ? Math.min(150, width * 0.2) : 0;
  const gpu_width = has_gpus ? Math.min(130, width * 0.22) : 0;
  const gap = width < 520 ? 22 : 48;
  const left = 40 + 7 * String(ranks[ranks.length - 1].rank).length;
  const room = width - left - (gpu_width ? gpu_width + gap : 0) - (nic_width ? nic_width + gap : 0) - 4;
  const pitch = Math.min(14, Math.max(1.2, room / Math.max(1, cpus.length)));
  const per_row = Math.max(1, Math.floor(room / Math.max(pitch, 3.2)));
  const rows = Math.ceil(cpus.length / per_row) || 1;
  const cell = Math.min(14, room / Math.min(per_row, Math.max(1, cpus.length)));
  const height_of_rank = Math.max(22, rows * Math.min(cell, 10) + 8);
  const top = 22;
  const y_of = (i) => top + (i + 0.5) * height_of_rank;
  const cpu_place = new Map(cpus.map((cpu, at) => [cpu, at]));
  const tall = Math.min(cell, 10);
  const marks = [];
  for (const [i, each] of ranks.entries()) {
    const mine = new Set(cpus_of(each.mask));
    const y = y_of(i) - rows * tall / 2;
    marks.push(s('text', {x: 0, y: y_of(i) + 4, class: 'name'}, `rank ${each.rank}`));
    // One path for all that are alike: thousands of cells stay few elements.
    const paths = {free: '', mine: '', shared: ''};
    for (const cpu of cpus) {
      const at = cpu_place.get(cpu);
      const kind = !mine.has(cpu) ? 'free' : owners.get(cpu) > 1 ? 'shared' : 'mine';
      paths[kind] += `M${(left + at % per_row * cell).toFixed(1)} ${(y + Math.floor(at / per_row) * tall).toFixed(1)}h${Math.max(0.8, cell - 1).toFixed(1)}v${Math.max(1, tall - 1).toFixed(1)}h${-Math.max(0.8, cell - 1).toFixed(1)}z`;
    }
    const lane_mark = s('g', {class: 'lane'}, s('path', {d: paths.free, class: 'cpu'}), s('path', {d: paths.mine, class: `cpu s${i % 8}`}), s('path', {d: paths.shared, class: 'cpu shared'}));
    lane_mark.tip = [`rank ${each.rank}`, `CPUs ${each.mask ? each.mask.slice(0, 200) : 'unknown'}`];
    marks.push(lane_mark);
  }
  const cpus_end = left + Math.min(per_row, cpus.length) * cell;
  const gpu_x = width - gpu_width - (nic_width ? nic_width + gap : 0);
  const gpus = column_boxes(ranks, (each) => each.gpu, y_of);
  for (const box of gpus) {
    for (const i of box.ranks) marks.push(curve_between(cpus_end + 4, y_of(i), gpu_x, box.y, i));
    const first = ranks[box.ranks[0]];
    marks.push(named_box(box, gpu_x, gpu_width, box.ranks.length > 1, [`GPU ${box.name}`, first.uuid && layout.nodes.length === 1 ? first.uuid : '', first.numa !== undefined ? `NUMA domain ${first.numa}` : '',
      `used by ${box.ranks.map((i) => `rank ${ranks[i].rank}`).join(', ')}`].filter(Boolean)));
  }
  const nic_x = width - nic_width;
  const nics = column_boxes(ranks, (each) => each.nic, y_of);
  for (const box of nics) {
    const from = has_gpus ? gpus.filter((gpu) => gpu.ranks.some((i) => box.ranks.includes(i))).map((gpu) => [gpu_x + gpu_width, gpu.y, gpu.ranks[0]]) : box.ranks.map((i) => [cpus_end + 4, y_of(i), i]);
    for (const [x, y, i] of from) marks.push(curve_between(x, y, nic_x, box.y, i));
    marks.push(named_box(box, nic_x, nic_width, false, [`network card ${box.name.replace(/^NIC /, '')}`, `near ${box.ranks.map((i) => `rank ${ranks[i].rank}`).join(', ')}`]));
  }
  const heads = [[left, `CPUs ${cpus.length ? `${cpus[0]} to ${cpus[cpus.length - 1]}` : ''}`], has_gpus && [gpu_x, 'GPU'], has_nics && [nic_x, width < 520 ? 'NIC' : 'Network card']].filter(Boolean);
  const height = Math.max(y_of(ranks.length - 1) + height_of_rank / 2, ...gpus.map((box) => box.y + 12), ...nics.map((box) => box.y + 12)) + 4;
  const text = ranks.slice(0, 64).map((each) => `rank ${each.rank} CPUs ${each.mask || 'unknown'}${each.gpu ? `, GPU ${each.gpu}` : ''}${each.nic ? `, ${each.nic}` : ''}`).join('; ');
  return with_tips(s('svg', {width, height, role: 'img', 'aria-label': text.slice(0, 4000)}, heads.map(([x, name]) => s('text', {x, y: 12, class: 'tick'}, name)), marks));
}

function place_figure(layout) {
  const names = layout.nodes.map((node) => nodes[node]);
  const limit = {...layout, ranks: layout.ranks.slice(0, 128)};
  return h('figure', {class: 'place'}, h('figcaption', {}, h('strong', {class: 't'}, folded(names)), h('span', {class: 'faint'},
    names.length > 1 ? `  ${names.length} nodes, all alike; numbers of ranks are those of the first` : layout.is_odd ? '  unlike the other nodes' : ''),
    layout.ranks.length > 128 ? h('span', {class: 'faint'}, `; the first 128 of ${layout.ranks.length} ranks`) : null),
    picture(40 + 22 * limit.ranks.length, (width) => draw_places(limit, width)));
}

function place_figures(one) {
  const all = layouts(one);
  const wanted = state.nodes.size ? all.map((layout) => ({...layout, nodes: layout.nodes.filter((node) => state.nodes.has(node))}))
    .filter((layout) => layout.nodes.length).map((layout) => ({...layout, ranks: ranks_by_node(one).get(layout.nodes[0])})) : all;
  if (!wanted.length) return null;
  return h('div', {}, h('h3', {}, badge(one.verdict, true), ' ', title_parts(one)), first_few(wanted, 4, place_figure, 'layouts'));
}

function build_places() {
  const found = cases.filter((one) => one.rank_facts && one.rank_facts.mask);
  let before = null;
  listeners.push(() => {
    const now = [...state.nodes].join();
    if (now === before) return;
    before = now;
    const figures = found.map(place_figures).filter(Boolean);
    at_id('places').hidden = !figures.length;
    body_of('places').replaceChildren(...figures);
  });
}
