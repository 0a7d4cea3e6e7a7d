import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { picture } from "./api.js";
import { colorNamed, isColors } from "./colors.js";
import { entered, isInside, left } from "./hold.js";
import { Examples, Progress, Welcome } from "./welcome.jsx";
import { Why } from "./why.jsx";
import { LISTED, judge, judgeAll, mayTeach, metaOf, more, nameOf, openItem, set, undoLast, useStore } from "./store.js";

const HIDDEN = new Set(["image", "name", "title", "label", "text", "keywords"]);
const MOST_FACTS = 3;
const MOST_TAUGHT = 200;
const GLIDE_MS = 260;
const DEAF_MS = 600; // for the card that comes to rest under a pointer that has not moved

export function Thumb({ id, size }) {
  const { collection } = useStore();
  const meta = metaOf(id);
  if (meta.image) return <img src={picture(collection, id)} alt="" width={size} height={size} loading="lazy" decoding="async" />;
  return null;
}

export function Results() {
  const { query, shown, clicks, base, busy, nothing, selection, about } = useStore();
  const [asked, setAsked] = useState(null);
  const list = useRef();
  const ids = selection ? selection.slice(0, LISTED) : shown?.ids;
  const pictured = about.fields.includes("image") && (!ids || ids.some((id) => metaOf(id).image || !("name" in metaOf(id))));
  useMoves(list, selection ?? shown);
  if (nothing && !selection) return <Nothing words={nothing} />;
  if (!ids || (!query && !selection)) return busy ? <section class="results" aria-label="Results" /> : <Welcome />;
  return (
    <section class="results" aria-label="Results">
      {selection ? <Chosen ids={selection} /> : <Subject />}
      <ol class={`grid ${pictured ? "" : "worded"}`} ref={list} onKeyDown={(event) => keys(event, list.current)}
        onPointerEnter={entered} onPointerDown={entered} onPointerLeave={(event) => event.pointerType === "mouse" && left()}>
        {ids.map((id) => (
          <Result key={id} id={id} why={setAsked} worded={!pictured} fresh={!selection && clicks.length > 0 && !base.ids.includes(id)} />
        ))}
      </ol>
      {!selection && <button class="more" onClick={more}>More results</button>}
      {asked !== null && query?.id !== undefined && <Why id={asked} query={query} close={() => setAsked(null)} />}
    </section>
  );
}

function Subject() {
  const { query, clicks, acts } = useStore();
  const likes = clicks.filter((click) => click.like).length;
  return (
    <div class="query">
      <div class="subject">
        {query.id !== undefined && <Thumb id={query.id} size={48} />}
        <div>
          <h2>Like <em>{short(query.label, 60)}</em></h2>
          <p class="quiet" data-testid="summary">{summary(query, clicks, likes)}</p>
          {!clicks.length && <Progress />}
        </div>
      </div>
      <button data-testid="undo" disabled={!acts.length} onClick={undoLast} title="Take back the last click (Ctrl+Z)">↶ Undo</button>
    </div>
  );
}

function summary(query, clicks, likes) {
  if (clicks.length) return `Ranked by what you said: ${likes} more like this, ${clicks.length - likes} not.`;
  const says = "Say what is alike: + more like this, − not like this.";
  if (query.by === "meaning alone") return `Nothing is named ${query.label}: found by meaning. ${says}`;
  if (query.by === "meaning") return `Found by meaning. ${says}`;
  if (query.total > 1) return `Found by name: ${query.total.toLocaleString("en")} are named so. ${says}`;
  return query.kind === "text" ? `Found by name. ${says}` : says;
}

// A search that found nothing ends in something to do.
function Nothing({ words }) {
  const { about } = useStore();
  return (
    <section class="results" aria-label="Results" data-testid="nothing">
      <h2>Nothing is named “{short(words, 80)}”.</h2>
      <p class="quiet">{about.encodes.includes("text")
        ? "Nothing could be found by meaning either."
        : "This collection has names and meta to search, and no encoder that knows what words mean."}</p>
      <Examples />
    </section>
  );
}

