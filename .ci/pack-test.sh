#!/usr/bin/env bash
# Packs the project, installs the tarball in an empty folder and uses it there: all three entries, a simulation with
# its gradient, an identification with its report, and the types as a strict compiler sees them.
set -euo pipefail
cd "$(dirname "$0")/.."
project=$PWD
place=$(mktemp -d "${TMPDIR:-/tmp}/stiffgrad-pack.XXXXXX")
trap 'rm -rf "$place"' EXIT

npm pack --silent --pack-destination "$place" > "$place/name"
tarball=$place/$(tail -n 1 "$place/name")
mkdir "$place/app"
cd "$place/app"
printf '{"name": "app", "private": true, "type": "module"}\n' > package.json
npm install --no-audit --no-fund --loglevel=error "$tarball" @tensorflow/tfjs@4.22.0

cp "$project/.ci/pack-test.ts" app.ts
cat > tsconfig.json <<'JSON'
{"compilerOptions": {"strict": true, "skipLibCheck": true, "target": "es2022", "module": "nodenext", "types": []}, "files": ["app.ts"]}
JSON
"$project/node_modules/.bin/tsc" -p .
node app.js

# The command, from the project that it makes: its model is TypeScript, read by tsx on older Nodes.
npx stiffgrad new demo --from "file:$tarball"
(cd demo && npm install --no-audit --no-fund --loglevel=error && npm start && npm run check)
