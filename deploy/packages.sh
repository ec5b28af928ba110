# shellcheck shell=bash disable=SC2034
# Debian packages and the Swift toolchain: what deploy/quickstart and deploy/test need of a machine.
# To be sourced by bash; it defines functions and does nothing by itself.

# What the build links against.
build_packages=(
  libvips-dev libsqlite3-dev libcurl4-openssl-dev libseccomp-dev libssl-dev libyajl-dev
  zlib1g-dev libbrotli-dev libzstd-dev libexpat1-dev pkg-config
)

step() { printf '\n==> %s\n' "$*" >&2; }

# fail MESSAGE [HINT…]: says what is wrong and what to do about it, and ends the script.
fail() {
  printf '\n%s: %s\n' "${0##*/}" "$1" >&2
  shift
  if (($#)); then printf '  %s\n' "$@" >&2; fi
  exit 3
}

is_installed() {
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# need_packages NAME…: installs those that are missing; touches nothing when none is.
need_packages() {
  local missing=() name
  command -v dpkg-query >/dev/null ||
    fail 'this is not Debian, or dpkg is missing' \
      'install the equivalents of these Debian packages, then build by hand (see README.md):' "$*"
  for name in "$@"; do is_installed "$name" || missing+=("$name"); done
  if ((${#missing[@]} == 0)); then return 0; fi

  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      fail "Debian packages are missing, and this user is neither root nor has sudo" \
        'as root: apt-get install '"${missing[*]}"
    as_root=(sudo)
  fi
  step "Debian packages: ${missing[*]}"
  local had_nginx=yes
  command -v /usr/sbin/nginx >/dev/null || had_nginx=no
  # --no-remove: rather fail than throw out a package that somebody uses (another libcurl-dev, say).
  if ! "${as_root[@]}" apt-get update -qq >&2 ||
    ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends --no-remove "${missing[@]}" >&2; then
    fail 'apt-get could not install them' \
      "see above for why; by hand: apt-get install ${missing[*]}"
  fi
  if [[ $had_nginx == no ]]; then stop_new_nginx "${as_root[@]}"; fi
}

# Debian starts a freshly installed nginx on port 80. Nobody asked for that: the demonstration and the
# tests start their own, on loopback.
stop_new_nginx() {
  [[ -x /usr/sbin/nginx ]] || return 0
  printf '    nginx was installed just now: its service on port 80 is switched off\n' >&2
  if [[ -d /run/systemd/system ]]; then
    "$@" systemctl disable --now --quiet nginx >&2 || true
  else
    "$@" service nginx stop >/dev/null 2>&1 || true
  fi
}

need_swift() {
  command -v swift >/dev/null ||
    fail 'no Swift toolchain on the PATH' \
      'install Swift 6 from https://www.swift.org/install/linux and add its usr/bin to the PATH' \
      "(under sudo the PATH may be another one: sudo env \"PATH=\$PATH\" $0)"
  local version
  version=$(swift --version 2>&1 | grep -oE 'Swift version [0-9]+' | grep -oE '[0-9]+' || true)
  ((${version:-0} >= 6)) ||
    fail "Swift 6 is needed; this is $(swift --version 2>&1 | head -n 1)" \
      'install a newer toolchain from https://www.swift.org/install/linux'
}
