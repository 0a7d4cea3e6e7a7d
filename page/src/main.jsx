import { render } from "preact";
import { useEffect } from "preact/hooks";
import "./style.css";
import { Activity } from "./activity.jsx";
import { Changed } from "./changed.jsx";
import { Header } from "./header.jsx";
import { Map } from "./map.jsx";
import { Results } from "./results.jsx";
import { Score, Versions } from "./versions.jsx";
import { boot, login, set, undoLast, useStore } from "./store.js";

function Page() {
  const { me, login: loggingIn, online, notice, busy, collection } = useStore();
  useEffect(() => {
    boot();
    document.addEventListener("keydown", shortcut);
  }, []);
  if (loggingIn) return <Login notice={notice} />;
  return (
    <>
      <Header />
      <div class="says" role="status" aria-live="polite">
        {!online && <p class="banner warn" data-testid="offline">The server does not answer. Waiting for it; nothing you said is lost.</p>}
        {notice && (
          <p class="banner" data-testid="notice">
            {notice}
            <button class="plain" aria-label="Close this message" onClick={() => set({ notice: "" })}>×</button>
          </p>
        )}
        {me?.role === "viewer" && <p class="banner">You may look here, but not teach.</p>}
      </div>
      <main>
        {collection || busy ? <Results /> : <p class="quiet">There is nothing in this space yet.</p>}
        <div class="side">
          <Map />
          <Changed />
          <Score />
          <Versions />
          <Activity />
        </div>
      </main>
    </>
  );
}

function Login({ notice }) {
  const submit = (event) => {
    event.preventDefault();
    login(new FormData(event.target).get("token"));
  };
  return (
    <main class="login">
      <form onSubmit={submit}>
        <h1>gramian</h1>
        <label for="token">This space asks for a token</label>
        <input id="token" name="token" type="password" autocomplete="current-password" required data-testid="token" />
        <button class="strong">Enter</button>
        <p role="status">{notice}</p>
      </form>
    </main>
  );
}

function shortcut(event) {
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
  if (typing || event.altKey) return;
  const undoing = event.key === "z" && (event.ctrlKey || event.metaKey);
  if (undoing) undoLast();
  else if (event.key === "/" && !event.ctrlKey) document.getElementById("search").select();
  else return;
  event.preventDefault();
}

const root = document.getElementById("page");
root.replaceChildren();
render(<Page />, root);
