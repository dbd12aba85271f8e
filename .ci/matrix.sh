#!/usr/bin/env bash
# Tries the packed package under package managers, bundlers, runtimes, test runners and compilers: each is installed
# beside it, in a folder of its own, and runs one program or compiles spec/types. A tool that cannot be installed here
# is 'absent'. Prints a table; the exit code tells of failures. `bash .ci/matrix.sh vite deno` tries these alone.
set -uo pipefail
cd "$(dirname "$0")/.."
project=$PWD
place=$(mktemp -d "${TMPDIR:-/tmp}/stiffgrad-matrix.XXXXXX")
[ -n "${KEEP:-}" ] || trap 'rm -rf "$place"' EXIT
npm pack --silent --pack-destination "$place" > "$place/name" || exit 1
tarball=$place/$(tail -n 1 "$place/name")
tfjs='@tensorflow/tfjs@4.22.0'
quiet='--no-audit --no-fund --loglevel=error'

# One step of the trapezoidal rule, M = 1, K = 10, h = 0.1: q⁺ = (1 − h²K/4)/(1 + h²K/4).
program='import "@tensorflow/tfjs";
import {mechanics, simulate, trapezoid} from "stiffgrad";
import {spring} from "stiffgrad/models";
import {signal} from "stiffgrad/training";
const oscillator = mechanics({mass: 1, forces: spring({stiffness: signal([0, 1], [10, 10]).values[0]})});
const path = simulate(oscillator, {q: 1, v: 0}, {scheme: trapezoid(), dt: 0.1, steps: 1});
if (Math.abs(path.values("q")[1] - 0.975 / 1.025) > 1e-15) throw new Error(String(path));
globalThis.answer = path.values("q")[1];
console.log("works:", globalThis.answer, path.stats.engine);'

# In a new folder with the package: $1 its name, then what is installed beside it.
app() {
  mkdir "$place/$1" && cd "$place/$1" || return 1
  shift
  printf '{"name": "app", "private": true, "type": "module"}\n' > package.json
  printf '%s\n' "$program" > app.js
  printf '<!doctype html><script type="module" src="/app.js"></script>\n' > index.html
  npm install $quiet "$tarball" "$tfjs" "$@" || return 3
}
works() { grep -q 'works: 0.9512195121951219 wasm' "$1"; }
runs() { "$@" > out.txt 2>&1; works out.txt; }
# A bundle for pages, with as much of a page as its loading asks for.
cat > "$place/page.mjs" << 'JS'
globalThis.window = globalThis;
globalThis.document = {
  baseURI: 'http://localhost/', currentScript: {tagName: 'SCRIPT', src: 'http://localhost/main.js'}, addEventListener() {}, querySelectorAll: () => [],
  getElementsByTagName: () => [], createElement: () => ({relList: {supports: () => true}, addEventListener() {}, getContext: () => null}),
};
globalThis.process = undefined;
JS
in_page() { runs node --import "$place/page.mjs" "$1"; }

try_npm() { app npm && runs node app.js; }
with_manager() { # name, version, command...
  mkdir "$place/$1-tool" && (cd "$place/$1-tool" && printf '{"private": true}' > package.json && npm install $quiet "$1@$2") || return 3
  mkdir "$place/$1" && cd "$place/$1" || return 1
  printf '{"name": "app", "private": true, "type": "module", "dependencies": {"stiffgrad": "file:%s", "@tensorflow/tfjs": "4.22.0"}}\n' "$tarball" > package.json
  printf '%s\n' "$program" > app.js
  "$place/$1-tool/node_modules/.bin/$1" install && runs node app.js
}
try_pnpm() { with_manager pnpm 10; }
try_yarn() { with_manager yarn 1; }

