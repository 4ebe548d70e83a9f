# What .ci/run and .ci/nightly share; sourced by them from the top of the checkout.
# Needs bash, git, Python 3.11 or newer (PYTHON=... names another one) and pip's configured package index.
python=${PYTHON:-python3}
other_version=3.9.0
cluster_tutorial=10_many_machines.ipynb # needs Ray and the loopback interface, so .ci/nightly runs it elsewhere
work=$(mktemp -d)
# What still runs goes first. In the background: a slow disk takes minutes over three environments.
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work" >/dev/null 2>&1 &' EXIT

export CI=true
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_PROGRESS_BAR=off PIP_QUIET=2 PIP_NO_INPUT=1
export OMP_NUM_THREADS=2 MKL_NUM_THREADS=2 MALLOC_ARENA_MAX=2
export PYTEST_DEBUG_TEMPROOT=$work # elsewhere pytest would remove what earlier runs left there, which takes minutes
# Processes of one thread each, two on two cores and four on more.
processes=$(($(env -u OMP_NUM_THREADS nproc) > 3 ? 4 : 2)) # nproc itself heeds the variable
one_thread=(env OMP_NUM_THREADS=1 MKL_NUM_THREADS=1)
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
unset PYTHONDONTWRITEBYTECODE # without byte code on disk, every process compiles the package and the tests anew

# ------------------------------------------------------------------------------------------------ timed headings
heading="" started=$SECONDS times=()
finish_step() {
    if [ -n "$heading" ]; then
        times+=("$(printf '%5d s  %s' $((SECONDS - started)) "$heading")")
        printf -- '--- %s: %d s\n' "$heading" $((SECONDS - started))
    fi
}
step() {
    finish_step
    heading=$1 started=$SECONDS
    printf '\n=== %s\n' "$heading"
}
fail() {
    printf 'FAILED (%s): %s\n' "$heading" "$1" >&2
    exit 1
}

