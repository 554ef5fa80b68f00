#!/bin/sh
# packages.sh FOLDER: installs the Debian packages of the folder in a fresh root of the release that runs here, and uses them
# there as a user would. By hand, as root: it takes mmdebstrap and some minutes of downloads.
set -eu
packages=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/packages" && cp "$packages"/*.deb "$work/packages"
cat > "$work/use" <<'USE'
set -eux
cd /tmp
apt-get install -qq -y --no-install-recommends /packages/*.deb pkg-config gcc libc6-dev cmake make > /dev/null
tutti --version
tutti info
cc /usr/share/doc/libtutti-dev/examples/hello.c -o hello $(pkg-config --cflags --libs tutti)
tutti run -n 2 ./hello
for provider in shm ucx:tcp ofi:tcp; do TUTTI_PROVIDER=$provider tutti run --timeout 60 -n 2 ./hello; done
bspcc /usr/share/doc/libtutti-dev/examples/bsp/inner_product.c -o inner_product -lm
bsprun -np 2 ./inner_product
printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(p C)' 'find_package(tutti REQUIRED COMPONENTS bsp)' \
  'add_executable(p /usr/share/doc/libtutti-dev/examples/hello.c)' 'target_link_libraries(p tutti::tutti)' > CMakeLists.txt
cmake -B b . > /dev/null
cmake --build b > /dev/null
b/p
ls /usr/share/man/man1/tutti-run.1.gz /usr/share/man/man1/bspcc.1.gz /usr/share/man/man3/tutti_put.3.gz /usr/share/man/man7/tutti.7.gz
# The vendors' libraries come with their providers alone.
apt-get purge -qq -y 'tutti-provider-*' > /dev/null
tutti run -n 2 ./hello
apt-get purge -qq -y 'libtutti*' tutti-tools > /dev/null
find /usr -name '*tutti*' -not -path '/usr/share/doc/*' | grep . && exit 1
echo "the packages work"
USE
. /etc/os-release
env -i PATH="$PATH" mmdebstrap --variant=minbase --include=ca-certificates \
  --customize-hook='copy-in '"$work/packages"' /' --customize-hook='copy-in '"$work/use"' /' \
  --customize-hook='chroot "$1" sh /use' "$VERSION_CODENAME" /dev/null
