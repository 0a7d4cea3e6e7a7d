import { useEffect, useRef, useState } from "preact/hooks";
import { ask, path, picture } from "./api.js";
import { colorsOf, plainColors } from "./colors.js";
import { allIds, judge, learnName, mayTeach, metaOf, nameOf, openItem, set, useStore } from "./store.js";
import { Scatter } from "./scatter.js";
import { Thumb, short } from "./results.jsx";

const MODES = { live: "follows what was said", active: "distance in use", plain: "plain features" };
const MOST_TAUGHT = 200;

export function Map() {
  const store = useStore();
  const { busy, collection, about, itemsSeq, saidSeq, shown, clicks, query } = store;
  const [mode, setMode] = useState("live");
  const [field, setField] = useState("");
  const [legend, setLegend] = useState([]);
  const [lasso, setLasso] = useState(false);
  const [chosen, setChosen] = useState([]);
  const [hover, setHover] = useState(null);
  const [count, setCount] = useState(0);
  const canvas = useRef();
  const over = useRef();
  const map = useRef({ ids: [], path: [] }).current;

  useEffect(() => {
    map.scatter = new Scatter(canvas.current, () => overlay(over.current, map));
    const fitted = new ResizeObserver(() => resize(canvas.current, over.current, map.scatter));
    fitted.observe(canvas.current);
    return () => fitted.disconnect();
  }, []);

  useEffect(() => {
    if (!collection) return;
    let gone = false;
    allIds().then((ids) => {
      if (gone) return;
      map.ids = ids;
      map.index = new globalThis.Map(ids.map((id, i) => [id, i]));
      setChosen([]);
      setCount(ids.length);
    }, () => {}); // without a server the banner says so
    return () => (gone = true);
  }, [collection, itemsSeq]);

  useEffect(() => {
    if (!collection || !count || busy) return; // results come first
    let gone = false;
    const timer = setTimeout(() => load(collection, mode, map, canvas.current, () => gone), 60);
    return () => ((gone = true), clearTimeout(timer));
  }, [collection, count, busy, mode, mode === "live" ? saidSeq : store.versions.active]);

  useEffect(() => {
    if (!count || busy) return;
    if (!field) return map.scatter.paint(plainColors(count)), setLegend([]);
    ask(path(collection, `/columns?${new URLSearchParams({ field })}`)).then((column) => {
      const { colors, legend: said } = colorsOf(column);
      map.scatter.paint(colors);
      setLegend(said);
    });
  }, [field, count, busy, collection]);

  useEffect(() => {
    const group = about.fields.find((name) => ["group", "kind", "class", "category", "digit", "label", "color"].includes(name));
    setField(group ?? "");
  }, [about]);

  useEffect(() => {
    map.marks = marks(map, { shown, clicks, query, chosen, hover });
    map.scatter?.request();
  }, [shown, clicks, query, chosen, hover, count]);

  const pick = (found) => {
    setChosen(found);
    setLasso(false);
  };
  const hands = pointer(map, { lasso, pick, setHover });
  const hovered = hover !== null && map.ids[hover] !== undefined ? map.ids[hover] : null;
  return (
    <section class="card mapcard" aria-label="Map">
      <div class="title">
        <h2>Map</h2>
        <select aria-label="Which distance the map shows" value={mode} onChange={(event) => setMode(event.target.value)}>
          {Object.entries(MODES).map(([value, label]) => <option value={value}>{label}</option>)}
        </select>
        <select aria-label="Color by" value={field} onChange={(event) => setField(event.target.value)}>
          <option value="">one color</option>
          {about.fields.filter((name) => !["image", "name", "keywords", "text"].includes(name)).map((name) => <option value={name}>color: {name}</option>)}
        </select>
      </div>
      <div class={`plot ${lasso ? "lassoing" : ""}`}>
        <canvas ref={canvas} />
        <canvas ref={over} class="over" data-testid="map" tabIndex={0} role="img" data-points={count}
          aria-label={`Map of ${count.toLocaleString("en")} items. Arrow keys move it, plus and minus zoom, 0 shows all.`}
          onKeyDown={(event) => mapKeys(event, map.scatter)} {...hands} />
        {hovered !== null && <Hover id={hovered} at={map.scatter.place(hover)} />}
      </div>
      <div class="tools">
        <button aria-pressed={lasso} onClick={() => setLasso(!lasso)}>Lasso</button>
        <button onClick={() => pick(inView(map.scatter))}>Select what is in view</button>
        <button onClick={() => map.scatter.fit()}>Show all</button>
      </div>
      {chosen.length > 0 && <Selection ids={chosen.map((i) => map.ids[i])} clear={() => setChosen([])} />}
      {legend.length > 0 && <ul class="legend">{legend.map((l) => <li><i style={{ background: l.color }} />{short(l.label, 24)}</li>)}</ul>}
    </section>
  );
}

async function load(collection, mode, map, canvas, gone) {
  const { data, version } = await ask(path(collection, `/map?version=${mode}`), { bytes: true }).catch(() => ({}));
  if (gone() || !data || data.byteLength !== 8 * map.ids.length) return;
  const moved = map.scatter.move(new Float32Array(data));
  const plot = canvas.parentElement.querySelector(".over");
  plot.dataset.version = version;
  plot.dataset.moves = Number(plot.dataset.moves ?? 0) + (moved ? 1 : 0);
}

function resize(canvas, over, scatter) {
  if (!canvas || !over) return; // the map has left the page
  const ratio = Math.min(devicePixelRatio, 2);
  for (const layer of [canvas, over]) {
    layer.width = Math.round(canvas.clientWidth * ratio);
    layer.height = Math.round(canvas.clientHeight * ratio);
  }
  scatter.request();
}

