#!/usr/bin/env bash
# The site: what the project has as pages (prepare.ts), every exported name (TypeDoc), the page to play with, VitePress around it.
# VitePress, TypeDoc and what they need are 150 MB, the page's tools 90: they have packages of their own, installed here when they
# are wanted, so that npm ci in the project stays small. Any warning, and any dead link, ends it with 1.
set -euo pipefail
cd "$(dirname "$0")"
[ -d node_modules ] || npm ci --no-audit --no-fund
[ -d ../playground/node_modules ] || npm ci --prefix ../playground --no-audit --no-fund
rm -rf pages .vitepress/dist
node_modules/.bin/typedoc
npm run --silent build --prefix ../playground -- --logLevel warn
node --import tsx prepare.ts
mkdir -p pages/public
cp -r ../playground/dist pages/public/playground
log=$(mktemp)
trap 'rm -f "$log"' EXIT
node_modules/.bin/vitepress build . 2>&1 | tee "$log"
if grep -i 'warn' "$log"; then
  echo 'the site was built with warnings'
  exit 1
fi
node check.js