// What was chosen on the map, as the list.
function Chosen({ ids }) {
  const { query } = useStore();
  const teach = async (like) => {
    if (ids.length > MOST_TAUGHT) return set({ notice: `At most ${MOST_TAUGHT} items can be taught at once; ${ids.length} are selected.` });
    await judgeAll(ids.filter((id) => id !== query.id), like);
    set({ selection: null });
  };
  return (
    <div class="query" data-testid="selection">
      <div>
        <h2>{ids.length.toLocaleString("en")} selected <span class="quiet">on the map</span></h2>
        {query && mayTeach() && <p class="quiet">Compared with <em>{short(query.label, 40)}</em>{ids.length > LISTED && `; the first ${LISTED} are listed`}.</p>}
      </div>
      <div class="acts">
        {query && mayTeach() && <button onClick={() => teach(true)}>+ like</button>}
        {query && mayTeach() && <button onClick={() => teach(false)}>− not like</button>}
        <button onClick={() => save(ids)}>Export ids</button>
        <button onClick={() => set({ selection: null })}>Clear</button>
      </div>
    </div>
  );
}

function save(ids) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([ids.map((id) => `${id}\n`).join("")], { type: "text/plain" }));
  link.download = "selected-ids.txt";
  link.click();
  URL.revokeObjectURL(link.href);
}

export const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function Result({ id, fresh, why, worded }) {
  const { clicks, query } = useStore();
  const meta = metaOf(id);
  const name = nameOf(id);
  const said = clicks.find((click) => click.item === id);
  const says = !meta.image && typeof meta.text === "string" && meta.text !== name ? meta.text : "";
  const mark = said ? (said.like ? "liked" : "disliked") : "";
  return (
    <li class={`result ${mark} ${worded ? "worded" : ""}`} data-testid="result" data-id={id} tabIndex={0}
      aria-label={`${name}${fresh ? ", new" : ""}${mark && `, ${mark}`}`}>
      <button class="open" tabIndex={-1} title={`Search from ${name}`} onClick={() => openItem(id)}>
        <Thumb id={id} size={72} />
        <span class="name">{short(name, meta.image ? 60 : 160)}</span>
        {says && <span class="text">{short(says, 220)}</span>}
      </button>
      <Facts meta={meta} />
      {fresh && <span class="new">new</span>}
      {query && (
        <div class="say">
          <button data-testid="like" aria-pressed={said?.like === true} disabled={!mayTeach()}
            aria-label={`More like ${name}`} title="More like this (+)" onClick={() => judge(id, true)}>+</button>
          {query.id !== undefined && <button data-testid="why" aria-label={`Why is ${name} near?`} title="Why is this near?" onClick={() => why(id)}>?</button>}
          <button data-testid="dislike" aria-pressed={said?.like === false} disabled={!mayTeach()}
            aria-label={`Not like ${name}`} title="Not like this (−)" onClick={() => judge(id, false)}>−</button>
        </div>
      )}
    </li>
  );
}

// The fields that sort the items into kinds come first, each whole; a name of a color has a dot of it.
function Facts({ meta }) {
  const { about } = useStore();
  const order = about.kinds.map((kind) => kind.field);
  const colored = new Set(about.kinds.filter((kind) => isColors(kind.values)).map((kind) => kind.field));
  const rank = (field) => (order.includes(field) ? order.indexOf(field) : order.length);
  const facts = Object.entries(meta).filter(([field, v]) => !HIDDEN.has(field) && v !== null && typeof v !== "object");
  facts.sort(([a], [b]) => rank(a) - rank(b));
  return (
    <p class="facts">
      {facts.slice(0, MOST_FACTS).map(([field, v]) => (
        <span key={field} title={field}>
          {colored.has(field) && colorNamed(v) && <i class="dot" style={{ background: colorNamed(v) }} />}{short(String(v), 40)}
        </span>
      ))}
    </p>
  );
}

