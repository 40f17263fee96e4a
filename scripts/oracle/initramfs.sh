#!/bin/sh
# usage: initramfs.sh MODULES-DIR OUT: busybox, init, and what 9p needs.
set -e
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
mkdir -p "$work/bin" "$work/modules"
cp "${BUSYBOX:-/bin/busybox}" "$work/bin/busybox"
cp "$here/init" "$work/init"
chmod +x "$work/init"
for m in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci netfs fscache 9pnet 9pnet_virtio 9p; do
	find "$1" -name "$m.ko" -exec cp {} "$work/modules/" \;
done
(cd "$work" && find . | cpio -o -H newc --quiet | gzip -1) > "$2"
rm -r "$work"
