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
