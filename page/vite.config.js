import { defineConfig } from "vite";

// `npm run dev` shows the page with a server that runs elsewhere: gramian serve --no-browser --port 8000
export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../src/gramian/service/static",
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  server: { proxy: { "/v1": "http://127.0.0.1:8000" } },
});