# -------------------------------------------------------------------------------------------------- environments
in_environment() { # in_environment DIR COMMAND...: as after `source DIR/bin/activate`
    local environment=$1
    shift
    env VIRTUAL_ENV="$environment" PATH="$environment/bin:$PATH" "$@"
}
packages_of() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
layer() { # layer DIR BASE [editable]: an environment that also sees the packages of BASE, with its editable ones if asked
    local packages line
    "$python" -m venv "$1"
    "$1/bin/pip" uninstall --yes setuptools # Python 3.11 puts an old one there, which would hide that of BASE
    packages=$(packages_of "$2") line=$packages
    if [ "${3:-}" = editable ]; then line="import site; site.addsitedir('$packages')"; fi
    echo "$line" >"$(packages_of "$1")/base.pth"
}
make_other() { # make_other DIR BASE: that of BASE, with the other supported transformer-lens
    { grep -v '^transformer-lens==' constraints.txt; echo "transformer-lens==$other_version"; } >"$work/constraints.txt"
    layer "$1" "$2" editable
    in_environment "$1" pip install -c "$work/constraints.txt" "transformer-lens==$other_version"
    in_environment "$1" pip check
    in_environment "$1" python -c "
import importlib.metadata as m; assert m.version('transformer-lens') == '$other_version', m.version('transformer-lens')"
}
# Tests of the whole distribution, papers included.
whole="--ignore=tests/docs --ignore=tests/benchmarks --ignore=tests/test_readme.py --ignore=tests/test_notebooks.py"
make_core() { # make_core DIR BASE: DIR/tree, a copy of the checkout without the papers, and DIR/environment, which has it
    local without=(':!headcats/papers' ':!tests/papers')
    mkdir -p "$1/tree"
    git ls-files -z --cached --others --exclude-standard -- . "${without[@]}" | tar --null -T - -cf - | tar -xf - -C "$1/tree"
    sed -i '/= "headcats\.papers/d' "$1/tree/pyproject.toml"
    layer "$1/environment" "$2" editable
    in_environment "$1/environment" pip install --no-deps -e "$1/tree"
    (cd "$work" && in_environment "$1/environment" python -c "
import importlib.util; assert importlib.util.find_spec('headcats.papers') is None")
}
make_bare() { # make_bare DIR BASE: what BASE requires and the built wheel
    layer "$1" "$2"
    in_environment "$1" pip wheel --no-deps --wheel-dir "$work/wheel" .
    in_environment "$1" pip install --no-deps --force-reinstall "$work"/wheel/headcats-*.whl
    in_environment "$1" pip check
}
install_browser() { # in the background; browser_is_there waits for it
    if [ -x /usr/bin/chromium ]; then return; fi
    local as_root=()
    if [ "$(id -u)" != 0 ]; then as_root=(sudo -n); fi
    {
        "${as_root[@]}" apt-get update -qq
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium
    } >"$work/apt.log" 2>&1 &
    browser=$!
}
browser=""
browser_is_there() {
    if [ -n "$browser" ]; then wait "$browser" || { cat "$work/apt.log"; fail "chromium could not be installed"; }; fi
    [ -x /usr/bin/chromium ] || fail "there is no /usr/bin/chromium"
}

# ------------------------------------------------------------------------------------------------ README's commands
readme_command() { # the one line of a fenced block of README.md that installs and ends in $1
    local found
    found=$(awk -v tail="&& $1" '
        /^```/ { fenced = !fenced; next }
        fenced && /^pip install / && substr($0, length($0) - length(tail) + 1) == tail { print }
    ' README.md)
    [ "$(printf '%s' "$found" | grep -c .)" = 1 ] || fail "README.md must hold one line '... && $1'"
    echo "$found"
}
# The halves of a line of README: what comes after the first does not wait for the second.
first_half() { echo "${1%% && *}"; }
second_half() { echo "${1##* && }"; }

# --------------------------------------------------------------------------------------------------------- checks
check_skips() { # check_skips JUNIT_XML OTHER_MAJOR: every skip has one of the accepted reasons
    "$python" - "$1" "$2" <<'PYTHON'
import re
import sys
from collections import Counter
from xml.etree import ElementTree

path, other_major = sys.argv[1:]
accepted = re.compile(rf"no GPU|no MPS|needs transformer-lens {other_major} \(.+\)", re.DOTALL)
cases = list(ElementTree.parse(path).iter("testcase"))
skips = [(case, skip) for case in cases for skip in case.iter("skipped") if skip.get("type") != "pytest.xfail"]
reasons = Counter(skip.get("message", "") for _, skip in skips)
for reason, count in sorted(reasons.items()):
    print(f"skipped {count:3d}: {reason}")
bad = [f"{case.get('classname')}::{case.get('name')}: {skip.get('message')}" for case, skip in skips
       if not accepted.fullmatch(skip.get("message", ""))]
print(f"{len(cases)} tests, {len(skips)} skipped, {len(bad)} for a reason that is not accepted", *bad, sep="\n  ")
sys.exit(bool(bad) or len(skips) == len(cases))
PYTHON
}
check_results() { # check_results DIR: what `headcats run` leaves behind
    local path
    for path in manifest.json overlap_map.html report.html attention.json; do
        [ -s "$1/$path" ] || fail "headcats run left no $1/$path"
    done
    # Not through a pipe into `grep -q`: it stops reading at the first line, and pipefail then sees find's broken pipe.
    [ -n "$(find "$1/blocks" -maxdepth 1 -name '*@*.nc' -print -quit)" ] || fail "headcats run left no blocks in $1"
    [ -z "$(find "$1/blocks" -name '*.nc' -path '*@*/*' -print -quit)" ] || fail "headcats run left parts in $1"
}
lint() { ruff check . && ruff format --check . && mypy && lint-imports; }
export -f lint

# ------------------------------------------------------------------------------------------------- without network
without_network() { # sets `bare`, a command line in the environment $1 with nothing of this machine's and no network
    local candidate offline=()
    for candidate in "unshare -n" "unshare -rn"; do
        if [ ${#offline[@]} = 0 ] && $candidate true 2>/dev/null; then read -ra offline <<<"$candidate"; fi
    done
    if [ ${#offline[@]} = 0 ]; then # no network namespaces here: let Python itself refuse to connect
        mkdir "$work/blocked"
        cat >"$work/blocked/sitecustomize.py" <<'PYTHON'
import socket


def refuse(*args, **kwargs):
    raise OSError(101, "Network is unreachable")


socket.socket.connect = socket.socket.connect_ex = socket.socket.sendto = socket.getaddrinfo = refuse
PYTHON
        offline=(env "PYTHONPATH=$work/blocked")
    fi
    echo "without network through: ${offline[*]}"
    mkdir -p "$work/elsewhere" "$work/home"
    bare=(env -i "PATH=$1/bin:/usr/local/bin:/usr/bin:/bin" "HOME=$work/home" OMP_NUM_THREADS=2 "${offline[@]}")
    "${bare[@]}" python - <<'PYTHON' || fail "the network is still there"
import socket
import sys

try:
    socket.create_connection(("192.0.2.1", 80), timeout=3) # an address that nobody has
except TimeoutError:
    sys.exit(1)
except OSError as error:
    print("no network:", error)
PYTHON
}
tutorials_without_network() { # tutorials_without_network ENVIRONMENT ARGUMENTS...: of run_tutorials.py
    local environment=$1
    shift
    in_environment "$environment" pip install -c constraints.txt "$(echo "$work"/wheel/headcats-*.whl)[tutorials]"
    mkdir -p "$work/elsewhere/tests"
    cp tests/run_tutorials.py "$work/elsewhere/tests"
    cp -r tutorials "$work/elsewhere"
    rm "$work/elsewhere/tutorials/$cluster_tutorial"
    (cd "$work/elsewhere" && "${bare[@]}" "${one_thread[@]}" python tests/run_tutorials.py "$@")
}
