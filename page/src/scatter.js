// Points in a plane by WebGL2: two buffers of positions and a moment between them, so a move costs one uniform a frame.

const VERTEX = `#version 300 es
in vec2 start; in vec2 end; in vec3 color;
uniform float moment, size; uniform vec2 center, scale;
out vec3 tint;
void main() {
  gl_Position = vec4((mix(start, end, moment) - center) * scale, 0.0, 1.0);
  gl_PointSize = size;
  tint = color;
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec3 tint; uniform float alpha; uniform bool round; out vec4 shown;
void main() {
  if (round && distance(gl_PointCoord, vec2(0.5)) > 0.5) discard;
  shown = vec4(tint * alpha, alpha);
}`;
const MOVE_MS = 900;

export class Scatter {
  constructor(canvas, drawn) {
    this.canvas = canvas;
    this.drawn = drawn; // called after each frame, to draw what stands above the points
    this.n = 0;
    this.start = this.end = new Float32Array(0);
    this.center = [0, 0];
    this.zoom = 1; // half the width of the view, in units of the map
    this.moment = 1;
    this.frames = 0;
    const gl = (this.gl = canvas.getContext("webgl2", { antialias: false, alpha: true }));
    if (gl) this.prepare(gl);
  }

  prepare(gl) {
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    this.at = (name) => gl.getUniformLocation(program, name);
    this.buffers = {};
    for (const [name, size, type] of [["start", 2, gl.FLOAT], ["end", 2, gl.FLOAT], ["color", 3, gl.UNSIGNED_BYTE]]) {
      const buffer = (this.buffers[name] = gl.createBuffer());
      const place = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, type, type !== gl.FLOAT, 0, 0);
    }
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  fill(name, data) {
    const { gl } = this;
    if (!gl) return;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
  }

  // New places; points that were here before glide there.
  move(places) {
    const first = places.length !== this.end.length;
    const start = first ? places : this.now();
    this.end = first ? places : align(places, this.end);
    this.start = start;
    this.n = places.length / 2;
    this.fill("start", start);
    this.fill("end", this.end);
    if (first) this.fit();
    const still = first || matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.moment = still ? 1 : 0;
    this.since = performance.now();
    this.request();
    return !first;
  }

  paint(colors) {
    this.fill("color", colors);
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
    const { gl, canvas } = this;
    if (this.moment < 1) {
      const t = Math.min(1, (performance.now() - this.since) / MOVE_MS);
      this.moment = t === 1 ? 1 : t * t * (3 - 2 * t);
      this.request();
    }
    if (gl) {
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.uniform1f(this.at("moment"), this.moment);
      const sharp = canvas.width / Math.max(canvas.clientWidth, 1);
      gl.uniform1f(this.at("size"), sharp * (this.n > 20000 ? 2 : this.n > 4000 ? 3.5 : 5));
      gl.uniform1f(this.at("alpha"), this.n > 20000 ? 0.55 : 0.75);
      gl.uniform1i(this.at("round"), this.n > 20000 ? 0 : 1);
      gl.uniform2f(this.at("center"), ...this.center);
      gl.uniform2f(this.at("scale"), ...this.scale());
      gl.drawArrays(gl.POINTS, 0, this.n);
    }
    this.frames += 1;
    this.drawn();
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

  inside(test) {
    const found = [];
    for (let i = 0; i < this.n; i++) {
      const [px, py] = this.project(this.end[2 * i], this.end[2 * i + 1]);
      if (test(px, py)) found.push(i);
    }
    return found;
  }
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
