#!/bin/sh
# Installs checkpoint {{VERSION}} for Linux and macOS, with completions and manual pages; no root needed.
#   curl -fsSL {{REPOSITORY}}/releases/latest/download/install.sh | sh
# CHECKPOINT_BIN       folder of the program (~/.local/bin)
# CHECKPOINT_RELEASES  where the archive is fetched from; file:// too ({{REPOSITORY}}/releases/download/v{{VERSION}})
set -eu

fail() { echo "checkpoint is not installed: $*" >&2; exit 1; }

fetch() { # fetch URL FILE
  case $1 in
    file://*) cp "${1#file://}" "$2" ;;
    *)
      if command -v curl >/dev/null; then curl -fsSL -o "$2" "$1"
      elif command -v wget >/dev/null; then wget -q -O "$2" "$1"
      else fail "curl or wget is needed to fetch $1"; fi
      ;;
  esac || fail "$1 cannot be fetched"
}

sum_of() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

put() { # put FILE PLACE: never through a link
  rm -f "$2"
  cp "$1" "$2"
}

# Nothing runs before the last line has come.
main() {
  system=$(uname -s) machine=$(uname -m)
  # A shell under Rosetta says x86_64.
  if [ "$system" = Darwin ] && [ "$(sysctl -n hw.optional.arm64 2>/dev/null)" = 1 ]; then machine=arm64; fi
  case $system-$machine in
    Linux-x86_64) target=x86_64-unknown-linux-gnu sum={{SHA256:x86_64-unknown-linux-gnu}} ;;
    Linux-aarch64) target=aarch64-unknown-linux-gnu sum={{SHA256:aarch64-unknown-linux-gnu}} ;;
    Darwin-x86_64) target=x86_64-apple-darwin sum={{SHA256:x86_64-apple-darwin}} ;;
    Darwin-arm64) target=aarch64-apple-darwin sum={{SHA256:aarch64-apple-darwin}} ;;
    *) fail "there is no program for $system on $machine; with Rust: cargo install --locked --git {{REPOSITORY}}" ;;
  esac
  name=checkpoint-{{VERSION}}-$target
  case ${HOME:-} in /*) ;; *) fail "HOME names no directory" ;; esac
  bin=${CHECKPOINT_BIN:-$HOME/.local/bin}
  data=${XDG_DATA_HOME:-$HOME/.local/share}
  [ ! -d "$bin/checkpoint" ] || fail "$bin/checkpoint is a directory; name another folder by CHECKPOINT_BIN"
  command -v sha256sum >/dev/null || command -v shasum >/dev/null || fail "sha256sum or shasum is needed"

  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch" "$bin/.checkpoint.new"' EXIT
  trap 'exit 1' HUP INT TERM
  fetch "${CHECKPOINT_RELEASES:-{{REPOSITORY}}/releases/download/v{{VERSION}}}/$name.tar.gz" "$scratch/archive"
  [ "$(sum_of "$scratch/archive")" = "$sum" ] || fail "$name.tar.gz is not what was released: its SHA-256 is another"
  tar -xzf "$scratch/archive" -C "$scratch"
  new=$scratch/$name

  mkdir -p "$bin" "$data/man/man1" "$data/bash-completion/completions" "$data/fish/vendor_completions.d"
  rm -f "$bin/.checkpoint.new"
  cp "$new/checkpoint" "$bin/.checkpoint.new"
  "$bin/.checkpoint.new" --version >/dev/null || fail "the program does not run here"
  # By a rename, so that a checkpoint that is running goes on.
  mv -f "$bin/.checkpoint.new" "$bin/checkpoint"
  for page in "$new"/man/*.1; do put "$page" "$data/man/man1/${page##*/}"; done
  put "$new/completions/checkpoint.bash" "$data/bash-completion/completions/checkpoint"
  put "$new/completions/checkpoint.fish" "$data/fish/vendor_completions.d/checkpoint.fish"
  echo "checkpoint {{VERSION}} is in $bin"
  case :$PATH: in
    *":$bin:"*) ;;
    *) echo "$bin is not in PATH; add to your shell's startup file: export PATH=\"$bin:\$PATH\"" ;;
  esac
}
main "$@"
