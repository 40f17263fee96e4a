#!/bin/sh
# usage: vm.sh VMLINUZ INITRAMFS SHARE: boots, runs SHARE/job.sh, powers off.
# -cpu max: the recorded text has stac and clac in it, so the machine had SMAP.
# Two possible processors: with one, lock prefixes would be patched away. Only one
# online: every step of arming sends an interrupt to the others, which is slow here.
exec qemu-system-x86_64 -M q35 -accel tcg,thread=multi -cpu "${CPU:-max}" -smp 1,maxcpus=2 -m "${MEM:-2048}" -nographic -no-reboot \
	-kernel "$1" -initrd "$2" -append "console=ttyS0 panic=-1 oops=panic loglevel=4 rdinit=/init ${APPEND}" \
	${EXTRA} -virtfs local,path="$3",mount_tag=share,security_model=none
