// Evaluated in each page under test before its own script. It gathers errors, and measures the page when the test asks.
window.probe = (() => {
const errors = [];
addEventListener('error', e => errors.push(String(e.message)));
addEventListener('securitypolicyviolation', e => errors.push('policy: ' + e.violatedDirective + ' ' + e.blockedURI));
addEventListener('load', () => loaded(''));
// drawn resolves when what followed a change is drawn.
const drawn = () => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r))));
function clip(rect, node) {
  let r = { l: rect.left, t: rect.top, r: rect.right, b: rect.bottom };
  for (let e = node; e && e !== document.documentElement; e = e.parentElement) {
    const o = getComputedStyle(e);
    if (o.overflowX !== 'visible' || o.overflowY !== 'visible') {
      const c = e.getBoundingClientRect();
      r = { l: Math.max(r.l, c.left), t: Math.max(r.t, c.top), r: Math.min(r.r, c.right), b: Math.min(r.b, c.bottom) };
    }
  }
  return r;
}
function texts() {
  const out = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    const p = n.parentElement;
    if (!n.data.trim() || ['SCRIPT', 'STYLE', 'PRE'].includes(p.tagName) || p.classList.contains('skip')) continue;
    if (p.closest('details:not([open])') && p.tagName !== 'SUMMARY') continue;
    if (p.closest('.matrix tbody th, table.bench tbody th')) continue; // stay in view above what scrolls
    const range = document.createRange();
    range.selectNodeContents(n);
    const rects = p instanceof SVGElement ? [p.getBoundingClientRect()] : range.getClientRects();
    for (const rect of rects) {
      const r = clip(rect, p);
      if (r.r - r.l > 1 && r.b - r.t > 1) out.push({ ...r, text: n.data.trim().slice(0, 40), n });
    }
  }
  return out;
}
// layout measures the page as it is now.
async function layout() {
  await drawn();
  const all = texts(), overlaps = [];
  all.sort((a, b) => a.t - b.t);
  for (let i = 0; i < all.length && overlaps.length < 10; i++) {
    for (let j = i + 1; j < all.length && all[j].t < all[i].b - 3; j++) {
      const a = all[i], b = all[j];
      if (a.n !== b.n && Math.min(a.r, b.r) - Math.max(a.l, b.l) > 2 && Math.min(a.b, b.b) - Math.max(a.t, b.t) > 4) overlaps.push(a.text + ' | ' + b.text);
    }
  }
  return { overlaps, texts: all.length, wide: document.documentElement.scrollWidth - innerWidth, svgs: document.querySelectorAll('.plot svg').length };
}
// use presses every key and button that the page knows.
async function use() {
  const out = { zoomed: false, stepped: '', title: '', errors };
  const press = (e, key) => e.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  const lanes = document.querySelector('figure.lanes .plot');
  if (lanes) {
    const before = lanes.innerHTML;
    lanes.focus();
    for (const key of ['+', '+', 'ArrowRight', 'n', 'n', 'p', 'v', '-', 'Home', '0', '+']) press(lanes, key);
    lanes.dispatchEvent(new WheelEvent('wheel', { deltaY: -200, clientX: 200, cancelable: true }));
    out.zoomed = before !== lanes.innerHTML;
    press(lanes, 'n');
    out.stepped = document.querySelector('figure.lanes .readout').textContent;
  }
  document.querySelectorAll('figure[data-chart] .plot').forEach(p => press(p, 'ArrowRight'));
  document.querySelectorAll('button').forEach(b => b.click());
  await drawn();
  out.title = document.title;
  return out;
}
return { layout, use };
})();
