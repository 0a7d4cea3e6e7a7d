import { useEffect, useRef, useState } from "preact/hooks";
import { ask, path } from "./api.js";
import { nameOf, useStore } from "./store.js";
import { Thumb } from "./results.jsx";

// What each group of features adds to the distance, beside what it adds between two items drawn at random.
export function Why({ id, query, close }) {
  const { collection } = useStore();
  const [found, setFound] = useState(null);
  const dialog = useRef();
  useEffect(() => {
    dialog.current.showModal();
    ask(path(collection, `/why?a=${query.id}&b=${id}`)).then(setFound, (error) => setFound({ error: error.message }));
  }, [id]);
  return (
    <dialog ref={dialog} class="why" aria-label="Why is this near?" onClose={close}
      onClick={(event) => event.target === dialog.current && dialog.current.close()}>
      <div class="pair"><Thumb id={query.id} size={48} /><Thumb id={id} size={48} /></div>
      <h2>Why is <em>{nameOf(id)}</em> near <em>{nameOf(query.id)}</em>?</h2>
      {!found && <p class="quiet">Looking…</p>}
      {found?.error && <p>{found.error}</p>}
      {found?.groups && <Groups groups={found.groups} />}
      <form method="dialog"><button class="strong">Close</button></form>
    </dialog>
  );
}

function Groups({ groups }) {
  const most = Math.max(...groups.map((g) => Math.max(g.usual, g.share)), 1e-12);
  const width = (value) => `${Math.max(0, (100 * value) / most)}%`;
  return (
    <>
      <p class="quiet">How much each group of features sets the two apart, in squared distance. The line is what it adds between two items at random: a bar well below its line is why they are near.</p>
      <table class="groups">
        <tbody>
          {groups.map((g) => (
            <tr>
              <th scope="row">{g.name}</th>
              <td class="bars"><span class="share" style={{ width: width(g.share) }} /><span class="usual" style={{ left: width(g.usual) }} /></td>
              <td class="number">{g.share.toFixed(2)} <span class="quiet">usually {g.usual.toFixed(2)}</span></td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
