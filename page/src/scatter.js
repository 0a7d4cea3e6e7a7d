// Points in a plane, painted pixel by pixel: a hundred thousand take a few milliseconds, with a graphics card or without.
const MOVE_MS = 900;
const CROWD = 4000; // points in view from which on their density is shown in place of discs
const FAINTEST = 0.3; // of a pixel with a single point

export class Scatter {
  constructor(canvas, drawn) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d", { alpha: false });
    this.drawn = drawn; // called after each frame, to draw what stands above the points
    this.n = 0;
    this.start = this.end = new Float32Array(0);
    this.colors = new Uint32Array(0);
    this.center = [0, 0];
    this.zoom = 1; // half the width of the view, in units of the map
    this.moment = 1;
    this.frames = 0;
  }

  // New places; points that were here before glide there.
  move(places) {
    const first = places.length !== this.end.length;
    const start = first ? places : this.now();
    this.end = first ? places : align(places, this.end);
    this.start = start;
    this.n = places.length / 2;
    if (first) this.fit();
    const still = first || matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.moment = still ? 1 : 0;
    this.moved = first ? [] : farthest(start, this.end);
    this.since = performance.now();
    this.request();
    return !first;
  }

  // Red, green and blue of each point.
  paint(colors) {
    this.colors = new Uint32Array(colors.length / 3);
    for (let i = 0; i < this.colors.length; i++) {
      this.colors[i] = colors[3 * i] | (colors[3 * i + 1] << 8) | (colors[3 * i + 2] << 16);
    }
    this.request();
  }

  now() {
    const { start, end, moment } = this;
    return moment === 1 ? end : end.map((to, i) => start[i] + (to - start[i]) * moment);
  }

  place(i) {
    const mix = (j) => this.start[j] + (this.end[j] - this.start[j]) * this.moment;
    return this.project(mix(2 * i), mix(2 * i + 1));
  }

  scale() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    return [1 / this.zoom, width / Math.max(height, 1) / this.zoom];
  }

  project(x, y) {
    const [sx, sy] = this.scale();
    const { clientWidth: width, clientHeight: height } = this.canvas;
    return [((x - this.center[0]) * sx * 0.5 + 0.5) * width, (0.5 - (y - this.center[1]) * sy * 0.5) * height];
  }

  unproject(px, py) {
    const [sx, sy] = this.scale();
    const { clientWidth: width, clientHeight: height } = this.canvas;
    return [this.center[0] + ((px / width) * 2 - 1) / sx, this.center[1] - ((py / height) * 2 - 1) / sy];
  }

  // The view that holds all but the outermost points.
  fit() {
    const { end, n } = this;
    if (!n) return;
    const step = Math.max(1, Math.floor(n / 5000));
    const range = [0, 1].map((axis) => {
      const values = [];
      for (let i = 0; i < n; i += step) values.push(end[2 * i + axis]);
      values.sort((a, b) => a - b);
      return [values[Math.floor(values.length * 0.002)], values[Math.ceil(values.length * 0.998) - 1]];
    });
    const { clientWidth: width, clientHeight: height } = this.canvas;
    this.center = range.map(([low, high]) => (low + high) / 2);
    const [across, up] = range.map(([low, high]) => (high - low) / 2);
    this.zoom = 1.1 * Math.max(across, (up * width) / Math.max(height, 1), 1e-9);
    this.request();
  }

  pan(dx, dy) {
    const { clientWidth: width } = this.canvas;
    const unit = (2 * this.zoom) / width;
    this.center = [this.center[0] - dx * unit, this.center[1] + dy * unit];
    this.request();
  }

  zoomAt(factor, px, py) {
    const before = this.unproject(px, py);
    this.zoom *= factor;
    const after = this.unproject(px, py);
    this.center = this.center.map((c, axis) => c + before[axis] - after[axis]);
    this.request();
  }

  request() {
    this.waiting ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.waiting = undefined;
    if (!this.canvas.isConnected) return; // the map has left the page
    if (this.moment < 1) {
      const t = Math.min(1, (performance.now() - this.since) / MOVE_MS);
      this.moment = t === 1 ? 1 : t * t * (3 - 2 * t);
      this.request();
    }
    const { width, height } = this.canvas;
    if (width && height) {
      if (this.image?.width !== width || this.image.height !== height) this.image = this.pen.createImageData(width, height);
      this.stamp(new Uint32Array(this.image.data.buffer), width, height);
      this.pen.putImageData(this.image, 0, 0);
    }
    this.frames += 1;
    this.drawn();
  }

  // Every point as a small disc, mixed with what lies below it. Red and blue are mixed in one number, green in another.
  stamp(pixels, width, height) {
    pixels.fill(paper(this.canvas));
    const { start, end, moment, n, colors } = this;
    const sharp = width / Math.max(this.canvas.clientWidth, 1);
    const size = Math.round(sharp * (n > 4000 ? 4 : 5.5));
    const shape = disc(size, width);
    const over = 200;
    const under = 256 - over;
    const [sx, sy] = this.scale();
    const [ax, ay] = [(sx * width) / 2, (-sy * height) / 2];
    const [bx, by] = [width / 2 - this.center[0] * ax, height / 2 - this.center[1] * ay];
    const at = new Int32Array(n);
    let visible = 0;
    for (let i = 0; i < n; i++) {
      const x = Math.round(ax * (start[2 * i] + (end[2 * i] - start[2 * i]) * moment) + bx);
      const y = Math.round(ay * (start[2 * i + 1] + (end[2 * i + 1] - start[2 * i + 1]) * moment) + by);
      const inside = x >= size && y >= size && x < width - size && y < height - size;
      at[i] = inside ? y * width + x : -1;
      visible += inside;
    }
    this.visible = visible;
    if (visible > CROWD) return this.density(pixels, at, disc(Math.round(sharp * (n > 20000 ? 1.5 : 2.5)), width));
    for (let i = 0; i < n; i++) {
      if (at[i] < 0) continue;
      const odd = (colors[i] & 0xff00ff) * over;
      const green = (colors[i] & 0xff00) * over;
      for (let j = 0; j < shape.length; j++) {
        const below = pixels[at[i] + shape[j]];
        const red = ((odd + (below & 0xff00ff) * under) >>> 8) & 0xff00ff;
        pixels[at[i] + shape[j]] = 0xff000000 | red | (((green + (below & 0xff00) * under) >>> 8) & 0xff00);
      }
    }
  }

  // How many points lie on a pixel as its strength, on a scale of logarithms, in the mean of their colors.
  density(pixels, at, shape) {
    const { colors, n } = this;
    if (this.sums?.length !== 4 * pixels.length) this.sums = new Uint32Array(4 * pixels.length);
    const sums = this.sums.fill(0);
    for (let i = 0; i < n; i++) {
      if (at[i] < 0) continue;
      const color = colors[i];
      for (let j = 0; j < shape.length; j++) {
        const to = 4 * (at[i] + shape[j]);
        sums[to] += color & 0xff;
        sums[to + 1] += (color >> 8) & 0xff;
        sums[to + 2] += (color >> 16) & 0xff;
        sums[to + 3] += 1;
      }
    }
    let [total, used] = [0, 0];
    for (let i = 3; i < sums.length; i += 4) if (sums[i]) (total += sums[i]), (used += 1);
    const full = Math.log1p((4 * total) / Math.max(used, 1));
    const [r, g, b] = [pixels[0] & 0xff, (pixels[0] >> 8) & 0xff, (pixels[0] >> 16) & 0xff];
    for (let i = 0; i < pixels.length; i++) {
      const count = sums[4 * i + 3];
      if (!count) continue;
      const strength = Math.min(1, FAINTEST + ((1 - FAINTEST) * Math.log1p(count)) / full);
      const mix = (sum, paper) => paper + (sum / count - paper) * strength;
      pixels[i] = 0xff000000 | (mix(sums[4 * i + 2], b) << 16) | (mix(sums[4 * i + 1], g) << 8) | mix(sums[4 * i], r);
    }
  }

  nearest(px, py, within = 12) {
    let best = -1;
    let least = within * within;
    const [x, y] = this.unproject(px, py);
    const unit = this.canvas.clientWidth / (2 * this.zoom);
    for (let i = 0; i < this.n; i++) {
      const d = ((this.end[2 * i] - x) ** 2 + (this.end[2 * i + 1] - y) ** 2) * unit * unit;
      if (d < least) [best, least] = [i, d];
    }
    return best;
  }

  // How many points move by more than a share of the width of the view.
  farther(share) {
    const least = (2 * this.zoom * share) ** 2;
    let count = 0;
    for (let i = 0; i < this.n; i++) {
      count += (this.end[2 * i] - this.start[2 * i]) ** 2 + (this.end[2 * i + 1] - this.start[2 * i + 1]) ** 2 > least;
    }
    return count;
  }

  inside(test) {
    const found = [];
    for (let i = 0; i < this.n; i++) {
      const [px, py] = this.project(this.end[2 * i], this.end[2 * i + 1]);
      if (test(px, py)) found.push(i);
    }
    return found;
  }
}

