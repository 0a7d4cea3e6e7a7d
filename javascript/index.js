// Points under a learned distance, from the JSON of `gramian export METRIC --to json`.
// A map E takes x (d,) to z (r,); |z − z'|² is the learned squared distance of x and x'. An adapter is two such maps
// by the angle, of queries and of documents.

const FORMAT = "gramian map 1";

const sum = (values) => values.reduce((total, value) => total + value, 0);
const dot = (a, b) => a.reduce((total, value, i) => total + value * b[i], 0);
const times = (A, x) => A.map((row) => dot(row, x)); // A (r, d), x (d,)
const plus = (a, b) => a.map((value, i) => value + b[i]);
const minus = (a, b) => a.map((value, i) => value - b[i]);
const width = (A) => (A.length ? A[0].length : 0);

/** x / |x|; a row of zeros stays as it is. */
const unit = (x) => {
  const largest = Math.max(...x.map(Math.abs), 0); // squares of tiny and huge numbers would be 0 or ∞
  if (largest === 0) return x;
  const scaled = x.map((value) => value / largest);
  const length = Math.sqrt(dot(scaled, scaled));
  return scaled.map((value) => value / length);
};

const KERNELS = {
  gaussian: (a) => (x, y) => {
    const difference = minus(x, y);
    return Math.exp(-dot(difference, difference) / (2 * a.scale ** 2));
  },
  polynomial: (a) => (x, y) => (a.scale * dot(x, y) + a.offset_of_kernel) ** a.degree,
};

/** √p of class probabilities ∝ exp(Wx + b), times their weight. */
const roots = (a, x) => {
  const scores = plus(times(a.class_weights, x), a.class_offset);
  const largest = Math.max(...scores);
  const parts = scores.map((score) => Math.exp(score - largest));
  const total = sum(parts);
  return parts.map((part) => a.root_weight * Math.sqrt(part / total));
};

/** [features of a point, E without class probabilities]. */
const mapped = (a) => {
  if (a.inner) return [width(a.inner), (x) => times(a.components, unit(plus(times(a.inner, x), a.offset)))];
  if (a.components) return [a.center.length, (x) => plus(times(a.components, minus(x, a.center)), a.offset)];
  if (!(a.kernel in KERNELS)) throw new Error(`gramian: kernel must be gaussian or polynomial, got ${a.kernel}.`);
  const kernel = KERNELS[a.kernel](a);
  return [width(a.basis), (x) => {
    const values = a.basis.map((row) => kernel(x, row)); // (k,)
    return a.offset.map((offset, j) => values.reduce((total, value, i) => total + value * a.weights[i][j], -offset));
  }];
};

/** The numbers of a JSON, or of its text. */
const read = (json) => {
  const a = typeof json === "string" ? JSON.parse(json) : json;
  if (!a || a.format !== FORMAT) throw new Error(`gramian: format must be "${FORMAT}", got ${a && a.format}.`);
  return a;
};

/** A point of so many numbers, checked. */
const pointOf = (x, features) => {
  const point = Array.from(x, Number);
  if (point.length === features && point.every(Number.isFinite)) return point;
  throw new Error(`gramian: a point must be ${features} finite numbers, got ${point.length} values.`);
};

/** A learned distance from the numbers of its JSON, or from its text. */
export function load(json) {
  const a = read(json);
  const [features, embed] = mapped(a);
  const transform = (x) => {
    const point = pointOf(x, features);
    return a.class_weights ? [...embed(point), ...roots(a, point)] : embed(point);
  };
  const sqdist = (x, y) => {
    const difference = minus(transform(x), transform(y));
    return dot(difference, difference);
  };
  return { features, transform, sqdist, distance: (x, y) => Math.sqrt(sqdist(x, y)) };
}

/** An adapter from the JSON of its queries and, where both sides are mapped, of its documents (--documents). */
export function loadAdapter(queries, documents) {
  const sides = [queries, documents].filter((json) => json !== undefined).map((json) => {
    const a = read(json);
    if (!a.inner) throw new Error("gramian: an adapter must be a map by the angle; load reads other metrics.");
    const [features, embed] = mapped(a);
    return { features, map: (x) => embed(unit(pointOf(x, features))) };
  });
  const { features, map: transformQuery } = sides[0];
  if (sides.length > 1 && sides[1].features !== features) throw new Error("gramian: both sides must be of one adapter.");
  const transform = sides.length > 1 ? sides[1].map : (x) => pointOf(x, features);
  return { features, transformQuery, transform, score: (q, d) => dot(transformQuery(q), unit(transform(d))) };
}