try_webpack() {
  app webpack webpack@5 webpack-cli@6 || return
  npx webpack --mode production --entry ./app.js --output-path "$PWD/dist" > build.txt 2>&1 && ! grep -q ERROR build.txt && in_page dist/main.js
}
try_vite_build() {
  app vite_build vite@7 || return
  npx vite build --outDir dist > build.txt 2>&1 && in_page "$(ls dist/assets/index*.js)"
}
# The development server's files as a page would ask for them: the program itself and, bundled by it, the package.
try_vite_dev() {
  app vite_dev vite@7 || return
  cat > serve.js << 'JS'
import {createServer} from 'vite';
const server = await createServer({server: {port: 5199, host: '127.0.0.1'}, logLevel: 'error'});
await server.listen();
const get = async path => (await fetch(`http://127.0.0.1:5199${path}`)).text();
const text = await get('/app.js');
const path = /from "(\/node_modules\/\.vite\/deps\/stiffgrad\.js[^"]*)"/.exec(text)?.[1];
if (path === undefined || !(await get(path)).includes('simulate')) throw new Error(text);
await server.close();
console.log('works: 0.9512195121951219 wasm');
process.exit();
JS
  runs node serve.js
}
try_esbuild() {
  app esbuild esbuild || return
  npx esbuild app.js --bundle --format=esm --minify --outfile=dist/app.mjs --log-level=error && in_page dist/app.mjs
}
try_rollup() {
  app rollup rollup@4 @rollup/plugin-node-resolve @rollup/plugin-commonjs || return
  cat > rollup.config.js << 'JS'
import commonjs from '@rollup/plugin-commonjs';
import resolve from '@rollup/plugin-node-resolve';
export default {input: 'app.js', output: {dir: 'dist', format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs'}, plugins: [resolve({browser: true}), commonjs()], onwarn: () => undefined};
JS
  npx rollup -c > build.txt 2>&1 && in_page dist/app.mjs
}
with_next() { # name, option
  app "$1" next@15 react@19 react-dom@19 || return
  mkdir app
  printf 'export default ({children}) => <html><body>{children}</body></html>;\n' > app/layout.jsx
  printf '"use client";\nimport {useEffect, useState} from "react";\nexport default function Page() {\n  const [answer, set] = useState(0);\n  useEffect(() => { void import("../app.js").then(() => set(globalThis.answer)); }, []);\n  return <p>{answer}</p>;\n}\n' > app/page.jsx
  printf 'import "../../app.js";\nexport const GET = () => new Response("works: " + globalThis.answer);\n' > route.js && mkdir app/answer && sed 's#../../app.js#../../app.js#' route.js > app/answer/route.js && rm route.js
  NEXT_TELEMETRY_DISABLED=1 npx next build $2 > out.txt 2>&1 && works out.txt
}
try_next() { with_next next ''; }
try_next_turbopack() { with_next next_turbopack --turbopack; }

with_node() { # major
  app "node$1" "node@$1" || return
  runs ./node_modules/node/bin/node app.js && ./node_modules/node/bin/node --version | grep -q "^v$1"
}
try_node20() { with_node 20; }
try_node22() { with_node 22; }
try_node24() { with_node 24; }
try_deno() {
  app deno deno || return
  runs npx deno run -A --node-modules-dir=manual app.js
}
try_bun() {
  app bun bun || return
  runs npx bun app.js
}
try_vitest() {
  app vitest vitest@3 || return
  printf 'import {expect, it} from "vitest";\nimport "./app.js";\nit("runs", () => expect(globalThis.answer).toBeCloseTo(0.9512195121951219, 14));\n' > app.test.js
  npx vitest run > out.txt 2>&1
}
try_jest() {
  app jest jest@30 jest-environment-jsdom@30 || return
  printf 'import "./app.js";\ntest("runs", () => expect(globalThis.answer).toBeCloseTo(0.9512195121951219, 14));\n' > app.test.js
  NODE_OPTIONS=--experimental-vm-modules npx jest > out.txt 2>&1 || return
  works out.txt
}

# spec/types, as strictly as the compiler can be; errors of tfjs's own types are not ours.
with_types() { # name, package, compiler, further options
  app "$1" "$2" || return
  cp "$project"/spec/types/*.ts .
  cat > tsconfig.json << JSON
{"compilerOptions": {"strict": true, "skipLibCheck": $4, "exactOptionalPropertyTypes": true, "noUncheckedIndexedAccess": $5, "verbatimModuleSyntax": true, "isolatedModules": true, "noEmit": true,
  "target": "es2022", "lib": ["es2022", "dom"], "module": "nodenext", "moduleDetection": "force", "jsx": "react-jsx", "types": []}, "include": ["*.ts"]}
JSON
  node "$3" -p . > out.txt 2>&1
  ! grep -v '^ ' out.txt | grep -v 'node_modules/@tensorflow/\|node_modules/@webgpu/\|lib\.dom\.d\.ts' | grep -q 'error TS'
}
try_typescript54() { with_types typescript54 typescript@5.4 node_modules/typescript/bin/tsc false true; }
try_typescript59() { with_types typescript59 typescript@5.9 node_modules/typescript/bin/tsc false true; }
try_typescript7() { with_types typescript7 typescript@7 node_modules/typescript/bin/tsc false true; }
try_node10() {
  app node10 typescript@5.9 || return
  printf 'import {simulate} from "stiffgrad";\nimport {spring} from "stiffgrad/models";\nimport {identify} from "stiffgrad/training";\nexport const all = [simulate, spring, identify];\n' > app.ts
  npx tsc --noEmit --strict --skipLibCheck --target es2022 --module es2022 --moduleResolution node10 app.ts > out.txt 2>&1
}

all='npm pnpm yarn node20 node22 node24 deno bun webpack vite_build vite_dev esbuild rollup next next_turbopack vitest jest typescript54 typescript59 typescript7 node10'
failed=0
for tool in ${*:-$all}; do
  from=$SECONDS
  ("try_$tool") > "$place/$tool.log" 2>&1 < /dev/null
  case $? in
    0) result=works ;;
    3) result=absent ;;
    *) result=FAILS && failed=1 ;;
  esac
  printf '%-16s %-7s %3d s\n' "$tool" "$result" $((SECONDS - from))
  if [ "$result" = FAILS ]; then tail -n 12 "$place/$tool.log" "$place/$tool/build.txt" "$place/$tool/out.txt" 2> /dev/null | cut -c1-300; fi
done
exit $failed
