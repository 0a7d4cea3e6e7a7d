// Colors of points by a field of meta: the commonest values have a color of their own, numbers a ramp.

const OWN = ["#3d7ea6", "#d9822b", "#4f9d69", "#c2504d", "#8b6bb1", "#a3875a", "#d174a8", "#5aa7a7", "#b5a642", "#6c7bd1"];
const OTHER = "#98a1a0";
const PLAIN = "#4f8f8a";
const RAMP = ["#3b528b", "#21918c", "#5ec962", "#e8c52a"];

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

export function plainColors(n) {
  const plain = rgb(PLAIN);
  return fill(n, () => plain);
}

function fill(n, of) {
  const out = new Uint8Array(3 * n);
  for (let i = 0; i < n; i++) out.set(of(i), 3 * i);
  return out;
}

export function colorsOf({ values, codes }) {
  const numeric = values.length > OWN.length && values.every((v) => typeof v === "number");
  return numeric ? ramp(values, codes) : classes(values, codes);
}

function classes(values, codes) {
  const counts = new Array(values.length).fill(0);
  for (const code of codes) if (code >= 0) counts[code]++;
  const order = counts.map((_, i) => i).sort((a, b) => counts[b] - counts[a]).slice(0, OWN.length);
  order.sort((a, b) => (values[a] < values[b] ? -1 : 1));
  const shade = new Array(values.length).fill(rgb(OTHER));
  order.forEach((code, i) => (shade[code] = rgb(OWN[i])));
  const legend = order.map((code, i) => ({ color: OWN[i], label: String(values[code]) }));
  if (values.length > OWN.length) legend.push({ color: OTHER, label: `${values.length - OWN.length} others` });
  const other = rgb(OTHER);
  return { colors: fill(codes.length, (i) => (codes[i] < 0 ? other : shade[codes[i]])), legend };
}

function ramp(values, codes) {
  const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
  const shade = (v) => {
    const at = ((v - low) / (high - low)) * (RAMP.length - 1);
    const i = Math.min(Math.floor(at), RAMP.length - 2);
    const [from, to] = [rgb(RAMP[i]), rgb(RAMP[i + 1])];
    return from.map((c, j) => Math.round(c + (to[j] - c) * (at - i)));
  };
  const legend = [{ color: RAMP[0], label: String(low) }, { color: RAMP.at(-1), label: String(high) }];
  return { colors: fill(codes.length, (i) => (codes[i] < 0 ? rgb(OTHER) : shade(values[codes[i]]))), legend };
}
