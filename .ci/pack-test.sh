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
  # Not in a list of && or ||, in which set -e does not hold.
  (
    make "$1"
    "from_$1"
  )
  printf '== new %s, npm install, npm start: %d s\n' "$1" $((SECONDS - from))
}
from_identify() { # a fit, and a page that shows it
  npm start | tee said
  grep -q 'k = 40.0' said
  grep -q 'report.html shows the fit' said
  grep -q '<svg' report.html
  npm run check
  npm run simulate
  grep -q '<canvas' animation.html
}
from_train() {
  npm start | tee said
  grep -q 'report.html shows the loss' said
  grep -q '<svg' report.html
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
  export PATH=$PWD/node_modules/.bin:$PATH
  if python3 -c 'import jupyter_client' 2> /dev/null; then
    mkdir done
    python3 "$project/.ci/run-notebook.py" first-swing.ipynb swing-done.ipynb
    grep -q '<svg' swing-done.ipynb
    grep -q '<iframe' swing-done.ipynb
    # The project's own, with the packed package: what they print is what is stored in them.
    for notebook in "$project"/examples/notebooks/*.ipynb; do
      python3 "$project/.ci/run-notebook.py" "$notebook" "done/$(basename "$notebook")"
    done
    (cd "$project" && node --import tsx .ci/notebooks-test.ts "$OLDPWD/done")
  else
    echo "the notebooks were not run on Deno's kernel: Python has no jupyter_client"
  fi
}
for template in identify train page notebook; do timed "$template"; done
