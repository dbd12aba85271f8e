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

# The command, and every project that it makes: installed, started, timed. Its model is TypeScript, read by tsx on older Nodes.
make() { # template
  npx stiffgrad new "$1" --template "$1" --from "file:$tarball"
  cd "$place/app/$1"
  npm install --no-audit --no-fund --loglevel=error
}
timed() { # template
  local from=$SECONDS
  (make "$1" && "from_$1") || exit 1
  printf '== new %s, npm install, npm start: %d s\n' "$1" $((SECONDS - from))
}
from_identify() { # a fit, and a page that shows it
  npm start | tee said
  grep -q 'k = 40.0' said && grep -q 'report.html shows the fit' said && grep -q '<svg' report.html
  npm run check && npm run simulate && grep -q '<canvas' animation.html
}
from_train() {
  npm start | tee said
  grep -q 'report.html shows the loss' said && grep -q '<svg' report.html
}
from_page() { # a server, which ends with its input
  mkfifo input
  npm start -- --serve=127.0.0.1:8123 < input &
  local server=$!
  exec 9> input
  node "$project/.ci/page-test.js" http://127.0.0.1:8123/
  exec 9>&-
  wait "$server"
}
from_notebook() { # the kernel, in a folder of its own; its notebook is run where Jupyter is
  unset JUPYTER_DATA_DIR XDG_DATA_HOME
  export HOME=$PWD/home
  mkdir home
  npm start
  test -f "$(find home -name kernel.json | head -n 1)"
  if command -v jupyter > /dev/null && jupyter nbconvert --version > /dev/null 2>&1; then
    jupyter nbconvert --to notebook --execute first-swing.ipynb --output done.ipynb
    grep -q '<svg' done.ipynb && grep -q '<iframe' done.ipynb
  else
    echo 'the notebook was not run: jupyter nbconvert is not installed'
  fi
}
for template in identify train page notebook; do timed "$template"; done
