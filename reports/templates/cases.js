// Cases: a card for each that needs a look, a line that opens for the others.
function culprit_chip(culprit) {
  const known = culprit.node >= 0;
  const inner = h('span', {class: 't'}, culprit.text);
  if (!known) return h('span', {class: 'culprit'}, inner);
  return h('button', {type: 'button', class: 'culprit', title: 'Show only what concerns this node',
                      onclick: () => choose_node(culprit.node, false)}, inner);
}

function more_findings(one) {
  const others = (one.findings || []).filter((finding) => finding.reason !== one.reason);
  if (!others.length) return null;
  return h('div', {class: 'also'}, h('h4', {}, 'Also found'), h('ul', {}, first_few(others, 4, (finding) => h('li', {},
    badge(finding.verdict, true), ' ', h('span', {class: 't'}, finding.reason),
    finding.remedy ? h('p', {class: 'remedy small t'}, finding.remedy) : null), 'findings')));
}

/// Over all ranks, and beside it what the chosen nodes have.
function metrics_table(one) {
  const rows = (one.metrics || []).filter((row) => label_of(row, 'step') === undefined);
  if (!rows.length) return null;
  const chosen = [...state.nodes].filter((node) => one.row_of.has(node)).slice(0, 4);
  const line = (row) => h('tr', {}, h('th', {scope: 'row'}, row.metric, h('span', {class: 'faint t'}, ` ${labels_text(row.where)}`)),
    h('td', {class: 'number'}, row.sum ? value_text(row.sum[2], row.unit) : 'no value'),
    h('td', {class: 'number'}, row.sum && row.sum[0] > 1 ? `${number_text(row.sum[1])} to ${number_text(row.sum[4])}` : ''),
    h('td', {class: 'number'}, row.sum ? row.sum[0] : 0),
    h('td', {}, row.judged ? [row.passed === row.judged ? '' : badge(1, true), ` ${row.passed}/${row.judged} inside `, h('span', {class: 't faint'}, row.bound || '')]
      : h('span', {class: 'faint'}, 'not judged')),
    chosen.map((node) => h('td', {class: 'number own'}, row.by ? value_text(row.by[one.row_of.get(node)], row.unit) : '')));
  const body = h('tbody', {}, first_few(rows, 400, line, 'metrics'));
  return h('div', {class: 'wide'}, h('table', {class: 'metrics'}, h('thead', {}, h('tr', {}, ['Metric', 'Median', 'Range', 'Readings', 'Bound'].map((name, i) =>
    h('th', {scope: 'col', class: i > 0 && i < 4 ? 'number' : ''}, name)), chosen.map((node) => h('th', {scope: 'col', class: 't number'}, nodes[node])))), body));
}

function folding(title, make, is_open) {
  const details = h('details', {class: 'part', open: is_open}, h('summary', {}, title));
  const draw = () => { if (details.open && details.childElementCount === 1) details.append(...[make()].flat().filter(Boolean)); };
  details.addEventListener('toggle', draw);
  draw();
  return details;
}

function outputs(one) {
  const named = (output) => (output.rank >= 0 ? `rank ${output.rank}` : 'the job') + (output.node >= 0 ? ` on ${nodes[output.node]}` : '');
  return (one.outputs || []).map((output) => h('figure', {class: 'output'}, h('figcaption', {class: 't'}, `The last lines of ${named(output)}`),
    h('pre', {tabindex: '0'}, output.text)));
}

function repetitions(one) {
  if (!one.repeated) return null;
  const boxes = [...one.repetitions].map((digit, i) => h('span', {class: `rep v-${verdict_words[digit]}`, title: `${i + 1}: ${verdict_words[digit]}`,
    'aria-hidden': 'true'}, verdict_signs[digit]));
  return h('div', {class: 'reps'}, h('h4', {}, `Repeated: ${one.repeated}`), h('div', {class: 'boxes'}, boxes));
}

function about(one) {
  const line = (name, value) => (value ? [h('dt', {}, name), h('dd', {class: 't'}, value)] : []);
  return h('dl', {class: 'about'}, line('Shape', one.shape), line('Where', one.where), line('Environment', one.environment), line('Check', one.place),
    line('Probe', one.probe), line('Tags', (one.tags || []).join(', ')), line('Parameters', (one.params || []).map(([key, value]) => `${key}=${value}`).join('  ')));
}

/// The address behind the # is the filter's, so these are no links.
function jump(text, id) {
  return h('div', {}, h('button', {type: 'button', class: 'jump', onclick: () => at_id(id).scrollIntoView({behavior: 'smooth'})}, text));
}

