// What the reader asked for. It stands in the address behind the #, so that a view can be passed on.
const state = {nodes: new Set(), verdicts: new Set(), words: '', sort: 'urgency', theme: '', prints: false};
const listeners = [];
const sorts = {urgency: 'worst first', name: 'name', time: 'longest first'};

function read_address() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const index = new Map(nodes.map((name, at) => [name, at]));
  state.nodes = new Set(asked.getAll('node').map((name) => index.get(name)).filter((at) => at !== undefined));
  state.verdicts = new Set(asked.getAll('verdict').map((word) => verdict_words.indexOf(word)).filter((at) => at >= 0));
  state.words = asked.get('q') || '';
  state.sort = sorts[asked.get('sort')] ? asked.get('sort') : 'urgency';
  const theme = asked.get('theme');
  state.theme = theme === 'dark' || theme === 'light' ? theme : '';
}

function address() {
  const asked = new URLSearchParams();
  for (const node of state.nodes) asked.append('node', nodes[node]);
  for (const verdict of state.verdicts) asked.append('verdict', verdict_words[verdict]);
  if (state.words) asked.set('q', state.words);
  if (state.sort !== 'urgency') asked.set('sort', state.sort);
  if (state.theme) asked.set('theme', state.theme);
  return String(asked);
}

/// Takes over `changes`, writes the address, and notifies listeners.
function change(changes) {
  Object.assign(state, changes);
  const wanted = address();
  history.replaceState(null, '', wanted ? `#${wanted}` : location.pathname + location.search);
  tell_all();
}

function show_theme() {
  const theme = state.prints ? 'light' : state.theme;
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function tell_all() {
  show_theme();
  for (const listener of listeners) listener();
  pictures_changed();
}

/// One node alone; again: all of them. With `adds` beside those that are chosen.
function choose_node(node, adds) {
  const chosen = new Set(adds ? state.nodes : []);
  if (state.nodes.has(node) && (adds || state.nodes.size === 1)) chosen.delete(node);
  else chosen.add(node);
  change({nodes: chosen});
  say(chosen.size ? `Showing ${[...chosen].map((one) => nodes[one]).join(', ')}` : 'Showing all nodes');
}

function choose_verdict(verdict) {
  const chosen = new Set(state.verdicts);
  if (!chosen.delete(verdict)) chosen.add(verdict);
  change({verdicts: chosen});
}

const verdict_here = (one) => verdict_on_all(one, state.nodes);

function shown_cases() {
  const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
  const names_of = (one) => words.every((word) => one.search.includes(word) ||
    [...one.row_of.keys(), ...one.blamed].some((node) => nodes[node].toLowerCase().includes(word)));
  const found = cases.filter((one) => (!state.verdicts.size || state.verdicts.has(verdict_here(one))) &&
    (!state.nodes.size || is_about(one, state.nodes)) && (!words.length || names_of(one)));
  // As the data has them, but by what they are here.
  if (state.sort === 'urgency' && state.nodes.size) found.sort((a, b) => by_urgency.indexOf(verdict_here(a)) - by_urgency.indexOf(verdict_here(b)));
  if (state.sort === 'name') found.sort((a, b) => natural.compare(a.id, b.id));
  if (state.sort === 'time') found.sort((a, b) => b.seconds - a.seconds);
  return found;
}

const is_dark = () => !state.prints && (state.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
