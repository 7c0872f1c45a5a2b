// Verdicts, numbers and names, in the words of the other reports.
const verdict_words = ['pass', 'fail', 'unmeasured', 'error', 'skip'];
const verdict_signs = ['\u2713', '\u2715', '?', '!', '\u2013'];
const by_urgency = [1, 3, 2, 0, 4];
const needs_look = (verdict) => verdict === 1 || verdict === 2 || verdict === 3;

/// The worst of some; skip where there is nothing else.
function worst(verdicts) {
  for (const verdict of by_urgency) if (verdicts.includes(verdict)) return verdict;
  return 4;
}

/// A sign and a word: the colour adds nothing.
function badge(verdict, is_short) {
  const word = verdict_words[verdict];
  return h('span', {class: `badge v-${word}`, title: word},
           h('span', {class: 'sign', 'aria-hidden': 'true'}, verdict_signs[verdict]),
           h('span', {class: is_short ? 'unseen' : ''}, needs_look(verdict) ? word.toUpperCase() : word));
}

/// Four digits, no exponent between 0.001 and 10 million.
function number_text(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return 'no value';
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

function value_text(value, unit) {
  const text = number_text(value);
  return unit && unit !== '1' && text !== 'no value' ? `${text} ${unit}` : text;
}

const time_text = (seconds) => `${seconds < 10 ? seconds.toFixed(2) : seconds.toFixed(1)} s`;
const labels_text = (where) => (where || []).map(([key, value]) => `${key}=${value}`).join(', ');
const label_of = (row, key) => ((row.where || []).find(([name]) => name === key) || [])[1];
const counted = (count, noun) => `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;

const size_units = {B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, KB: 1e3, MB: 1e6, GB: 1e9};
function bytes_of(text) {
  const found = /^([0-9.]+)\s*([KMG]i?B|B)?$/.exec(text || '');
  return found ? Number(found[1]) * size_units[found[2] || 'B'] : NaN;
}

/// Whether less is better: what is timed, counted against, or lost.
const is_less_better = (row) => /^(ns|us|ms|s)$/.test(row.unit || '') || /loss|error|skew|wait/.test(row.metric);

/// `nid[001-004,007]` from names whose last number differs; others stand beside it.
function folded(names) {
  const groups = new Map();
  for (const name of names) {
    const found = /^(.*?)(\d+)(\D*)$/s.exec(name);
    const key = found ? `${found[1]}\0${found[3]}\0${found[2].length}` : `\0\0${name}`;
    if (!groups.has(key)) groups.set(key, {name, found, numbers: []});
    if (found) groups.get(key).numbers.push(Number(found[2]));
  }
  const parts = [];
  for (const {name, found, numbers} of groups.values()) {
    if (!found || numbers.length < 2) {
      parts.push(name);
      continue;
    }
    const width = found[2].length;
    const padded = (number) => String(number).padStart(width, '0');
    numbers.sort((a, b) => a - b);
    const spans = [];
    for (const number of numbers) {
      const last = spans[spans.length - 1];
      if (last && number <= last[1] + 1) last[1] = number;
      else spans.push([number, number]);
    }
    parts.push(`${found[1]}[${spans.map(([a, b]) => (a === b ? padded(a) : `${padded(a)}-${padded(b)}`)).join(',')}]${found[3]}`);
  }
  return parts.join(', ');
}

const natural = new Intl.Collator('en', {numeric: true});
