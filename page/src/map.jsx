import { useEffect, useRef, useState } from "preact/hooks";
import { ask, path, picture } from "./api.js";
import { colorsOf, plainColors } from "./colors.js";
import { closeUp, places, trails } from "./closeup.js";
import { allIds, choose, learnName, metaOf, nameOf, openItem, useStore } from "./store.js";
import { Scatter } from "./scatter.js";
import { short } from "./results.jsx";

const MODES = { live: "follows clicks", active: "what is in use", plain: "nothing learned" };

export function Map() {
  const store = useStore();
  const { busy, collection, about, itemsSeq, saidSeq, shown, clicks, query, selection } = store;
  const [mode, setMode] = useState("live");
  const [field, setField] = useState("");
  const [legend, setLegend] = useState([]);
  const [lasso, setLasso] = useState(false);
  const [moved, setMoved] = useState(0);
  const [hover, setHover] = useState(null);
  const [count, setCount] = useState(0);
  const canvas = useRef();
  const over = useRef();
  const map = useRef({ ids: [], path: [], pictures: new globalThis.Map() }).current;

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
      setCount(ids.length);
    }, () => {}); // without a server the banner says so
    return () => (gone = true);
  }, [collection, itemsSeq]);

  useEffect(() => {
    if (!collection || !count || busy) return; // results come first
    let gone = false;
    const timer = setTimeout(() => load(collection, mode, map, canvas.current, () => gone).then(setMoved), 60);
    return () => ((gone = true), clearTimeout(timer));
  }, [collection, count, busy, mode, mode === "live" ? saidSeq : store.versions.active]);

  useEffect(() => {
    if (!count || busy) return;
    map.kinds = null;
    if (!field) return map.scatter.paint(plainColors(count)), setLegend([]);
    ask(path(collection, `/columns?${new URLSearchParams({ field })}`)).then((column) => {
      const { colors, legend: said, codes } = colorsOf(column);
      map.kinds = codes && { codes, legend: said.filter((kind) => kind.code !== undefined) };
      map.scatter.paint(colors);
      setLegend(said);
    });
  }, [field, count, busy, collection]);

  useEffect(() => {
    setField(about.kinds[0]?.field ?? "");
  }, [about]);

  useEffect(() => {
    map.marks = marks(map, { shown, clicks, query, selection, hover });
    map.scatter?.request();
  }, [shown, clicks, query, selection, hover, count]);

  const pick = (found) => {
    choose(found.length ? nearestFirst(map, found, query) : null);
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
          {about.fields.filter((name) => !["image", "name", "keywords", "text"].includes(name)).map((name) => <option value={name}>by {name}</option>)}
        </select>
      </div>
      <div class={`plot ${lasso ? "lassoing" : ""}`}>
        <canvas ref={canvas} />
        <canvas ref={over} class="over" data-testid="map" tabIndex={0} role="img" data-points={count}
          aria-label={`Map of ${count.toLocaleString("en")} items. Arrow keys move it, plus and minus zoom, 0 shows all.`}
          onKeyDown={(event) => mapKeys(event, map.scatter)} {...hands} />
        {hovered !== null && <Hover id={hovered} at={map.scatter.place(hover)} room={[canvas.current.clientWidth, canvas.current.clientHeight]} />}
        {moved > 0 && mode === "live" && clicks.length > 0 && <p class="mapsays" role="status" data-testid="moved">{moved.toLocaleString("en")} items moved with what was said</p>}
      </div>
      <div class="tools">
        <button aria-pressed={lasso} onClick={() => setLasso(!lasso)}>Lasso</button>
        <button onClick={() => pick(inView(map.scatter))}>Select what is in view</button>
        <button onClick={() => map.scatter.fit()}>Show all</button>
      </div>
      {legend.length > 0 && <ul class="legend">{legend.map((l) => <li><i class="dot" style={{ background: l.color }} />{short(l.label, 24)}</li>)}</ul>}
    </section>
  );
}

const FAR = 0.01; // of the width of the view, from which on a point has moved

// Fetch the places and glide there; how many points have moved.
async function load(collection, mode, map, canvas, gone) {
  const { data, version } = await ask(path(collection, `/map?version=${mode}`), { bytes: true }).catch(() => ({}));
  if (gone() || !data || data.byteLength !== 8 * map.ids.length) return 0;
  const moved = map.scatter.move(new Float32Array(data));
  const plot = canvas.parentElement.querySelector(".over");
  plot.dataset.version = version;
  plot.dataset.moves = Number(plot.dataset.moves ?? 0) + (moved ? 1 : 0);
  return moved ? map.scatter.farther(FAR) : 0;
}

// Ids of points, those first that are nearest to the query on the map.
function nearestFirst(map, points, query) {
  const from = map.index.get(query?.id);
  const far = (i) => {
    const [[x, y], [u, v]] = [map.scatter.place(i), map.scatter.place(from)];
    return Math.hypot(x - u, y - v);
  };
  const order = from === undefined ? points : [...points].sort((a, b) => far(a) - far(b));
  return order.map((i) => map.ids[i]);
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
function marks(map, { shown, clicks, query, selection, hover }) {
  const found = [];
  const add = (id, kind, radius) => {
    const at = map.index?.get(id);
    if (at !== undefined) found.push({ at, id, kind, radius });
  };
  for (const id of (selection ?? []).slice(0, 3000)) add(id, "chosen", 3);
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
  trails(pen, map, style.getPropertyValue("--ink"));
  const drawn = closeUp(pen, map, style);
  if (!drawn) places(pen, map, style);
  layer.dataset.pictures = drawn;
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

const [ROOM_ABOVE, HALF] = [112, 78]; // pixels that a preview needs

function Hover({ id, at: [x, y], room: [width] }) {
  const { collection } = useStore();
  useEffect(() => void learnName(id), [id]);
  const left = Math.min(Math.max(x, HALF), Math.max(HALF, width - HALF));
  return (
    <div class={`hover ${y < ROOM_ABOVE ? "below" : ""}`} style={{ left: `${left}px`, top: `${y}px` }}>
      {metaOf(id).image && <img src={picture(collection, id)} alt="" width="48" height="48" />}
      <span>{short(nameOf(id), 48)}</span>
    </div>
  );
}
