// Evidence: every reading of a metric as a dot, against the ends of its bounds; those that broke one in a lane of their own.
const lane_height = 24;
const most_lanes = 6;
const most_dots = 8000;
const most_single_dots = 800;

/// What is known of single readings: of ranks, else of nodes.
function points_of(one, row) {
  if (row.medians)
    return row.medians.map((value, i) => ({value, rank: row.ranks[i], peer: row.peers ? row.peers[i] : -1,
      node: node_of_rank(one, row.ranks[i]), is_bad: row.verdicts ? needs_look(Number(row.verdicts[i])) : false}));
  if (row.by) {
    const bad = new Set(row.bad || []);
    return row.by.map((value, i) => ({value, rank: -1, peer: -1, node: one.on[i], is_bad: bad.has(i)}));
  }
  return [];
}

const same_labels = (a, b) => labels_text(a.where) === labels_text(b.where);

/// The ends of bounds, each once: `{value, is_least, text}`.
function ends_of(bounds) {
  const ends = new Map();
  for (const bound of bounds || [])
    for (const side of ['least', 'most'])
      if (bound[side] !== undefined) ends.set(`${side} ${bound[side]}`, {value: bound[side], is_least: side === 'least', kind: bound.kind, text: bound.text});
  return [...ends.values()];
}

function range_of(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [low, high];
}

/// Dots side by side where there is room, on top of each other in columns where they would touch.
function stacked(points, x, height) {
  const columns = new Map();
  const step = 5;
  for (const point of points) {
    const column = Math.round(x(point.value) / step);
    if (!columns.has(column)) columns.set(column, []);
    columns.get(column).push(point);
  }
  const placed = [];
  for (const [column, inside] of columns) {
    const gap = Math.min(6, (height - 8) / Math.max(1, inside.length - 1));
    inside.forEach((point, i) => placed.push({point, x: column * step, y: height / 2 + (i % 2 ? 1 : -1) * Math.ceil(i / 2) * gap}));
  }
  return placed;
}

function dot(placed, one, unit) {
  const {point} = placed;
  const is_chosen = state.nodes.size > 0 && state.nodes.has(point.node);
  const shape = point.is_bad ? s('path', {d: `M${placed.x} ${placed.y - 5}l5 9h-10z`, class: 'dot bad'})
    : s('circle', {cx: placed.x, cy: placed.y, r: 3, class: 'dot'});
  if (is_chosen) shape.classList.add('chosen');
  else if (state.nodes.size) shape.classList.add('dim');
  shape.tip = [`${value_text(point.value, unit)}${point.is_bad ? ' (outside)' : ''}`, rank_text(one, point.rank, point.peer, point.node)];
  return shape;
}

/// Many dots that nothing sets apart are one element; those outside and those of chosen nodes stay their own.
function dots_of(all, one, unit) {
  if (all.length <= most_single_dots) return all.map((placed) => dot(placed, one, unit));
  const is_own = ({point}) => point.is_bad || (state.nodes.size > 0 && state.nodes.has(point.node));
  const path = all.filter((placed) => !is_own(placed)).map((placed) => `M${placed.x} ${placed.y.toFixed(1)}h0`).join('');
  return [s('path', {d: path, class: state.nodes.size ? 'dots dim' : 'dots'}), ...all.filter(is_own).slice(0, most_single_dots).map((placed) => dot(placed, one, unit))];
}

/// One reading that broke a bound: from its least to its most sample, thick what half of them are within.
function lane(item, one, x, y, width) {
  const [n, low, median, , high, mad] = item.sum;
  const clamp = (value) => Math.max(x.low, Math.min(x.high, value));
  const name = rank_text(one, item.rank, item.peer, item.node) || 'job';
  const is_right = x(median) < width * 0.55;
  const group = s('g', {class: 'lane'},
    s('line', {x1: x(low), x2: x(high), y1: y, y2: y, class: 'whisker'}),
    s('line', {x1: x(clamp(median - mad)), x2: x(clamp(median + mad)), y1: y, y2: y, class: 'half'}),
    s('path', {d: `M${x(median)} ${y - 6}l6 10h-12z`, class: 'dot bad'}),
    s('text', {x: is_right ? x(high) + 10 : x(low) - 10, y: y + 4, class: 'name', 'text-anchor': is_right ? 'start' : 'end'},
      `${name.length > 44 ? `${name.slice(0, 42)}...` : name}  ${value_text(median, item.unit)}`));
  group.tip = [name.slice(0, 300), `median ${value_text(median, item.unit)} of ${counted(n, 'sample')}, ${number_text(low)} to ${number_text(high)}`];
  return group;
}

