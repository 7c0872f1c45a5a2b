// Top of the page: the verdict, who is blamed, what was run; and the bar that finds and filters.
function fact(name, value, ...more) {
  return value ? h('div', {class: 'fact'}, h('dt', {}, name), h('dd', {}, value, ...more)) : null;
}

/// `2 of 8 cases failed, 1 could not be run`
function verdict_sentence() {
  const tally = page.run.tally;
  const total = tally.reduce((a, b) => a + b, 0);
  const asked = total - tally[4];
  const parts = [];
  const name = (count, what) => { if (count) parts.push(`${count}${parts.length ? '' : ` of ${counted(total, 'case')}`} ${what}`); };
  name(tally[1], 'failed');
  name(tally[3], 'could not be run');
  name(tally[2], 'could not be measured');
  if (!total) return 'No case was run';
  if (!asked) return 'All cases were skipped';
  const skipped = tally[4] ? `, ${tally[4]} ${tally[4] === 1 ? 'was' : 'were'} skipped` : '';
  if (!parts.length) return skipped ? `${asked} of ${counted(total, 'case')} passed${skipped}` : `All ${counted(asked, 'case')} passed`;
  return `${parts.join(', ')}${skipped}`;
}

/// Whom a case blames for what follows from nothing else.
function by_themselves(one) {
  const found = (one.findings || []).filter((finding) => !finding.follows && needs_look(finding.verdict)).flatMap((finding) => finding.culprits || []);
  return found.length ? found : one.culprits || [];
}

/// Culprits of all that went wrong by itself, by node, those named most often first.
function blame_list() {
  const blamed = new Map();
  for (const one of cases) {
    if (!needs_look(one.verdict) || one.follows) continue;
    for (const culprit of by_themselves(one)) {
      const key = culprit.node >= 0 ? `node ${culprit.node}` : culprit.text;
      if (!blamed.has(key)) blamed.set(key, {node: culprit.node, verdicts: [], parts: new Set(), cases: new Set()});
      const entry = blamed.get(key);
      entry.verdicts.push(one.verdict);
      entry.cases.add(one);
      const on = culprit.node >= 0 ? ` on ${nodes[culprit.node]}` : '';
      const part = culprit.text.endsWith(on) ? culprit.text.slice(0, culprit.text.length - on.length) : culprit.text;
      if (culprit.node === undefined || part !== nodes[culprit.node]) entry.parts.add(part);
    }
  }
  return [...blamed.values()].sort((a, b) => by_urgency.indexOf(worst(a.verdicts)) - by_urgency.indexOf(worst(b.verdicts)) ||
    b.cases.size - a.cases.size);
}

function blame_entry(entry) {
  const parts = [...entry.parts];
  const named = parts.slice(0, 3).join(', ') + (parts.length > 3 ? ` and ${parts.length - 3} more` : '');
  const found = [...entry.cases].map((one) => one.check);
  const checks = [...new Set(found)].slice(0, 4).join(', ') + (new Set(found).size > 4 ? ', ...' : '');
  const inner = [badge(worst(entry.verdicts), true),
    entry.node >= 0 ? h('strong', {class: 't'}, nodes[entry.node]) : null,
    named ? h('span', {class: 't'}, named) : null, h('span', {class: 'faint t'}, checks)];
  if (!(entry.node >= 0)) return h('li', {}, h('span', {class: 'blame'}, inner));
  const button = h('button', {type: 'button', class: 'blame', title: `Show only what concerns ${nodes[entry.node].slice(0, 200)}`,
                              onclick: () => choose_node(entry.node, false)}, inner);
  listeners.push(() => button.setAttribute('aria-pressed', state.nodes.has(entry.node)));
  return h('li', {}, button);
}

/// Missing measurements have no culprit.
function is_at_fault(entry) {
  return ['fail', 'error'].includes(verdict_words[worst(entry.verdicts)]);
}

function blames(title, entries) {
  return entries.length ? h('div', {class: 'blames'}, h('h2', {}, title), h('ul', {}, first_few(entries, 8, blame_entry, 'culprits'))) : null;
}

