// Curves: bandwidth of sums against their size, with the ends of its bounds; the loss of training against its steps.
const line_shapes = ['circle', 'square', 'diamond', 'triangle', 'cross'];

function marker(shape, x, y, series) {
  const paths = {circle: `M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0`, square: `M${x - 4} ${y - 4}h8v8h-8z`, diamond: `M${x} ${y - 5}l5 5l-5 5l-5 -5z`,
                 triangle: `M${x} ${y - 5}l5 9h-10z`, cross: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`};
  return s('path', {d: paths[shape], class: `mark s${series}`});
}

/// A chart of `series`: {name, points: [{x, y, low, high, text}], is_dashed}; `ends`: {x, value, text} of bounds.
function chart(one) {
  return picture(300, (width) => {
    const height = width < 500 ? 240 : 300;
    const box = {left: 58, right: width - 14, top: 16, bottom: height - 36};
    const points = one.series.flatMap((series) => series.points);
    const [x_low, x_high] = range_of(points.map((point) => point.x));
    let [low, high] = range_of([...points.flatMap((point) => [point.y, point.low ?? point.y, point.high ?? point.y]), ...one.ends.map((end) => end.value)]);
    if (!Number.isFinite(low)) return [];
    const is_log = !one.is_linear && low > 0 && high / low > 50;
    if (!is_log && low >= 0 && low < high * 0.6) low = 0;
    const pad = is_log ? 1.3 : (high - low) * 0.08 || 1;
    const y = make_scale(is_log ? low / pad : low >= 0 ? Math.max(0, low - pad) : low - pad, is_log ? high * pad : high + pad, box.bottom, box.top, is_log);
    const x = make_scale(x_low, x_high, box.left + 10, box.right - 10, one.is_log_x && x_low > 0 && x_high > x_low);
    const path = (all) => all.map((point, i) => `${i ? 'L' : 'M'}${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)}`).join('');
    const marks_x = one.x_ticks ? one.x_ticks.filter((tick, i, all) => i === all.length - 1 || i % Math.ceil(all.length / (width / 70)) === 0)
      : ticks(x, width / 120).map((value) => ({x: value, text: number_text(value)}));
    const svg = s('svg', {width, height, role: 'img', 'aria-label': one.label},
      axis_left(y, box.left, box.right, 5), s('text', {x: box.left, y: 11, class: 'tick unit'}, one.unit === '1' ? '' : one.unit),
      s('line', {x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom, class: 'axis'}),
      marks_x.map((tick) => s('text', {x: x(tick.x), y: box.bottom + 16, class: 'tick', 'text-anchor': 'middle'}, tick.text)),
      s('text', {x: box.right, y: box.bottom + 31, class: 'tick unit', 'text-anchor': 'end'}, one.x_name),
      ends_apart(one.ends, y).map((end) => {
        const from = end.x === undefined ? box.left : Math.max(box.left, x(end.x) - 18);
        const to = end.x === undefined ? box.right : Math.min(box.right, x(end.x) + 18);
        return [s('line', {x1: from, x2: to, y1: y(end.value), y2: y(end.value), class: 'bound'}), s('text', {x: end.x === undefined ? to : from - 6, y: end.x === undefined ? end.text_y : end.text_y + 9, class: 'boundtext', 'text-anchor': 'end'}, end.text)];
      }),
      one.series.map((series, i) => [
        series.points.filter((point) => point.high > point.low).map((point) => s('line', {x1: x(point.x), x2: x(point.x), y1: y(Math.max(y.low, point.low)), y2: y(point.high), class: `spread s${i % 8}`})),
        s('path', {d: path(series.points), class: `curve s${i % 8}${series.is_dashed ? ' dashed' : ''}`}),
        series.points.length <= 40 ? series.points.map((point) => Object.assign(marker(line_shapes[i % 5], x(point.x), y(point.y), i % 8), {tip: [`${series.name}: ${value_text(point.y, one.unit)}`, point.text]})) : null]));
    svg.addEventListener('mousemove', (event) => nearest(event, svg, one, x, y));
    svg.addEventListener('mouseleave', hide_tip);
    return svg;
  });
}

/// Their texts one above the other, none on top of another.
function ends_apart(ends, y) {
  let above = Infinity;
  return ends.slice().sort((a, b) => a.value - b.value).map((end) => {
    above = Math.min(y(end.value) - 5, above - 13);
    return {...end, text_y: Math.max(10, above)};
  });
}

function nearest(event, svg, one, x, y) {
  const box = svg.getBoundingClientRect();
  let best = null;
  for (const series of one.series)
    for (const point of series.points) {
      const away = (x(point.x) - event.clientX + box.left) ** 2 + (y(point.y) - event.clientY + box.top) ** 2;
      if (!best || away < best.away) best = {away, series, point};
    }
  if (best && best.away < 2500) show_tip([`${best.series.name}: ${value_text(best.point.y, one.unit)}`, best.point.text], event.clientX, event.clientY);
  else hide_tip();
}

function legend_of(series) {
  return h('p', {class: 'legend series'}, series.map((one, i) => h('span', {}, s('svg', {width: 28, height: 14, 'aria-hidden': 'true'},
    s('path', {d: 'M1 7H27', class: `curve s${i % 8}${one.is_dashed ? ' dashed' : ''}`}), marker(line_shapes[i % 5], 14, 7, i % 8)), h('span', {class: 't'}, one.name))));
}

/// The same numbers for those who read them rather than look.
function numbers_table(one) {
  return folding('As a table', () => h('div', {class: 'wide'}, h('table', {}, h('thead', {}, h('tr', {}, [one.x_name, ...one.series.map((series) => series.name)].map((name) => h('th', {scope: 'col', class: 't'}, name)))),
    h('tbody', {}, [...new Set(one.series.flatMap((series) => series.points.map((point) => point.x)))].sort((a, b) => a - b).map((x) => h('tr', {},
      h('th', {scope: 'row'}, (one.series.flatMap((series) => series.points).find((point) => point.x === x) || {}).text),
      one.series.map((series) => h('td', {class: 'number'}, value_text((series.points.find((point) => point.x === x) || {}).y, one.unit)))))))), false);
}

function figure_of(one) {
  return h('figure', {class: 'chart'}, h('figcaption', {}, one.head, one.more ? h('span', {class: 'faint t'}, ` ${one.more}`) : null), legend_of(one.series), chart(one), numbers_table(one));
}

/// Every metric with a label `size` in several sizes: one series for each set of the other labels, over all cases of a check.
function size_charts() {
  const charts = new Map();
  for (const one of cases) {
    if (state.nodes.size && !is_about(one, state.nodes)) continue;
    for (const row of one.metrics || []) {
      const size = bytes_of(label_of(row, 'size'));
      if (row.metric !== 'busbw' || !size || !row.sum) continue;
      const key = `${one.check} ${row.metric}`;
      if (!charts.has(key)) charts.set(key, {check: one.check, row, doubt: timing_doubt(one), series: new Map(), ends: new Map()});
      const found = charts.get(key);
      const name = (row.where || []).filter(([label]) => label !== 'size').map(([label, value]) => (label === 'type' ? value : `${label}=${value}`)).join(', ') || row.metric;
      const add = (which, is_dashed, point) => {
        if (!found.series.has(which)) found.series.set(which, {name: which, points: [], is_dashed});
        found.series.get(which).points.push(point);
      };
      const text = label_of(row, 'size');
      add(name, false, {x: size, y: row.sum[2], low: row.sum[1], high: row.sum[4], text});
      for (const node of state.nodes) {
        const value = row.by && row.by[one.row_of.get(node)];
        if (value !== undefined && value !== null && state.nodes.size <= 3) add(`${name} on ${nodes[node]}`, true, {x: size, y: value, text});
      }
      for (const end of ends_of(row.bounds)) found.ends.set(`${size} ${end.value}`, {x: size, value: end.value, text: `${end.kind} ${number_text(end.value)}`});
    }
  }
  // One size makes no curve; its figure stands with its case.
  const has_sizes = (found) => new Set([...found.series.values()].flatMap((one) => one.points.map((point) => point.x))).size > 1;
  return [...charts.values()].filter(has_sizes).map((found) => {
    const series = [...found.series.values()];
    for (const one of series) one.points.sort((a, b) => a.x - b.x);
    const x_ticks = [...new Map(series.flatMap((one) => one.points).map((point) => [point.x, point])).values()].sort((a, b) => a.x - b.x);
    return {head: [h('strong', {class: 't'}, found.check), `: ${found.row.metric} against size`], more: found.doubt || 'median over the ranks, with its range', unit: found.row.unit,
            series, ends: [...found.ends.values()], is_log_x: true, is_linear: true, x_name: 'size', x_ticks, label: `${found.check}: ${found.row.metric} in ${found.row.unit} against size, ${series.length} curves`};
  });
}

function loss_charts() {
  return cases.map((one) => {
    const rows = (one.metrics || []).filter((row) => row.metric === 'loss' && label_of(row, 'step') !== undefined && row.sum);
    if (rows.length < 2 || (state.nodes.size && !is_about(one, state.nodes))) return null;
    const points = rows.map((row) => ({x: Number(label_of(row, 'step')), y: row.sum[2], text: `step ${label_of(row, 'step')}`})).sort((a, b) => a.x - b.x);
    const most = Number(((one.params || []).find(([name]) => name === 'max_loss') || [])[1]);
    return {head: [h('strong', {class: 't'}, one.id), ': loss'], more: ((one.evidence || [])[0] || '').replace(/^loss /, ''), unit: '1', series: [{name: 'loss', points}], x_name: 'step',
            ends: most > 0 ? [{value: most, text: `the last epoch must be below ${number_text(most)}`}] : [], label: `Loss of ${one.id} over ${points.length} steps, from ${number_text(points[0].y)} to ${number_text(points[points.length - 1].y)}`};
  }).filter(Boolean);
}

function build_curves() {
  let before = null;
  listeners.push(() => {
    const now = [...state.nodes].join();
    if (now === before) return;
    before = now;
    const charts = [...size_charts(), ...loss_charts()];
    at_id('curves').hidden = !charts.length;
    body_of('curves').replaceChildren(...first_few(charts, 12, figure_of, 'curves'));
  });
}
