// What the page knows, in one value; components read it and call the functions below.
import { useEffect, useState } from "preact/hooks";
import { Offline, Problem, ask, follow, path } from "./api.js";
import { isColors } from "./colors.js";
import { drop, touched, whenStill } from "./hold.js";

export const PAGE = 24;
export const LISTED = 96; // of items that were chosen on the map
const RECENT = 500;

export const state = {
  me: null,
  login: false,
  online: true,
  notice: "",
  busy: true,
  collections: [],
  collection: null,
  about: { fields: [], kinds: [], groups: [], encodes: [], searches: [] },
  metas: new Map(), // of all items seen so far
  query: null, // {kind, label, id, x, text, by}
  nothing: "", // words that were searched for and found nothing
  selection: null, // ids chosen on the map, which the list shows in place of results
  base: null, // the answer before any click
  shown: null, // the answer now
  k: PAGE,
  clicks: [], // of the open query: {item, like, seq}
  acts: [], // what each undo goes back to: [{item, like}], like is null where nothing was said
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
  else if (error instanceof Offline) wait();
  else set({ notice: error.message });
}

let waiting = null;
let unanswered = null; // the question that was asked last while nobody answered

// Ask every second whether the server is back, and then go on.
function wait() {
  set({ online: false });
  waiting ??= setTimeout(async () => {
    waiting = null;
    const back = await ask("/v1/me").then(() => true, (error) => !(error instanceof Offline));
    if (back) await connection(true);
    else wait();
  }, 1000);
}

// Start, collections, and the address of the page