// Rings around what the page speaks of.
function marks(map, { shown, clicks, query, chosen, hover }) {
  const found = [];
  const add = (id, kind, radius) => {
    const at = map.index?.get(id);
    if (at !== undefined) found.push({ at, kind, radius });
  };
  for (const i of chosen.slice(0, 3000)) found.push({ at: i, kind: "chosen", radius: 3 });
  for (const id of shown?.ids ?? []) add(id, "result", 4);
  for (const click of clicks) add(click.item, click.like ? "like" : "dislike", 6);
  if (query?.id !== undefined) add(query.id, "query", 7);
  if (hover !== null) found.push({ at: hover, kind: "query", radius: 5 });
  return found;
}

const COLORS = { chosen: "--accent", result: "--ink", like: "--yes", dislike: "--no", query: "--accent" };

function overlay(layer, map) {
  if (!layer) return;
  const pen = layer.getContext("2d");
  const ratio = layer.width / Math.max(layer.clientWidth, 1);
  const style = getComputedStyle(layer);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, layer.clientWidth, layer.clientHeight);
  for (const { at, kind, radius } of map.marks ?? []) {
    const [x, y] = map.scatter.place(at);
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.strokeStyle = style.getPropertyValue(COLORS[kind]);
    pen.lineWidth = kind === "result" || kind === "chosen" ? 1 : 2.5;
    pen.stroke();
  }
  if (map.path.length > 1) {
    pen.beginPath();
    map.path.forEach(([x, y]) => pen.lineTo(x, y));
    pen.closePath();
    pen.fillStyle = "rgba(127, 160, 155, 0.18)";
    pen.strokeStyle = style.getPropertyValue("--accent");
    pen.lineWidth = 1.5;
    pen.fill();
    pen.stroke();
  }
  layer.dataset.frames = map.scatter.frames;
}

function pointer(map, { lasso, pick, setHover }) {
  const at = (event) => [event.offsetX, event.offsetY];
  return {
    onPointerDown(event) {
      event.target.setPointerCapture(event.pointerId);
      map.down = at(event);
      map.dragged = false;
      map.path = lasso || event.shiftKey ? [at(event)] : [];
    },
    onPointerMove(event) {
      const [x, y] = at(event);
      if (!map.down) return setHover(nearby(map.scatter, x, y));
      map.dragged ||= Math.hypot(x - map.down[0], y - map.down[1]) > 4;
      if (map.path.length) map.path.push([x, y]);
      else if (map.dragged) map.scatter.pan(event.movementX, event.movementY);
      map.scatter.request();
    },
    onPointerUp(event) {
      if (map.path.length > 3) pick(map.scatter.inside((x, y) => within(map.path, x, y)));
      else if (!map.dragged) {
        const found = map.scatter.nearest(...at(event));
        if (found >= 0) openItem(map.ids[found]);
      }
      map.path = [];
      map.down = null;
      map.scatter.request();
    },
    onPointerLeave: () => setHover(null),
    onWheel(event) {
      event.preventDefault();
      map.scatter.zoomAt(Math.exp(event.deltaY * 0.0015), ...at(event));
    },
  };
}

function nearby(scatter, x, y) {
  const found = scatter.moment === 1 ? scatter.nearest(x, y) : -1;
  return found < 0 ? null : found;
}

// Whether a point lies inside of a polygon: it crosses an odd number of sides on its way out.
function within(polygon, x, y) {
  let odd = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [[ax, ay], [bx, by]] = [polygon[i], polygon[j]];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
  }
  return odd;
}

function inView(scatter) {
  const { clientWidth: width, clientHeight: height } = scatter.canvas;
  return scatter.inside((x, y) => x >= 0 && y >= 0 && x <= width && y <= height);
}

function mapKeys(event, scatter) {
  const { clientWidth: width, clientHeight: height } = scatter.canvas;
  const step = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[event.key];
  if (step) scatter.pan(...step);
  else if (event.key === "+" || event.key === "=") scatter.zoomAt(0.8, width / 2, height / 2);
  else if (event.key === "-") scatter.zoomAt(1.25, width / 2, height / 2);
  else if (event.key === "0") scatter.fit();
  else return;
  event.preventDefault();
}

function Hover({ id, at }) {
  const { collection } = useStore();
  useEffect(() => void learnName(id), [id]);
  return (
    <div class="hover" style={{ left: `${at[0]}px`, top: `${at[1]}px` }}>
      {metaOf(id).image && <img src={picture(collection, id)} alt="" width="48" height="48" />}
      <span>{short(nameOf(id), 60)}</span>
    </div>
  );
}

function Selection({ ids, clear }) {
  const { query, collection } = useStore();
  const teach = async (like) => {
    if (ids.length > MOST_TAUGHT) return set({ notice: `At most ${MOST_TAUGHT} items can be taught at once; ${ids.length} are selected.` });
    for (const id of ids) if (id !== query.id) await judge(id, like);
    clear();
  };
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([ids.map((id) => `${id}\n`).join("")], { type: "text/plain" }));
    link.download = `${collection}-ids.txt`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <div class="selection" data-testid="selection">
      <span>{ids.length.toLocaleString("en")} selected</span>
      {query && mayTeach() && <button onClick={() => teach(true)}>+ like</button>}
      {query && mayTeach() && <button onClick={() => teach(false)}>− not like</button>}
      <button onClick={save}>Export ids</button>
      <button class="plain" onClick={clear}>Clear</button>
    </div>
  );
}
