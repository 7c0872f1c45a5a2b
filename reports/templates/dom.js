// Elements. Text only ever becomes a text node or an attribute's value, so nothing that a node said is taken for markup.
const svg_space = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat(Infinity))
    if (child !== undefined && child !== null && child !== false)
      element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  return element;
}

function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function s(tag, attributes, ...children) {
  const element = fill(document.createElementNS(svg_space, tag), attributes, children);
  // So that it shrinks as a whole where it has less room: on paper.
  if (tag === 'svg') element.setAttribute('viewBox', `0 0 ${attributes.width} ${attributes.height}`);
  return element;
}

const at_id = (id) => document.getElementById(id);
const body_of = (id) => at_id(id).querySelector('.body');

/// For those who don't see what changed.
function say(text) {
  at_id('said').textContent = text;
}

function copied(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text).then(() => true, () => copied_by_hand(text));
  return Promise.resolve(copied_by_hand(text));
}

/// A page opened from a file may have no clipboard of the newer kind.
function copied_by_hand(text) {
  const area = h('textarea', {class: 'unseen', 'aria-hidden': 'true'});
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}

function copy_button(text, what) {
  const button = h('button', {type: 'button', class: 'copy', 'aria-label': `Copy ${what}`}, 'Copy');
  button.addEventListener('click', () => copied(text).then((done) => {
    button.textContent = done ? 'Copied' : 'Select it by hand';
    say(done ? `${what} copied` : `${what} could not be copied`);
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  }));
  return button;
}

/// A line to paste into a terminal.
function command_line(text, what) {
  return h('div', {class: 'command'}, h('code', {tabindex: '0', 'aria-label': what}, text), copy_button(text, what));
}

function show_tip(lines, x, y) {
  const tip = at_id('tip');
  tip.replaceChildren(...lines.map((line) => h('div', {}, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18}px`;
}

function hide_tip() {
  at_id('tip').hidden = true;
}

// Pictures are drawn when they come near the screen, at the width they have, and again when that changes.
const drawings = new Map();
const near = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) redraw(entry.target);
}, {rootMargin: '400px'});
const resized = new ResizeObserver((entries) => {
  for (const entry of entries) {
    const drawing = drawings.get(entry.target);
    if (drawing && drawing.width && drawing.width !== Math.round(entry.contentRect.width)) redraw(entry.target);
  }
});

function redraw(place) {
  const drawing = drawings.get(place);
  const width = Math.round(place.clientWidth);
  if (!drawing || !width || (drawing.width === width && !drawing.is_stale)) return;
  drawing.width = width;
  drawing.is_stale = false;
  place.replaceChildren(...[drawing.draw(width)].flat());
  place.style.minHeight = '';
}

/// A place for a picture about `height` high; `draw(width)` makes its elements.
function picture(height, draw) {
  const place = h('div', {class: 'picture'});
  place.style.minHeight = `${height}px`;
  drawings.set(place, {draw, width: 0, is_stale: true});
  near.observe(place);
  resized.observe(place);
  return place;
}

/// All that are in the page at once, whether on the screen or not: for printing.
function draw_all() {
  for (const place of drawings.keys()) if (place.isConnected) redraw(place);
}

/// After a change of the filter or the colours.
function pictures_changed() {
  for (const [place, drawing] of drawings) {
    if (!place.isConnected) {
      near.unobserve(place);
      resized.unobserve(place);
      drawings.delete(place);
      continue;
    }
    drawing.is_stale = true;
    near.unobserve(place);
    near.observe(place);
  }
}

/// Lists that may be long: the first `few`, and a button for the rest.
function first_few(items, few, make, what) {
  const list = items.slice(0, few).map(make);
  if (items.length <= few) return list;
  const more = h('button', {type: 'button', class: 'more'}, `${items.length - few} more ${what}`);
  more.addEventListener('click', () => {
    const next = items.slice(few, few + 200);
    more.replaceWith(...first_few(items.slice(few), Math.max(few, 200), make, what));
    say(`${next.length} more ${what} shown`);
  });
  return [...list, more];
}