export async function boot() {
  try {
    let [who, { collections, seq }] = await Promise.all([ask("/v1/me"), ask("/v1/collections")]);
    set({ me: who, login: false, online: true });
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
  if (!online) return state.online && wait();
  if (state.online || !state.collection) return;
  set({ online: true, notice: "" });
  try {
    await Promise.all([loadVersions(), loadActivity()]);
    const question = unanswered;
    unanswered = null;
    if (question) await question();
    else if (state.query) await (state.base?.version === state.versions.active ? rank() : open(state.query));
  } catch (error) {
    complain(error);
  }
}

export async function useCollection(name) {
  const found = state.collections.find((c) => c.name === name) ?? largest(state.collections);
  if (!found) return;
  set({ collection: found.name, metas: new Map(), activity: [], ...NO_QUERY });
  const [about] = await Promise.all([ask(here("/about")), loadVersions(), loadActivity()]);
  about.kinds.sort((a, b) => isColors(b.values) - isColors(a.values)); // what is seen at once comes first
  learnNames(about.listed);
  learnNames(about.examples);
  set({ about });
}

const NO_QUERY = { query: null, base: null, shown: null, selection: null, nothing: "", clicks: [], acts: [] };

const largest = (collections) => [...collections].sort((a, b) => b.items - a.items)[0];

function address() {
  const parts = new URLSearchParams({ c: state.collection });
  if (state.query?.text) parts.set("q", state.query.text);
  else if (state.nothing) parts.set("q", state.nothing);
  return `#${parts}`;
}

// What a reload, back and forward need stands in the history entry itself.
function remember(push = false) {
  const kept = state.clicks.filter((click) => click.seq).map(({ item, like, seq }) => ({ item, like, seq }));
  const entry = { query: state.query, base: state.base, clicks: kept, acts: state.acts, k: state.k };
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
  else await begin(false);
}

// The query as it was left, less what was taken back meanwhile; asked anew where another distance answers by now.
async function resume({ query, base, clicks, acts = [], k }) {
  const gone = new Set(state.activity.filter((said) => said.undone).map((said) => said.seq));
  const current = base.version === state.versions.active;
  try {
    const found = current ? base : await first(query);
    if (!found) return begin(false);
    learnNames(found);
    const live = clicks.filter((click) => !gone.has(click.seq));
    const undone = acts.filter((act) => act.every(({ item }) => live.some((click) => click.item === item)));
    set({ ...NO_QUERY, query, base: found, shown: found, clicks: live, acts: undone, k });
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
  if (!text) return begin(push);
  if (state.query?.kind === "item" && text === boxOf(state.query)) return open(state.query, push);
  const id = /^(?:#|item )(-?\d+)$/.exec(text);
  const x = numbers(text);
  const query = id ? { kind: "item", id: Number(id[1]), text } : x ? { kind: "vector", x, text } : { kind: "text", text };
  await open(query, push);
}

export const openItem = (id) => search(`#${id}`);

// What the search box says of a question: words as they were typed, the name of an item.
export const boxOf = (query) => (query.kind === "item" ? nameOf(query.id) : query.text);

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

// Nothing is asked: some items of every kind, to begin with.
async function begin(push) {
  drop();
  latest++;
  opening++;
  set(push ? { ...NO_QUERY, notice: "" } : NO_QUERY);
  history[push ? "pushState" : "replaceState"](null, "", `#${new URLSearchParams({ c: state.collection })}`);
}

export async function searchMeaning(kind, content, label) {
  const text = kind === "text" && label === `“${content}”` ? content : "";
  await open({ kind: "brought", content: { [kind]: content }, label, text, by: "meaning" }, true);
}

let opening = 0;

export async function open(query, push = false) {
  const turn = ++opening;
  const started = performance.now();
  try {
    const [base] = await Promise.all([first(query), query.kind === "item" && learnName(query.id)]);
    if (turn !== opening) return; // somebody was faster
    drop();
    latest++; // an answer to the last question that comes late is not shown
    if (base) {
      learnNames(base);
      const label = query.label ?? (query.id === undefined ? "your vector" : nameOf(query.id));
      set({ ...NO_QUERY, query: { ...query, label }, base, shown: base, k: PAGE, notice: "" });
    } else set({ ...NO_QUERY, nothing: query.text, notice: "" });
    remember(push);
    document.documentElement.dataset.openMs = Math.round(performance.now() - started);
  } catch (error) {
    if (error instanceof Offline) unanswered = () => open(query, push);
    complain(error);
  }
}

async function first(query) {
  if (query.kind === "brought") return brought(query);
  if (query.kind !== "text") return nearest(query, PAGE);
  const named = await byWords(query);
  if (named || !state.about.encodes.includes("text")) return named;
  return brought(Object.assign(query, { content: { text: query.text }, label: `“${query.text}”`, by: "meaning alone" }));
}

// A text or a picture that is no item: asked for by the vector that the encoder makes of it.
async function brought(query) {
  query.x ??= (await ask(here("/encode"), { method: "POST", body: query.content })).x;
  Object.assign(query, { kind: "brought", content: null });
  return nearest(query, PAGE);
}

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
    const took = Math.round(performance.now() - started);
    await whenStill(() => {
      set({ shown });
      document.documentElement.dataset.rankMs = took;
    });
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

export function judge(item, like) {
  if (!mayTeach()) return set({ notice: DUMB });
  if (!touched(`${item} ${like}`)) return;
  const before = saidOf(item);
  set({ acts: [...state.acts, [{ item, like: before }]] });
  return say([{ item, like: before === like ? null : like }]);
}

// The same of many items at once, which one undo takes back.
export function judgeAll(items, like) {
  set({ acts: [...state.acts, items.map((item) => ({ item, like: saidOf(item) }))] });
  return say(items.map((item) => ({ item, like })));
}

export function undoLast() {
  const act = state.acts.at(-1);
  if (!act) return;
  set({ acts: state.acts.slice(0, -1) });
  return say(act);
}

const saidOf = (item) => state.clicks.find((click) => click.item === item)?.like ?? null;

// Say of each item that it is like the query, that it is not, or nothing; what was said before is taken back.
async function say(judgments) {
  const changed = judgments.filter(({ item, like }) => saidOf(item) !== like);
  const over = new Set(changed.map(({ item }) => item));
  const gone = state.clicks.filter((click) => over.has(click.item));
  const added = changed.filter(({ like }) => like !== null).map(({ item, like }) => ({ item, like, seq: null }));
  set({ clicks: [...state.clicks.filter((click) => !over.has(click.item)), ...added], notice: "" });
  const ranked = rank();
  const { query, base, collection } = state;
  const body = (click) => {
    const duel = base.duel_id && (base.duelIds ?? base.ids).includes(click.item) ? { duel_id: base.duel_id } : {};
    return { query: query.id ?? query.x, item: click.item, like: click.like, user: me(), ...duel };
  };
  for (const click of added) click.saved = send(click, { method: "POST", body: body(click), key: newKey() }, collection);
  for (const click of gone) click.saved?.then(() => click.seq && undo(click.seq)) ?? undo(click.seq);
  await Promise.all([ranked, ...added.map((click) => click.saved)]);
  remember();
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
      wait();
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

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
      const acts = state.acts.filter((act) => !act.some(({ item }) => item === own.item));
      set({ clicks: state.clicks.filter((click) => click !== own), acts });
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
  set({ saidSeq: event.seq, notice: `From now on searches are answered by ${versionName(state.versions.active)}.` });
  if (!state.clicks.length && !state.selection) await open(state.query);
}

export const versionName = (number) => {
  const version = state.versions.versions.find((v) => v.version === number);
  return version ? answering(version) : `version ${number}`;
};

// A version in words: one that nobody named is called by the clicks that it was learned from.
export function called({ version, name, events }) {
  if (version === 0) return "the features as they are";
  return /^\w+ of \d+ clicks?$/.test(name) ? `learned from ${events} ${events === 1 ? "click" : "clicks"}` : name;
}

// The same in the middle of a sentence.
export function answering(version) {
  const name = called(version);
  return version.version === 0 ? name : name === version.name ? `“${name}”` : `a distance ${name}`;
}

export async function loadVersions() {
  set({ versions: await ask(here("/versions")) });
}

export async function loadActivity() {
  const { seq } = await ask("/v1/me");
  const { feedback } = await ask(here(`/feedback?after=${Math.max(0, seq - RECENT)}&limit=${RECENT}`));
  set({ activity: feedback.reverse(), saidSeq: seq });
  await learnMany(feedback.slice(0, 12).flatMap((said) => [said.item, said.query]));
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
  else state.metas.delete(id);
  set({});
}

const TOGETHER = 200;

export async function learnMany(ids) {
  const wanted = [...new Set(ids)].filter((id) => typeof id === "number" && !state.metas.has(id));
  for (let at = 0; at < wanted.length; at += TOGETHER) {
    const some = wanted.slice(at, at + TOGETHER);
    some.forEach((id) => state.metas.set(id, {}));
    const found = await ask(here(`/metas?ids=${some.join(",")}`)).catch(() => null);
    if (found) learnNames(found);
    else some.forEach((id) => state.metas.delete(id));
  }
  if (wanted.length) set({});
}

// Items chosen on the map take the place of the results.
export async function choose(ids) {
  if (ids) await learnMany(ids.slice(0, LISTED));
  set({ selection: ids });
}

export const metaOf = (id) => state.metas.get(id) ?? {};

export function nameOf(id) {
  const meta = metaOf(id);
  const name = ["name", "title", "label", "text"].map((field) => meta[field]).find((v) => v !== undefined && v !== "");
  return name === undefined ? `item ${id}` : String(name);
}
