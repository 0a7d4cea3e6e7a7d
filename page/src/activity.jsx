import { useState } from "preact/hooks";
import { mayRule, mayTeach, me, nameOf, openItem, undo, useStore } from "./store.js";
import { Thumb, short } from "./results.jsx";

const FEW = 8;

// What was said, by all, the newest first.
export function Activity() {
  const { activity } = useStore();
  const [all, setAll] = useState(false);
  const listed = activity.slice(0, all ? 200 : FEW);
  return (
    <section class="card" data-testid="activity" aria-label="Activity">
      <h2>What was said</h2>
      {!activity.length && <p class="quiet">Nothing yet. Clicks of everyone in this space appear here.</p>}
      <ul class="activity">{listed.map((said) => <Said key={said.seq} said={said} />)}</ul>
      {activity.length > FEW && <button class="plain" onClick={() => setAll(!all)}>{all ? "Fewer" : `All ${activity.length}`}</button>}
    </section>
  );
}

function Said({ said }) {
  const own = said.user === me();
  const query = typeof said.query === "number";
  return (
    <li class={said.undone ? "undone" : ""} data-seq={said.seq}>
      <span class="sentence">
        <b>{own ? "You" : said.user ?? "Someone"}</b>: <Name id={said.item} /> is {said.like ? "like" : <b class="not">not like</b>}{" "}
        {query ? <Name id={said.query} /> : "a vector"}{said.undone && " (taken back)"}
      </span>
      {!said.undone && mayTeach() && (own || mayRule()) && (
        <button class="plain" data-testid="take-back" aria-label={`Take back: ${nameOf(said.item)}`} title="Take this back" onClick={() => undo(said.seq)}>↶</button>
      )}
    </li>
  );
}

function Name({ id }) {
  useStore();
  return (
    <button class="link" onClick={() => openItem(id)}><Thumb id={id} size={16} />{short(nameOf(id), 26)}</button>
  );
}
