// Talking to the server: JSON in and out, problems as one sentence, events as they come.

export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export class Offline extends Error {
  constructor() {
    super("The server does not answer.");
  }
}

export async function ask(path, { method = "GET", body, key, bytes = false } = {}) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  let response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Offline();
  }
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    throw new Problem(response.status, problem.detail ?? `The server answered ${response.status}.`);
  }
  if (bytes) return { data: await response.arrayBuffer(), version: response.headers.get("X-Version") };
  return response.json();
}

export const path = (collection, rest = "") => `/v1/collections/${encodeURIComponent(collection)}${rest}`;
export const picture = (collection, id) => path(collection, `/items/${id}/image`);

// Events of the space from now on. The browser connects again by itself; where it gives up, we do.
export function follow(seq, { onEvent, onState }) {
  let last = seq;
  let source;
  let timer;
  function connect() {
    source = new EventSource(`/v1/events?after=${last}`);
    source.onopen = () => onState(true);
    source.onmessage = (message) => {
      const event = JSON.parse(message.data);
      if (event.seq <= last) return;
      last = event.seq;
      onEvent(event);
    };
    source.onerror = () => {
      onState(false);
      if (source.readyState !== EventSource.CLOSED) return;
      clearTimeout(timer);
      timer = setTimeout(connect, 1000);
    };
  }
  connect();
}