function bound_marks(ends, x, top, bottom) {
  return ends.map((end, i) => {
    const at = x(end.value);
    const start = end.is_least ? x.from : at;
    const label_end = at > (x.from + x.to) / 2;
    return [s('rect', {x: start, y: top, width: Math.max(0, end.is_least ? at - x.from : x.to - at), height: bottom - top, class: 'outside'}),
      s('line', {x1: at, x2: at, y1: top - 4, y2: bottom, class: 'bound'}),
      s('text', {x: label_end ? at - 4 : at + 4, y: top - 7 - 13 * i, class: 'boundtext', 'text-anchor': label_end ? 'end' : 'start'},
        `${end.kind}: ${end.is_least ? 'at least' : 'at most'} ${number_text(end.value)}`)];
  });
}

/// Moves of the mouse over whatever has a `tip`.
function with_tips(element) {
  element.addEventListener('mousemove', (event) => {
    const {tip} = event.target.closest('g.lane') || event.target;
    if (tip) show_tip(tip, event.clientX, event.clientY);
    else hide_tip();
  });
  element.addEventListener('mouseleave', hide_tip);
  return element;
}

function strip_text(row, points, items, ends) {
  const sum = row.sum ? `median ${value_text(row.sum[2], row.unit)}, ${number_text(row.sum[1])} to ${number_text(row.sum[4])}` : 'no value';
  return `${row.metric} ${labels_text(row.where)}: ${counted(points.length || (row.sum ? row.sum[0] : 0), 'reading')}, ${sum}; ` +
    `${items.length} outside of ${ends.map((end) => `${end.is_least ? 'at least' : 'at most'} ${number_text(end.value)}`).join(' and ') || 'the bounds'}`;
}

function draw_strip(one, row, items, width) {
  const points = points_of(one, row).filter((point) => point.value !== null).slice(0, most_dots);
  const shown = items.filter((item) => item.sum).slice(0, most_lanes);
  const ends = ends_of([...(row.bounds || []), ...shown.flatMap((item) => item.bounds || [])]);
  const [low, high] = range_of([...points.map((point) => point.value), ...ends.map((end) => end.value), ...(row.sum ? [row.sum[1], row.sum[4]] : []),
    ...shown.flatMap((item) => [item.sum[1], item.sum[4]])]);
  if (!Number.isFinite(low)) return [];
  const is_log = low > 0 && high / low > 30;
  const pad = is_log ? 1.12 : (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
  const x = make_scale(is_log ? low / pad : low - pad, is_log ? high * pad : high + pad, 12, width - 12, is_log);
  const top = 20 + 13 * Math.max(0, ends.length - 1);
  const swarm = points.length > 200 ? 70 : points.length > 1 ? 44 : 0;
  const bottom = top + swarm + shown.length * lane_height + 6;
  const good = points.filter((point) => !point.is_bad);
  const dots = dots_of(stacked(swarm ? [...good, ...points.filter((point) => point.is_bad)] : [], x, swarm).map((placed) => ({...placed, y: placed.y + top})), one, row.unit);
  const marks = [bound_marks(ends, x, top, bottom), dots, shown.map((item, i) => lane(item, one, x, top + swarm + (i + 0.5) * lane_height, width)),
    axis_below(x, bottom, row.unit, Math.max(3, width / 110))];
  if (!swarm && !shown.length && row.sum) marks.push(s('circle', {cx: x(row.sum[2]), cy: bottom - 3, r: 4, class: 'dot'}));
  return with_tips(s('svg', {width, height: bottom + 34, role: 'img', 'aria-label': strip_text(row, points, items, ends)}, marks));
}

/// The rows of a case that a bound was held against, those with readings outside first.
function strips(one) {
  const items_of = (row) => (one.items || []).filter((item) => item.metric === row.metric && same_labels(item, row))
    .sort((a, b) => (a.sum ? a.sum[2] : 0) - (b.sum ? b.sum[2] : 0));
  const rows = (one.metrics || []).filter((row) => row.judged && row.sum).map((row) => ({row, items: items_of(row)}));
  rows.sort((a, b) => b.items.length - a.items.length);
  return rows.map(({row, items}) => {
    if (is_less_better(row)) items.reverse();
    const points = points_of(one, row);
    const what = row.medians ? 'a dot is one rank' : points.length ? 'a dot is one node' : '';
    return h('figure', {class: 'strip'}, h('figcaption', {}, h('strong', {}, row.metric), ' ', h('span', {class: 't'}, labels_text(row.where)),
      h('span', {class: 'faint'}, `  ${row.passed} of ${row.judged} inside`, what ? `; ${what}` : '')),
      picture(90 + Math.min(items.length, most_lanes) * lane_height, (width) => draw_strip(one, row, items, width)),
      items.length > most_lanes ? h('p', {class: 'faint'}, `and ${counted(items.length - most_lanes + (one.items_left_out || 0), 'more reading')} outside`) : null);
  });
}
