// Put at the head of a page under test: it gathers errors, refused or made requests and texts that lie over each other, and writes them
// into the page for the test to read.
(() => {
const found = { errors: [], requests: [], overlaps: [], texts: 0, wide: 0, svgs: 0, zoomed: false, stepped: '' };
addEventListener('error', e => found.errors.push(String(e.message)));
addEventListener('securitypolicyviolation', e => found.errors.push('policy: ' + e.violatedDirective + ' ' + e.blockedURI));
const wait = () => new Promise(r => setTimeout(r, 30));
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
    if (!n.data.trim() || ['SCRIPT', 'STYLE', 'PRE'].includes(p.tagName) || p.classList.contains('skip') || p.id === 'probe') continue;
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
addEventListener('load', async () => {
  await wait();
  const lanes = document.querySelector('figure.lanes .plot');
  const all = texts();
  found.texts = all.length;
  found.svgs = document.querySelectorAll('.plot svg').length;
  all.sort((a, b) => a.t - b.t);
  for (let i = 0; i < all.length && found.overlaps.length < 10; i++) {
    for (let j = i + 1; j < all.length && all[j].t < all[i].b - 3; j++) {
      const a = all[i], b = all[j];
      if (a.n !== b.n && Math.min(a.r, b.r) - Math.max(a.l, b.l) > 2 && Math.min(a.b, b.b) - Math.max(a.t, b.t) > 4) found.overlaps.push(a.text + ' | ' + b.text);
    }
  }
  found.wide = document.documentElement.scrollWidth - innerWidth;
  if (lanes) {
    const before = lanes.innerHTML;
    lanes.focus();
    for (const key of ['+', '+', 'ArrowRight', 'n', 'n', 'p', 'v', '-', 'Home', '0']) lanes.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    lanes.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }));
    lanes.dispatchEvent(new WheelEvent('wheel', { deltaY: -200, clientX: 200, cancelable: true }));
    found.zoomed = before !== lanes.innerHTML;
    lanes.dispatchEvent(new KeyboardEvent('keydown', { key: 'n', bubbles: true }));
    found.stepped = document.querySelector('figure.lanes .readout').textContent;
  }
  document.querySelectorAll('figure[data-chart] .plot').forEach(p => p.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true })));
  document.querySelectorAll('button[data-tell]').forEach(b => b.click());
  document.querySelectorAll('button[data-do], button[data-at]').forEach(b => b.click());
  await wait();
  found.requests = performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.startsWith('data:'));
  const pre = document.createElement('pre');
  pre.id = 'probe';
  pre.textContent = JSON.stringify(found);
  document.body.append(pre);
});
})();
