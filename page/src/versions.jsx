import { useState } from "preact/hooks";
import { path } from "./api.js";
import { activate, learn, mayRule, mayTeach, useStore } from "./store.js";

const FIRST = 50; // clicks at which the space learns a first candidate by itself

// The duels in plain words.
export function Score() {
  const { versions, activity } = useStore();
  const said = activity.filter((a) => !a.undone).length;
  const dueling = versions.versions.find((v) => v.version === versions.candidate);
  const active = versions.versions.find((v) => v.version === versions.active && v.version > 0);
  const told = dueling ?? active;
  return (
    <section class="card" data-testid="score" aria-label="Score">
      <h2>Does it help?</h2>
      {told ? <Record version={told} dueling={told === dueling} /> : (
        <p>Plain features answer. {said === 0 ? "Nobody has said anything yet" : `${said} ${said === 1 ? "click" : "clicks"} so far`};
          at {FIRST} a learned distance comes up and must win duels before it is used.</p>
      )}
      {dueling && active && <p class="quiet">In use meanwhile: {active.name}.</p>}
    </section>
  );
}

const OUTCOME = {
  candidate: "still dueling, not yet in use",
  adopted: "in use",
  lost: "lost, kept and not used",
  undecided: "no difference found, not used",
  superseded: "stepped back for a newer one",
};

const side = (number) => (number === 0 ? "plain" : `version ${number}`);

function Record({ version, dueling }) {
  const { duels } = version;
  const total = Math.max(1, duels.likes + duels.likes_against);
  const outcome = version.active ? "in use" : OUTCOME[version.status];
  const other = side(duels.against === version.version ? 0 : duels.against);
  return (
    <>
      <p>learned <b>{duels.likes}</b> : {other} <b>{duels.likes_against}</b> likes, {duels.queries} {duels.queries === 1 ? "query" : "queries"}: {outcome}</p>
      <div class="duel" aria-hidden="true"><span style={{ width: `${(100 * duels.likes) / total}%` }} /></div>
      {dueling && <p class="quiet">Results of both are mixed while you search, and nobody sees whose is whose.</p>}
    </>
  );
}

export function Versions() {
  const { versions, collection } = useStore();
  const [name, setName] = useState("");
  const [learning, setLearning] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setLearning(true);
    await learn(name.trim());
    setLearning(false);
    setName("");
  };
  return (
    <section class="card" data-testid="versions" aria-label="Versions">
      <h2>Versions</h2>
      <ul class="versions">
        {[...versions.versions].reverse().map((v) => (
          <li key={v.version} class={v.active ? "active" : ""} data-version={v.version}>
            <div>
              <b>{v.name}</b>
              <span class="quiet"> {v.version === 0 ? "no learning" : `${v.events} clicks${v.active ? "" : ` · ${OUTCOME[v.status]}`}`}</span>
            </div>
            <div class="acts">
              {v.active ? <span class="tag">in use</span> : mayRule() && <button data-testid="activate" aria-label={`Use ${v.name}`} onClick={() => activate(v.version)}>Use</button>}
              <a class="button" href={path(collection ?? "", `/versions/${v.version}/export?format=gram`)} download aria-label={`Export ${v.name}`}>Export</a>
            </div>
          </li>
        ))}
      </ul>
      {mayTeach() && (
        <form class="learn" onSubmit={submit}>
          <input aria-label="Name of the new version" placeholder="Name (optional)" maxLength={80} value={name} onInput={(event) => setName(event.target.value)} />
          <button data-testid="learn" disabled={learning}>{learning ? "Learning…" : "Learn now"}</button>
        </form>
      )}
    </section>
  );
}
