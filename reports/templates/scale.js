// From values to pixels, and the marks beside an axis.

/// Logarithmic where values differ by more than a factor of `most_ratio` and all are positive.
function make_scale(low, high, from, to, is_log) {
  if (low === high) {
    const pad = Math.abs(low) * 0.05 || 1;
    low -= pad;
    high += pad;
  }
  const f = is_log ? Math.log : (x) => x;
  const a = f(low);
  const b = f(high);
  const scale = (value) => from + (f(value) - a) / (b - a) * (to - from);
  return Object.assign(scale, {low, high, from, to, is_log});
}

/// Round numbers within a scale, about `count` of them.
function ticks(scale, count) {
  const found = [];
  if (scale.is_log) {
    const decades = Math.log10(scale.high / scale.low);
    const steps = decades > count ? [1] : decades > 1.5 ? [1, 3] : [1, 2, 5];
    const every = Math.max(1, Math.ceil(decades / count));
    for (let power = Math.floor(Math.log10(scale.low)); power <= Math.ceil(Math.log10(scale.high)); power += every)
      for (const step of steps) {
        const value = step * 10 ** power;
        if (value >= scale.low && value <= scale.high) found.push(value);
      }
    if (found.length > 1) return found;
  }
  const rough = (scale.high - scale.low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
  found.length = 0;
  for (let i = Math.ceil(scale.low / step); i * step <= scale.high + step * 1e-9; i += 1) found.push(i * step);
  return found;
}

function axis_below(scale, y, unit, count) {
  return [s('line', {x1: scale.from, x2: scale.to, y1: y, y2: y, class: 'axis'}),
    ticks(scale, count).map((value) => [s('line', {x1: scale(value), x2: scale(value), y1: y, y2: y + 4, class: 'axis'}),
      s('text', {x: scale(value), y: y + 16, class: 'tick', 'text-anchor': 'middle'}, number_text(value))]),
    s('text', {x: scale.to, y: y + 30, class: 'tick unit', 'text-anchor': 'end'}, unit && unit !== '1' ? unit : '')];
}

function axis_left(scale, x, right, count) {
  return ticks(scale, count).map((value) => [s('line', {x1: x, x2: right, y1: scale(value), y2: scale(value), class: 'gridline'}),
    s('text', {x: x - 6, y: scale(value) + 4, class: 'tick', 'text-anchor': 'end'}, number_text(value))]);
}
