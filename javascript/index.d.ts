export type Point = ArrayLike<number>;

/** A learned distance: squared distances are those of transformed points. */
export interface Metric {
  /** Numbers in a point. */
  readonly features: number;
  /** E(x): the coordinates in which the Euclidean distance is the learned one. */
  transform(x: Point): number[];
  sqdist(x: Point, y: Point): number;
  distance(x: Point, y: Point): number;
}

/** A metric from what `gramian export METRIC --to json` wrote: its text, or what JSON.parse made of it. */
export function load(json: string | object): Metric;

/** Maps of queries and of documents, which are compared by cosine. */
export interface Adapter {
  /** Numbers in a query, and in a document. */
  readonly features: number;
  /** A query, mapped, of length one. */
  transformQuery(q: Point): number[];
  /** A document: as it is where only queries are mapped, else mapped, of length one. */
  transform(d: Point): number[];
  /** The cosine of a query and a document, both mapped. */
  score(q: Point, d: Point): number;
}

/**
 * A `QueryAdapter` from what `gramian export ADAPTER --to json` wrote and, where it maps both sides, from what the same
 * with `--documents` wrote.
 */
export function loadAdapter(queries: string | object, documents?: string | object): Adapter;
