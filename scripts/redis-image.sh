#!/usr/bin/env bash
# redis-image.sh [IMAGE]
#
# Makes a small Redis image out of this machine's own redis-server, its shared libraries and a
# static busybox, for machines whose Docker engine can reach no registry. Where a registry can be
# reached, use an official image and not this.
#
# IMAGE defaults to lockbench/redis:VERSION-local. The name is printed on standard output,
# everything else on standard error: export LOCKBENCH_REDIS_IMAGE=$(scripts/redis-image.sh)
set -euo pipefail

missing=()
need() { # need COMMAND PACKAGE
  command -v "$1" >/dev/null || missing+=("$1 (apt-get install $2)")
}
need redis-server redis-server
need docker docker.io
need ldd libc-bin
need tar tar
busybox=$(command -v busybox || true)
if [ -z "$busybox" ]; then
  missing+=("busybox (apt-get install busybox-static)")
elif ldd "$busybox" >/dev/null 2>&1; then
  missing+=("a static busybox; $busybox is linked with libraries (apt-get install busybox-static)")
fi
if [ ${#missing[@]} -gt 0 ]; then
  printf 'redis-image: missing: %s\n' "${missing[@]}" >&2
  exit 5
fi
if ! docker version >/dev/null 2>&1; then
  echo "redis-image: no Docker engine answers; start it (systemctl start docker, or dockerd)" >&2
  exit 5
fi

# Debian makes redis-server a link to one binary that does what its name says, so it is copied under
# this very name.
server=$(command -v redis-server)
version=$("$server" --version | sed -n 's/.* v=\([0-9.]*\) .*/\1/p')
image=${1:-lockbench/redis:$version-local}

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,usr/bin,etc,data,tmp}
chmod 1777 "$root/tmp" "$root/data"
cp -L "$server" "$root/usr/bin/redis-server"
cp "$busybox" "$root/bin/busybox"
# Readiness checks of testcontainers run these through /bin/sh inside the container.
for tool in sh cat awk grep nc ls ps sleep kill; do
  ln -s busybox "$root/bin/$tool"
done
# Each library goes where the loader looked for it. "lib => path" and the loader's own absolute path
# are the two forms of ldd.
ldd "$server" | sed -n 's/.* => \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p' | sort -u | while read -r library; do
  mkdir -p "$root$(dirname "$library")"
  cp -L "$library" "$root$library"
done
echo 'redis:x:999:999::/data:/bin/sh' >"$root/etc/passwd"

tar -C "$root" -c . | docker import \
  --change 'WORKDIR /data' --change 'EXPOSE 6379' --change 'ENV PATH=/usr/bin:/bin' \
  --change 'CMD ["redis-server","--protected-mode","no"]' \
  --message "redis-server $version of this machine" - "$image" >&2
docker run --rm "$image" redis-server --version >&2
echo "$image"
