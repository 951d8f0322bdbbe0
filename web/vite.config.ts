import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

const MOST_KILOBYTES = 90;

/**
 * One JavaScript file serves the page, notebooks (anywidget) and saved pages: it is built from
 * main.ts, which keeps its exports, and index.html is written around it.
 */
function page(): Plugin {
  return {
    name: "page",
    enforce: "post", // after the style sheet is made
    apply: "build",
    generateBundle(_, bundle) {
      const files = Object.values(bundle);
      const script = files.find((file) => file.type === "chunk" && file.isEntry);
      const style = files.find((file) => file.fileName.endsWith(".css"));
      if (!script || !style) throw new Error("the build must make a script and a style sheet");
      const tags = [
        `<link rel="stylesheet" href="./${style.fileName}" />`,
        `<script type="module" src="./${script.fileName}"></script>`,
      ];
      const source = readFileSync("index.html", "utf-8").replace(/<script.*<\/script>/, tags.join("\n    "));
      this.emitFile({ type: "asset", fileName: "index.html", source });
    },
  };
}

/** Prints the size of the JavaScript, and fails the build if it is over budget. */
function budget(): Plugin {
  return {
    name: "budget",
    apply: "build",
    writeBundle(_, bundle) {
      const code = Object.values(bundle).flatMap((file) => (file.type === "chunk" ? [file.code] : []));
      const kilobytes = code.reduce((sum, text) => sum + gzipSync(text).length, 0) / 1000;
      console.log(`JavaScript: ${kilobytes.toFixed(1)} kB gzipped, at most ${MOST_KILOBYTES}`);
      if (kilobytes > MOST_KILOBYTES) throw new Error(`more than ${MOST_KILOBYTES} kB of JavaScript`);
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [svelte(), page(), budget()],
  build: {
    outDir: process.env.POSENC_STATIC ?? "../src/posenc/explorer/static",
    emptyOutDir: true,
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rollupOptions: { input: "src/main.ts", preserveEntrySignatures: "strict" },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8000" } },
});
