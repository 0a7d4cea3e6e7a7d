import { useEffect, useState } from "preact/hooks";
import { ask, path } from "./api.js";
import { learnMany, nameOf, openItem, ranking, set, undoLast, useStore, versionName } from "./store.js";
import { Thumb, short } from "./results.jsx";

const ROWS = 10;
const NEW = 5; // pictures beside the sentence, where there is no room for more

// Before and after side by side: by the clicks on this query, or by versions of the metric.
export function Changed() {
  const { base, shown, clicks, query, versions } = useStore();
  const [what, setWhat] = useState("clicks");
  const [sides, setSides] = useState(null);
  const [unfolded, setUnfolded] = useState(false);
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
    <section class={`card changed ${clicks.length ? "sheet" : ""} ${unfolded ? "unfolded" : ""}`} data-testid="changed" aria-label="What changed">
      <div class="title">
        <h2>What changed</h2>
        <span class="narrow">
          <button onClick={undoLast} aria-label="Undo">↶</button>
          <button aria-expanded={unfolded} onClick={() => setUnfolded(!unfolded)}>{unfolded ? "Less" : "Side by side"}</button>
        </span>
        {options.length > 1 && (
          <select aria-label="Compare" value={chosen} onChange={(event) => setWhat(event.target.value)}>
            {options.map((o) => <option value={o.value}>{o.label}</option>)}
          </select>
        )}
      </div>
      {chosen === "all" ? <MostChanged versions={versions} />
        : chosen === "clicks" && !clicks.length ? <p class="quiet">Press + or − on a result, and before and after stand here side by side.</p>
        : both && <Sides before={both[0].slice(0, ROWS)} after={both[1].slice(0, ROWS)} whole={both[0]} />}
    </section>
  );
}

function choices({ versions, active, candidate }) {
  const found = [{ value: "clicks", label: "by your clicks" }];
  if (active) found.push({ value: `0:${active}`, label: "by what is in use" });
  if (candidate !== null && candidate !== undefined) found.push({ value: `${active}:${candidate}`, label: "by what is on trial" });
  if (versions.length > 1) found.push({ value: "all", label: "for which items most" });
  return found;
}

function Sides({ before, after, whole }) {
  const kept = after.filter((id) => before.includes(id)).length;
  const moved = after.filter((id, i) => before[i] !== id).length;
  const fresh = after.filter((id) => !whole.includes(id));
  return (
    <>
      <p class="quiet told">{moved === 0 ? "Nothing moved." : `${moved} of ${after.length} places changed, ${after.length - kept} are new among the first ${after.length}.`}
        <span class="fresh">{(fresh.length ? fresh : after.filter((id) => !before.includes(id))).slice(0, NEW).map((id) => <Thumb key={id} id={id} size={24} />)}</span></p>
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
      learnMany(answer.items.slice(0, 12).map((item) => item.id));
      setFound(answer);
    };
    ask(path(collection, `/versions/0/diff?to=${to}&k=10`)).then(keep, (error) => set({ notice: error.message }));
  }, [to, collection]);
  if (!found) return <p class="quiet">Comparing…</p>;
  return (
    <>
      <p class="quiet">From the features as they are to {versionName(to)}, {Math.round(100 * found.kept_share)}% of ten neighbors stay. They changed most for:</p>
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
