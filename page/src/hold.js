// The list holds still under the pointer: a new order waits until the pointer has left, or nobody has clicked for a while.
export const STILL_MS = 600;
const TWICE_MS = 400; // a second click on one button that comes so soon is a double click

let inside = false;
let last = { at: -Infinity, button: "" };
let waiting = null;
let timer;

// Whether a click on a button counts; it starts the time of rest anew in any case.
export function touched(button) {
  const now = performance.now();
  const twice = button === last.button && now - last.at < TWICE_MS;
  last = { at: now, button };
  if (waiting) schedule();
  return !twice;
}

export function entered() {
  inside = true;
}

export function left() {
  inside = false;
  if (waiting) schedule();
}

// Do it now, or when the list may move; what came before and still waits is dropped.
export function whenStill(apply) {
  drop();
  return new Promise((done) => {
    waiting = (gone) => {
      if (!gone) apply();
      done();
    };
    schedule();
  });
}

export function drop() {
  const old = waiting;
  waiting = null;
  clearTimeout(timer);
  old?.(true);
}

export const isInside = () => inside;

function schedule() {
  clearTimeout(timer);
  const rest = inside ? last.at + STILL_MS - performance.now() : 0;
  if (rest > 0) return (timer = setTimeout(schedule, rest));
  const apply = waiting;
  waiting = null;
  apply();
}
