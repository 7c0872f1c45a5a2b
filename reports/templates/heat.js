// Matrices between pairs as heat maps: by rank, by node, by link class. Calm where a pair is like the others, loud where it is not.
const calm_to_loud = {light: ['#e3eeee', '#b9d8d3', '#f0d58c', '#e8965a', '#c0392f', '#611124'], dark: ['#1b2f31', '#265650', '#7d7238', '#c9803f', '#f2685a', '#ffd9cd']};

function unpacked(matrix) {
  if (matrix.values) return matrix.values;
  const bytes = Uint8Array.from(atob(matrix.levels), (one) => one.charCodeAt(0));
  const top = matrix.bytes === 2 ? 65535 : 255;
  const count = bytes.length / matrix.bytes;
  const span = Math.log(matrix.most / matrix.least) / (top - 1);
  const values = new Float64Array(count);
  for (let i = 0; i < count; i += 1) {
    const level = matrix.bytes === 2 ? bytes[2 * i] | bytes[2 * i + 1] << 8 : bytes[i];
    values[i] = level === top ? NaN : matrix.least * Math.exp(level * span);
  }
  matrix.values = values;
  return values;
}

/// What a row stands for, as the page's node numbers; with several rows in one, all of them.
const row_node = (matrix, row) => matrix.nodes[row * matrix.step];
const row_nodes = (matrix, row) => [...new Set(matrix.nodes.slice(row * matrix.step, (row + 1) * matrix.step))];
const row_name = (matrix, row) => {
  const name = folded(row_nodes(matrix, row).map((node) => nodes[node] || '?'));
  return matrix.rows === 'rank' && matrix.step === 1 ? `rank ${row} on ${name}` : name;
};

function median_of(values) {
  const sorted = values.slice().sort((a, b) => a - b);
  return sorted.length ? (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2 : NaN;
}

/// The same by node: the median over the pairs of their ranks.
function by_node(matrix) {
  const values = unpacked(matrix);
  const size = Math.round(Math.sqrt(values.length));
  const names = [...new Set(Array.from({length: size}, (_, row) => row_node(matrix, row)))];
  const place = new Map(names.map((node, at) => [node, at]));
  const cells = Array.from({length: names.length ** 2}, () => []);
  for (let i = 0; i < values.length; i += 1)
    if (!Number.isNaN(values[i])) cells[place.get(row_node(matrix, Math.floor(i / size))) * names.length + place.get(row_node(matrix, i % size))].push(values[i]);
  return {...matrix, classes: undefined, rows: 'node', step: 1, nodes: names, values: Float64Array.from(cells, median_of)};
}

/// Class of each pair, from readings; pairs that have none are distinguished by their nodes. '' where nothing was measured.
function classes_of(one, matrix) {
  if (matrix.classes) return matrix.classes;
  const values = unpacked(matrix);
  const size = Math.round(Math.sqrt(values.length));
  const classes = Array.from(values, (value, i) => (Number.isNaN(value) ? '' : matrix.step > 1 ? 'all' : row_node(matrix, Math.floor(i / size)) === row_node(matrix, i % size) ? 'within nodes' : 'between nodes'));
  for (const row of matrix.rows === 'rank' && matrix.step === 1 ? one.metrics || [] : []) {
    const link = label_of(row, 'link');
    if (!link || row.metric !== matrix.metric || !row.peers) continue;
    row.ranks.forEach((rank, i) => { if (classes[rank * size + row.peers[i]]) classes[rank * size + row.peers[i]] = link; });
  }
  matrix.classes = classes;
  return classes;
}

function by_class(one, matrix) {
  const classes = classes_of(one, matrix);
  const values = unpacked(matrix);
  return [...new Set(classes)].filter(Boolean).sort().map((name) => ({...matrix, name, values: values.map((value, i) => (classes[i] === name ? value : NaN)),
    classes: classes.map((other) => (other === name ? name : ''))}));
}

function mixed(stops, share) {
  const at = Math.max(0, Math.min(1, share)) * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(at));
  const channel = (text, i) => parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16);
  return [0, 1, 2].map((i) => Math.round(channel(stops[low], i) + (channel(stops[low + 1], i) - channel(stops[low], i)) * (at - low)));
}

/// How much worse each pair is than the median of its link class: 1 is like it, 2 twice as slow. A network is slower than
/// memory and no news; a link slower than its like is. What is within noise never looks bad.
function rated(one, matrix) {
  const values = unpacked(matrix);
  const classes = classes_of(one, matrix);
  const groups = new Map();
  values.forEach((value, i) => {
    if (Number.isNaN(value)) return;
    if (!groups.has(classes[i])) groups.set(classes[i], []);
    groups.get(classes[i]).push(value);
  });
  const medians = new Map([...groups].map(([name, inside]) => [name, median_of(inside)]));
  const less = is_less_better(matrix);
  const worse = values.map((value, i) => (less ? value / medians.get(classes[i]) : medians.get(classes[i]) / value));
  const [, most] = range_of(worse);
  return {worse, medians, limit: Math.max(1.7, most), less};
}

