// Room: size over time, by checkpoint and by path, and what a policy would drop.

import { ask } from './api.js';
import { bytes, count, fill, h, moment, named } from './dom.js';
import { failed } from './at.js';
import { standing } from './file.js';
import { onChange, store } from './store.js';

export function roomView(main) {
  const [figures, chart, most, paths] = [h('div.figures'), h('div'), h('div'), h('div', h('p.empty', 'Loading …'))];
  fill(main, h('div.narrow', h('h1', 'Room'), figures,
    h('section.card', { 'aria-label': 'Size over time' }, h('h2', 'Size of the files over time'), chart),
    h('div.two', h('section.card', { 'aria-label': 'By checkpoint' }, h('h2', 'Where it grew most'), most), h('section.card', { 'aria-label': 'By path' }, h('h2', 'By path'), paths)),
    h('section.card', { 'aria-label': 'What a policy would drop' }, h('h2', 'What a policy would drop'), policy())));
  const draw = () => {
    const { status, rows } = store;
    if (!status) return;
    const figure = (value, text) => h('div.figure', h('b', value), h('span.dim', text));
    fill(figures, figure(bytes(status.store_bytes ?? 0) || '0 B', 'the store on disk'), figure(status.checkpoint_count.toLocaleString('en'), 'checkpoints'), figure(status.pinned_count.toLocaleString('en'), 'pinned'), figure(status.safety_count.toLocaleString('en'), 'safety'),
      status.max_store_bytes && figure(bytes(status.max_store_bytes), status.over_max_store_size ? 'limit, exceeded' : 'limit'));
    const whole = rows.filter((row) => !row.scope && row.time).reverse();
    fill(chart, whole.length > 1 ? area(whole) : h('p.empty', 'Two checkpoints make a line.'));
    const grown = whole.map((row, i) => ({ row, by: row.content_bytes - (whole[i - 1] ?? row).content_bytes })).filter((it) => it.by).sort((a, b) => Math.abs(b.by) - Math.abs(a.by)).slice(0, 10);
    const top = Math.abs(grown[0]?.by ?? 1);
    fill(most, h('ul.tree', grown.map(({ row, by }) => h('li', h('a.file', { href: `#/at/${row.id}` }, h('span.name', named(row)), h('span.numbers', { class: `numbers ${by > 0 ? 'plus' : 'minus'}` }, `${by > 0 ? '+' : '−'}${bytes(Math.abs(by))}`), h('span.share', { 'aria-hidden': 'true' }, h('span', { style: { width: `${(100 * Math.abs(by)) / top}%` } })))))));
  };
  draw();
  const off = onChange(draw);
  standing(paths);
  return { stop: off, keys: {} };
}

/** The size of what each checkpoint holds, over time. */
function area(rows) {
  const [width, height] = [800, 160];
  const first = Date.parse(rows[0].time);
  const span = Math.max(1, Date.parse(rows.at(-1).time) - first);
  const [low, top] = [Math.min, Math.max].map((of) => of(...rows.map((row) => row.content_bytes)));
  const thin = rows.length > 800 ? rows.filter((_, i) => i % Math.ceil(rows.length / 800) === 0 || i === rows.length - 1) : rows;
  const x = (row) => ((Date.parse(row.time) - first) / span) * width;
  const y = (row) => height - 16 - ((row.content_bytes - low) / (top - low || 1)) * (height - 24);
  let line = `M0 ${y(thin[0]).toFixed(1)}`;
  for (const row of thin.slice(1)) line += `H${x(row).toFixed(1)}V${y(row).toFixed(1)}`;
  const text = `From ${bytes(rows[0].content_bytes)} on ${moment(rows[0].time)} to ${bytes(rows.at(-1).content_bytes)} on ${moment(rows.at(-1).time)}; between ${bytes(low)} and ${bytes(top)}.`;
  return h('figure.chart', h('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': text },
    h('path.area', { d: `${line}H${width}V${height}H0Z` }), h('path.curve', { d: `${line}H${width}` })),
  h('figcaption.dim', h('span', moment(rows[0].time)), h('span', `between ${bytes(low)} and ${bytes(top)}`), h('span', moment(rows.at(-1).time))));
}

const RULES = { keep: 'Last', 'keep-daily': 'Days', 'keep-weekly': 'Weeks', 'keep-monthly': 'Months' };
const WHY = { oldest: 'beyond the number', no_rule: 'no rule keeps it', old_safety: 'old safety', old_automatic: 'old automatic one', expired: 'expired', store_size: 'size of the store', asked_for: 'asked for' };

/** A policy to try: nothing is dropped. */
function policy() {
  const answer = h('div', { 'aria-live': 'polite' });
  let timer;
  const later = () => (clearTimeout(timer), (timer = setTimeout(look, 250)));
  const inputs = Object.entries(RULES).map(([name, text]) => [name, h('input', { type: 'number', min: '0', max: '100000', placeholder: '–', 'aria-label': `${text} to keep`, oninput: later }), text]);
  const look = async () => {
    const given = inputs.filter(([, input]) => input.value !== '').flatMap(([name, input]) => [`--${name}`, input.value]);
    try {
      const plan = await ask(['prune', '--dry-run', ...given]);
      fill(answer, h('p', plan.dropped.length ? [h('b', `${count(plan.dropped.length, 'checkpoint')} would go`), `, ${plan.kept.length.toLocaleString('en')} would stay`, plan.before_bytes > plan.after_bytes && `; ${bytes(plan.before_bytes - plan.after_bytes)} would be free`, '.'] : [h('b', 'Nothing would be dropped'), `; ${plan.kept.length.toLocaleString('en')} stay.`]),
        h('ul.hits', plan.dropped.slice(0, 40).map((it) => h('li', h('a.name', { href: `#/at/${it.checkpoint.id}` }, named(it.checkpoint)), h('span.dim', ` · ${moment(it.checkpoint.time)} · ${WHY[it.why] ?? it.why}`)))), plan.dropped.length > 40 && h('p.dim', `and ${plan.dropped.length - 40} more`));
    } catch (why) {
      fill(answer, failed(why));
    }
  };
  look();
  return h('div', h('p.dim', 'Empty: as configured. This only looks; ', h('code', 'checkpoint prune'), ' drops.'), h('div.policy', inputs.map(([, input, text]) => h('label.field', text, input))), answer);
}
