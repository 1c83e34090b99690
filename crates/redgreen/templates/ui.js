// The review in the browser: follows the page, saves comments as they are typed, and works with the keyboard alone.
'use strict';

const run = document.body.dataset.run;
const writes = document.body.dataset.writes === 'yes';
const said = document.getElementById('said');
const SAVE_AFTER_MS = 400;
let current = null;

// --- following

let known = null;
let changes = null;
function follow() {
  changes = new EventSource('/follow' + location.pathname);
  changes.addEventListener('stamp', event => {
    if (known !== null && known !== event.data) refresh();
    known = event.data;
  });
  changes.addEventListener('text', event => speak(JSON.parse(event.data), true));
  changes.addEventListener('more', event => speak(JSON.parse(event.data), false));
}
// A browser opens only six connections to a server: hidden pages leave theirs to the others.
document.addEventListener('visibilitychange', () => { changes.close(); if (!document.hidden) follow(); });

// The agent's output in the current turn. It is text, never markup.
const LIVE_CHARS_MAX = 20000;
const live = document.getElementById('live');
function speak(words, isNew) {
  if (!live) return;
  const box = live.querySelector('pre');
  const isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
  const text = (isNew ? '' : box.textContent) + words;
  box.textContent = text.slice(-LIVE_CHARS_MAX).replace(/^\n+/, '').replace(/\n\n+\u00b7/g, '\n\u00b7');
  live.hidden = box.textContent === '';
  if (isAtEnd) box.scrollTop = box.scrollHeight;
}
follow();

// How long the run has been doing what it does now.
setInterval(() => {
  const since = document.getElementById('since');
  if (!since) return;
  const seconds = Math.max(0, Math.floor((Date.now() - Number(since.dataset.since)) / 1000));
  since.textContent = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}, 1000);

let refreshing = false;
let again = false;
async function refresh() {
  if (refreshing) { again = true; return; }
  refreshing = true;
  try {
    const address = new URL(location.href);
    address.searchParams.set('part', 'live');
    const page = await fetched(address);
    if (page) {
      page.querySelectorAll('[data-live]').forEach(replace);
      const head = page.body.dataset.head;
      if (run && head !== document.body.dataset.head) {
        document.body.dataset.head = head;
        await renew();
      }
    }
  } finally {
    refreshing = false;
    if (again) { again = false; refresh(); }
  }
}

async function fetched(address) {
  const answer = await fetch(address, { headers: { accept: 'text/html' } }).catch(() => null);
  if (!answer || !answer.ok) return null;
  return new DOMParser().parseFromString(await answer.text(), 'text/html');
}

// Keeps a field with typed text, and opened details.
function replace(fresh) {
  const old = document.getElementById(fresh.id);
  if (!old || old.outerHTML === fresh.outerHTML) return;
  const typed = [...old.querySelectorAll('textarea')].find(area => area.value !== '');
  if (typed || (old.contains(document.activeElement) && document.activeElement.tagName === 'TEXTAREA')) return;
  const focused = old.contains(document.activeElement) ? way(document.activeElement) : null;
  const open = new Map([...old.querySelectorAll('details[id]')].map(part => [part.id, part.open]));
  fresh.querySelectorAll('details[id]').forEach(part => { if (open.has(part.id)) part.open = open.get(part.id); });
  old.replaceWith(fresh);
  if (focused) fresh.querySelector(focused)?.focus();
  const standing = fresh.querySelector('.state');
  if (standing) said.textContent = standing.textContent;
}

function way(element) {
  if (element.id) return '#' + CSS.escape(element.id);
  const link = element.getAttribute('href');
  return link ? `[href="${CSS.escape(link)}"]` : null;
}

// Shows the new code, unless a comment is being typed.
async function renew() {
  const stale = document.getElementById('stale');
  if (document.querySelector('.typing')) { if (stale) stale.hidden = false; return; }
  const page = await fetched(location.href);
  const fresh = page && page.getElementById('diff');
  const old = document.getElementById('diff');
  if (!fresh || !old) return;
  const at = current && current.isConnected ? place(current) : null;
  old.replaceWith(fresh);
  current = null;
  if (at) go(find(at), false);
}

document.addEventListener('click', event => {
  if (event.target.closest('#stale button')) { document.querySelectorAll('.typing').forEach(form => form.remove()); renew(); }
  if (event.target.closest('#help-button')) document.getElementById('help').showModal();
});

// --- lines

const lines = () => [...document.querySelectorAll('#diff .l[data-l]')];