function paint(canvas, matrix, cell, rates) {
  const values = unpacked(matrix);
  const size = Math.round(Math.sqrt(values.length));
  const context = canvas.getContext('2d');
  const image = context.createImageData(size, size);
  const stops = calm_to_loud[is_dark() ? 'dark' : 'light'];
  const shades = Array.from({length: 256}, (_, i) => mixed(stops, i / 255));
  const chosen = Array.from({length: size}, (_, row) => row_nodes(matrix, row).some((node) => state.nodes.has(node)));
  const dims = state.nodes.size > 0;
  for (let i = 0; i < values.length; i += 1) {
    if (Number.isNaN(values[i])) continue;
    const [r, g, b] = shades[Math.max(0, Math.min(255, Math.round(Math.log(rates.worse[i]) / Math.log(rates.limit) * 255)))];
    const is_dim = dims && !chosen[Math.floor(i / size)] && !chosen[i % size];
    image.data.set([r, g, b, is_dim ? 50 : 255], 4 * i);
  }
  const small = new OffscreenCanvas(size, size);
  small.getContext('2d').putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.drawImage(small, 0, 0, size * cell, size * cell);
  if (cell < 8) return;
  context.strokeStyle = is_dark() ? '#14181d' : '#ffffff';
  context.lineWidth = 1;
  for (let i = 1; i < size; i += 1) context.strokeRect(-1, i * cell, size * cell + 2, 0), context.strokeRect(i * cell, -1, 0, size * cell + 2);
}

/// In the metric's unit where there is one class, else as a factor.
function heat_legend(rates, unit) {
  const stops = calm_to_loud[is_dark() ? 'dark' : 'light'];
  const medians = [...rates.medians];
  const [, middle] = medians.length ? medians[0] : ['', NaN];
  const ends = medians.length === 1 ? [value_text(middle, unit), value_text(rates.less ? middle * rates.limit : middle / rates.limit, unit)] : ['like its class', `${number_text(Math.round(rates.limit * 100) / 100)} times worse`];
  return h('p', {class: 'legend heat'}, h('span', {}, ends[0]), h('span', {class: 'ramp', style: `background:linear-gradient(90deg,${stops.join(',')})`, 'aria-hidden': 'true'}), h('span', {}, ends[1]),
    h('span', {class: 'faint t'}, `median ${medians.map(([name, value]) => `${medians.length > 1 ? `${name} ` : ''}${value_text(value, unit)}`).join(', ')}; blank: not measured`));
}

function draw_heat(one, matrix, width) {
  const values = unpacked(matrix);
  const size = Math.round(Math.sqrt(values.length));
  const rates = rated(one, matrix);
  const cell = Math.max(1, Math.min(28, Math.floor(Math.min(width, 620) / size)));
  const canvas = h('canvas', {width: size * cell, height: size * cell, tabindex: '0', role: 'img', 'aria-label':
    `${matrix.metric}${matrix.name ? ` of ${matrix.name}` : ''}, ${size} by ${size} ${matrix.rows}s; arrow keys go from pair to pair`});
  // Shrunk without smoothing a row of one pixel would vanish.
  if (size * cell > width) Object.assign(canvas.style, {width: '100%', imageRendering: 'auto'});
  paint(canvas, matrix, cell, rates);
  const at = {row: 0, column: 0};
  const tell = (x, y) => {
    const value = values[at.row * size + at.column];
    const worse = rates.worse[at.row * size + at.column];
    const lines = [Number.isNaN(value) ? 'not measured' : `${value_text(value, matrix.unit)}${worse > 1.1 ? `, ${number_text(Number(worse.toPrecision(2)))} times worse than its class` : ''}`, `${row_name(matrix, at.row)} to`, row_name(matrix, at.column)];
    show_tip(lines, x, y);
    return lines;
  };
  canvas.addEventListener('mousemove', (event) => {
    const box = canvas.getBoundingClientRect();
    at.row = Math.max(0, Math.min(size - 1, Math.floor((event.clientY - box.top) / box.height * size)));
    at.column = Math.max(0, Math.min(size - 1, Math.floor((event.clientX - box.left) / box.width * size)));
    tell(event.clientX, event.clientY);
  });
  canvas.addEventListener('mouseleave', hide_tip);
  canvas.addEventListener('blur', hide_tip);
  canvas.addEventListener('click', () => change({nodes: new Set(row_nodes(matrix, at.row).filter((node) => node >= 0))}));
  canvas.addEventListener('keydown', (event) => {
    const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (!step) return;
    event.preventDefault();
    at.row = Math.max(0, Math.min(size - 1, at.row + step[0]));
    at.column = Math.max(0, Math.min(size - 1, at.column + step[1]));
    const box = canvas.getBoundingClientRect();
    say(tell(box.left + (at.column + 1) / size * box.width, box.top + (at.row + 1) / size * box.height).join(' '));
  });
  const doubt = timing_doubt(one);
  return [canvas, h('div', {class: 'beside'}, heat_legend(rates, matrix.unit), doubt ? h('p', {class: 'note t'}, doubt) : odd_pairs(matrix, rates, size))];
}

