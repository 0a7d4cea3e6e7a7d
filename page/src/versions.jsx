import { useEffect, useState } from "preact/hooks";
import { ask, path } from "./api.js";
import { Progress } from "./welcome.jsx";
import { activate, answering, called, learn, mayRule, mayTeach, useStore } from "./store.js";

// What answers, what is on trial and how it stands, in plain words.
export function Score() {
  const { versions, activity, about } = useStore();
  const said = activity.filter((a) => !a.undone).length;
  const trial = versions.versions.find((v) => v.version === versions.candidate);
  const active = versions.versions.find((v) => v.version === versions.active);
  return (
    <section class="card" data-testid="score" aria-label="Does it help?">
      <h2>Does it help?</h2>
      {active && (
        <p>Searches are answered by <b>{answering(active)}</b>{active.version === 0 ? "." : ", in use."}{" "}
          {versions.versions.length < 2 && <span class="quiet">{clicksOf(said)}; at {about.first_at ?? 50} a first learned distance goes on trial.</span>}</p>
      )}
      <Progress />
      {trial && <Trial version={trial} rival={versions.versions.find((v) => v.version === trial.duels.against)} />}
      {active?.version > 0 && <Good active={active} rival={versions.versions.find((v) => v.version === active.duels.against)} />}
    </section>
  );
}

const clicksOf = (n) => `${n || "No"} ${n === 1 ? "click" : "clicks"} so far`;

function Trial({ version, rival }) {
  const { duels } = version;
  return (
    <div class="trial" data-testid="trial">
      <p>On trial, not yet in use: <b>{answering(version)}</b>. <span class="quiet">Your results are mixed from both rankings, and nobody sees which is whose. So far {counted(duels.queries, "query", "queries")} with a click.</span></p>
      <Preference duels={duels} rival={rival} />
    </div>
  );
}

const counted = (n, one, more) => `${n} ${n === 1 ? one : more}`;

// The mean vote of the searches as a share, with two standard errors; half is no difference.
function Preference({ duels, rival }) {
  const { queries, likes, likes_against: against, difference, error, wealth, needed } = duels;
  if (!queries) return <p class="quiet">No judgment has told the two apart yet.</p>;
  const share = (1 + difference) / 2;
  const [low, high] = [-1, 1].map((side) => Math.min(1, Math.max(0, share + side * (error ?? 1))));
  const verdict = low > 0.5 ? "It is ahead." : high < 0.5 ? "It is behind." : "Too early to tell.";
  const percent = (value) => `${Math.round(100 * value)}%`;
  return (
    <>
      <Bar share={share} low={low} high={high} middle label={`${percent(share)} for it, between ${percent(low)} and ${percent(high)}; half is no difference`} />
      <p class="quiet">{verdict} Of what only one of the two showed, <b>{likes}</b> liked {likes === 1 ? "result is" : "results are"} from it and <b>{against}</b> from {rival ? answering(rival) : "the other"}.
        {needed && wealth < needed ? ` It takes over when the evidence for it is ${Math.round(needed)} to 1; it is ${wealth < 10 ? wealth.toFixed(1) : Math.round(wealth)} to 1.` : ""}</p>
    </>
  );
}

// A share of something, and the range it may as well be in.
function Bar({ share, low, high, middle, label }) {
  const at = (value) => `${(100 * value).toFixed(1)}%`;
  return (
    <div class="bar" role="img" aria-label={label}>
      <span class="share" style={{ width: at(share) }} />
      <span class="range" style={{ left: at(low), width: at(high - low) }} />
      {middle && <span class="half" />}
    </div>
  );
}

const FEW = 5; // judgments below which a share says nothing

// Whether the version in use was good: the trial that it won, and what was liked since then and before.
function Good({ active, rival }) {
  const { collection, activity } = useStore();
  const [counts, setCounts] = useState(null);
  useEffect(() => {
    let gone = false;
    ask(path(collection, "/since")).then((answer) => !gone && setCounts(answer), () => {});
    return () => (gone = true);
  }, [collection, active.version, activity]);
  return (
    <div class="good" data-testid="good">
      {active.duels.queries > 0 && <Preference duels={active.duels} rival={rival} />}
      {counts?.version === active.version && <Since {...counts} />}
    </div>
  );
}

function Since({ before, after }) {
  if (after.judged < FEW) return <p class="quiet">Was it good? {after.judged} of {FEW} clicks so far that can say so: search on, and judge what comes.</p>;
  const [was, is] = [wilson(before), wilson(after)];
  const words = before.judged < FEW ? "" : is.low > was.high ? "Better than before." : is.high < was.low ? "Worse than before." : "No clear difference to before.";
  return (
    <>
      <p>Since it is in use, {after.likes} of {after.judged} judged results were liked{before.judged >= FEW && `, before ${before.likes} of ${before.judged}`}. <b>{words}</b></p>
      <Bar {...is} label={`${Math.round(100 * is.share)}% liked since then`} />
      {before.judged >= FEW && <Bar {...was} label={`${Math.round(100 * was.share)}% liked before`} />}
      <p class="quiet">A hint: you may have searched for other things than before.</p>
    </>
  );
}

// The interval of Wilson (1927) at two standard errors, for a share of few.
function wilson({ likes, judged }) {
  if (!judged) return { share: 0, low: 0, high: 1 };
  const [p, z2] = [likes / judged, 4];
  const middle = (p + z2 / (2 * judged)) / (1 + z2 / judged);
  const half = (2 / (1 + z2 / judged)) * Math.sqrt((p * (1 - p)) / judged + z2 / (4 * judged * judged));
  return { share: p, low: middle - half, high: middle + half };
}

const OUTCOME = {
  candidate: "on trial",
  adopted: "was in use",
  lost: "lost its trial, not used",
  undecided: "no difference found, not used",
  superseded: "made way for a newer one",
};

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
              <b>{called(v)}</b>
              <span class="quiet"> {v.version === 0 ? "nothing learned" : `${counted(v.events, "click", "clicks")}${!v.active && OUTCOME[v.status] ? ` · ${OUTCOME[v.status]}` : ""}`}</span>
            </div>
            <div class="acts">
              {v.active ? <span class="tag">in use</span> : mayRule() && <button data-testid="activate" aria-label={`Use ${called(v)}`} onClick={() => activate(v.version)}>Use</button>}
              <a class="button" href={path(collection ?? "", `/versions/${v.version}/export?format=gram`)} download aria-label={`Export ${called(v)}`}>Export</a>
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
