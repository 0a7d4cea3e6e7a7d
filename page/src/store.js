// What the page knows, in one value; components read it and call the functions below.
import { useEffect, useState } from "preact/hooks";
import { Offline, Problem, ask, follow, path } from "./api.js";

export const PAGE = 24;
const RECENT = 500;

export const state = {
  me: null,
  login: false,
  online: true,
  notice: "",
  busy: true,
  collections: [],
  collection: null,
  about: { fields: [], groups: [], encodes: [] },
  metas: new Map(), // of all items seen so far
  query: null, // {kind, label, id, x, text}
  base: null, // the answer before any click
  shown: null, // the answer now
  k: PAGE,
  clicks: [], // of the open query: {item, like, seq}
  versions: { versions: [], active: 0, candidate: null },
  activity: [],
  itemsSeq: 0, // last event that changed items
  saidSeq: 0, // last event that changed what was said
  user: localStorage.getItem("gramian-user") ?? newName(),
};

const listeners = new Set();

export function set(patch) {
  Object.assign(state, patch);
  for (const listener of listeners) listener();
}

export function useStore() {
  const [, again] = useState(0);
  useEffect(() => {
    const listener = () => again((n) => n + 1);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  return state;
}

function newName() {
  const name = `guest ${1000 + (crypto.getRandomValues(new Uint16Array(1))[0] % 9000)}`;
  localStorage.setItem("gramian-user", name);
  return name;
}

export function rename(user) {
  localStorage.setItem("gramian-user", user);
  set({ user });
}

export const mayTeach = () => state.me && state.me.role !== "viewer";
export const mayRule = () => state.me?.role === "admin";
export const me = () => state.me?.name ?? state.user;
const here = (rest) => path(state.collection, rest);

function complain(error) {
  if (error instanceof Problem && error.status === 401) set({ login: true, notice: "" });
  else if (error instanceof Offline) set({ online: false });
  else set({ notice: error.message });
}

// Start, collections, and the address of the page

export async function boot() {
  try {
    let [who, { collections, seq }] = await Promise.all([ask("/v1/me"), ask("/v1/collections")]);
    set({ me: who, login: false });
    if (!collections.length && who.role === "admin") {
      await ask("/v1/demo", { method: "POST" });
      ({ collections, seq } = await ask("/v1/collections"));
      set({ notice: "This space was empty, so here are scikit-learn's handwritten digits." });
    }
    set({ collections });
    follow(seq, { onEvent: heard, onState: connection });
    window.addEventListener("popstate", () => arrive(history.state));
    await arrive(history.state);
  } catch (error) {
    complain(error);
    if (error instanceof Offline) setTimeout(boot, 1000);
  }
  set({ busy: false });
}

export async function login(token) {
  try {
    await ask("/v1/login", { method: "POST", body: { token } });
    await boot();
  } catch (error) {
    set({ notice: error.message });
  }
}

async function connection(online) {
  if (online && !state.online) {
    await Promise.all([loadVersions(), loadActivity()]);
    set({ online, notice: "" });
    if (!state.shown && state.query) await open(state.query);
  } else if (online !== state.online) set({ online });
}

export async function useCollection(name) {
  const found = state.collections.find((c) => c.name === name) ?? largest(state.collections);
  if (!found) return;
  set({ collection: found.name, metas: new Map(), query: null, base: null, shown: null, clicks: [], activity: [] });
  const [about] = await Promise.all([ask(here("/about")), loadVersions(), loadActivity()]);
  set({ about });
}

const largest = (collections) => [...collections].sort((a, b) => b.items - a.items)[0];

function address() {
  const parts = new URLSearchParams({ c: state.collection });
  if (state.query?.text) parts.set("q", state.query.text);
  return `#${parts}`;
}

// What a reload, back and forward need stands in the history entry itself.
function remember(push = false) {
  const kept = state.clicks.filter((click) => click.seq).map(({ item, like, seq }) => ({ item, like, seq }));
  const entry = { query: state.query, base: state.base, clicks: kept, k: state.k };
  history[push ? "pushState" : "replaceState"](entry, "", address());
}

async function arrive(entry) {
  const parts = new URLSearchParams(location.hash.slice(1));
  const wanted = parts.get("c");
  if (!state.collection || (wanted && wanted !== state.collection)) await useCollection(wanted);
  if (!state.collection) return;
  const text = parts.get("q");
  if (entry?.query && entry.base) await resume(entry);
  else if (text) await search(text, false);
  else await surprise(false);
}

// The query as it was left, less what was taken back meanwhile; asked anew where another distance answers by now.
async function resume({ query, base, clicks, k }) {
  const gone = new Set(state.activity.filter((said) => said.undone).map((said) => said.seq));
  const current = base.version === state.versions.active;
  try {
    const found = current ? base : await first(query);
    if (!found) return surprise(false);
    learnNames(found);
    set({ query, base: found, shown: found, clicks: clicks.filter((click) => !gone.has(click.seq)), k });
    await rank();
  } catch (error) {
    complain(error);
  }
}

// Questions

const numbers = (text) => {
  const parts = text.replace(/^\[|\]$/g, "").split(/[\s,;]+/).filter(Boolean).map(Number);
  return parts.length > 1 && parts.every(Number.isFinite) ? parts : null;
};

export async function search(text, push = true) {
  text = text.trim();
  if (!text) return surprise(push);
  const id = /^#(-?\d+)$/.exec(text);
  const x = numbers(text);
  const query = id ? { kind: "item", id: Number(id[1]), text } : x ? { kind: "vector", x, text } : { kind: "text", text };
  await open(query, push);
}

export const openItem = (id) => search(`#${id}`);

// All ids of the collection as it is now, asked for once.
export function allIds() {
  const key = `${state.collection} ${state.itemsSeq}`;
  if (known.key !== key) {
    const ids = ask(here("/items?fields=id")).then((answer) => answer.ids);
    ids.catch(() => (known = {}));
    known = { key, ids };
  }
  return known.ids;
}

let known = {};

// A first question when none was asked: an item from the middle of the collection.
async function surprise(push) {
  const ids = await allIds();
  if (!ids.length) return set({ query: null, base: null, shown: null });
  await search(`#${ids[Math.floor(ids.length * 0.38)]}`, push);
}

export async function searchMeaning(kind, content, label) {
  try {
    const { x } = await ask(here("/encode"), { method: "POST", body: { [kind]: content } });
    await open({ kind: "vector", x, label, text: "" }, true);
  } catch (error) {
    complain(error);
  }
}

let opening = 0;

export async function open(query, push = false) {
  const turn = ++opening;
  const started = performance.now();
  try {
    const [base] = await Promise.all([first(query), query.kind === "item" && learnName(query.id)]);
    if (turn !== opening) return; // somebody was faster
    if (!base) return set({ notice: `Nothing is named “${query.text}”.` });
    learnNames(base);
    latest++; // an answer to the last question that comes late is not shown
    const label = query.label ?? (query.id === undefined ? "your vector" : nameOf(query.id));
    set({ query: { ...query, label }, base, shown: base, clicks: [], k: PAGE, notice: "" });
    remember(push);
    document.documentElement.dataset.openMs = Math.round(performance.now() - started);
  } catch (error) {
    complain(error);
  }
}

const first = (query) => (query.kind === "text" ? byWords(query) : nearest(query, PAGE));

async function nearest(query, k, more = {}) {
  const what = query.x ? { x: query.x } : { id: query.id };
  const body = { ...what, k, duel: mayTeach(), user: me(), ...more };
  return ask(here("/query"), { method: "POST", body });
}

// Items that are named so come first, then what is most like the best of them.
async function byWords(query) {
  const found = await ask(here(`/search?${new URLSearchParams({ text: query.text, k: PAGE })}`));
  if (!found.ids.length) return null;
  Object.assign(query, { id: found.ids[0], x: found.x, total: found.total });
  const near = await nearest(query, PAGE);
  const rest = near.ids.map((id, i) => i).filter((i) => !found.ids.includes(near.ids[i]));
  const join = (name) => [...found[name], ...rest.map((i) => near[name][i])].slice(0, PAGE);
  return { ...near, duelIds: near.ids, ids: join("ids"), sqdist: join("sqdist"), meta: join("meta") };
}

let latest = 0;

export async function rank() {
  const turn = ++latest;
  const { clicks, query, k } = state;
  if (!query) return;
  const started = performance.now();
  try {
    let shown = state.base;
    const of = (like) => clicks.filter((click) => click.like === like).map((click) => click.item);
    if (clicks.length) shown = await nearest(query, k, { likes: of(true), dislikes: of(false), duel: false });
    else if (k > PAGE) shown = await nearest(query, k, { duel: false });
    if (turn !== latest) return;
    learnNames(shown);
    set({ shown });
    document.documentElement.dataset.rankMs = Math.round(performance.now() - started);
  } catch (error) {
    complain(error);
  }
}

export function more() {
  set({ k: Math.min(state.k + PAGE, 1000) });
  return rank();
}

export async function ranking(version, k) {
  const found = await nearest(state.query, k, { version, duel: false });
  learnNames(found);
  return found;
}

// Clicks

const newKey = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16)).join("-");

