// The data as it came, and what follows from it: who took part where, and how each node fares.
const page = JSON.parse(at_id('data').textContent);
const nodes = page.nodes || [];
const texts = page.texts || [];
const cases = page.cases || [];
const text_of = (index) => (index >= 0 ? texts[index] : undefined);

/// Per node: how often it has each verdict, and in which cases.
const node_tallies = nodes.map(() => [0, 0, 0, 0, 0]);

for (const [index, one] of cases.entries()) {
  one.index = index;
  one.row_of = new Map((one.on || []).map((node, row) => [node, row]));
  one.blamed = new Set((one.culprits || []).map((culprit) => culprit.node).filter((node) => node >= 0));
  for (const finding of one.findings || [])
    for (const culprit of finding.culprits || []) if (culprit.node >= 0) one.blamed.add(culprit.node);
  for (const [node, row] of one.row_of)
    node_tallies[node][needs_look(one.verdict) && one.blamed.has(node) ? one.verdict : Number(one.on_verdicts[row])] += 1;
  for (const node of one.blamed) if (needs_look(one.verdict) && !one.row_of.has(node)) node_tallies[node][one.verdict] += 1;
  one.search = [one.id, one.check, one.reason, one.remedy, one.brief, one.summary, one.place, one.hosts, (one.tags || []).join(' '),
    ...(one.culprits || []).map((culprit) => culprit.text), ...(one.evidence || []),
    ...(one.params || []).map((param) => param.join('='))].join('\n').toLowerCase();
}

const node_verdicts = node_tallies.map((tally) => worst(by_urgency.filter((verdict) => tally[verdict] > 0)));

function verdict_on(one, node) {
  if (needs_look(one.verdict) && one.blamed.has(node)) return one.verdict;
  const row = one.row_of.get(node);
  return row === undefined ? undefined : Number(one.on_verdicts[row]);
}

/// A case as it is on these nodes; of one that blames no node, and for all nodes, its own verdict.
function verdict_on_all(one, chosen) {
  if (!chosen.size || (needs_look(one.verdict) && !one.blamed.size)) return one.verdict;
  const found = [...chosen].map((node) => verdict_on(one, node)).filter((verdict) => verdict !== undefined);
  return found.length ? worst(found) : one.verdict;
}

/// Whether a case concerns one of these nodes: it ran there, or blames it. One that never ran concerns all.
function is_about(one, chosen) {
  if (!one.row_of.size && !one.blamed.size) return true;
  for (const node of chosen) if (one.row_of.has(node) || one.blamed.has(node)) return true;
  return false;
}

/// Why numbers of this case mean nothing; empty: they do.
const timing_doubt = (one) => (one.notes || []).find((note) => note.startsWith('timing is not judged')) || '';

const node_of_rank = (one, rank) => (one.rank_nodes ? one.rank_nodes[rank] : undefined);

function rank_text(one, rank, peer, node) {
  const where = node >= 0 ? node : node_of_rank(one, rank);
  const name = rank >= 0 ? `rank ${rank}` : '';
  const on = where >= 0 ? nodes[where] : '';
  const towards = peer >= 0 ? ` to rank ${peer}${node_of_rank(one, peer) >= 0 ? ` (${nodes[node_of_rank(one, peer)]})` : ''}` : '';
  return [name, on].filter(Boolean).join(' on ') + towards;
}
