// Colors of points by a field of meta: names of colors are drawn in those colors, the commonest other values have
// a color of their own, numbers a ramp.

const OWN = ["#3d7ea6", "#d9822b", "#4f9d69", "#c2504d", "#8b6bb1", "#a3875a", "#d174a8", "#5aa7a7", "#b5a642", "#6c7bd1"];
const OTHER = "#98a1a0";
const PLAIN = "#3f8a83";
const RAMP = ["#3b528b", "#21918c", "#5ec962", "#e8c52a"];
const NAMED = {
  red: "#d6342c", orange: "#f08a24", yellow: "#f2c531", green: "#3f9b45", blue: "#2f74d0", purple: "#8a4fc0", pink: "#ec7fb0",
  brown: "#8a5a35", white: "#ffffff", gray: "#8b9190", grey: "#8b9190", black: "#17191a", mixed: "#c7b299",
};
const MOSTLY = 0.6; // share of the values that must be names of colors

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

// What a word looks like, null where it names no color.
export function colorNamed(word) {
  const text = String(word).trim().toLowerCase();
  if (text in NAMED) return NAMED[text];
  if (!/^(#[0-9a-f]{6}|[a-z ]{3,24})$/.test(text)) return null;
  const pen = (colorNamed.pen ??= document.createElement("canvas").getContext("2d"));
  for (const blank of ["#000000", "#ffffff"]) {
    pen.fillStyle = blank;
    pen.fillStyle = text.replaceAll(" ", "");
    if (pen.fillStyle !== blank) return /^#/.test(pen.fillStyle) ? pen.fillStyle : null;
  }
  return null;
}

const UNCOLORED = new Set(["mixed", "none", "other", "unknown"]);

export function isColors(values) {
  const words = values.filter((value) => !UNCOLORED.has(String(value).toLowerCase()));
  const colors = words.filter((value) => typeof value === "string" && colorNamed(value));
  return words.length > 1 && colors.length >= MOSTLY * words.length;
}

export function plainColors(n) {
  const plain = rgb(PLAIN);
  return fill(n, () => plain);
}

function fill(n, of) {
  const out = new Uint8Array(3 * n);
  for (let i = 0; i < n; i++) out.set(of(i), 3 * i);
  return out;
}

// Colors of all points, the legend, and codes for labels; codes are null where the field is a number.
export function colorsOf({ values, codes }) {
  const numeric = values.length > OWN.length && values.every((v) => typeof v === "number");
  return numeric ? { ...ramp(values, codes), codes: null } : classes(values, codes);
}

function classes(values, codes) {
  const colored = isColors(values);
  const counts = new Array(values.length).fill(0);
  for (const code of codes) if (code >= 0) counts[code]++;
  const order = counts.map((_, i) => i).sort((a, b) => counts[b] - counts[a]);
  const listed = order.slice(0, colored ? values.length : OWN.length);
  listed.sort((a, b) => (values[a] < values[b] ? -1 : 1));
  const shade = new Array(values.length).fill(OTHER);
  listed.forEach((code, i) => (shade[code] = colored ? colorNamed(values[code]) ?? OTHER : OWN[i]));
  const legend = listed.map((code) => ({ color: shade[code], label: String(values[code]), code }));
  if (values.length > listed.length) legend.push({ color: OTHER, label: `${values.length - listed.length} others` });
  const [dots, other] = [shade.map(rgb), rgb(OTHER)];
  return { colors: fill(codes.length, (i) => (codes[i] < 0 ? other : dots[codes[i]])), legend, codes: colored ? null : codes };
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
