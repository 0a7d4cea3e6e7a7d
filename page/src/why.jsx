import { useEffect, useRef, useState } from "preact/hooks";
import { ask, path } from "./api.js";
import { nameOf, state, useStore } from "./store.js";
import { Thumb, short } from "./results.jsx";

// What brings two items near: groups of features where they have names, what both are, and what is liked and nearest.
export function Why({ id, query, close }) {
  const { collection, clicks } = useStore();
  const [found, setFound] = useState(null);
  const dialog = useRef();
  useEffect(() => {
    dialog.current.showModal();
    const liked = clicks.filter((click) => click.like && click.item !== id).map((click) => click.item);
    const likes = liked.length ? `&likes=${liked.slice(-200).join(",")}` : "";
    ask(path(collection, `/why?a=${query.id}&b=${id}${likes}`)).then((answer) => {
      for (const { id: other, meta } of answer.nearest) state.metas.set(other, meta);
      setFound(answer);
    }, (error) => setFound({ error: error.message }));
  }, [id]);
  return (
    <dialog ref={dialog} class="why" aria-label="Why is this near?" onClose={close}
      onClick={(event) => event.target === dialog.current && dialog.current.close()}>
      <div class="pair"><Thumb id={query.id} size={48} /><Thumb id={id} size={48} /></div>
      <h2>Why is <em>{short(nameOf(id), 80)}</em> near <em>{short(nameOf(query.id), 80)}</em>?</h2>
      {!found && <p class="quiet">Looking…</p>}
      {found?.error && <p>{found.error}</p>}
      {found?.groups && <Nearest found={found} query={query} />}
      {found?.groups && found.named && <Groups groups={found.groups} />}
      <form method="dialog"><button class="strong">Close</button></form>
    </dialog>
  );
}

const percent = (share) => (share > 0.995 ? "over 99%" : share < 0.01 ? "under 1%" : `${Math.round(100 * share)}%`);

function Nearest({ found: { nearest, shared }, query }) {
  return (
    <ul class="reasons" data-testid="reasons">
      {nearest.filter(({ closer }) => closer > 0.5).map(({ id, closer }) => (
        <li key={id}><Thumb id={id} size={24} /><span>{id === query.id ? "You asked for" : "You liked"} <b>{short(nameOf(id), 60)}</b>: this is nearer to it than {percent(closer)} of all items.</span></li>
      ))}
      {shared.map(({ field, value, share }) => (
        <li key={field}><span>Both have {field} <b>{String(value)}</b>, as {percent(share)} of all items do.</span></li>
      ))}
    </ul>
  );
}

function Groups({ groups }) {
  const most = Math.max(...groups.map((g) => Math.max(g.usual, g.share)), 1e-12);
  const width = (value) => `${Math.max(0, (100 * value) / most)}%`;
  return (
    <>
      <p class="quiet">How far each group of features sets the two apart. The line is where two items at random are: a bar well short of it is why they are near.</p>
      <table class="groups">
        <tbody>
          {groups.map((g) => (
            <tr>
              <th scope="row">{g.name}</th>
              <td class="bars"><span class="share" style={{ width: width(g.share) }} /><span class="usual" style={{ left: width(g.usual) }} /></td>
              <td class="number">{compared(g.share / Math.max(g.usual, 1e-12))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

const compared = (ratio) => (ratio < 0.005 ? "not apart" : `${ratio < 10 ? Math.round(100 * ratio) : Math.round(ratio) * 100}% of usual`);