function keys(event, list) {
  const card = event.target.closest(".result");
  if (!card || event.ctrlKey || event.metaKey || event.altKey) return;
  const id = Number(card.dataset.id);
  const cards = [...list.children];
  const at = cards.indexOf(card);
  const row = cards.findIndex((other) => other.offsetTop > cards[0].offsetTop);
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: row < 0 ? 1 : row, ArrowUp: row < 0 ? -1 : -row }[event.key];
  if (event.key === "+" || event.key === "=") judge(id, true);
  else if (event.key === "-" || event.key === "−") judge(id, false);
  else if (event.key === "Enter" && event.target === card) openItem(id);
  else if (event.key === "?") card.querySelector("[data-testid=why]")?.click();
  else if (step) cards[at + step]?.focus();
  else return;
  event.preventDefault();
}

// Cards glide to their new places and are deaf meanwhile; the one that had the keyboard keeps it.
function useMoves(list, answer) {
  const places = useRef(new Map());
  const focused = useRef(null);
  const pointer = useRef(null);
  useLayoutEffect(() => {
    const remember = (event) => (focused.current = place(event.target));
    const follow = (event) => (pointer.current = [event.clientX, event.clientY]);
    const grid = list.current;
    grid?.addEventListener("focusin", remember);
    grid?.addEventListener("pointermove", follow);
    return () => {
      grid?.removeEventListener("focusin", remember);
      grid?.removeEventListener("pointermove", follow);
    };
  });
  useLayoutEffect(() => {
    if (!list.current) return;
    const before = places.current;
    places.current = new Map([...list.current.children].map((card) => [card.dataset.id, [card.offsetLeft, card.offsetTop]]));
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const moved = new Set();
    for (const card of list.current.children) {
      const [x, y] = places.current.get(card.dataset.id);
      const [fromX, fromY] = before.get(card.dataset.id) ?? [x, y + 14];
      if (!before.size || (fromX === x && fromY === y)) continue;
      moved.add(card);
      const start = { transform: `translate(${fromX - x}px, ${fromY - y}px)` };
      if (!calm) card.animate([start, { transform: "none" }], { duration: GLIDE_MS, easing: "cubic-bezier(.2,.7,.2,1)" });
    }
    if (moved.size && isInside()) rest(list.current, pointer.current, moved);
    restore(list.current, focused.current);
  }, [answer]);
}

// No card answers while it glides, and the one that arrives under a resting pointer not before it could be seen.
function rest(grid, pointer, moved) {
  grid.classList.add("gliding");
  setTimeout(() => grid.classList.remove("gliding"), GLIDE_MS);
  if (!pointer) return;
  const [x, y] = pointer;
  const { left: fromX, top: fromY } = grid.getBoundingClientRect();
  const [at, down] = [x - fromX + grid.offsetLeft, y - fromY + grid.offsetTop];
  const under = (card) => at >= card.offsetLeft && at <= card.offsetLeft + card.offsetWidth && down >= card.offsetTop && down <= card.offsetTop + card.offsetHeight;
  const card = [...moved].find(under);
  if (!card) return;
  const end = (event) => {
    if (event && Math.hypot(event.clientX - x, event.clientY - y) < 4) return;
    card.classList.remove("deaf");
    grid.removeEventListener("pointermove", end);
  };
  card.classList.add("deaf");
  grid.addEventListener("pointermove", end);
  setTimeout(end, DEAF_MS);
}

function place(target) {
  return { id: target.closest(".result")?.dataset.id, part: target.dataset.testid };
}

function restore(list, focused) {
  if (!focused?.id || document.activeElement !== document.body) return;
  const card = list.querySelector(`[data-id="${focused.id}"]`);
  const part = card && focused.part !== "result" ? card.querySelector(`[data-testid="${focused.part}"]`) : card;
  (part ?? card)?.focus({ preventScroll: true });
}
