// Text for people: values with their invisible characters made visible, times, durations, and the names of statuses.

/**
 * Characters that a reader does not see or that change the direction of a text: control and format characters, unusual spaces, fillers,
 * variation selectors, private characters and lone surrogates. A line feed and a tab are text.
 */
const INVISIBLE = /(?![\n\t\u3000\u00a0 ])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Zs}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0e\u{e0100}-\u{e01ef}]|(?<!\p{Extended_Pictographic})\ufe0f/gu;

const escapeOf = (character) => `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`;

/** JSON with its invisible characters as escapes of JSON: an editor shows all of it, and the value is the same. */
const escapeInvisible = (json) => json.replace(INVISIBLE, (character) => character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`));

/** A text for attributes and plain strings, invisible characters as escapes such as `⟨U+202E⟩`. */
const visible = (text) => String(text).replace(INVISIBLE, escapeOf);

/** A text of one line for attributes, cut to `most` characters. */
function oneLine(text, most = 200) {
  const line = visible(String(text).slice(0, most + 1).replace(/\s*\n\s*/g, ' ⏎ '));
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

/** A text as nodes: escapes stand apart from the text around them, so that they cannot be imitated. */
function Text({ of, line }) {
  let text = String(of ?? '');
  if (line) text = text.replace(/\s*\n\s*/g, ' ⏎ ');
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(INVISIBLE)) {
    if (match.index > from) nodes.push(text.slice(from, match.index));
    nodes.push(html`<span class="escape" title="invisible character">${escapeOf(match[0])}</span>`);
    from = match.index + match[0].length;
  }
  if (from === 0) return html`<bdi>${text}</bdi>`;
  nodes.push(text.slice(from));
  return html`<bdi>${nodes}</bdi>`;
}

/** A message of the program, whose parts in backticks are code. */
function Message({ of }) {
  const parts = String(of ?? '').split('`');
  return html`<span class="message">${parts.map((part, index) => (index % 2 && index < parts.length - 1
    ? html`<code><${Text} of=${part} line /></code>`
    : html`<${Text} of=${index % 2 ? `\`${part}` : part} />`))}</span>`;
}

/** A duration in ms as text: `8ms`, `1.5s`, `2m 05s`, `1h 03m`. */
function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return '';
  if (ms < 1) return ms <= 0 ? '0ms' : '<1ms';
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)}s`;
  const seconds = Math.round(ms / 1000);
  const two = (number) => String(number).padStart(2, '0');
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)}h ${two(Math.floor(seconds / 60) % 60)}m`;
  return `${Math.floor(seconds / 86400)}d ${Math.floor(seconds / 3600) % 24}h`;
}

const CLOCK = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const DAY = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric' });
const FULL = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'long' });

/** A point in time: the clock for today, the day and the clock before, with the full time as a title. */
function Time({ at }) {
  if (!at) return null;
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return html`<${Text} of=${at} line />`;
  const now = new Date();
  const clock = CLOCK.format(date);
  let text = `${DAY.format(date)} ${clock}`;
  if (date.toDateString() === now.toDateString()) text = clock;
  else if (date.getFullYear() !== now.getFullYear()) text = `${DAY.format(date)} ${date.getFullYear()} ${clock}`;
  return html`<time datetime=${date.toISOString()} title=${FULL.format(date)}>${text}</time>`;
}

/** A number with a noun, in the plural unless it is 1. */
const count = (number, noun, plural = `${noun}s`) => `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`;

const CIRCLE = 'm8 1.8a6.2 6.2 0 1 1 0 12.4a6.2 6.2 0 1 1 0-12.4z';

/**
 * The statuses of runs and steps, each with the paths of its symbol in a square of 16 units. A path has a class: filled, a line, or cut out of
 * what is filled.
 */
const SYMBOLS = {
  succeeded: [['full', 'm8 1a7 7 0 1 1 0 14a7 7 0 1 1 0-14z'], ['cut', 'm4.8 8.3l2.2 2.2l4.2-4.6']],
  failed: [['full', 'm5.1 1h5.8l4.1 4.1v5.8l-4.1 4.1h-5.8l-4.1-4.1v-5.8z'], ['cut', 'm5.6 5.6l4.8 4.8m0-4.8l-4.8 4.8']],
  running: [['line', 'm8 1.9a6.1 6.1 0 1 1 0 12.2a6.1 6.1 0 1 1 0-12.2z'], ['full', 'm8 5a3 3 0 1 1 0 6a3 3 0 1 1 0-6z']],
  waiting: [['full', 'm8 .8l7.2 7.2l-7.2 7.2l-7.2-7.2z'], ['cut', 'm8 4.6v4.2m0 2.2v.4']],
  retrying: [['line', 'm13.5 8a5.5 5.5 0 1 1-1.7-4m.6-2.8v3.2h-3.2']],
  skipped: [['line', 'm8 1.8a6.2 6.2 0 1 1 0 12.4a6.2 6.2 0 1 1 0-12.4zm-3.2 6.2h6.4']],
  pending: [['line dotted', CIRCLE]],
  not_run: [['line', CIRCLE]],
  cancelled: [['line', 'm3.5 2h9a1.5 1.5 0 0 1 1.5 1.5v9a1.5 1.5 0 0 1-1.5 1.5h-9a1.5 1.5 0 0 1-1.5-1.5v-9a1.5 1.5 0 0 1 1.5-1.5z'], ['full', 'm5.5 5.5h5v5h-5z']],
  interrupted: [['full', 'm8.8 1.5l-5.3 7.5h4.5l-.8 5.5l5.3-7.5h-4.5z']],
  unknown: [['full', 'm8 1l6.1 3.5v7l-6.1 3.5l-6.1-3.5v-7z'], ['cut', 'm6 6.2a2 2 0 1 1 2.7 1.9c-.5 .2-.7 .5-.7 1v.2m0 2.1v.3']],
};

const statusName = (status) => (status === 'unknown' ? 'unknown outcome' : String(status ?? 'pending').replaceAll('_', ' '));
const statusKey = (status) => (Object.hasOwn(SYMBOLS, status ?? '') ? status : 'pending');

const symbolPaths = (status) => SYMBOLS[status].map(([kind, path]) => html`<path class=${kind} d=${path} />`);

/** The symbol of a status. */
const Icon = ({ status }) => html`<svg class="icon s-${statusKey(status)}" viewBox="0 0 16 16" aria-hidden="true">${symbolPaths(statusKey(status))}</svg>`;

/** The symbol and the name of a status. */
const Status = ({ of }) => html`<span class="status s-${statusKey(of)}"><${Icon} status=${of} />${statusName(of)}</span>`;

/** The statuses after which nothing changes without a further command. */
const hasEnded = (status) => !['running', 'waiting', 'pending', 'retrying'].includes(status);
