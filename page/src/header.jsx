import { useEffect, useRef, useState } from "preact/hooks";
import { boxOf, rename, search, searchMeaning, useCollection, useStore } from "./store.js";

const MOST_TEXT = 10000;
const THEMES = ["system", "light", "dark"];

const wished = matchMedia("(prefers-color-scheme: dark)");

function applyTheme(theme) {
  const dark = theme === "dark" || (theme === "system" && wished.matches);
  document.documentElement.classList.toggle("dark", dark);
  localStorage.setItem("gramian-theme", theme);
}

const chosenTheme = () => localStorage.getItem("gramian-theme") ?? "system";
applyTheme(chosenTheme());
wished.addEventListener("change", () => applyTheme(chosenTheme()));

export function Header() {
  const { me, user, collections, collection, about, query, nothing } = useStore();
  const [words, setWords] = useState("");
  const [theme, setTheme] = useState(chosenTheme());
  const box = query ? boxOf(query) : nothing;
  useEffect(() => setWords(box), [query, box]);
  const submit = (event) => {
    event.preventDefault();
    search(words);
  };
  const choose = async (event) => {
    await useCollection(event.target.value);
    search("");
  };
  const nextTheme = () => {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    applyTheme(next);
    setTheme(next);
  };
  return (
    <header>
      <h1><button class="plain home" onClick={() => search("")} title="Begin anew"><img src="/icon.svg" alt="" width="26" height="26" />gramian</button></h1>
      {collections.length > 1 && (
        <select aria-label="Collection" value={collection} onChange={choose}>
          {collections.map((c) => <option value={c.name}>{c.name} · {c.items.toLocaleString("en")}</option>)}
        </select>
      )}
      <form role="search" onSubmit={submit}>
        <input
          id="search" data-testid="search" type="search" autocomplete="off" spellcheck={false}
          aria-label="Search by words, #id or a vector"
          placeholder={about.encodes.includes("text") ? "A name, or what you mean" : "A name, #id, or a vector of numbers"}
          value={words} onInput={(event) => setWords(event.target.value)}
        />
        <button class="strong">Search</button>
        {about.encodes.includes("text") && (
          <button type="button" title="Compare what the words mean, not how they are spelled"
            onClick={() => words.trim() && searchMeaning("text", words, `“${words}”`)}>By meaning</button>
        )}
        {about.encodes.length > 0 && <Upload kinds={about.encodes} />}
      </form>
      <div class="who">
        {me?.name ? <span>{me.name}</span> : (
          <input aria-label="Your name" class="name" value={user} maxLength={40}
            onChange={(event) => rename(event.target.value.trim() || user)} />
        )}
        <button class="plain" onClick={nextTheme} aria-label={`Colors: ${theme}`} title={`Colors: ${theme}`}>◐</button>
      </div>
    </header>
  );
}

// A picture, or a text in a file, to search with: what the collection has an encoder for.
function Upload({ kinds }) {
  const input = useRef();
  const pictures = kinds.includes("image");
  const accepted = [pictures && "image/*", kinds.includes("text") && "text/*,.txt,.md"].filter(Boolean).join(",");
  const send = async (event) => {
    const file = event.target.files[0];
    if (!file) return;
    const picture = pictures && !/^text\/|^$/.test(file.type);
    if (picture) await searchMeaning("image", await base64(file), file.name);
    else await searchMeaning("text", (await file.text()).slice(0, MOST_TEXT), file.name);
    event.target.value = "";
  };
  return (
    <>
      <button type="button" title="Search with a file of yours; it stays on this machine" onClick={() => input.current.click()}>{pictures ? "Picture…" : "File…"}</button>
      <input ref={input} type="file" accept={accepted} hidden aria-label="A file to search with" data-testid="upload" onChange={send} />
    </>
  );
}

async function base64(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return btoa(text);
}
