import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { picture } from "./api.js";
import { Why } from "./why.jsx";
import { judge, mayTeach, metaOf, more, nameOf, openItem, undoLast, useStore } from "./store.js";

const HIDDEN = new Set(["image", "name", "title", "label", "text", "keywords"]);

const PARTS = [["map", "Map"], ["score", "Does it help?"], ["changed", "What changed"], ["activity", "What was said"]];
const jump = (part) => document.querySelector(`[data-testid="${part}"]`).closest(".card").scrollIntoView({ block: "center" });

export function Thumb({ id, size }) {
  const { collection } = useStore();
  const meta = metaOf(id);
  if (meta.image) return <img src={picture(collection, id)} alt="" width={size} height={size} loading="lazy" decoding="async" />;
  return null;
}

export function Results() {
  const { query, shown, clicks, base } = useStore();
  const [asked, setAsked] = useState(null);
  const list = useRef();
  useMoves(list, shown);
  if (!shown || !query) return <section class="results" aria-label="Results"><p class="quiet">Search for something.</p></section>;
  const likes = clicks.filter((click) => click.like).length;
  return (
    <section class="results" aria-label="Results">
      <div class="query">
        <div class="subject">
          {query.id !== undefined && <Thumb id={query.id} size={52} />}
          <div>
            <h2>Like <em>{short(query.label, 60)}</em></h2>
            <p class="quiet">{summary(query, clicks, likes)}</p>
          </div>
        </div>
        <button data-testid="undo" disabled={!clicks.length} onClick={undoLast} title="Take back the last click (Ctrl+Z)">↶ Undo</button>
      </div>
      <nav class="jump" aria-label="On this page">
        {PARTS.map(([part, label]) => <button key={part} onClick={() => jump(part)}>{label}</button>)}
      </nav>
      <ol class={`grid ${shown.ids.some((id) => metaOf(id).image) ? "" : "worded"}`} ref={list} onKeyDown={(event) => keys(event, list.current)}>
        {shown.ids.map((id, i) => (
          <Result key={id} id={id} value={(shown.score ?? shown.sqdist)[i]} scored={!!shown.score} why={setAsked}
            fresh={clicks.length > 0 && !base.ids.includes(id)} />
        ))}
      </ol>
      <button class="more" onClick={more}>More results</button>
      {asked !== null && query.id !== undefined && <Why id={asked} query={query} close={() => setAsked(null)} />}
    </section>
  );
}

function summary(query, clicks, likes) {
  const named = query.total > 1 ? `${query.total.toLocaleString("en")} are named so. ` : "";
  if (!clicks.length) return `${named}Say what is alike: + more like this, − not like this.`;
  return `Ranked by what you said: ${likes} more like this, ${clicks.length - likes} not.`;
}

export const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function Result({ id, value, scored, fresh, why }) {
  const { clicks, query } = useStore();
  const meta = metaOf(id);
  const name = nameOf(id);
  const said = clicks.find((click) => click.item === id);
  const says = !meta.image && typeof meta.text === "string" && meta.text !== name ? meta.text : "";
  const facts = Object.entries(meta).filter(([field, v]) => !HIDDEN.has(field) && v !== null && typeof v !== "object");
  const amount = scored ? `score ${value.toFixed(2)}` : `distance ${Math.sqrt(Math.max(value, 0)).toFixed(2)}`;
  const mark = said ? (said.like ? "liked" : "disliked") : "";
  return (
    <li class={`result ${mark} ${meta.image ? "" : "worded"}`} data-testid="result" data-id={id} tabIndex={0}
      aria-label={`${name}, ${amount}${mark && `, ${mark}`}`}>
      <button class="open" tabIndex={-1} title={`Search from ${name}`} onClick={() => openItem(id)}>
        <Thumb id={id} size={72} />
        <span class="name">{short(name, meta.image ? 40 : 160)}</span>
        {says && <span class="text">{short(says, 180)}</span>}
      </button>
      <p class="facts">{facts.slice(0, 2).map(([, v]) => short(String(v), 28)).join(" · ")}</p>
      <p class="amount">{fresh && <span class="new">new</span>}{amount}</p>
      <div class="say">
        <button data-testid="like" aria-pressed={said?.like === true} disabled={!mayTeach()}
          aria-label={`More like ${name}`} title="More like this (+)" onClick={() => judge(id, true)}>+</button>
        {query.id !== undefined && <button class="plain" data-testid="why" aria-label={`Why is ${name} near?`} title="Why is this near?" onClick={() => why(id)}>?</button>}
        <button data-testid="dislike" aria-pressed={said?.like === false} disabled={!mayTeach()}
          aria-label={`Not like ${name}`} title="Not like this (−)" onClick={() => judge(id, false)}>−</button>
      </div>
    </li>
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

// Cards glide to their new places, and the one that had the keyboard keeps it.
function useMoves(list, shown) {
  const places = useRef(new Map());
  const focused = useRef(null);
  useLayoutEffect(() => {
    const remember = (event) => (focused.current = place(event.target));
    list.current?.addEventListener("focusin", remember);
    return () => list.current?.removeEventListener("focusin", remember);
  });
  useLayoutEffect(() => {
    if (!list.current) return;
    const before = places.current;
    places.current = new Map([...list.current.children].map((card) => [card.dataset.id, [card.offsetLeft, card.offsetTop]]));
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    for (const card of calm ? [] : list.current.children) {
      const [x, y] = places.current.get(card.dataset.id);
      const [fromX, fromY] = before.get(card.dataset.id) ?? [x, y + 14];
      if (!before.size || (fromX === x && fromY === y)) continue;
      const start = { transform: `translate(${fromX - x}px, ${fromY - y}px)` };
      card.animate([start, { transform: "none" }], { duration: 260, easing: "cubic-bezier(.2,.7,.2,1)" });
    }
    restore(list.current, focused.current);
  }, [shown]);
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