function place(line) {
  return { file: line.closest('.file').dataset.path, at: line.dataset.l };
}

function find({ file, at }) {
  return lines().find(line => line.dataset.l === at && line.closest('.file').dataset.path === file);
}

function go(line, focus = true) {
  if (!line) return;
  if (current) { current.classList.remove('at'); current.removeAttribute('tabindex'); }
  current = line;
  line.classList.add('at');
  line.tabIndex = -1;
  if (focus) { line.focus({ preventScroll: true }); line.scrollIntoView({ block: 'nearest' }); }
}

function step(by) {
  const all = lines();
  const at = all.indexOf(current);
  go(all[at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + by))]);
}

function jump(by) {
  const hunks = [...document.querySelectorAll('#diff .hunk')];
  const at = current ? hunks.indexOf(current.closest('.hunk')) : -1;
  const hunk = hunks[Math.max(0, Math.min(hunks.length - 1, at + by))];
  if (hunk) { hunk.scrollIntoView({ block: 'start' }); go(hunk.querySelector('.l[data-l]')); }
}

document.addEventListener('keydown', event => {
  const typing = event.target.closest('textarea, input, select, dialog');
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const acts = {
    j: () => step(1), k: () => step(-1), n: () => jump(1), p: () => jump(-1),
    c: () => current && comment(current),
    s: () => document.getElementById('layout')?.click(),
    r: () => document.querySelector('#actions textarea, #actions button')?.focus(),
    '?': () => document.getElementById('help').showModal(),
  };
  if (acts[event.key]) { event.preventDefault(); acts[event.key](); }
});

// One button, which follows the pointer.
const add = document.createElement('button');
add.id = 'add';
add.type = 'button';
add.textContent = '+';
add.tabIndex = -1;
add.setAttribute('aria-label', 'Comment on this line');
add.addEventListener('click', () => current && comment(current));
let pointer = null;
document.addEventListener('mouseover', event => {
  // Lines also move below a pointer that rests.
  const at = `${event.screenX},${event.screenY}`;
  if (at === pointer) return;
  pointer = at;
  const line = event.target.closest('#diff .l[data-l]');
  if (!line || !writes || line === add.parentElement) return;
  go(line, false);
  line.prepend(add);
});

// --- comments

function placeOf(line) {
  const side = line.dataset.l[0] === 'n' ? 'new' : 'old';
  const diff = line.closest('.diff');
  return {
    file: line.closest('.file').dataset.path, side, line: line.dataset.l.slice(1),
    code: line.querySelector('code').textContent, tree: side === 'new' ? diff.dataset.to : diff.dataset.from,
  };
}

function comment(line, known) {
  if (!writes) return;
  const next = known || line.closest('.pair') || line;
  const open = next.nextElementSibling;
  if (!known && open && open.classList.contains('typing')) { open.querySelector('textarea').focus(); return; }
  const form = document.getElementById('comment-form').content.firstElementChild.cloneNode(true);
  const area = form.querySelector('textarea');
  const state = form.querySelector('.saved');
  const at = known ? known.dataset : placeOf(line);
  let id = known ? known.dataset.id : 0;
  if (known) { area.value = known.dataset.body; known.replaceWith(form); } else next.after(form);
  const send = async body => {
    const { file, side, line, tree, code } = at;
    const form = new URLSearchParams({ id, body, file, side, line, tree, code });
    const answer = await fetch(`/runs/${run}/comments`, { method: 'POST', body: form }).catch(() => null);
    const text = answer ? (await answer.text()).trim() : 'the server does not answer';
    if (answer && answer.ok) { id = text || 0; state.textContent = 'saved'; return true; }
    state.textContent = text;
    return false;
  };
  let timer = null;
  let sending = Promise.resolve(true);
  const save = () => { clearTimeout(timer); sending = sending.then(() => send(area.value)); return sending; };
  area.addEventListener('input', () => { state.textContent = ''; clearTimeout(timer); timer = setTimeout(save, SAVE_AFTER_MS); });
  const done = async () => { if (await save()) { form.classList.remove('typing'); await both(); } };
  form.addEventListener('submit', event => { event.preventDefault(); done(); });
  area.addEventListener('keydown', event => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); done(); } });
  form.querySelector('.delete').addEventListener('click', () => { area.value = ''; done(); });
  area.focus();
}

async function both() {
  await renew();
  await refresh();
  current?.focus();
}

document.addEventListener('click', event => {
  const edit = event.target.closest('.comment .edit');
  if (!edit) return;
  comment(null, edit.closest('.comment'));
});