function build_head() {
  const run = page.run;
  const word = verdict_words[run.verdict];
  const blamed = blame_list();
  const started = (run.started || '').replace('T', ' ').replace(/\.\d+Z$/, ' UTC').replace(/Z$/, ' UTC');
  at_id('head').append(...[
    run.simulated ? h('p', {class: 'simulated'}, h('strong', {}, 'SIMULATED machine '), h('span', {class: 't'}, run.simulated),
                      ': nothing real was tested') : null,
    h('div', {class: `verdict v-${word}`},
      h('span', {class: 'seal', 'aria-hidden': 'true'}, verdict_signs[run.verdict]),
      h('div', {}, h('h1', {}, h('span', {}, needs_look(run.verdict) ? word.toUpperCase() : word), ' ',
                     h('span', {class: 'system t'}, run.system || '')),
        h('p', {class: 'sentence'}, verdict_sentence() + (run.interrupted ? `; interrupted by ${run.interrupted}` : ''))),
      h('span', {class: 'brand'}, 'muster ', run.version || '')),
    blames('Culprits', blamed.filter(is_at_fault)), blames('Not measured', blamed.filter((entry) => !is_at_fault(entry))),
    ...(run.notes || []).map((note) => h('p', {class: 'note t'}, note)),
    h('dl', {class: 'facts'}, fact('Started', started), fact('Took', run.took), fact('Shape', run.shape),
      fact('From', [run.user, run.host].filter(Boolean).join('@')), fact('Run', run.id), fact('Exit status', String(run.exit))),
    run.command ? command_line(run.command, 'The command of this run') : null,
  ].filter(Boolean));
}

function verdict_chip(verdict, count) {
  const chip = h('button', {type: 'button', class: `chip v-${verdict_words[verdict]}`, onclick: () => choose_verdict(verdict)},
                 h('span', {class: 'sign', 'aria-hidden': 'true'}, verdict_signs[verdict]), `${count} ${verdict_words[verdict]}`);
  listeners.push(() => chip.setAttribute('aria-pressed', state.verdicts.has(verdict)));
  return chip;
}

/// Which nodes are chosen, and the way back.
function node_chips() {
  const place = h('span', {class: 'chosen'});
  listeners.push(() => {
    const chosen = [...state.nodes];
    place.replaceChildren(...(chosen.length ? [h('button', {type: 'button', class: 'chip node', 'aria-label': 'Show all nodes again',
      onclick: () => { change({nodes: new Set()}); say('Showing all nodes'); }},
      h('span', {class: 't'}, folded(chosen.map((node) => nodes[node]))), h('span', {'aria-hidden': 'true'}, ' \u2715'))] : []));
  });
  return place;
}

function theme_button() {
  const button = h('button', {type: 'button', class: 'tool', onclick: () => change({theme: is_dark() ? 'light' : 'dark'})});
  listeners.push(() => { button.textContent = is_dark() ? 'Light' : 'Dark'; button.setAttribute('aria-label', `Use ${is_dark() ? 'light' : 'dark'} colours`); });
  return button;
}

function build_tools() {
  const search = h('input', {type: 'search', id: 'search', placeholder: 'Search  ( / )', 'aria-label': 'Search cases, nodes and reasons', title: 'Cases, nodes, reasons, culprits',
                             autocomplete: 'off', spellcheck: 'false', oninput: () => change({words: search.value})});
  const sort = h('select', {id: 'sort', 'aria-label': 'Order of cases', onchange: () => change({sort: sort.value})},
                 Object.entries(sorts).map(([value, text]) => h('option', {value}, text)));
  listeners.push(() => {
    if (search.value !== state.words) search.value = state.words;
    sort.value = state.sort;
  });
  at_id('tools').append(search, h('span', {class: 'chips', role: 'group', 'aria-label': 'Verdicts shown'},
    by_urgency.filter((verdict) => page.run.tally[verdict]).map((verdict) => verdict_chip(verdict, page.run.tally[verdict]))),
    node_chips(), h('span', {class: 'space'}), sort, theme_button(),
    h('button', {type: 'button', class: 'tool', onclick: () => window.print()}, 'Print'));
  document.addEventListener('keydown', (event) => {
    const is_writing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
    if (event.key === '/' && !is_writing && !event.ctrlKey && !event.metaKey) { event.preventDefault(); search.focus(); }
    if (event.key === 'Escape') { hide_tip(); if (!is_writing || document.activeElement === search) change({nodes: new Set(), words: '', verdicts: new Set()}); }
  });
}