const DUMB = "You may look here, but not teach: your token has the role viewer.";

export async function judge(item, like) {
  if (!mayTeach()) return set({ notice: DUMB });
  const before = state.clicks.find((click) => click.item === item);
  if (before) {
    await takeBack(before);
    if (before.like === like) return;
  }
  const { query, base, collection } = state;
  const click = { item, like, seq: null };
  set({ clicks: [...state.clicks, click], notice: "" });
  const duel = base.duel_id && (base.duelIds ?? base.ids).includes(item) ? { duel_id: base.duel_id } : {};
  const body = { query: query.id ?? query.x, item, like, user: me(), ...duel };
  click.saved = send(click, { method: "POST", body, key: newKey() }, collection);
  await Promise.all([rank(), click.saved]);
}

async function send(click, request, collection) {
  try {
    click.seq = (await persist(path(collection, "/feedback"), request)).seq;
    if (state.clicks.includes(click)) remember();
  } catch (error) {
    set({ clicks: state.clicks.filter((other) => other !== click) });
    complain(error);
    await rank();
  }
}

// A click that the server could not take is sent again, with the same key, until it answers.
async function persist(url, request) {
  for (;;) {
    try {
      return await ask(url, request);
    } catch (error) {
      if (!(error instanceof Offline)) throw error;
      set({ online: false });
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

async function takeBack(click) {
  set({ clicks: state.clicks.filter((other) => other !== click) });
  const ranked = rank();
  await click.saved;
  if (click.seq) await undo(click.seq);
  remember();
  await ranked;
}

export const undoLast = () => state.clicks.length && takeBack(state.clicks.at(-1));

export async function undo(seq) {
  try {
    await ask(here(`/feedback/${seq}`), { method: "DELETE" });
  } catch (error) {
    if (error.status !== 409) complain(error);
  }
}

// What others do, and what the space does by itself

function heard(event) {
  if (event.collection !== state.collection) return;
  if (event.op === "feedback") {
    const said = { ...event, undone: false };
    set({ activity: [said, ...state.activity].slice(0, 200), saidSeq: event.seq });
    learnName(said.item);
    if (typeof said.query === "number") learnName(said.query);
  } else if (event.op === "undo") {
    const gone = event.undone;
    const mark = (said) => (said.seq === gone ? { ...said, undone: true } : said);
    set({ activity: state.activity.map(mark), saidSeq: event.seq });
    const own = state.clicks.find((click) => click.seq === gone);
    if (own) {
      set({ clicks: state.clicks.filter((click) => click !== own) });
      remember();
      rank();
    }
  } else if (["version", "verdict", "activate"].includes(event.op)) changedVersions(event);
  else if (["items", "remove"].includes(event.op)) set({ itemsSeq: event.seq });
  if (["feedback", "undo"].includes(event.op) && state.versions.candidate) loadVersions(); // the score of the duel
}

async function changedVersions(event) {
  const before = state.versions.active;
  await loadVersions();
  if (state.versions.active === before || !state.query) return;
  set({ saidSeq: event.seq, notice: `From now on “${versionName(state.versions.active)}” answers.` });
  if (!state.clicks.length) await open(state.query);
}

export const versionName = (number) => state.versions.versions.find((v) => v.version === number)?.name ?? `version ${number}`;

export async function loadVersions() {
  set({ versions: await ask(here("/versions")) });
}

export async function loadActivity() {
  const { seq } = await ask("/v1/me");
  const { feedback } = await ask(here(`/feedback?after=${Math.max(0, seq - RECENT)}&limit=${RECENT}`));
  set({ activity: feedback.reverse(), saidSeq: seq });
  const ids = feedback.slice(0, 12).flatMap((said) => [said.item, said.query]);
  await Promise.all([...new Set(ids)].filter((id) => typeof id === "number").map(learnName));
}

export async function learn(name) {
  try {
    await ask(here("/versions"), { method: "POST", body: name ? { name } : {} });
    await loadVersions();
  } catch (error) {
    complain(error);
  }
}

export async function activate(number) {
  try {
    await ask(here(`/versions/${number}/activate`), { method: "POST" });
  } catch (error) {
    complain(error);
  }
}

// Names of items

function learnNames(answer) {
  answer.ids.forEach((id, i) => state.metas.set(id, answer.meta[i]));
}

export async function learnName(id) {
  if (state.metas.has(id)) return;
  state.metas.set(id, {});
  const found = await ask(here(`/items/${id}`)).catch(() => null);
  if (found) state.metas.set(id, found.meta);
  set({});
}

export const metaOf = (id) => state.metas.get(id) ?? {};

export function nameOf(id) {
  const meta = metaOf(id);
  const name = ["name", "title", "label", "text"].map((field) => meta[field]).find((v) => v !== undefined && v !== "");
  return name === undefined ? `item ${id}` : String(name);
}
