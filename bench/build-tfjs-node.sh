#!/usr/bin/env bash
# Builds @tensorflow/tfjs-node against a TensorFlow that is already on this machine, for where its own install cannot
# download libtensorflow. The addon is compiled with node-gyp: it needs a C++ compiler, make, Python and
# Node's headers (npm's nodedir setting, or a download by node-gyp).
set -euo pipefail

version=4.22.0
usage() {
  cat <<USAGE
usage: build-tfjs-node.sh [--tensorflow DIR] [--into DIR] [--copy]

  --tensorflow DIR  an installed wheel's 'tensorflow' directory (of 'pip install tensorflow-cpu'), or an unpacked
                    libtensorflow with lib/ and include/; by default the wheel that python3 finds
  --into DIR        the project in whose node_modules to build; by default the one this script belongs to
  --copy            copy the libraries (about 1 GB) instead of linking to them; the wheel may then be removed

Afterwards '@tensorflow/tfjs-node' loads like any package: see loadTensorflow() of this project.
USAGE
}
fail() {
  printf 'build-tfjs-node: %s\n' "$1" >&2
  exit 1
}

tensorflow='' into='' place='ln -sfn'
while [ $# -gt 0 ]; do
  case "$1" in
    --tensorflow | --into)
      [ $# -ge 2 ] || fail "$1 needs a directory after it."
      [ "$1" = --into ] && into=$2 || tensorflow=$2
      shift 2
      ;;
    --copy) place='cp -fL' && shift ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && fail "unknown option '$1'." ;;
  esac
done

[ "$(uname -s)" = Linux ] || fail 'this script knows the library names of Linux only.'
for tool in node npm npx make c++ python3; do
  command -v "$tool" > /dev/null || fail "'$tool' is not installed, or not on the PATH."
done

if [ -z "$into" ]; then
  into=$(dirname "$0")/..
fi
[ -d "$into" ] || fail "there is no directory '$into'."
into=$(cd "$into" && pwd)
[ -f "$into/package.json" ] || fail "'$into' has no package.json: give the project's directory with --into."

if [ -z "$tensorflow" ]; then
  tensorflow=$(python3 -c '
import importlib.util
spec = importlib.util.find_spec("tensorflow")
print(spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else "")')
  [ -n "$tensorflow" ] || fail "python3 finds no TensorFlow: 'pip install tensorflow-cpu', or give its directory with --tensorflow."
fi
[ -d "$tensorflow" ] || fail "there is no directory '$tensorflow'."
tensorflow=$(cd "$tensorflow" && pwd)

# A wheel has both libraries beside its Python files and the C API in libtensorflow_cc; libtensorflow has them under lib/.
if [ -e "$tensorflow/libtensorflow_cc.so.2" ]; then
  library=$tensorflow/libtensorflow_cc.so.2 framework=$tensorflow/libtensorflow_framework.so.2
elif [ -e "$tensorflow/lib/libtensorflow.so.2" ]; then
  library=$tensorflow/lib/libtensorflow.so.2 framework=$tensorflow/lib/libtensorflow_framework.so.2
else
  fail "'$tensorflow' has neither libtensorflow_cc.so.2 nor lib/libtensorflow.so.2."
fi
[ -e "$framework" ] || fail "'$framework' is missing beside the main library."
[ -f "$tensorflow/include/tensorflow/c/c_api.h" ] || fail "'$tensorflow/include' has no tensorflow/c/c_api.h."

package=$into/node_modules/@tensorflow/tfjs-node
if [ ! -d "$package" ]; then
  echo "installing @tensorflow/tfjs-node@$version without its download"
  (cd "$into" && npm install --ignore-scripts --no-save --no-audit --no-fund "@tensorflow/tfjs-node@$version") ||
    fail 'npm could not install @tensorflow/tfjs-node.'
fi

# The linker looks for libtensorflow.so and libtensorflow_framework.so, the loader for the names inside them.
rm -rf "$package/deps"
mkdir -p "$package/deps/lib"
$place "$library" "$package/deps/lib/$(basename "$library")"
$place "$framework" "$package/deps/lib/$(basename "$framework")"
ln -sfn "$(basename "$library")" "$package/deps/lib/libtensorflow.so"
ln -sfn "$(basename "$framework")" "$package/deps/lib/libtensorflow_framework.so"
ln -sfn "$tensorflow/include" "$package/deps/include"

echo "building the addon against $library"
(cd "$package" && npx --no-install node-pre-gyp install --build-from-source) ||
  fail 'the addon did not build: the compiler messages are above.'

(cd "$into" && node -e "
const util = require('node:util');
util.isNullOrUndefined ??= (value) => value === null || value === undefined;
util.isArray ??= Array.isArray;
const tf = require('@tensorflow/tfjs-node');
const sum = tf.tensor1d([1, 2, 3]).sum().arraySync();
if (tf.getBackend() !== 'tensorflow' || sum !== 6) throw new Error('backend ' + tf.getBackend() + ', 1 + 2 + 3 = ' + sum);
console.log('tfjs-node works with TensorFlow ' + tf.backend().binding.TF_Version);
") || fail 'the addon was built but does not run.'
