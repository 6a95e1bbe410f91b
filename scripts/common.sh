# Shared by the scripts: sourced with bash, from the root of the repository.

build_packages=(g++ cmake ninja-build ccache libxsimd-dev nlohmann-json3-dev libpcre2-dev)
program_packages=(libcli11-dev)
test_packages=(doctest-dev libcli11-dev libbenchmark-dev binutils python3)

# Counts of all tests run so far by this script.
passed=0 failed=0 skipped=0

jobs=${L3_JOBS:-$(nproc)}
export CTEST_OUTPUT_ON_FAILURE=1
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1  # what another clone has compiled counts
if command -v ninja > /dev/null; then export CMAKE_GENERATOR=Ninja; fi

say() { printf '%s\n' "$*" >&2; }
die() { say "$(basename "$0"): error: $*"; exit 1; }
step() { say; say "== $* [$((SECONDS / 60))m$((SECONDS % 60))s]"; }

# Installs those Debian packages that are missing; asks for root rights only then.
install_packages() {
    local missing=() name
    command -v apt-get > /dev/null || { say "no apt-get here: making do with what is installed"; return 0; }
    for name in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2> /dev/null)" = installed ] || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    step "installing ${missing[*]}"
    local root=()
    if [ "$(id -u)" != 0 ]; then
        command -v sudo > /dev/null || die "not root and no sudo; install these packages: ${missing[*]}"
        root=(sudo)
    fi
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
    if command -v ninja > /dev/null; then export CMAKE_GENERATOR=Ninja; fi
}

# configure PRESET[:FOLDER] [CMAKE OPTIONS...]: into build/FOLDER, by default build/PRESET.
configure() {
    local preset=${1%%:*} folder=build/${1##*:}
    shift
    step "configuring $folder"
    if [ -e "$folder/CMakeCache.txt" ]; then  # keeps the generator it was made with
        env -u CMAKE_GENERATOR cmake --preset "$preset" -B "$folder" "$@" >&2
    else
        cmake --preset "$preset" -B "$folder" "$@" >&2
    fi
}

# build FOLDER [TARGETS...]: what compiles; a build with errors counts as a failed test.
build() {
    local preset=$1
    shift
    step "building $preset ${*:-}"
    local keep_going=(-k)
    if [ -e "build/$preset/build.ninja" ]; then keep_going=(-k 0); fi
    if ! cmake --build "build/$preset" --parallel "$jobs" ${@:+--target "$@"} -- "${keep_going[@]}" >&2; then
        say "FAILED  building $preset ${*:-}"
        failed=$((failed + 1))
    fi
}

# run_tests FOLDER [CTEST OPTIONS...]: runs the tests built in build/FOLDER and adds up their cases. A doctest program
# counts as its test cases, any other test as one.
run_tests() {
    local folder=$1 counts
    shift
    step "testing $folder"
    (cd "build/$folder" && rm -f Testing/Temporary/LastTest.log && ctest --no-tests=error "$@" 2>&1 | tee ctest.out >&2) || true
    # The log has what the programs printed; ctest itself says which passed.
    counts=$(cd "build/$folder" && touch Testing/Temporary/LastTest.log && awk '
        FNR == 1 { ++file }
        file == 1 && /^[0-9]+\/[0-9]+ Testing: / { name = $0; sub(/^[^:]*: /, "", name) }
        file == 1 && /^\[doctest\] test cases:/ { gsub(/\|/, " "); cp[name] += $5; cf[name] += $7; cs[name] += $9 }
        file == 2 && /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
            name = $0; sub(/^[^:]*: /, "", name); sub(/ \.\.\.+.*/, "", name)
            n++
            if (/\*\*\*Skipped/) s++
            else if (name in cp) { p += cp[name]; f += cf[name]; s += cs[name]; if (!/ Passed /) f += !cf[name] }
            else if (/ Passed /) p++
            else f++
        }
        END { print p + 0, f + (n == 0), s + 0 }' Testing/Temporary/LastTest.log ctest.out)
    read -r -a counts <<< "$counts"
    passed=$((passed + counts[0])) failed=$((failed + counts[1])) skipped=$((skipped + counts[2]))
    say "$folder: ${counts[0]} passed, ${counts[1]} failed, ${counts[2]} skipped"
}

# check NAME COMMAND...: one more test; its output is shown only if it fails.
check() {
    local name=$1 out
    shift
    if out=$("$@" 2>&1); then
        passed=$((passed + 1))
        say "ok      $name"
    else
        failed=$((failed + 1))
        say "FAILED  $name"
        say "$out"
    fi
}

# The closing line, alone on its line; fails if a test did.
closing_line() {
    printf '%d passed, %d failed' "$passed" "$failed"
    if [ "$skipped" -gt 0 ]; then printf ', %d skipped' "$skipped"; fi
    printf '\n'
    [ "$failed" = 0 ]
}

# cross_includes FOLDER: the header-only dependencies of this machine, in a folder of their own, for a cross compiler
# that must not see the machine's other headers.
cross_includes() {
    mkdir -p "$1"
    local name
    for name in xsimd nlohmann doctest pcre2.h; do
        if [ -e "/usr/include/$name" ]; then ln -sfn "/usr/include/$name" "$1/$name"; fi
    done
}

# run_script COMMAND...: runs another script and adds up what its closing line counts.
run_script() {
    local line
    line=$("$@" | tail -n 1) || true
    if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
        say "$1: $line"
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2])) skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
    else
        say "FAILED  $*: ended without counting its tests"
        failed=$((failed + 1))
    fi
}

# clang: the name of the newest Clang from 16 on, if there is one.
clang() {
    local name
    for name in clang++-19 clang++-18 clang++-17 clang++-16 clang++; do
        if command -v "$name" > /dev/null && [ "$("$name" -dumpversion | cut -d. -f1)" -ge 16 ]; then
            echo "$name"
            return
        fi
    done
}

# check_headers NAME [CMAKE OPTIONS...]: every header compiles alone, in another flavour, in build/headers-NAME.
check_headers() {
    local name=$1
    shift
    step "every header alone: $name"
    configure "release:headers-$name" -DL3_WERROR=ON -DL3_BUILD_EXAMPLES=OFF -DL3_BUILD_BENCH=OFF "$@"
    check "headers: $name" cmake --build "build/headers-$name" --parallel "$jobs" --target l3_headers
}

# python_with PACKAGES...: the name of a Python that has these, made under build/ if need be; empty if it cannot be had.
python_with() {
    local imports
    imports="import $(IFS=,; echo "$*")"
    if python3 -c "$imports" 2> /dev/null; then
        echo python3
    elif { python3 -m venv build/venv 2> /dev/null ||
           { install_packages python3-venv && python3 -m venv build/venv; }; } >&2 &&
         build/venv/bin/python -m pip install --quiet "$@" >&2; then
        echo build/venv/bin/python
    fi
}
