import { useEffect, useState } from "preact/hooks";
import { ask, path } from "./api.js";
import { learnName, nameOf, openItem, ranking, set, useStore } from "./store.js";
import { Thumb, short } from "./results.jsx";

const ROWS = 10;

// Before and after side by side: by the clicks on this query, or by versions of the metric.
export function Changed() {
  const { base, shown, clicks, query, versions } = useStore();
  const [what, setWhat] = useState("clicks");
  const [sides, setSides] = useState(null);
  const options = choices(versions);
  const chosen = options.some((o) => o.value === what) ? what : "clicks";
  useEffect(() => {
    if (chosen === "clicks" || chosen === "all" || !query) return;
    const [before, after] = chosen.split(":").map(Number);
    let gone = false;
    Promise.all([ranking(before, ROWS), ranking(after, ROWS)]).then((found) => !gone && setSides(found.map((f) => f.ids)));
    return () => (gone = true);
  }, [chosen, query, versions.active]);
  const both = chosen === "clicks" ? base && shown && [base.ids, shown.ids] : sides;
  return (
    <section class="card" data-testid="changed" aria-label="What changed">
      <div class="title">
        <h2>What changed</h2>
        {options.length > 1 && (
          <select aria-label="Compare" value={chosen} onChange={(event) => setWhat(event.target.value)}>
            {options.map((o) => <option value={o.value}>{o.label}</option>)}
          </select>
        )}
      </div>
      {chosen === "all" ? <MostChanged versions={versions} />
        : chosen === "clicks" && !clicks.length ? <p class="quiet">Like or dislike a result, and before and after stand here side by side.</p>
        : both && <Sides before={both[0].slice(0, ROWS)} after={both[1].slice(0, ROWS)} whole={both[0]} />}
    </section>
  );
}

function choices({ versions, active, candidate }) {
  const found = [{ value: "clicks", label: "by your clicks" }];
  if (active) found.push({ value: `0:${active}`, label: "plain → in use" });
  if (candidate !== null && candidate !== undefined) found.push({ value: `${active}:${candidate}`, label: "in use → candidate" });
  if (versions.length > 1) found.push({ value: "all", label: "all items, most changed" });
  return found;
}

function Sides({ before, after, whole }) {
  const kept = after.filter((id) => before.includes(id)).length;
  const moved = after.filter((id, i) => before[i] !== id).length;
  return (
    <>
      <p class="quiet">{moved === 0 ? "Nothing moved." : `${moved} of ${after.length} places changed, ${after.length - kept} are new among the first ${after.length}.`}</p>
      <div class="sides">
        <Side title="Before" ids={before} mark={(id) => (after.includes(id) ? "" : "gone")} />
        <Side title="After" ids={after} mark={(id, i) => move(whole.indexOf(id), i)} />
      </div>
    </>
  );
}

const move = (from, to) => (from < 0 ? "new" : from === to ? "" : from > to ? `↑${from - to}` : `↓${to - from}`);

function Side({ title, ids, mark }) {
  return (
    <div>
      <h3>{title}</h3>
      <ol>
        {ids.map((id, i) => {
          const said = mark(id, i);
          return (
            <li key={id} class={said ? "moved" : ""}>
              <Thumb id={id} size={22} /><span class="name">{short(nameOf(id), 30)}</span>
              <span class={`mark ${said === "gone" || said.startsWith("↓") ? "down" : "up"}`}>{said}</span>
            </li>
          );
        })}
      </ol>
    </div>
  );
}

function MostChanged({ versions }) {
  const { collection } = useStore();
  const [found, setFound] = useState(null);
  const to = versions.active || Math.max(...versions.versions.map((v) => v.version));
  useEffect(() => {
    const keep = (answer) => {
      answer.items.slice(0, 12).forEach((item) => learnName(item.id));
      setFound(answer);
    };
    ask(path(collection, `/versions/0/diff?to=${to}&k=10`)).then(keep, (error) => set({ notice: error.message }));
  }, [to, collection]);
  if (!found) return <p class="quiet">Comparing…</p>;
  return (
    <>
      <p class="quiet">From plain features to version {to}, {Math.round(100 * found.kept_share)}% of ten neighbors stay. They changed most for:</p>
      <ul class="chips">
        {found.items.slice(0, 12).map((item) => (
          <li key={item.id}>
            <button class="chip" onClick={() => openItem(item.id)}>
              <Thumb id={item.id} size={20} />{short(nameOf(item.id), 24)} <span class="quiet">{item.new.length} new</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