/// All there is about a case, without its head.
function case_body(one, is_bad) {
  if (one.is_brief) return [h('p', {class: 't'}, one.brief), h('p', {class: 'faint'}, 'Shortened; report.json has the full text.')];
  const by_itself = one.follows ? h('p', {class: 'follows'}, 'Follows from ', h('a', {href: '#', onclick: (event) => { event.preventDefault(); go_to(one.follows); }}, one.follows), '.') : null;
  const judged = (one.metrics || []).filter((row) => row.judged && row.sum);
  return [by_itself, one.hosts ? h('p', {class: 'hosts t'}, `${counted(one.count, 'node')}: ${one.hosts}`) : null,
    is_bad && one.remedy ? h('div', {class: 'remedy'}, h('h4', {}, 'Remedy'), h('p', {class: 't'}, one.remedy)) : null,
    more_findings(one), repetitions(one),
    judged.length ? h('div', {class: 'evidence'}, h('h4', {}, 'Evidence'), first_few(strips(one), is_bad ? 3 : 2, (strip) => strip, 'metrics')) : null,
    (one.evidence || []).length ? h('ul', {class: 'sentences'}, one.evidence.map((text) => h('li', {class: 't'}, text))) : null,
    (one.matrices || []).length ? jump('Show the pairs', 'pairs') : null, one.rank_facts && one.rank_facts.mask ? jump('Show the placement of ranks', 'places') : null,
    outputs(one), (one.notes || []).map((note) => h('p', {class: 'note t'}, note)),
    (one.metrics || []).length ? folding(`All metrics (${one.metrics.length})`, () => metrics_table(one), false) : null,
    folding('About this case', () => about(one), false),
    one.rerun ? h('div', {}, h('h4', {}, 'Run again'), command_line(one.rerun, `The command that runs ${one.check} again`)) : null];
}

function title_parts(one) {
  const found = /^([^%\s]+)(%\S+)?(.*)$/s.exec(one.id) || [one.id, one.id, '', ''];
  return [h('span', {class: 'check t'}, found[1]), h('span', {class: 'hash t'}, found[2] || ''), found[3] ? h('span', {class: 'swept t'}, found[3].trim()) : null];
}

/// A sentence about many ranks, a row for each.
function reason_of(text) {
  const rows = text.split('; ');
  if (text.length < 200 || rows.length < 4) return h('p', {class: 'reason t'}, text);
  return h('div', {class: 'reason t'}, rows.map((row) => h('p', {}, row)));
}

function card(one) {
  return h('article', {class: `card v-${verdict_words[one.verdict]}`, id: `case-${one.index}`, 'aria-label': `${verdict_words[one.verdict]}: ${one.id.slice(0, 200)}`},
    h('header', {}, badge(one.verdict), h('h3', {}, title_parts(one)), h('span', {class: 'faint time'}, time_text(one.seconds))),
    h('p', {class: 'summary faint t'}, one.summary || ''), reason_of(one.reason || one.brief || ''),
    (one.culprits || []).length ? h('div', {class: 'culprits', 'aria-label': 'Culprits'}, first_few(one.culprits, 16, culprit_chip, 'culprits')) : null,
    case_body(one, true));
}

function line(one) {
  const details = h('details', {class: `line v-${verdict_words[verdict_here(one)]}`, id: `case-${one.index}`}, h('summary', {}, badge(verdict_here(one), true),
    h('span', {class: 'name'}, title_parts(one)), h('span', {class: 'brief t'}, verdict_here(one) === one.verdict ? null : h('span', {class: 'elsewhere'}, `${verdict_words[one.verdict]} elsewhere: `), one.brief || ''), h('span', {class: 'faint time'}, time_text(one.seconds))));
  details.addEventListener('toggle', () => {
    if (details.open && details.childElementCount === 1)
      details.append(h('div', {class: 'inside'}, one.summary ? h('p', {class: 'summary faint t'}, one.summary) : null, case_body(one, false)));
  });
  return details;
}

function go_to(id) {
  const wanted = cases.find((one) => one.id === id || one.id.startsWith(`${id} `));
  if (wanted && !at_id(`case-${wanted.index}`)) change({nodes: new Set(), words: '', verdicts: new Set()});
  const place = wanted && at_id(`case-${wanted.index}`);
  if (!place) return;
  if (place.tagName === 'DETAILS') place.open = true;
  place.scrollIntoView({behavior: 'smooth', block: 'start'});
}

function build_cases() {
  const most_cards = 30;
  const most_lines = 150;
  let before = null;
  listeners.push(() => {
    const found = shown_cases();
    // Pictures mind the colours themselves.
    const now = found.map((one) => one.index).join() + [...state.nodes].join();
    if (now === before) return;
    const is_first = before === null;
    before = now;
    const bad = found.filter((one) => needs_look(verdict_here(one)));
    const well = found.filter((one) => !needs_look(verdict_here(one)));
    const total = cases.filter((one) => needs_look(one.verdict)).length;
    at_id('cases-title').textContent = total ? `Problems (${bad.length === total ? total : `${bad.length} of ${total}`})` : 'No problems';
    const none = total ? state.nodes.size && !state.words && !state.verdicts.size ? 'No problems in the selection.' : 'No problems match the filter.' : page.run.verdict === 0 ? 'All judged cases passed.' : '';
    body_of('cases').replaceChildren(...(bad.length ? first_few(bad, most_cards, card, 'cases') : none ? [h('p', {class: 'faint'}, none)] : []));
    at_id('well').hidden = !well.length;
    at_id('well-title').textContent = `Other cases (${well.length})`;
    body_of('well').replaceChildren(...first_few(well, most_lines, line, 'cases'));
    if (!is_first) say(`${counted(bad.length, 'case')} with problems, ${well.length} others`);
  });
}