/// The loudest pairs in words, and whom they have in common.
function odd_pairs(matrix, rates, size) {
  const values = unpacked(matrix);
  const odd = Array.from(values.keys()).filter((i) => rates.worse[i] > 1.3).sort((a, b) => rates.worse[b] - rates.worse[a]);
  if (!odd.length) return h('p', {class: 'faint'}, 'No pair is slower than its class by 30 % or more.');
  const line = (i) => h('li', {class: 't'}, h('strong', {}, value_text(values[i], matrix.unit)), ` ${row_name(matrix, Math.floor(i / size))} to ${row_name(matrix, i % size)}`);
  const counts = new Map();
  const name_of = (row) => folded(row_nodes(matrix, row).map((node) => nodes[node] || '?'));
  for (const i of odd) for (const name of new Set([name_of(Math.floor(i / size)), name_of(i % size)])) counts.set(name, (counts.get(name) || 0) + 1);
  const [[top, count]] = [...counts].sort((a, b) => b[1] - a[1]);
  const common = odd.length > 2 && count > odd.length * 0.5 ? h('p', {class: 't'}, h('strong', {}, top), ` is in ${count} of ${counted(odd.length, 'pair')} that are slower than their class by 30 % or more.`) : null;
  return h('div', {}, common, h('ol', {class: 'odd'}, odd.slice(0, 5).map(line)), odd.length > 5 ? h('p', {class: 'faint'}, `and ${counted(odd.length - 5, 'more pair')}`) : null);
}

function views_of(one, matrix) {
  const views = [];
  const is_of_ranks = matrix.rows === 'rank';
  const has_nodes = new Set(matrix.nodes).size > 1;
  if (is_of_ranks) views.push(['By rank', () => [matrix]]);
  if (has_nodes) views.push(['By node', () => [is_of_ranks ? by_node(matrix) : matrix]]);
  if (is_of_ranks) views.push(['By link class', () => by_class(one, matrix)]);
  return views;
}

function tabs(name, views, draw) {
  const place = h('div', {class: 'heats'});
  const buttons = views.map(([title], i) => h('button', {type: 'button', class: 'tab', 'aria-pressed': i === 0, onclick: () => show(i)}, title));
  const show = (chosen) => {
    buttons.forEach((button, i) => button.setAttribute('aria-pressed', i === chosen));
    place.replaceChildren(...draw(views[chosen]));
  };
  show(0);
  return [h('div', {class: 'tabs', role: 'group', 'aria-label': name}, views.length > 1 ? buttons : null), place];
}

function pair_figures(one) {
  const views = one.matrices.map((matrix) => [`${matrix.metric} ${labels_text(matrix.where)}`, matrix]);
  return h('div', {class: 'pairs', 'data-case': one.index}, h('h3', {}, badge(one.verdict, true), ' ', title_parts(one)),
    tabs('Metric', views, ([, matrix]) => tabs('View', views_of(one, matrix), ([, make]) => make().map((each) => h('figure', {class: 'heat'},
      h('figcaption', {}, each.name ? h('strong', {class: 't'}, each.name) : h('strong', {}, each.metric), h('span', {class: 'faint'}, ` ${each.unit === '1' ? '' : each.unit}; row sends, column receives${each.step > 1 ? `; a cell is the worst of ${each.step} x ${each.step} pairs` : ''}`)),
      picture(260, (width) => draw_heat(one, each, width)))))));
}

function build_pairs() {
  const found = cases.filter((one) => (one.matrices || []).length);
  at_id('pairs').hidden = !found.length;
  body_of('pairs').append(...first_few(found, 6, pair_figures, 'cases with pairs'));
  listeners.push(() => {
    for (const place of body_of('pairs').querySelectorAll('[data-case]')) place.hidden = state.nodes.size > 0 && !is_about(cases[place.dataset.case], state.nodes);
  });
}
