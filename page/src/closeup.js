// What stands above the points of the map: trails of what moved, names of kinds, and pictures or names when one is near.
import { picture } from "./api.js";
import { learnMany, metaOf, nameOf, state } from "./store.js";

const TRAIL_MS = 2600;
const [SMALLEST, LARGEST] = [17, 46]; // of a picture, in pixels
const MOST = 260; // pictures at once
const SAMPLE = 400; // points of a kind by which its place is found

// Lines from where points were to where they are, which fade.
export function trails(pen, map, ink) {
  const { scatter } = map;
  const age = performance.now() - (scatter.since ?? -Infinity);
  if (!scatter.moved?.length || age > TRAIL_MS) return;
  pen.strokeStyle = ink;
  pen.lineWidth = 1.2;
  pen.globalAlpha = 0.55 * (1 - age / TRAIL_MS);
  pen.beginPath();
  for (const i of scatter.moved) {
    pen.moveTo(...scatter.project(scatter.start[2 * i], scatter.start[2 * i + 1]));
    pen.lineTo(...scatter.place(i));
  }
  pen.stroke();
  pen.globalAlpha = 1;
  scatter.request();
}

// Pictures of the items in view, or their names, where there is room; returns how many were drawn.
export function closeUp(pen, map, style) {
  const { scatter } = map;
  const { clientWidth: width, clientHeight: height } = scatter.canvas;
  const room = 0.85 * Math.sqrt((width * height) / Math.max(scatter.visible ?? Infinity, 1));
  if (room < SMALLEST || scatter.moment < 1) return 0;
  const size = Math.min(room, LARGEST);
  const inView = scatter.inside((x, y) => x > 0 && y > 0 && x < width && y < height).slice(0, MOST);
  if (!inView.length) return 0;
  const ids = inView.map((i) => map.ids[i]);
  if (ids.some((id) => !state.metas.has(id))) soon(map, ids);
  const boxes = [];
  let drawn = 0;
  for (const i of inView) {
    const [x, y] = scatter.place(i);
    if (!state.metas.has(map.ids[i])) continue;
    drawn += metaOf(map.ids[i]).image ? pictured(pen, map, map.ids[i], x, y, size) : named(pen, style, boxes, nameOf(map.ids[i]), x, y);
  }
  return drawn;
}

function soon(map, ids) {
  clearTimeout(map.soon);
  map.soon = setTimeout(() => learnMany(ids).then(() => map.scatter.request()), 120);
}

function pictured(pen, map, id, x, y, size) {
  const key = picture(state.collection, id);
  let image = map.pictures.get(key);
  if (!image) {
    if (map.pictures.size > 4 * MOST) map.pictures.clear();
    image = new Image();
    image.onload = () => map.scatter.request();
    image.src = key;
    map.pictures.set(key, image);
  }
  if (!image.complete || !image.naturalWidth) return 0;
  const scale = size / Math.max(image.naturalWidth, image.naturalHeight);
  const [w, h] = [image.naturalWidth * scale, image.naturalHeight * scale];
  pen.drawImage(image, x - w / 2, y - h / 2, w, h);
  return 1;
}

// A name above its point, unless another one is there.
function named(pen, style, boxes, text, x, y, weight = "") {
  const words = text.length > 28 ? `${text.slice(0, 27)}…` : text;
  pen.font = `${weight} 11.5px system-ui, sans-serif`;
  const half = pen.measureText(words).width / 2 + 3;
  if (boxes.some(([u, v, other]) => Math.abs(u - x) < half + other && Math.abs(v - y) < 15)) return 0;
  boxes.push([x, y, half]);
  pen.textAlign = "center";
  pen.lineJoin = "round";
  pen.lineWidth = 3.5;
  pen.strokeStyle = style.getPropertyValue("--plot");
  pen.fillStyle = style.getPropertyValue("--ink");
  pen.strokeText(words, x, y - 6);
  pen.fillText(words, x, y - 6);
  return 1;
}

// Names of kinds in the middle of their points.
export function places(pen, map, style) {
  if (!map.kinds || map.scatter.moment < 1) return;
  const { scatter, kinds } = map;
  if (kinds.of !== scatter.end) Object.assign(kinds, { of: scatter.end, middles: middles(scatter.end, kinds) });
  const boxes = [];
  for (const { label, x, y } of kinds.middles) named(pen, style, boxes, label, ...scatter.project(x, y), "600");
}

function middles(end, { codes, legend }) {
  const half = (values) => values.sort((a, b) => a - b)[values.length >> 1];
  return legend.map(({ label, code }) => {
    const points = [];
    codes.forEach((other, i) => other === code && points.push(i));
    const some = points.filter((_, i) => i % Math.ceil(points.length / SAMPLE) === 0);
    return { label, x: half(some.map((i) => end[2 * i])), y: half(some.map((i) => end[2 * i + 1])) };
  });
}
