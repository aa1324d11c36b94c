(() => {
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const NS = 'http://www.w3.org/2000/svg';

// el returns an SVG element. Text is set as text, never as markup.
function el(name, attrs, text) {
  const e = document.createElementNS(NS, name);
  for (const k in attrs) e.setAttribute(k, attrs[k]);
  if (text !== undefined) e.textContent = text;
  return e;
}

function three(v) {
  const a = Math.abs(v);
  if (a >= 100 || a === Math.trunc(a)) return v.toFixed(0);
  return v.toFixed(a >= 10 ? 1 : 2);
}

// span formats nanoseconds with three digits.
function span(ns) {
  for (const [size, unit] of [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs']]) {
    if (Math.abs(ns) >= size) return three(ns / size) + ' ' + unit;
  }
  return three(ns) + ' ns';
}

function count(n) {
  if (n >= 1e6) return three(n / 1e6) + ' M';
  if (n >= 1e4) return three(n / 1e3) + ' k';
  return three(n);
}

// percentile formats 1/(1-p) as p.
function percentile(x) {
  const p = 100 * (1 - 1 / x);
  const digits = Math.max(0, Math.round(Math.log10(x)) - 2);
  return p.toFixed(p >= 99 ? digits : p % 1 > 0.05 ? 1 : 0) + ' %';
}

// instant returns a formatter of times in the run, with the digits that a step needs.
function instant(step) {
  const digits = Math.max(0, Math.ceil(-Math.log10(step / 1e9) - 1e-9));
  return ns => digits > 4 ? (ns / 1e6).toFixed(Math.max(0, digits - 3)) + ' ms' : (ns / 1e9).toFixed(digits) + ' s';
}

function linearTicks(from, to, most) {
  if (!(to > from)) return [from];
  let step = Math.pow(10, Math.floor(Math.log10((to - from) / most)));
  for (const f of [1, 2, 5, 10]) {
    if ((to - from) / (step * f) <= most) { step *= f; break; }
  }
  const out = [];
  for (let k = Math.ceil(from / step); k * step <= to * (1 + 1e-12); k++) out.push(k * step);
  return out;
}

function logTicks(from, to, most) {
  const all = [];
  for (let e = Math.floor(Math.log10(from)); e <= Math.ceil(Math.log10(to)); e++) {
    for (const f of [1, 2, 5]) {
      const v = f * Math.pow(10, e);
      if (v >= from * 0.999 && v <= to * 1.001) all.push(v);
    }
  }
  const tens = all.filter(v => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9);
  let out = all.length <= most ? all : tens;
  while (out.length > most) out = out.filter((_, i) => i % 2 === 0);
  return out;
}

const formats = { span, count, percentile, number: three };

// scale maps values to pixels.
function scale(kind, from, to, a, b) {
  if (kind === 'log') {
    const lo = Math.log(from), hi = Math.log(to);
    const f = v => a + (b - a) * (hi > lo ? (Math.log(Math.max(v, from)) - lo) / (hi - lo) : .5);
    f.back = x => Math.exp(lo + (x - a) / (b - a) * (hi - lo));
    return f;
  }
  const f = v => a + (b - a) * (to > from ? (v - from) / (to - from) : .5);
  f.back = x => from + (x - a) / (b - a) * (to - from);
  return f;
}

function extent(values) {
  let lo = Infinity, hi = -Infinity;
  for (const v of values) { if (v < lo) lo = v; if (v > hi) hi = v; }
  return [lo, hi];
}

// watch draws now, and in the next frame after each change of width: drawing changes the height, which the callback of an observer must not do.
function watch(plot, draw) {
  let width = 0;
  const again = () => {
    const w = Math.floor(plot.clientWidth);
    if (w > 0 && w !== width) { width = w; draw(w); }
  };
  new ResizeObserver(() => requestAnimationFrame(again)).observe(plot);
  again();
}

// chart draws lines over one axis. spec comes from the page's data.
function chart(figure, spec) {
  const plot = figure.querySelector('.plot'), readout = figure.querySelector('.readout'), hint = readout.textContent;
  // Each fault has a lane above the plot; those beyond the last share one.
  const mostLanes = 6, laneH = 19, named = [...new Set((spec.bands || []).map(b => b[2]))];
  const lanesOf = named.length > mostLanes ? [...named.slice(0, mostLanes - 1), (named.length - mostLanes + 1) + ' more faults'] : named;
  const top = 10 + lanesOf.length * laneH;
  const ys = spec.series.flatMap(s => s.points.flatMap(p => p.length > 2 ? [p[1], p[2], p[3]] : [p[1]])).filter(v => spec.y !== 'log' || v > 0);
  if (!ys.length) { plot.textContent = 'no samples'; return; }
  let [y0, y1] = extent(ys);
  if (spec.y === 'log') { y0 = y0 / 1.3; y1 = y1 * 1.3; } else { y0 = Math.min(0, y0); y1 = y1 * 1.06 || 1; }
  const xs = spec.series.flatMap(s => s.points.map(p => p[0]));
  const [x0, x1] = spec.xrange || extent(xs);
  const alone = x0 === x1, longest = Math.max(...spec.series.map(s => s.name.length)) * 7.4; // one instant: the series stand side by side, each above its name
  let cursor = -1, draw;
  const stops = [...new Set(xs)].sort((a, b) => a - b);
  watch(plot, draw = W => {
    const yticks = spec.y === 'log' ? logTicks(y0, y1, 6) : linearTicks(y0, y1, 5);
    const yf = formats[spec.yformat] || three;
    const left = Math.max(...yticks.map(t => yf(t).length)) * 7 + 12, right = 14;
    const apart = (W - left - right) / spec.series.length, beside = i => alone ? (i - (spec.series.length - 1) / 2) * apart : 0;
    const upright = alone && longest > apart && apart < 60, bottom = upright ? longest * .9 + 12 : 28;
    const H = top + 192 + bottom;
    const X = scale(spec.x, x0, x1, left, W - right), Y = scale(spec.y, y0, y1, H - bottom, top);
    const svg = el('svg', { width: W, height: H, viewBox: `0 0 ${W} ${H}`, 'aria-hidden': 'true' });
    for (const b of spec.bands || []) {
      const a = Math.max(X(Math.max(b[0], x0)), left), z = Math.min(X(Math.min(b[1], x1)), W - right);
      if (z < a) continue;
      const lane = Math.min(named.indexOf(b[2]), lanesOf.length - 1) * laneH;
      svg.append(el('rect', { x: a, y: top, width: Math.max(z - a, 1.5), height: H - top - bottom, class: 'f-fault' }),
        el('rect', { x: a, y: lane + 14, width: Math.max(z - a, 1.5), height: 4, class: 'f-orange' }));
      for (const edge of [a, z]) svg.append(el('line', { x1: edge, x2: edge, y1: lane + 18, y2: H - bottom, class: 'edge' }));
    }
    lanesOf.forEach((name, i) => svg.append(el('text', { x: left, y: i * laneH + 11, class: 'tiny' }, fit(name, W - left - right))));
    for (const t of yticks) {
      svg.append(el('line', { x1: left, x2: W - right, y1: Y(t), y2: Y(t), class: 'grid' }),
        el('text', { x: left - 6, y: Y(t) + 4, 'text-anchor': 'end' }, yf(t)));
    }
    const room = Math.max(2, Math.floor((W - left - right) / 84));
    const xticks = alone ? [] : spec.xformat === 'count' && stops.length <= room ? stops : spec.x === 'log' ? logTicks(x0, x1, room).filter(t => spec.xformat !== 'percentile' || t >= 1) : linearTicks(x0, x1, room);
    const xf = spec.xformat === 'time' ? instant(xticks.length > 1 ? xticks[1] - xticks[0] : x1 - x0 || 1) : formats[spec.xformat] || three;
    xticks.forEach(t => svg.append(el('line', { x1: X(t), x2: X(t), y1: H - bottom, y2: H - bottom + 4, class: 'axis' }),
      el('text', { x: Math.min(Math.max(X(t), left), W - right), y: H - 8, 'text-anchor': X(t) > W - right - 24 ? 'end' : X(t) < left + 16 ? 'start' : 'middle' }, xf(t))));
    svg.append(el('line', { x1: left, x2: W - right, y1: H - bottom, y2: H - bottom, class: 'axis' }));
    for (const [i, s] of spec.series.entries()) {
      const at = x => X(x) + beside(i);
      const foot = upright ? { 'text-anchor': 'end', transform: `translate(${at(x0) + 4} ${H - bottom + 8}) rotate(-90)` } : { 'text-anchor': 'middle', x: at(x0), y: H - 8 };
      if (alone) svg.append(el('text', foot, upright ? s.name : fit(s.name, apart)));
      let d = '', open = false, last = null;
      for (const p of s.points) {
        const gap = spec.gap && last !== null && p[0] - last > spec.gap;
        if (spec.y === 'log' && p[1] <= 0) { open = false; continue; }
        d += (open && !gap ? 'L' : 'M') + at(p[0]).toFixed(1) + ' ' + Y(p[1]).toFixed(1);
        open = true; last = p[0];
        if (p.length > 3) svg.append(el('line', { x1: at(p[0]), x2: at(p[0]), y1: Y(p[2]), y2: Y(p[3]), class: s.cls.replace(/ .*/, '') + ' line' }));
      }
      svg.append(el('path', { d, class: s.cls + ' line' }));
      if (s.dot || s.points.length < 3) {
        const fill = s.cls.replace(/s-(\w+).*/, 'f-$1');
        s.points.forEach(p => svg.append(el('circle', { cx: at(p[0]), cy: Y(p[1]), r: 3.2, class: fill })));
      }
    }
    for (const m of spec.marks || []) {
      if (m[0] < x0 || m[0] > x1) continue;
      svg.append(el('line', { x1: X(m[0]), x2: X(m[0]), y1: top, y2: H - bottom, class: 's-pink', 'stroke-width': 1.5 }),
        el('path', { d: `M${X(m[0]) - 5} ${top - 8}h10l-5 8z`, class: 'f-pink' }));
    }
    const cross = el('line', { y1: top, y2: H - bottom, class: 'cross', visibility: 'hidden' });
    svg.append(cross);
    plot.replaceChildren(svg);
    const show = x => {
      cross.setAttribute('visibility', 'visible');
      cross.setAttribute('x1', X(x)); cross.setAttribute('x2', X(x));
      const parts = spec.series.map(s => {
        let best = null;
        for (const p of s.points) if (best === null || Math.abs(X(p[0]) - X(x)) < Math.abs(X(best[0]) - X(x))) best = p;
        return best === null || Math.abs(X(best[0]) - X(x)) > 12 ? '' : s.name + ' ' + yf(best[1]);
      }).filter(Boolean);
      const where = spec.xformat === 'time' ? instant((x1 - x0) / 1000 || 1)(x) : (formats[spec.xformat] || three)(x);
      const injected = (spec.bands || []).filter(b => b[0] <= x && x <= b[1]).map(b => b[2]);
      readout.textContent = where + ': ' + (parts.join(', ') || 'no samples') + (injected.length ? '; active: ' + [...new Set(injected)].join(', ') : '');
    };
    svg.addEventListener('pointermove', e => {
      const x = X.back(e.clientX - plot.getBoundingClientRect().left);
      show(stops.reduce((a, b) => Math.abs(X(b) - X(x)) < Math.abs(X(a) - X(x)) ? b : a, stops[0]));
    });
    svg.addEventListener('pointerleave', () => { cross.setAttribute('visibility', 'hidden'); readout.textContent = hint; });
    plot.onkeydown = e => {
      const by = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[e.key];
      if (!by) return;
      cursor = Math.min(Math.max(cursor + by, 0), stops.length - 1);
      show(stops[cursor]);
      e.preventDefault();
    };
  });
}

// fit shortens a text to a width in pixels; '' if three letters do not fit.
function fit(text, pixels) {
  const n = Math.floor(pixels / 7.4);
  if (text.length <= n) return text;
  return n < 4 ? '' : text.slice(0, n - 1) + '…';
}

// lanes draws the holds, operations and commands of each client on an axis that can be zoomed.
function lanes(figure, spec) {
  const plot = figure.querySelector('.plot'), readout = figure.querySelector('.readout');
  let [from, to] = spec.focus, width = 0, items = [], picked = null, X;
  const rowHeight = 46, faultHeight = 20;

  function limit() {
    const least = 1000, all = spec.to - spec.from;
    let length = Math.min(Math.max(to - from, least), all);
    from = Math.min(Math.max(from, spec.from), spec.to - length);
    to = from + length;
  }
  function zoom(by, at) {
    at = at === undefined ? (from + to) / 2 : at;
    from = at - (at - from) * by; to = at + (to - at) * by;
    draw();
  }
  function pan(share) { const d = (to - from) * share; from += d; to += d; draw(); }
  function goTo(a, z) { from = a; to = z; draw(); }

  function draw() {
    limit();
    const W = width, narrow = W < 620, label = narrow ? 0 : Math.min(150, Math.max(...spec.rows.map(r => r.name.length), 10) * 7.2 + 12);
    const head = narrow ? 16 : 0, rowH = rowHeight + head, faultH = faultHeight + head;
    const topH = 24, H = topH + spec.rows.reduce((h, r) => h + (r.kind === 'client' ? rowH : faultH), 0) + 6;
    X = scale('linear', from, to, label, W - 4);
    const svg = el('svg', { width: W, height: H, viewBox: `0 0 ${W} ${H}`, 'aria-hidden': 'true' });
    items = [];
    const ticks = linearTicks(from, to, Math.max(2, Math.floor((W - label) / 110)));
    const name = instant(ticks.length > 1 ? ticks[1] - ticks[0] : to - from);
    for (const t of ticks) {
      svg.append(el('line', { x1: X(t), x2: X(t), y1: topH - 4, y2: H, class: 'grid' }),
        el('text', { x: X(t), y: 14, 'text-anchor': X(t) < label + 30 ? 'start' : X(t) > W - 34 ? 'end' : 'middle' }, name(t)));
    }
    const box = (a, z, y, h, cls, text, least) => {
      if (z < from || a > to) return null;
      const x = Math.max(X(a), label), right = Math.min(X(z), W - 4), w = Math.max(right - x, least || 1.5);
      const r = el('rect', { x, y, width: w, height: h, class: cls, rx: w > 4 ? 2 : 0 });
      svg.append(r);
      if (text) items.push({ x0: x, x1: x + w, y0: y, y1: y + h, at: a, text, node: r });
      return { x, w };
    };
    let y = topH;
    const bottom = H - 6;
    for (const row of spec.rows) {
      const h = row.kind === 'client' ? rowH : faultH;
      svg.append(el('line', { x1: 0, x2: W, y1: y, y2: y, class: 'grid' }));
      svg.append(narrow ? el('text', { x: 2, y: y + 12, class: 'strong tiny' }, fit(row.name, W - 8)) :
        el('text', { x: 0, y: y + (row.kind === 'client' ? 17 : 14), class: row.kind === 'client' ? 'strong' : '' }, fit(row.name, label - 6)));
      const Y = y + head;
      if (row.kind === 'fault') {
        for (const b of row.spans) box(b[0], b[1], Y + 4, 12, b[3] ? 'f-orange' : 'f-orange-soft', b[2], 2);
      }
      if (row.kind === 'server') {
        for (const b of row.spans) {
          const drawn = box(b[0], b[1], Y + 3, 14, 'f-blue-soft', b[2], 1.5);
          const text = drawn && fit(b[3], drawn.w - 8);
          if (text) svg.append(el('text', { x: drawn.x + 4, y: Y + 14, class: 'tiny strong' }, text));
        }
      }
      if (row.kind === 'client') {
        for (const b of row.shade || []) box(b[0], b[1], y + 1, h - 2, 'f-fault', b[2]);
        for (const w of row.waits || []) box(w[0], w[1], Y + 11, 2, w[3] === 'ok' ? 'f-grey' : 'f-grid', w[2]);
        for (const w of row.waits || []) if (w[3] !== 'ok' && w[1] >= from && w[1] <= to) {
          svg.append(el('text', { x: X(w[1]), y: Y + 16, 'text-anchor': 'middle', class: 'tiny' }, w[3] === 'busy' ? '×' : '?'));
          items.push({ x0: X(w[1]) - 5, x1: X(w[1]) + 5, y0: Y + 6, y1: Y + 17, at: w[0], text: w[2] });
        }
        for (const hold of row.holds || []) {
          if (hold.possible) box(hold.possible[0], hold.possible[1], Y + 22, 4, 'f-blue-soft', hold.kept);
          for (const u of hold.uses) box(u[0], u[1], Y + 4, 16, 'f-pink', u[2]);
          for (const b of hold.belief) {
            const drawn = box(b[0], b[1], Y + 3, 18, 'f-blue', hold.text, 2);
            hold.uses.forEach(u => { const a = Math.max(u[0], b[0]), z = Math.min(u[1], b[1]); if (z > a) box(a, z, Y + 15, 5, 'f-blue-soft', u[2]); });
            const text = drawn && hold.label ? fit(hold.label, drawn.w - 10) : '';
            if (text) svg.append(el('text', { x: drawn.x + 5, y: Y + 12.5, class: 'tiny onblue' }, text));
          }
          for (const g of hold.grants || []) if (g[0] >= from && g[0] <= to) {
            const x = X(g[0]), n = el('path', { d: `M${x} ${Y + 19}l4 5l-4 5l-4 -5z`, class: 'f-blue' });
            svg.append(n);
            items.push({ x0: x - 5, x1: x + 5, y0: Y + 18, y1: Y + 30, at: g[0], text: g[1], node: n });
          }
          if (hold.release) box(hold.release[0], hold.release[1], Y + 2, 19, 'f-grey', hold.release[2], 2);
        }
        for (const l of row.lost || []) if (l[0] >= from && l[0] <= to) {
          svg.append(el('text', { x: X(l[0]), y: Y + 30, 'text-anchor': 'middle', class: 'strong' }, '✝'));
          items.push({ x0: X(l[0]) - 6, x1: X(l[0]) + 6, y0: Y + 18, y1: Y + 32, at: l[0], text: l[1] });
        }
        let free = -1;
        for (const c of row.commands || []) {
          const drawn = box(c[0], c[1], Y + 33, 6, c[3] ? 'f-orange' : 'f-grey', c[2], 1.5);
          if (drawn && drawn.w > 34 && drawn.x > free) {
            const text = fit(c[4], drawn.w + 40);
            svg.append(el('text', { x: drawn.x, y: Y + 31, class: 'tiny' }, text));
            free = drawn.x + text.length * 7.4;
          }
        }
      }
      y += h;
    }
    for (const m of spec.marks) {
      if (m[0] < from || m[0] > to) continue;
      const x = X(m[0]), n = el('path', { d: `M${x - 6} ${topH - 8}h12l-6 9z`, class: 'f-pink' });
      svg.append(el('line', { x1: x, x2: x, y1: topH, y2: bottom, class: 's-pink', 'stroke-width': 1.5 }), n);
      items.push({ x0: x - 7, x1: x + 7, y0: topH - 9, y1: topH + 2, at: m[0], text: m[1], node: n });
    }
    plot.replaceChildren(svg);
    if (picked) { const same = items.find(i => i.text === picked.text && i.at === picked.at); picked = null; if (same) pick(same, true); }
  }

  function pick(item, quiet) {
    if (picked && picked.node) picked.node.classList.remove('picked');
    picked = item;
    if (item.node) item.node.classList.add('picked');
    if (!quiet) readout.textContent = item.text;
  }
  function under(e) {
    const r = plot.getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top;
    for (let i = items.length - 1; i >= 0; i--) {
      const t = items[i];
      if (x >= t.x0 - 2 && x <= t.x1 + 2 && y >= t.y0 - 1 && y <= t.y1 + 1) return t;
    }
    return null;
  }
  function step(by) {
    const all = items.slice().sort((a, b) => a.at - b.at || a.y0 - b.y0);
    if (!all.length) return;
    let i = picked ? all.indexOf(picked) + by : by > 0 ? 0 : all.length - 1;
    pick(all[Math.min(Math.max(i, 0), all.length - 1)]);
  }
  function nextMark(by) {
    const middle = (from + to) / 2, length = to - from;
    const ahead = spec.marks.filter(m => by > 0 ? m[0] > middle + length * .01 : m[0] < middle - length * .01);
    const m = by > 0 ? ahead[0] : ahead[ahead.length - 1];
    if (m) { goTo(m[0] - length / 2, m[0] + length / 2); readout.textContent = m[1]; }
  }

  const does = {
    in: () => zoom(.5), out: () => zoom(2), left: () => pan(-.3), right: () => pan(.3), all: () => goTo(spec.from, spec.to),
    reset: () => goTo(...spec.focus), next: () => nextMark(1), previous: () => nextMark(-1),
  };
  figure.querySelectorAll('button[data-do]').forEach(b => b.addEventListener('click', () => does[b.dataset.do]()));
  plot.addEventListener('keydown', e => {
    const act = { '+': does.in, '=': does.in, '-': does.out, ArrowLeft: does.left, ArrowRight: does.right, '0': does.reset, Home: does.all,
      n: () => step(1), p: () => step(-1), v: does.next }[e.key];
    if (act && !e.ctrlKey && !e.metaKey && !e.altKey) { act(); e.preventDefault(); }
  });
  plot.addEventListener('wheel', e => {
    if (!e.ctrlKey && !e.metaKey && document.activeElement !== plot) return; // the wheel scrolls the page
    e.preventDefault();
    zoom(Math.pow(1.0018, e.deltaY), X.back(e.clientX - plot.getBoundingClientRect().left));
  }, { passive: false });
  let grip = null;
  plot.addEventListener('pointerdown', e => { grip = { x: e.clientX, from, to }; });
  addEventListener('pointerup', () => { grip = null; });
  plot.addEventListener('pointermove', e => {
    if (grip && Math.abs(e.clientX - grip.x) > 3) {
      const d = X.back(0) - X.back(e.clientX - grip.x);
      from = grip.from + d; to = grip.to + d;
      draw();
      return;
    }
    const item = under(e);
    if (item) pick(item);
  });
  document.querySelectorAll('button[data-at]').forEach(b => b.addEventListener('click', () => {
    const at = Number(b.dataset.at), length = spec.focus[1] - spec.focus[0];
    goTo(at - length / 2, at + length / 2);
    figure.scrollIntoView({ block: 'start' });
    plot.focus({ preventScroll: true });
  }));
  watch(plot, W => { width = W; draw(); });
}

document.querySelectorAll('figure[data-chart]').forEach(f => chart(f, data.charts.find(c => c.id === f.dataset.chart)));
document.querySelectorAll('figure[data-lanes]').forEach(f => lanes(f, data.lanes));
document.querySelectorAll("[data-tell]").forEach(b => {
  const tell = () => { document.getElementById('cell').textContent = b.dataset.tell; };
  b.addEventListener('click', tell);
  b.addEventListener('focus', tell);
  b.addEventListener('pointerenter', tell);
});

// In a narrow window a row of a table is a block, with the head of the column beside each cell.
for (const table of document.querySelectorAll('.scroll > table:not(.matrix)')) {
  const heads = [...table.querySelectorAll('thead th')].map(h => h.textContent);
  table.classList.add('stack');
  for (const row of table.querySelectorAll('tbody tr')) [...row.children].forEach((cell, i) => { if (i && heads[i] && cell.textContent + cell.innerHTML) cell.dataset.head = heads[i]; });
}

// A row of the list of runs is shown if it fits every choice.
const choices = [...document.querySelectorAll('select[data-choose]')];
choices.forEach(c => c.addEventListener('change', () => document.querySelectorAll('tr[data-verdict]').forEach(r => {
  r.hidden = choices.some(c => c.value && r.dataset[c.dataset.choose] !== c.value);
})));

// unpack returns the violations of a suite, by lock and scenario.
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text());
}

// scenes shows the violation that the address names.
async function scenes(place) {
  const all = await unpack(data.scenes);
  const show = () => {
    const id = decodeURIComponent(location.hash.slice(1)), s = Object.hasOwn(all, id) ? all[id] : null;
    place.hidden = !s;
    if (!s) return;
    place.querySelector('h2').textContent = s.lock + ' × ' + s.scenario;
    place.querySelector('.about').textContent = s.property + ' broken by ' + s.cause + ', key ' + s.key;
    place.querySelector('.story').replaceChildren(...(s.story || []).map((line) => {
      const li = document.createElement('li');
      li.textContent = line;
      return li;
    }));
    const inside = place.querySelector('.place');
    inside.replaceChildren();
    if (s.lanes) {
      inside.append(document.getElementById('lanes-template').content.cloneNode(true));
      lanes(inside.querySelector('figure'), s.lanes);
    }
    place.scrollIntoView({ block: 'start' });
  };
  addEventListener('hashchange', show);
  show();
}
if (data.scenes) scenes(document.getElementById('scene'));
})();
