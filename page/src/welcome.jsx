import { colorNamed, isColors } from "./colors.js";
import { Thumb, short } from "./results.jsx";
import { nameOf, openItem, search, useStore } from "./store.js";

// Where nothing was asked yet: what the page is for, searches to begin with, a task, and some items of every kind.
export function Welcome() {
  const { about, collection } = useStore();
  if (!about.listed) return <section class="results" aria-label="Results" />;
  return (
    <section class="results welcome" aria-label="Results" data-testid="welcome">
      <h2>Show it what is alike, and it learns what you mean by similar.</h2>
      <p class="quiet">Search for something in {collection}, then press <b>+</b> on what is like it and <b>−</b> on what is not. The list follows at once; after some clicks a distance is learned that ranks every later search.</p>
      <Examples />
      <Task />
      <h3>Or begin with one of these</h3>
      <ol class="grid start">
        {about.listed.ids.map((id) => (
          <li key={id} class="result" data-testid="result" data-id={id}>
            <button class="open" title={`Search from ${nameOf(id)}`} onClick={() => openItem(id)}>
              <Thumb id={id} size={64} />
              <span class="name">{short(nameOf(id), 60)}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

// Three searches: those that the collection names, otherwise from a typical item of each of its largest kinds.
export function Examples() {
  const { about } = useStore();
  if (!about.examples) return null;
  return (
    <p class="examples" data-testid="examples">
      <span class="quiet">Try</span>
      {about.searches.length
        ? about.searches.map((text) => <button key={text} class="chip" onClick={() => search(text)}>{text}</button>)
        : about.examples.ids.map((id) => <button key={id} class="chip" onClick={() => openItem(id)}><Thumb id={id} size={20} />{short(nameOf(id), 26)}</button>)}
    </p>
  );
}

// One thing to do, and how far it is to the first learned distance.
export function Task() {
  const { about } = useStore();
  const kind = about.kinds[0];
  if (!kind) return <Progress />;
  const words = isColors(kind.values) ? ["red", "green", "blue", "yellow"].filter((word) => kind.values.includes(word)) : [];
  return (
    <div class="task" data-testid="task">
      <p><b>A task:</b> pick what has the same <em>{kind.field}</em>, and nothing else.{" "}
        {words.map((word) => <i key={word} class="dot" style={{ background: colorNamed(word) }} />)}
        <span class="quiet"> Four clicks are enough to see the list turn.</span></p>
      <Progress />
    </div>
  );
}

// Clicks towards the first learned distance, until there is one.
export function Progress() {
  const { about, activity, versions } = useStore();
  const said = activity.filter((a) => !a.undone).length;
  if (versions.versions.length > 1 || !about.first_at) return null;
  return (
    <div class="progress" data-testid="progress">
      <progress max={about.first_at} value={Math.min(said, about.first_at)} aria-label="Clicks towards the first learned distance" />
      <span class="quiet">{said} of {about.first_at} clicks to the first learned distance</span>
    </div>
  );
}
