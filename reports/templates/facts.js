// Provenance: what each node is and runs, one line for each fact, with outliers marked. And the run's own records.

/// Values of a fact with the nodes that have them, the most common first.
function values_of(column) {
  const groups = new Map();
  column.values.forEach((value, node) => {
    if (!groups.has(value)) groups.set(value, []);
    groups.get(value).push(node);
  });
  return [...groups].map(([value, on]) => ({text: value < 0 ? undefined : texts[value], on})).sort((a, b) => b.on.length - a.on.length);
}

/// `same`; `odd`: nearly all have one value; `mixed`; `own`: each node has its own, as with addresses.
function kind_of(groups) {
  if (groups.length === 1) return 'same';
  const total = groups.reduce((sum, group) => sum + group.on.length, 0);
  if (groups[0].on.length > total / 2) return 'odd';
  return groups.length === total && total > 2 ? 'own' : 'mixed';
}

function value_line(group, is_odd, total) {
  const names = group.on.map((node) => nodes[node]);
  return h('div', {class: is_odd ? 'value odd-one' : 'value'}, is_odd ? h('span', {class: 'mark'}, '\u25c6 outlier') : null,
    h('span', {class: 't'}, group.text === undefined ? '(unknown)' : group.text),
    h('span', {class: 'faint t'}, names.length === total ? '' : ` ${names.length > 1 ? `${names.length} nodes: ` : ''}${folded(names).slice(0, 2000)}`));
}

function fact_row({key, groups, kind, column}) {
  const total = column.values.length;
  const chosen = [...state.nodes].filter((node) => node < total).slice(0, 6);
  const words = {same: total > 1 ? `all ${total} alike` : '', odd: 'differs', mixed: 'differs', own: 'each its own'}[kind];
  const values = chosen.length ? chosen.map((node) => {
    const group = groups.find((one) => one.on.includes(node));
    return value_line({text: group.text, on: [node]}, kind === 'odd' && group !== groups[0], 0);
  }) : kind === 'own' ? [h('div', {class: 'value faint'}, `${groups.length} values, such as `, h('span', {class: 't'}, groups[0].text))]
    : first_few(groups, 6, (group) => value_line(group, kind === 'odd' && group !== groups[0], total), 'values');
  return h('tr', {}, h('th', {scope: 'row', class: 't'}, key), h('td', {}, h('span', {class: `kind-${kind}`}, words)), h('td', {}, values));
}

function build_facts() {
  const order = {odd: 0, mixed: 1, own: 2, same: 3};
  const found = (page.facts || []).filter((column) => column.values).map((column) => {
    const groups = values_of(column);
    return {key: column.key, column, groups, kind: kind_of(groups)};
  });
  if (!found.length) return;
  at_id('facts').hidden = false;
  let sort = 'kind';
  const search = h('input', {type: 'search', placeholder: 'Search facts', 'aria-label': 'Search provenance', oninput: () => draw()});
  const head = (name, title) => h('th', {scope: 'col', 'aria-sort': 'none', 'data-sort': name}, h('button', {type: 'button', class: 'sorter', onclick: () => { sort = name; draw(); }}, title));
  const body = h('tbody', {});
  const heads = [head('key', 'Fact'), head('kind', 'Nodes'), h('th', {scope: 'col'}, 'Value')];
  const draw = () => {
    const words = search.value.toLowerCase();
    const rows = found.filter((one) => !words || one.key.toLowerCase().includes(words) || one.groups.some((group) => (group.text || '').toLowerCase().includes(words)));
    rows.sort((a, b) => (sort === 'kind' ? order[a.kind] - order[b.kind] : 0) || natural.compare(a.key, b.key));
    heads.forEach((one) => one.dataset.sort && one.setAttribute('aria-sort', one.dataset.sort === sort ? 'ascending' : 'none'));
    body.replaceChildren(...first_few(rows, 200, fact_row, 'facts'));
  };
  const odd = found.filter((one) => one.kind === 'odd' || one.kind === 'mixed').length;
  body_of('facts').append(h('p', {class: 'bar'}, search, h('span', {class: 'faint'}, page.facts[0].values.length < 2 ? 'One node.' : odd ? `${counted(odd, 'fact')} differ${odd === 1 ? 's' : ''} between nodes.` : 'All nodes agree.')),
    h('div', {class: 'wide'}, h('table', {class: 'provenance'}, h('thead', {}, h('tr', {}, heads)), body)));
  let before = null;
  listeners.push(() => {
    const now = [...state.nodes].join();
    if (now !== before) draw();
    before = now;
  });
}

function build_run() {
  const launches = page.launches || [];
  const rows = launches.map((launch) => h('tr', {}, h('td', {class: 't'}, launch.launcher), h('td', {}, launch.shape), h('td', {class: 't'}, launch.nodes), h('td', {class: 'number'}, launch.took), h('td', {class: 'number'}, launch.cases),
    h('td', {class: 't'}, launch.outcome)));
  at_id('run').hidden = false;
  const dl = h('dl', {class: 'about'}, fact('Profile', page.run.place), fact('Folder', page.run.folder));
  body_of('run').append(dl);
  if (rows.length) body_of('run').append(h('div', {class: 'wide'}, h('table', {}, h('thead', {}, h('tr', {}, ['Launcher', 'Shape', 'Nodes', 'Took', 'Cases', 'How it ended'].map((name) => h('th', {scope: 'col'}, name)))), h('tbody', {}, rows))),
    folding('Commands of the launches', () => launches.filter((launch) => launch.command).map((launch) => command_line(launch.command, 'The command of a launch')), false));
  const left_out = page.left_out || [];
  body_of('run').append(h('h3', {}, 'Left out of this page'), left_out.length ? h('ul', {class: 'left-out'}, left_out.map((text) => h('li', {class: 't'}, text)))
    : h('p', {class: 'faint'}, 'Nothing of note.'), h('p', {class: 'faint'}, 'report.json in the run folder has everything.'));
}