const TRAILS = 160;

// The points that move farthest, by their numbers.
function farthest(start, end) {
  const step = (i) => (end[2 * i] - start[2 * i]) ** 2 + (end[2 * i + 1] - start[2 * i + 1]) ** 2;
  const all = Float64Array.from({ length: end.length / 2 }, (_, i) => step(i));
  const least = Float64Array.from(all).sort()[Math.max(0, all.length - TRAILS)];
  const found = [];
  for (let i = 0; i < all.length && found.length < TRAILS; i++) if (all[i] > 0 && all[i] >= least) found.push(i);
  return found;
}

// The color behind the points, as the number that a pixel is.
function paper(canvas) {
  const [r, g, b] = getComputedStyle(canvas.parentElement).backgroundColor.match(/[\d.]+/g).map(Number);
  return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}

// Pixels of a disc as steps from its middle in an image of some width.
function disc(size, width) {
  const steps = [];
  const middle = (size - 1) / 2;
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++)
      if (Math.hypot(x - middle, y - middle) <= size / 2) steps.push((y - Math.floor(middle)) * width + x - Math.floor(middle));
  return Int32Array.from(steps);
}

// Turn and mirror new places so that they are as near to the old ones as can be (orthogonal Procrustes in the plane):
// with C = Σ newᵀ old, the best turn gains hypot(C00 + C11, C01 − C10), the best mirror hypot(C00 − C11, C01 + C10).
export function align(places, old) {
  const n = places.length / 2;
  const mean = (values) => values.reduce((sum, v, i) => ((sum[i % 2] += v / n), sum), [0, 0]);
  const [m, o] = [mean(places), mean(old)];
  const C = [0, 0, 0, 0];
  for (let i = 0; i < n; i++) {
    const [x, y] = [places[2 * i] - m[0], places[2 * i + 1] - m[1]];
    const [u, v] = [old[2 * i] - o[0], old[2 * i + 1] - o[1]];
    C[0] += x * u;
    C[1] += x * v;
    C[2] += y * u;
    C[3] += y * v;
  }
  const turned = Math.hypot(C[0] + C[3], C[1] - C[2]) >= Math.hypot(C[0] - C[3], C[1] + C[2]);
  const sign = turned ? 1 : -1;
  const angle = Math.atan2(C[1] - sign * C[2], C[0] + sign * C[3]);
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const out = new Float32Array(places.length);
  for (let i = 0; i < n; i++) {
    const [x, y] = [places[2 * i] - m[0], sign * (places[2 * i + 1] - m[1])];
    out[2 * i] = cos * x - sin * y + o[0];
    out[2 * i + 1] = sin * x + cos * y + o[1];
  }
  return out;
}
